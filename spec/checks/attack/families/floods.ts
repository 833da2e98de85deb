import assert from 'node:assert/strict';
import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import type { JsonObject } from '../../../../lib/core/json/json.js';
import type { OpenModelOptions } from '../../../../lib/providers/httpModel.js';
import type { Family } from '../family.js';
import { modelOfBody, tools } from '../wires.js';

const sse = (frames: readonly JsonObject[]) => frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('');
const repeated = <T>(count: number, element: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => element(at));

const chat = (deltas: readonly JsonObject[]) =>
  `${sse(deltas.map((delta) => ({ choices: [{ index: 0, delta }] })))}data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;

const anthropicText = (deltas: readonly JsonObject[]) =>
  sse([
    { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]);

const google = (parts: readonly JsonObject[]) =>
  sse([
    ...parts.map((part) => ({ candidates: [{ content: { parts: [part] } }] })),
    { candidates: [{ finishReason: 'STOP' }] },
  ]);

const ollama = (messages: readonly JsonObject[]) =>
  [
    ...messages.map((message) => ({ message, done: false })),
    { message: { content: '' }, done: true, done_reason: 'stop' },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

interface Flood {
  readonly wire: string;
  /** The body with a number of the elements. */
  readonly body: (count: number) => string;
  readonly options?: OpenModelOptions;
  readonly contentType?: string;
}

const ndjson = 'application/x-ndjson';
const think = { thinkTags: true };
const call = (at: number): JsonObject => ({ index: at, id: `c${at}`, function: { name: 'look', arguments: '{}' } });

/** What a server can send without end. */
const table: Readonly<Record<string, Flood>> = {
  'empty deltas': { wire: 'openai-chat', body: (count) => chat(repeated(count, () => ({ content: '' }))) },
  'blank deltas': { wire: 'openai-chat', body: (count) => chat(repeated(count, () => ({ content: ' ' }))) },
  'blank deltas with thinkTags': {
    wire: 'openrouter',
    options: think,
    body: (count) => chat(repeated(count, () => ({ content: ' ' }))),
  },
  'tags in one delta': {
    wire: 'openrouter',
    options: think,
    body: (count) => chat([{ content: '<think>a</think>'.repeat(count) }]),
  },
  'tags in many deltas': {
    wire: 'openrouter',
    options: think,
    body: (count) => chat(repeated(count, () => ({ content: '<think>' }))),
  },
  'beginnings of tags': {
    wire: 'openrouter',
    options: think,
    body: (count) => chat(repeated(count, () => ({ content: '<thin' }))),
  },
  'line feeds in one delta': { wire: 'openai-chat', body: (count) => chat([{ content: '\n'.repeat(10 * count) }]) },
  'citations of Chat Completions': {
    wire: 'openai-chat',
    body: (count) =>
      chat(
        repeated(count, (at) => ({
          annotations: [{ type: 'url_citation', url_citation: { url: `https://a.test/${at}`, title: 't' } }],
        })),
      ),
  },
  'citations of Anthropic': {
    wire: 'anthropic',
    body: (count) =>
      anthropicText(
        repeated(count, (at) => ({
          type: 'citations_delta',
          citation: {
            type: 'web_search_result_location',
            url: `https://a.test/${at}`,
            title: 't',
            encrypted_index: `${at}`,
          },
        })),
      ),
  },
  'texts of Anthropic': {
    wire: 'anthropic',
    body: (count) => anthropicText(repeated(count, () => ({ type: 'text_delta', text: ' ' }))),
  },
  'signatures of Anthropic': {
    wire: 'anthropic',
    body: (count) => anthropicText(repeated(count, (at) => ({ type: 'signature_delta', signature: `${at}` }))),
  },
  'complete calls': {
    wire: 'openai-chat',
    body: (count) => chat(repeated(count, (at) => ({ tool_calls: [call(at)] }))),
  },
  'calls in one delta': { wire: 'openai-chat', body: (count) => chat([{ tool_calls: repeated(count, call) }]) },
  'fragments of one call': {
    wire: 'openai-chat',
    body: (count) =>
      chat([
        { tool_calls: [call(0)] },
        ...repeated(count, () => ({ tool_calls: [{ index: 0, function: { arguments: ' ' } }] })),
      ]),
  },
  'object fragments without a name': {
    wire: 'openai-chat',
    body: (count) =>
      chat([
        { tool_calls: [call(0)] },
        ...repeated(count, (at) => ({ tool_calls: [{ index: 0, function: { arguments: { [`k${at}`]: at } } }] })),
      ]),
  },
  'repeated ids': {
    wire: 'openai-chat',
    body: (count) => chat(repeated(count, () => ({ tool_calls: [{ ...call(0), index: 0 }] }))),
  },
  'function calls of Google': {
    wire: 'google',
    body: (count) => google(repeated(count, (at) => ({ functionCall: { name: 'look', args: { at } } }))),
  },
  'signatures of Google': {
    wire: 'google',
    body: (count) => google(repeated(count, () => ({ text: 'a', thoughtSignature: 's' }))),
  },
  'empty lines of Ollama': {
    wire: 'ollama',
    contentType: ndjson,
    body: (count) => '\n'.repeat(count) + ollama([{ content: 'a' }]),
  },
  'empty messages of Ollama': {
    wire: 'ollama',
    contentType: ndjson,
    body: (count) => ollama(repeated(count, () => ({ content: '' }))),
  },
  comments: { wire: 'openai-chat', body: (count) => ': keep-alive\n\n'.repeat(count) + chat([{ content: 'a' }]) },
  'blanks after event': {
    wire: 'openai-chat',
    body: (count) => `event:${' '.repeat(10 * count)}x\n${chat([{ content: 'a' }])}`,
  },
  'blanks after data': {
    wire: 'openai-chat',
    body: (count) => `data:${' '.repeat(10 * count)}\n\n${chat([{ content: 'a' }])}`,
  },
  'lines of one event': {
    wire: 'openai-chat',
    body: (count) => `${'data:\n'.repeat(count)}${chat([{ content: 'a' }])}`,
  },
  'carriage returns': { wire: 'openai-chat', body: (count) => '\r'.repeat(10 * count) + chat([{ content: 'a' }]) },
  metadata: {
    wire: 'openrouter',
    body: (count) =>
      chat(
        repeated(count, (at) => ({
          content: '',
          reasoning_details: [{ type: 'reasoning.text', text: 'a', index: at }],
        })),
      ),
  },
};

/** The same number of ordinary deltas. */
const baseline: Flood = { wire: 'openai-chat', body: (count) => chat(repeated(count, () => ({ content: 'word ' }))) };

/** A flood may take this many times as long as the ordinary deltas. Quadratic ones took a hundred times as long. */
const maxRatio = 30;
/** A shorter time says nothing, in milliseconds. */
const noise = 400;

async function timeOf(
  { wire, body, options = {}, contentType = 'text/event-stream' }: Flood,
  count: number,
): Promise<number> {
  const bytes = new TextEncoder().encode(body(count));
  const reads = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) =>
    bytes.subarray(at * 65_536, (at + 1) * 65_536),
  );
  const start = performance.now();
  const model = modelOfBody(wire, reads, contentType, options);
  await lastValueFrom(createAgent({ model, tools, maxTurns: 1 }).run('Go.')).catch(() => undefined);
  return performance.now() - start;
}

/** Floods of elements: each takes a time that is comparable to that of ordinary deltas. */
export const floods: Family = {
  name: 'floods',
  async run(check, { choose }) {
    const count = choose(10_000, 40_000);
    await timeOf(baseline, count); // the first run compiles
    const limit = Math.max(noise, maxRatio * (await timeOf(baseline, count)));
    for (const [name, flood] of Object.entries(table))
      await check(name, async () => {
        const time = await timeOf(flood, count);
        if (time <= limit) return;
        // A call is executed, which costs more than a delta. A quadratic flood would take 16 times as long as a quarter.
        const quarter = await timeOf(flood, count / 4);
        const message = `${count} elements took ${Math.round(time)} ms, a quarter of them ${Math.round(quarter)} ms`;
        assert.ok(time <= 8 * quarter, message);
      });
  },
};
