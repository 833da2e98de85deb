import fc from 'fast-check';
import type { Chunk, ToolCallFragment } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';

/** A call as the model must emit it. */
interface ExpectedCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** A random answer: the chunks that its server encodes, and what a model must emit for it. */
export interface Answer {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly thinking: string;
  /** In the order in which they begin. */
  readonly calls: readonly ExpectedCall[];
  readonly reason: 'stop' | 'length' | 'toolCalls';
  readonly usage: { readonly input: number; readonly output: number };
}

/** What an API can express. */
export interface AnswerOptions {
  /** Whether fragments of several calls may alternate. Otherwise each call ends before the next begins. */
  readonly interleaved: boolean;
  /** Whether the API sends ids of calls. */
  readonly ids: boolean;
  /** Whether a text may contain `<`. Together's models write thinking and calls in tags. */
  readonly tags: boolean;
}

/** Characters that a format may give a meaning to, or that may be cut. */
const specialTexts = [
  '"',
  '\\',
  '\n',
  '\r\n',
  '\u2028',
  '\u0000',
  '\u{1F30A}',
  'ß',
  '}',
  '[',
  'data: x',
  '[DONE]',
  '\ud800',
  '</think>',
  'null',
];
const textOf = (tags: boolean) =>
  fc
    .array(fc.oneof(fc.string({ unit: 'grapheme', maxLength: 12 }), fc.constantFrom(...specialTexts)), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join(''))
    .filter((text) => tags || !text.includes('<'));

/** JSON with difficult keys and texts; numbers as they survive JSON, and no integer beyond 2^53. */
const scalar = fc.oneof(
  textOf(true),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Number.isInteger(number)),
  fc.constantFrom(null, true, false),
);
const { value: jsonValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(textOf(true), fc.constantFrom('__proto__', 'constructor', '1', '')), tie('value'), {
      maxKeys: 3,
    }),
  ),
}));
const argumentsOf = fc
  .dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', '_raw', 'name', 'arguments', '0')), jsonValue, {
    maxKeys: 4,
  })
  // Through JSON, so that `__proto__` is a key, and -0 is 0.
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject)
  .filter((args) => !('_error' in args));

interface GeneratedCall extends ExpectedCall {
  readonly indent: number;
  /** Where the JSON text is cut, as fractions of its length. */
  readonly cuts: readonly number[];
}

const names = ['a', 'ab', 'abc', 'get_weather', 'search-2', 'a'] as const;
const generatedCall: fc.Arbitrary<GeneratedCall> = fc.record({
  name: fc.constantFrom(...names),
  arguments: argumentsOf,
  indent: fc.constantFrom(0, 0, 2),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
});

/** Cuts a text at fractions of its length: anywhere, also within a surrogate pair. */
function cutText(text: string, fractions: readonly number[]): readonly string[] {
  const ends = [...fractions.map((fraction) => Math.floor(fraction * text.length)), text.length].sort((a, b) => a - b);
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end)).filter((part) => part !== '');
}

/** The fragments of each call, and their order: by call, or taking turns. */
function fragmentsOf(calls: readonly GeneratedCall[], { interleaved, ids }: AnswerOptions): readonly Chunk[] {
  const queues = calls.map(({ name, arguments: args, indent, cuts }, index) => {
    const id = ids ? { id: `call_${index}_${name}` } : {};
    const texts = cutText(JSON.stringify(args, null, indent), cuts);
    return [
      { type: 'toolCallFragment', index, ...id, name, arguments: '' },
      ...texts.map((text) => ({ type: 'toolCallFragment', index, arguments: text })),
    ] as ToolCallFragment[];
  });
  if (!interleaved) return queues.flatMap((queue) => queue);
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => queues.flatMap((queue) => queue.slice(at, at + 1))).flat();
}

/** Creates the generator of answers for an API. */
export function answerOf(options: AnswerOptions): fc.Arbitrary<Answer> {
  const delta = fc.record({ type: fc.constantFrom('text', 'thinking'), text: textOf(options.tags) });
  return fc
    .record({
      deltas: fc.array(delta, { maxLength: 6 }),
      calls: fc.oneof(fc.constant<GeneratedCall[]>([]), fc.array(generatedCall, { maxLength: 4 })),
      ending: fc.constantFrom('stop', 'length'),
      input: fc.integer({ min: 1, max: 1e6 }),
      output: fc.integer({ min: 1, max: 1e5 }),
    })
    .map(({ deltas, calls, ending, input, output }) => {
      const joined = (kind: string) => deltas.map(({ type, text }) => (type === kind ? text : '')).join('');
      const reason = calls.length > 0 ? 'toolCalls' : ending;
      const usage = { input, output };
      return {
        chunks: [
          ...deltas.map(({ type, text }): Chunk => ({ type, text })),
          ...fragmentsOf(calls, options),
          { type: 'finish', reason, usage },
        ],
        text: joined('text'),
        thinking: joined('thinking'),
        calls: calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
        reason,
        usage,
      };
    });
}
