/**
 * The responses of the loopback server in the wire formats of the providers, and their content. They are built before a
 * measurement, and deterministic: the client that verifies the output builds the same content.
 */

/** The APIs of the server: OpenAI's Chat Completions, Anthropic's Messages, and Google's generateContent (text only). */
export type Api = 'openai' | 'anthropic' | 'google';

/** The number of calls in the response of an `arguments` scenario. */
export const parallelCalls = 8;

const syllables = [
  ' the',
  ' riv',
  'er',
  ' runs',
  ' to',
  ' sea',
  ',',
  ' "so"',
  ' fl\u00f6',
  'w',
  '\n',
  ' \u6c34',
  'ing',
  ' 42',
  '.',
  ' and',
];

/** The deltas of a text: about four characters each, some not in ASCII, some escaped in JSON. */
export function deltasOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => syllables[(at * 7 + (at >> 4)) % syllables.length] ?? '');
}

/** The argument of one of the parallel calls, with `size` characters. */
export function documentOf(call: number, size: number): string {
  return `${call}:${deltasOf(Math.ceil(size / 3)).join('')}`.slice(0, size);
}

/** The text after the last tool round. */
export const closing = deltasOf(20);

/** Cuts a text into fragments of four characters, as a model streams arguments. */
export function fragmentsOf(text: string): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / 4) }, (_, at) => text.slice(at * 4, at * 4 + 4));
}

/** JSON of `count` records with about a hundred characters each, and with escaped strings. */
export function recordsOf(count: number): string {
  const records = Array.from({ length: count }, (_, id) => ({
    id,
    name: `Record ${id}`,
    tags: ['alpha', 'beta'],
    price: id * 1.25,
    note: `A note, "${id}".\n`,
  }));
  return JSON.stringify({ records });
}

/** The text before the call of a `talks` scenario. */
export const spoken = deltasOf(20);

/** The JSON text of an `output` scenario: `count` names. */
export const outputOf = (count: number): string =>
  JSON.stringify({ names: Array.from({ length: count }, (_, at) => `name ${at}`) });

/** One call of a response. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** The calls of an `arguments` scenario, with about `size` characters in total. */
export function parallelCallsOf(size: number): readonly WireCall[] {
  return Array.from({ length: parallelCalls }, (_, call) => ({
    id: `call_${call}`,
    name: 'save',
    arguments: JSON.stringify({ content: documentOf(call, Math.floor(size / parallelCalls)) }),
  }));
}

/** Returns the frames of a response. */
interface Dialect {
  text(deltas: readonly string[]): Generator<string>;
  /** The deltas of a text, if any, and calls after it. */
  calls(calls: readonly WireCall[], deltas: readonly string[]): Generator<string>;
}

const usage = {
  prompt_tokens: 100,
  completion_tokens: 100,
  total_tokens: 200,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
};

function openaiFrame(choices: readonly unknown[], counts: unknown = null): string {
  const head = {
    id: 'chatcmpl-CdE5fGhIjKlMnOpQrStUvWxYz0123',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'gpt-5-2025-08-07',
  };
  const frame = {
    ...head,
    service_tier: 'default',
    system_fingerprint: 'fp_1a2b3c4d5e',
    choices,
    usage: counts,
    obfuscation: 'x7Kp2qLm',
  };
  return `data: ${JSON.stringify(frame)}\n\n`;
}

const openaiDelta = (delta: unknown, reason: string | null = null) =>
  openaiFrame([{ index: 0, delta, logprobs: null, finish_reason: reason }]);

const openai: Dialect = {
  *text(deltas) {
    yield openaiDelta({ role: 'assistant', content: '', refusal: null });
    for (const content of deltas) yield openaiDelta({ content });
    yield openaiDelta({}, 'stop');
    yield openaiFrame([], usage);
    yield 'data: [DONE]\n\n';
  },
  *calls(calls, deltas) {
    yield openaiDelta({ role: 'assistant', content: deltas.length > 0 ? '' : null, refusal: null });
    for (const content of deltas) yield openaiDelta({ content });
    const cut = calls.map((call) => fragmentsOf(call.arguments));
    for (const [index, { id, name }] of calls.entries()) {
      yield openaiDelta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    }
    for (let at = 0; at < Math.max(...cut.map(({ length }) => length)); at++) {
      for (const [index, fragments] of cut.entries()) {
        if (fragments[at] !== undefined)
          yield openaiDelta({ tool_calls: [{ index, function: { arguments: fragments[at] } }] });
      }
    }
    yield openaiDelta({}, 'tool_calls');
    yield openaiFrame([], usage);
    yield 'data: [DONE]\n\n';
  },
};

/** Where in `paddings` the next event finds its number of spaces. */
let padded = 0;
const paddings = [0, 11, 4, 7, 2, 14, 9, 1, 6, 12, 3, 8, 15, 5, 10, 13];

/** The API pads each event with another number of spaces before the last brace. */
function event(data: { readonly type: string; readonly [field: string]: unknown }): string {
  const json = JSON.stringify(data);
  const spaces = ' '.repeat(paddings[padded++ % paddings.length] ?? 0);
  return `event: ${data.type}\ndata: ${json.slice(0, -1)}${spaces}}\n\n`;
}

const messageStart = event({
  type: 'message_start',
  message: {
    id: 'msg_01AbCdEfGhIjKlMnOpQrStUv',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: 100,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1,
      service_tier: 'standard',
    },
  },
});

function* anthropicEnd(reason: string): Generator<string> {
  yield event({
    type: 'message_delta',
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: 100 },
  });
  yield event({ type: 'message_stop' });
}

function* anthropicText(deltas: readonly string[]): Generator<string> {
  yield event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
  yield event({ type: 'ping' });
  for (const text of deltas)
    yield event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
  yield event({ type: 'content_block_stop', index: 0 });
}

const anthropic: Dialect = {
  *text(deltas) {
    yield messageStart;
    yield* anthropicText(deltas);
    yield* anthropicEnd('end_turn');
  },
  *calls(calls, deltas) {
    yield messageStart;
    if (deltas.length > 0) yield* anthropicText(deltas);
    for (const [at, { id, name, arguments: json }] of calls.entries()) {
      const index = deltas.length > 0 ? at + 1 : at;
      yield event({ type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {} } });
      for (const partial_json of fragmentsOf(json)) {
        yield event({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } });
      }
      yield event({ type: 'content_block_stop', index });
    }
    yield* anthropicEnd('tool_use');
  },
};

const googleFrame = (parts: readonly unknown[], more: object = {}) =>
  `data: ${JSON.stringify({
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 100, totalTokenCount: 200 },
    modelVersion: 'gemini-3.8-flash',
    responseId: 'response-AbCdEfGhIjKlMnOp',
  })}\r\n\r\n`;

const google: Dialect = {
  *text(deltas) {
    for (const text of deltas) yield googleFrame([{ text }]);
    yield googleFrame([{ text: '' }], { finishReason: 'STOP' });
  },
  // eslint-disable-next-line require-yield
  *calls() {
    throw new Error("The benchmark measures only text on Google's wire.");
  },
};

const dialects: Readonly<Record<Api, Dialect>> = { openai, anthropic, google };

/** The bytes of a text response. */
export const textAnswer = (api: Api, deltas: readonly string[]): Buffer =>
  Buffer.from([...dialects[api].text(deltas)].join(''));

/** The bytes of a response with tool calls, after the deltas of a text. */
export const callsAnswer = (api: Api, calls: readonly WireCall[], deltas: readonly string[] = []): Buffer =>
  Buffer.from([...dialects[api].calls(calls, deltas)].join(''));

/** The frames of a text response, for a paced response. */
export const textFrames = (api: Api, deltas: readonly string[]): readonly string[] => [...dialects[api].text(deltas)];

/** The frames before the first delta of a text response. */
export const leading: Readonly<Record<Api, number>> = { openai: 1, anthropic: 3, google: 0 };

/** One frame of text, built when it is written. */
export const textFrame: Readonly<Record<Api, (text: string) => string>> = {
  openai: (content) => openaiDelta({ content }),
  anthropic: (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  google: (text) => googleFrame([{ text }]),
};
