import type { FinishReason } from '../../core/chunk.js';
import type { StreamEvent } from '../../core/event.js';
import { isFinish, isText, isThinking, isToolCall } from '../../core/eventGuards.js';
import { isSameJson } from '../../core/json/equal.js';
import type { JsonObject } from '../../core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../core/message.js';
import type { Model, ModelRequest } from '../../core/model.js';
import type { Usage } from '../../core/usage.js';
import { accumulateToolCalls } from '../../operators/accumulateToolCalls.js';

/** A recorded response, and what the model must emit for it. */
export interface RecordedAnswer {
  /** A description of the response, for the titles of the cases: `a text`, `two calls`. */
  readonly title: string;
  /** The body, as the server sent it. */
  readonly body: string;
  /** The text, joined. Default: none. */
  readonly text?: string;
  /** The thinking, joined. Default: none. */
  readonly thinking?: string;
  /** The calls, in order. Default: none. */
  readonly calls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
  /** Default: `toolCalls` if there are calls, otherwise `stop`. */
  readonly finishReason?: FinishReason;
  /** The usage. Default: not compared. */
  readonly usage?: Usage;
  /** A part of the message of the error that ends the response. Default: the response has no error. */
  readonly error?: string;
}

export interface Reading {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
  readonly finishes: number;
  readonly finishReason: FinishReason | undefined;
  readonly usage: Usage | undefined;
  readonly isFinishLast: boolean;
  readonly error: unknown;
}

export function read(model: Model, answer: RecordedAnswer, request: Partial<ModelRequest> = {}): Promise<Reading> {
  const names = new Set(answer.calls?.map(({ name }) => name));
  const tools = [...names].map((name) => ({ name, description: 'A tool.', parameters: { type: 'object' } }));
  const withTools = tools.length > 0 ? { tools } : {};
  const events: StreamEvent[] = [];
  return new Promise((resolve) => {
    const stream = model.stream({ messages: [userMessage('Hello')], ...withTools, ...request });
    stream.pipe(accumulateToolCalls()).subscribe({
      next: (event) => events.push(event),
      error: (error: unknown) => resolve(toReading(events, error)),
      complete: () => resolve(toReading(events, undefined)),
    });
  });
}

function toReading(events: readonly StreamEvent[], error: unknown): Reading {
  const finishes = events.filter(isFinish);
  const last = events.at(-1);
  return {
    text: events.map((event) => (isText(event) ? event.text : '')).join(''),
    thinking: events.map((event) => (isThinking(event) ? event.text : '')).join(''),
    calls: events.filter(isToolCall).map(({ name, arguments: args }) => ({ name, arguments: args })),
    finishes: finishes.length,
    finishReason: finishes[0]?.reason,
    usage: finishes[0]?.usage,
    isFinishLast: last !== undefined && isFinish(last),
    error,
  };
}

export function expectAnswer(reading: Reading, answer: RecordedAnswer): void {
  const { text = '', thinking = '', calls = [], usage, error } = answer;
  expectSame('the text', reading.text, text);
  expectSame('the thinking', reading.thinking, thinking);
  expectSame('the calls', reading.calls, calls);
  if (error !== undefined) {
    // Here and below: if the comparison is false, the message shows the text.
    expectSame('the error', String(reading.error).includes(error) || String(reading.error), true);
    expectSame('the number of finish chunks', reading.finishes, 0);
    return;
  }
  expectSame('the error', String(reading.error), 'undefined');
  expectSame('the number of finish chunks', reading.finishes, 1);
  expectSame('the finish is the last chunk', reading.isFinishLast, true);
  expectSame(
    'the finish reason',
    reading.finishReason,
    answer.finishReason ?? (calls.length > 0 ? 'toolCalls' : 'stop'),
  );
  if (usage) expectSame('the usage', reading.usage, usage);
}

/** For a body that was cut. After its finish reason, the response is complete, but may have no usage. */
export function expectBeginning(reading: Reading, answer: RecordedAnswer, provider: string): void {
  const { usage, ...complete } = answer;
  if (reading.error === undefined) {
    expectAnswer(reading, complete);
    return;
  }
  const { text = '', thinking = '', calls = [] } = answer;
  expectSame('the text is the beginning', text.startsWith(reading.text) || reading.text, true);
  expectSame('the thinking is the beginning', thinking.startsWith(reading.thinking) || reading.thinking, true);
  expectSame('the calls are the first ones', reading.calls, calls.slice(0, reading.calls.length));
  const error = reading.error as { readonly code?: unknown; readonly provider?: unknown };
  expectSame('the provider of the error', error.provider, provider);
  if (answer.error !== undefined && error.code === 'provider') return; // cut after the recorded error
  expectSame('the code of the error', error.code, 'stream_interrupted');
}

/** The conversation contains these texts, and so must the request. */
export const markers = ['marker-system', 'marker-user', 'marker-argument', 'marker-result'] as const;

export function conversation(): Partial<ModelRequest> {
  const call = { type: 'toolCall', id: 'call_1', name: 'lookup', arguments: { of: 'marker-argument' } } as const;
  return {
    messages: [
      systemMessage('marker-system'),
      userMessage('marker-user'),
      modelMessage([call]),
      userMessage([{ type: 'toolResult', id: 'call_1', name: 'lookup', result: 'marker-result' }]),
    ],
    tools: [{ name: 'lookup', description: 'Looks up a word.', parameters: { type: 'object', properties: {} } }],
  };
}

const unknownEvent = '{"type":"event_of_an_unknown_type","unknown":{"nested":[1]}}';

export function withUnknownEvents(body: string, contentType: string): string {
  const isLines = !contentType.startsWith('text/event-stream');
  const [inserted, delimiter] = isLines
    ? [`${unknownEvent}\n`, /(?<=\n)/]
    : [`event: event_of_an_unknown_type\ndata: ${unknownEvent}\n\n`, /(?<=\r\n\r\n|\n\n|\r\r)/];
  return body
    .split(delimiter)
    .map((event) => inserted + event)
    .join('');
}

export function expectSame(what: string, actual: unknown, expected: unknown): void {
  if (isSameJson(actual, expected)) return;
  throw new Error(
    `The model breaks the provider contract: ${what}: ` +
      `expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}.`,
  );
}
