import fc from 'fast-check';
import { lastValueFrom, toArray } from 'rxjs';
import { isDeepStrictEqual } from 'node:util';
import type { StreamEvent } from '../../../lib/core/event.js';
import { isFinish, isMessage, isText, isThinking, isToolCall } from '../../../lib/core/eventGuards.js';
import { messageText, toolCallsOf, userMessage } from '../../../lib/core/message.js';
import { accumulateToolCalls } from '../../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../../lib/operators/consolidate.js';
import { recordedResponse, recordedServer } from '../../../lib/testing/providerContract/recordedServer.js';
import { concatBytes, framingOf } from '../../../lib/testing/server/framing.js';
import { openTool } from '../conformance/case.js';
import { answerOf } from './answer.js';
import type { Answer } from './answer.js';
import { providers } from './providers.js';
import type { StreamProvider } from './providers.js';

/** One random stream: what a provider answers, how it is framed, and how its bytes are cut. */
interface Stream {
  readonly provider: StreamProvider;
  readonly answer: Answer;
  /** Whether the frames have a field that no API documents. */
  readonly hasUnknownFields: boolean;
  readonly lineEnds: '\n' | '\r\n' | '\r';
  readonly comments: string | undefined;
  /** Where the body is cut, as fractions of its length. */
  readonly cuts: readonly number[];
}

const stream: fc.Arbitrary<Stream> = fc.constantFrom(...providers).chain((provider) =>
  fc
    .record({
      answer: answerOf(provider),
      hasUnknownFields: fc.boolean(),
      lineEnds: fc.constantFrom('\n', '\r\n', '\r'),
      comments: fc.constantFrom(undefined, undefined, 'keep-alive'),
      cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
    })
    .map((fields) => ({ provider, ...fields })),
);

const unknownField = { of: ['an API', 2027], nested: { text: 'new' } };

/** The body of a stream. */
function encode({ provider: { dialect }, answer, hasUnknownFields, lineEnds, comments }: Stream): Uint8Array {
  const framing = framingOf(dialect, { lineEnds, ...(comments === undefined ? {} : { comments }) });
  const writer = dialect.writer({ turn: 1, path: '', body: { stream_options: { include_usage: true } } });
  const frames = [...answer.chunks.flatMap((chunk) => writer.next(chunk)), ...writer.end()];
  const withUnknown = ({ data, ...frame }: (typeof frames)[number]) => ({
    ...frame,
    data:
      hasUnknownFields && data.startsWith('{')
        ? JSON.stringify({ ...(JSON.parse(data) as object), unknown_field: unknownField })
        : data,
  });
  return concatBytes([...frames.map((frame) => framing.frame(withUnknown(frame))), framing.tail]);
}

/** What a stream looks like to a subscriber, as JSON. */
function describe(events: readonly StreamEvent[]) {
  const finishes = events.filter(isFinish);
  const [finish] = finishes;
  const message = events.find(isMessage)?.message;
  return {
    text: events.map((event) => (isText(event) ? event.text : '')).join(''),
    thinking: events.map((event) => (isThinking(event) ? event.text : '')).join(''),
    calls: events.filter(isToolCall).map(({ name, arguments: args }) => ({ name, arguments: args })),
    messageText: message ? messageText(message) : '',
    messageCalls: message ? toolCallsOf(message).map(({ name, arguments: args }) => ({ name, arguments: args })) : [],
    distinctIds: new Set(events.filter(isToolCall).map(({ id }) => id)).size,
    finishes: finishes.length,
    isFinishLast: finish !== undefined && events.at(-1) === finish,
    reason: finish?.reason,
    usage: { input: finish?.usage?.input, output: finish?.usage?.output },
  };
}

/** Reads a stream, and throws if what is emitted is not what was generated. */
async function check(one: Stream): Promise<void> {
  const { provider, answer, cuts } = one;
  const { calls, reason, usage } = answer;
  // A half of a surrogate pair without its other half is read as U+FFFD.
  const [text, thinking] = [answer.text, answer.thinking].map((one) => one.replace(/\p{Surrogate}/gu, '\ufffd'));
  const body = encode(one);
  const server = recordedServer((request) =>
    recordedResponse(body, provider.dialect.contentType, request, {
      cuts: cuts.map((fraction) => Math.floor(fraction * body.length)).sort((a, b) => a - b),
    }),
  );
  const model = provider.make('m', { apiKey: 'key', retry: false, fetch: server.fetch });
  const tools = [...new Set(calls.map(({ name }) => name))].map((name) => openTool(name));
  const chunks = model.stream({ messages: [userMessage('Hello')], ...(tools.length > 0 ? { tools } : {}) });
  const events: readonly StreamEvent[] = await lastValueFrom(
    chunks.pipe(accumulateToolCalls(), consolidate(), toArray()),
  );
  const expected = {
    ...{ text, thinking, calls, messageText: text, messageCalls: calls, distinctIds: calls.length },
    ...{ finishes: 1, isFinishLast: true, reason, usage },
  };
  const actual = describe(events);
  // As JSON: the keys of objects in their order.
  if (isDeepStrictEqual(JSON.stringify(actual), JSON.stringify(expected))) return;
  throw new Error(
    `${provider.name} was read wrongly.\nexpected ${JSON.stringify(expected)}\nreceived ${JSON.stringify(actual)}\n` +
      `body ${JSON.stringify(new TextDecoder().decode(body))}`,
  );
}

/** How many streams are read at the same time. */
const batchSize = 10;

/**
 * Generates random well-formed streams of ten providers, cuts their bytes anywhere, reads them in batches of mixed
 * providers, and compares what the operators emit with what was generated.
 *
 * @param count The number of streams.
 * @param seed The seed of the generator. Default: a random one, which the error names.
 * @throws Error with the smallest stream that is read wrongly.
 */
export async function checkStreams(count: number, seed?: number): Promise<void> {
  const batch = fc.array(stream, { minLength: batchSize, maxLength: batchSize });
  const property = fc.asyncProperty(batch, async (streams) => {
    await Promise.all(streams.map(check));
  });
  const result = await fc.check(property, {
    numRuns: Math.ceil(count / batchSize),
    ...(seed === undefined ? {} : { seed }),
  });
  if (!result.failed) return;
  const cause = result.errorInstance;
  throw new Error(
    `After ${result.numRuns} batches, seed ${result.seed}: ${cause instanceof Error ? cause.message : ''}`,
    { cause },
  );
}
