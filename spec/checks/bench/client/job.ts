/** The task of each library: send the request, emit the text, and run the tool until the model no longer calls it. */
export interface Job {
  /** The server and the scenario, without `/v1`. */
  readonly baseUrl: string;
  /** The conversation; the last message is the user's. */
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
  /** The number of messages with calls and results before these, which the library makes. Default: none. */
  readonly past?: number | undefined;
  /** The tool `save({ content })`. Absent if the scenario has no tool. */
  readonly save?: ((content: string) => string) | undefined;
  /** The schema of a typed run. Its text is not emitted. */
  readonly output?: typeof recordsSchema | undefined;
  /** Called with each delta. */
  readonly onText: (text: string) => void;
  /** Called with the object of a typed run. */
  readonly onOutput: (output: unknown) => void;
  /** Called with each partial object of the streamed JSON. */
  readonly onPartial: (partial: unknown) => void;
  /** The deltas of a case without a server. */
  readonly deltas?: readonly string[] | undefined;
  /** Whether each delta is a read of its own. Default: all in one read. */
  readonly apart?: boolean | undefined;
}

/** A library, set up once; each call is one run. */
export type Library = (job: Job) => Promise<void>;

/** Makes a client or model once for each base URL, as the documentation of every library recommends. */
export function once<T>(make: (baseUrl: string) => T): (baseUrl: string) => T {
  const made = new Map<string, T>();
  return (baseUrl) => {
    if (!made.has(baseUrl)) made.set(baseUrl, make(baseUrl));
    return made.get(baseUrl) as T;
  };
}

/** The tool's parameters, the same for all libraries. */
export const saveParameters = {
  type: 'object',
  properties: { content: { type: 'string' } },
  required: ['content'],
  additionalProperties: false,
} as const;

/** The schema of the streamed JSON, for typed output and for the tool's arguments. */
export const recordsSchema = {
  type: 'object',
  properties: {
    records: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'integer' },
          name: { type: 'string' },
          tags: { type: 'array', items: { type: 'string' } },
          price: { type: 'number' },
          note: { type: 'string' },
        },
        required: ['id', 'name', 'tags', 'price', 'note'],
        additionalProperties: false,
      },
    },
  },
  required: ['records'],
  additionalProperties: false,
} as const;

export const saveDescription = 'Saves a document.';

/** More turns than any scenario has. */
export const maxTurns = 1_000;
