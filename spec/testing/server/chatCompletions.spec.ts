import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { Chunk } from '../../../lib/core/chunk.js';
import { ProviderError } from '../../../lib/core/errors.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { Step } from '../../../lib/testing/index.js';
import { chatCompletions } from '../../../lib/testing/server/dialects/chatCompletions/chatCompletions.js';

const body: JsonObject = { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello' }], stream: true };

/** The payloads of one scripted turn, parsed; `[DONE]` as it is. */
async function payloads(steps: readonly Step[], more: JsonObject = {}): Promise<unknown[]> {
  const chunks = await lastValueFrom(scriptedModel([steps]).stream({ messages: [] }).pipe(toArray()));
  return written(chunks, more);
}

function written(chunks: readonly Chunk[], more: JsonObject = {}): unknown[] {
  const writer = chatCompletions.writer({ turn: 1, path: '/v1/chat/completions', body: { ...body, ...more } });
  const frames = [...chunks.flatMap((chunk) => writer.next(chunk)), ...writer.end()];
  return frames.map(({ data }) => (data === '[DONE]' ? data : (JSON.parse(data) as unknown)));
}

/** The first choices of the payloads. */
const choices = (some: readonly unknown[]) =>
  some.flatMap((payload) =>
    typeof payload === 'object' ? (payload as { choices: { delta: unknown; finish_reason: unknown }[] }).choices : [],
  );
const deltas = async (steps: readonly Step[]) => choices(await payloads(steps)).map(({ delta }) => delta);
const reasons = async (steps: readonly Step[]) => choices(await payloads(steps)).map((choice) => choice.finish_reason);

const calls = (entry: JsonObject) => ({ tool_calls: [entry] });

describe('Chat Completions dialect of the loopback server', () => {
  it('the writer sends the role, one delta per text, an empty delta with the finish reason, and the terminal mark', async () => {
    const envelope = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'gpt-5' };
    const choice = (delta: JsonObject, reason: string | null = null) => ({
      ...envelope,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
    });
    expect(await payloads(['Hel', 'lo'])).toEqual([
      choice({ role: 'assistant', content: '' }),
      choice({ content: 'Hel' }),
      choice({ content: 'lo' }),
      choice({}, 'stop'),
      '[DONE]',
    ]);
  });

  it('the writer sends a complete call as OpenAI does: id and name, then argument fragments, index from 0', async () => {
    expect(await deltas([toolCall('add', { a: 1, b: 22 }), toolCall('now', {}, 'mine')])).toEqual([
      { role: 'assistant', content: null },
      calls({ index: 0, id: 'call_1_1', type: 'function', function: { name: 'add', arguments: '' } }),
      calls({ index: 0, function: { arguments: '{"a":1,"' } }),
      calls({ index: 0, function: { arguments: 'b":22}' } }),
      calls({ index: 1, id: 'mine', type: 'function', function: { name: 'now', arguments: '' } }),
      calls({ index: 1, function: { arguments: '{}' } }),
      {},
    ]);
    expect((await reasons([toolCall('add')])).at(-1)).toBe('tool_calls');
  });

  it('the writer never splits arguments inside a character', async () => {
    const args = { text: '😀'.repeat(20) };
    const pieces = (await deltas([toolCall('say', args)])).flatMap(
      (delta) =>
        (delta as { tool_calls?: { function: { arguments: string } }[] }).tool_calls?.map(
          (entry) => entry.function.arguments,
        ) ?? [],
    );
    expect(pieces.length).toBeGreaterThan(3);
    expect(() => pieces.map(encodeURIComponent)).not.toThrow(); // it throws at half a surrogate pair
    expect(JSON.parse(pieces.join(''))).toEqual(args);
  });

  it('the writer sends fragments of the script unchanged', async () => {
    const fragments: Step[] = [
      { type: 'toolCallFragment', index: 1, id: 'a', name: 'add', arguments: '{"a"' },
      { type: 'toolCallFragment', index: 1, arguments: ':1}' },
      { type: 'toolCallFragment', index: 'item_1', id: 'b', name: 'sub' },
      { type: 'toolCallFragment', index: 'item_1', arguments: '{}' },
      { type: 'toolCallFragment', arguments: ' ' },
      { type: 'toolCallFragment', name: 'anonymous', arguments: null },
    ];
    expect((await deltas(fragments)).slice(1, -1)).toEqual([
      calls({ index: 1, id: 'a', type: 'function', function: { name: 'add', arguments: '{"a"' } }),
      calls({ index: 1, function: { arguments: ':1}' } }),
      calls({ index: 2, id: 'b', type: 'function', function: { name: 'sub', arguments: '' } }),
      calls({ index: 2, function: { arguments: '{}' } }),
      calls({ index: 2, function: { arguments: ' ' } }),
      calls({ index: 3, type: 'function', function: { name: 'anonymous', arguments: '' } }),
    ]);
  });

  it('the writer sends thinking as reasoning_content and a source as an annotation', async () => {
    const steps: Step[] = [
      { type: 'thinking', text: 'hm' },
      { type: 'source', source: { type: 'source', url: 'https://example.com', title: 'Example', start: 1, end: 4 } },
    ];
    expect((await deltas(steps)).slice(1, 3)).toEqual([
      { reasoning_content: 'hm' },
      {
        annotations: [
          {
            type: 'url_citation',
            url_citation: { url: 'https://example.com', title: 'Example', start_index: 1, end_index: 4 },
          },
        ],
      },
    ]);
  });

  it("the writer sends OpenAI's finish reasons, or the raw reason of the script", async () => {
    const last = async (finish: Extract<Chunk, { type: 'finish' }>) => (await reasons([finish])).at(-1);
    expect(await last({ type: 'finish', reason: 'length' })).toBe('length');
    expect(await last({ type: 'finish', reason: 'contentFilter' })).toBe('content_filter');
    expect(await last({ type: 'finish', reason: 'other', rawReason: 'eos' })).toBe('eos');
    expect(await last({ type: 'finish', reason: 'unspecified' })).toBeNull();
  });

  it("the writer sends the script's usage in a last chunk without choices, if the request asks for it", async () => {
    const usage = { input: 10, output: 5, cachedInput: 4, reasoning: 2 };
    const steps: Step[] = ['Hi', { type: 'finish', reason: 'stop', usage }];
    const asked = await payloads(steps, { stream_options: { include_usage: true } });
    expect(asked.slice(0, -2)).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ usage: null }) as unknown),
    );
    expect(asked.slice(-2)).toEqual([
      expect.objectContaining({
        choices: [],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 5,
          total_tokens: 15,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
      }),
      '[DONE]',
    ]);
    expect(JSON.stringify(await payloads(steps))).not.toContain('usage');
  });

  it('the writer omits the terminal mark when the model never finished', () => {
    expect(written([{ type: 'text', text: 'Hel' }])).toHaveLength(2);
  });

  it('the writer throws for a chunk that the API cannot express', () => {
    expect(() => written([{ type: 'retract' }])).toThrow(/cannot express a "retract" chunk.*scriptedModel/);
  });

  it("the writer reports an error as a frame with the provider's code", () => {
    const error = new ProviderError('openai-chat', 'Overloaded', { retryable: true, providerCode: 'overloaded' });
    const frames = chatCompletions.writer({ turn: 1, path: '', body }).error(error);
    expect(frames.map(({ data }) => JSON.parse(data) as unknown)).toEqual([
      { error: { message: 'Overloaded', type: 'server_error', param: null, code: 'overloaded' } },
    ]);
  });

  it.each([
    ['no object', 'text', 'could not parse the JSON body'],
    ['no model', { messages: [{}], stream: true }, 'model parameter'],
    ['no messages', { model: 'm', stream: true }, "Missing required parameter: 'messages'"],
    ['messages of another type', { model: 'm', messages: ['hi'], stream: true }, 'Invalid type'],
    ['an empty conversation', { model: 'm', messages: [], stream: true }, 'empty array'],
    ['no stream', { model: 'm', messages: [{}] }, "'stream': true"],
  ])('refuses a body with %s, with status 400', (_, refused, why) => {
    expect(chatCompletions.refusal(refused)).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining(why) as unknown,
    });
  });

  it('refusal accepts a valid body', () => {
    expect(chatCompletions.refusal(body)).toBeUndefined();
  });
});
