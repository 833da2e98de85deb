/** What each library is given to do: ask, hand on the text, run the tool as often as the model calls it, until it calls no more. */
export interface Job {
  /** The server and the scenario, without `/v1`. */
  readonly baseUrl: string;
  /** The conversation; the last message is the user's. */
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
  /** The one tool, `save({ content })`; absent where the scenario has none. */
  readonly save?: ((content: string) => string) | undefined;
  /** Called with each delta. */
  readonly onText: (text: string) => void;
  /** Called with each partial object of the JSON that streams. */
  readonly onPartial: (partial: unknown) => void;
  /** What streams, where there is no server. */
  readonly deltas?: readonly string[] | undefined;
  /** Whether each of them comes in a read of its own. Default: all in one. */
  readonly apart?: boolean | undefined;
}

/** A library, set up once; each call is one run. */
export type Library = (job: Job) => Promise<void>;

/** Makes a client or model once for each address, as all their documentations say to. */
export function once<T>(make: (baseUrl: string) => T): (baseUrl: string) => T {
  const made = new Map<string, T>();
  return (baseUrl) => {
    if (!made.has(baseUrl)) made.set(baseUrl, make(baseUrl));
    return made.get(baseUrl) as T;
  };
}

/** The tool's parameters, for all libraries alike. */
export const saveParameters = {
  type: 'object',
  properties: { content: { type: 'string' } },
  required: ['content'],
  additionalProperties: false,
} as const;

/** Of the JSON that streams, as typed output or as the tool's arguments. */
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

/** More than any scenario has. */
export const maxTurns = 1_000;
