import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nonEmptyString } from '../../../lib/core/json/json.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { isAnswerContent } from '../../../lib/protocol/decodeFrames.js';
import { decodeResponses } from '../../../lib/providers/openaiResponses/decode.js';
import { encodeResponses } from '../../../lib/providers/openaiResponses/encode.js';
import type { Recording } from '../../support/recordings.js';
import {
  callItem,
  completed,
  created,
  itemAdded,
  itemDone,
  messageItem,
  otherReports,
  read,
  textDelta,
  toolChanges,
} from './frames.js';
import { ownRecordings, recording, sharedRecordings } from './recordings.js';
import { itemsOf } from './conversation.js';

const finishReasons: Record<string, string> = { 'tool-calls': 'toolCalls', 'content-filter': 'contentFilter' };

async function check({ frames, expected }: Recording) {
  const { text, thinking, calls, finish, error } = await read(frames);
  expect(text).toBe(expected.text);
  expect(thinking).toBe(expected.reasoning ?? '');
  expect(calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))).toEqual(expected.toolCalls);
  if (expected.error) {
    expect(error).toMatchObject({
      code: 'provider',
      message: expect.stringContaining(expected.error.message ?? '') as unknown,
    });
    return;
  }
  expect(error).toBeUndefined();
  const reasons = [expected.finishReason, ...(expected.finishReasonAlsoAccepted ?? [])].map(
    (word) => finishReasons[word] ?? word,
  );
  expect(reasons).toContain(finish?.reason);
  const { input, output, reasoning, cacheRead } = expected.usage ?? {};
  expect(finish?.usage).toMatchObject({
    input,
    output,
    ...(reasoning ? { reasoning } : {}),
    ...(cacheRead ? { cachedInput: cacheRead } : {}),
  });
}

const final = (frames: readonly JsonObject[]) => frames.at(-1)?.['response'] as JsonObject;
const isDelta = ({ type }: JsonObject) => typeof type === 'string' && type.endsWith('.delta');

describe('decodeResponses', () => {
  it('decodeResponses throws an interruption after the text without a final event, also after [DONE]', async () => {
    const interrupted = await read([created, textDelta('Half')]);
    expect(interrupted).toMatchObject({
      text: 'Half',
      finish: undefined,
      error: { code: 'stream_interrupted', retryable: true },
    });
    expect(await read([created, textDelta('All')], true)).toMatchObject({
      text: 'All',
      error: { code: 'stream_interrupted', retryable: true },
    });
  });
});

describe('decodeResponses: recordings', () => {
  it.each(ownRecordings)('decodeResponses reads $name', check);
  if (sharedRecordings.length > 0) it.each(sharedRecordings)('decodeResponses reads $name', check);

  it.each([...ownRecordings, ...sharedRecordings])(
    'decodeResponses reads the same from $name without its deltas, and from its last event alone',
    async ({ frames }) => {
      const complete = await read(frames);
      const last = frames.at(-1);
      const withoutDeltas = await read(frames.filter((frame) => !isDelta(frame)));
      const fromLast = last?.['type'] === 'response.failed' ? withoutDeltas : await read(last ? [last] : []);
      const contents = ({ text, thinking, calls, finish }: typeof complete) => ({ text, thinking, calls, finish });
      if (last?.['type'] === 'response.failed') expect(withoutDeltas.error).toEqual(complete.error);
      else expect([contents(withoutDeltas), contents(fromLast)]).toEqual([contents(complete), contents(complete)]);
    },
  );

  const complete = [...ownRecordings, ...sharedRecordings].filter(
    ({ frames }) => frames.at(-1)?.['type'] === 'response.completed',
  );
  it.each(complete)(
    'decodeResponses stores the items of $name, which are sent back in their order',
    async ({ frames, expected }) => {
      const { message, calls } = await read(frames);
      const results = calls.map(({ id, name }) => ({ type: 'toolResult', id, name, result: 'ok' }) as const);
      const after = results.length > 0 ? userMessage(results) : userMessage('Go on.');
      const history = [userMessage('Hi'), ...(message ? [message] : []), after];
      const { body } = encodeResponses('gpt-5', { messages: history }, { store: true });
      const items = (body['input'] as readonly JsonObject[]).filter(
        ({ type, role }) => role !== 'user' && type !== 'function_call_output',
      );
      const output = final(frames)['output'] as readonly JsonObject[];
      expect(items.map(({ id, type }) => [id, type])).toEqual(output.map(({ id, type }) => [id, type]));
      const texts = items.flatMap(({ content }) => (content as readonly JsonObject[] | undefined) ?? []);
      expect(texts.flatMap(({ text, refusal }) => nonEmptyString(text) ?? nonEmptyString(refusal) ?? []).join('')).toBe(
        expected.text,
      );
      const repeated = items.filter(({ type }) => type !== 'message' && type !== 'function_call');
      expect(repeated).toEqual(output.filter(({ type }) => type !== 'message' && type !== 'function_call'));
    },
  );

  it('decodeResponses reports each source and each status of a search once', async () => {
    const { chunks } = await read(recording('web-search-citations'));
    expect(chunks.flatMap((chunk) => (chunk.type === 'source' ? [chunk.source.url] : []))).toEqual([
      'https://rivers.example/loire',
      'https://hills.example/',
    ]);
    expect(toolChanges(chunks)).toMatchObject([
      { id: 'ws_b2', name: 'web_search', status: 'running', raw: { status: 'in_progress' } },
      { id: 'ws_b2', status: 'running', raw: { type: 'response.web_search_call.searching' } },
      { id: 'ws_b2', status: 'completed', input: { type: 'search' }, raw: { type: 'web_search_call' } },
      { id: 'ws_b3', status: 'running' },
      { id: 'ws_b3', status: 'running' },
      { id: 'ws_b3', status: 'completed', input: { type: 'open_page' } },
    ]);
  });
});

describe('decodeResponses: any events', () => {
  const types = [
    ...[
      'created',
      'completed',
      'incomplete',
      'failed',
      'output_item.added',
      'output_item.done',
      'content_part.done',
      'output_text.delta',
    ],
    ...[
      'output_text.done',
      'refusal.done',
      'reasoning_summary_text.delta',
      'reasoning_summary_part.done',
      'function_call_arguments.delta',
    ],
    ...[
      'function_call_arguments.done',
      'output_text.annotation.added',
      'image_generation_call.partial_image',
      'mcp_call.completed',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'shell_call_command.delta',
      'something_new.delta',
    ],
  ].map((type) => `response.${type}`);
  const fields = [
    ...[
      'type',
      'item',
      'item_id',
      'output_index',
      'content_index',
      'delta',
      'text',
      'arguments',
      'part',
      'response',
      'output',
      'id',
      'call_id',
    ],
    ...[
      'name',
      'content',
      'summary',
      'annotations',
      'annotation',
      'result',
      'outputs',
      'url',
      'status',
      'error',
      'usage',
      'input_tokens',
      'toString',
      'object',
    ],
  ];
  const kinds = fc.constantFrom(
    'message',
    'reasoning',
    'function_call',
    'image_generation_call',
    'web_search_call',
    'custom_tool_call',
    'shell_call',
    'shell_call_output',
    'computer_call',
    'tool_search_call',
    'apply_patch_call',
    'something_new',
    'output_text',
    'summary_text',
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(null, 0, 1, '', 'x', '{"a":1}', true),
      kinds,
      tie('object'),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
    object: fc.dictionary(fc.constantFrom(...fields), tie('value'), { maxKeys: 6 }),
  }));
  const frame = fc
    .record({ type: fc.constantFrom(...types, 'error', 'x') })
    .chain(({ type }) =>
      fc
        .dictionary(fc.constantFrom(...fields), value, { maxKeys: 8 })
        .map((rest) => JSON.parse(JSON.stringify({ ...rest, type })) as JsonObject),
    );

  it('decodeResponses emits one finish or throws a RivuletError, whatever the events', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 12 }), fc.boolean(), (frames, terminal) => {
        let finishes = 0;
        const decoder = decodeResponses((chunk) => {
          if (chunk.type === 'finish') finishes += 1;
        });
        try {
          const over = frames.some((one) => decoder.next(one) === 'end');
          decoder.end(over || terminal);
          expect(finishes).toBe(1);
        } catch (error) {
          if (!(error instanceof Error) || !('code' in error)) throw error;
          expect(['provider', 'stream_interrupted']).toContain(error.code);
          expect(finishes).toBe(0);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('decodeResponses: unknown types', () => {
  const word = fc.stringMatching(/^[a-z]{3,8}(_[a-z]{3,8})?$/).map((name) => `new_${name}`);
  const filler = fc.dictionary(fc.stringMatching(/^x_[a-z]{1,5}$/), fc.constantFrom(1, 'a', null, true), {
    maxKeys: 3,
  });
  const callOf = (type: string, callId: string | undefined): JsonObject => ({
    type,
    id: 'item_x',
    status: 'completed',
    ...(callId === undefined ? {} : { call_id: callId }),
  });

  it('decodeResponses keeps unknown events, items and parts, and never hides an unknown call behind stop', async () => {
    await fc.assert(
      fc.asyncProperty(
        word,
        word,
        word,
        filler,
        fc.option(fc.constant('call_x'), { nil: undefined }),
        async (...random) => {
          const [eventType, itemType, partType, fields, callId] = random;
          const event = { type: `response.${eventType}.delta`, ...fields };
          const item = { ...callOf(itemType, callId), ...fields };
          const part = { type: partType, ...fields };
          const text = messageItem('Hi');
          const mixed = { ...text, ...fields, content: [...(text['content'] as readonly JsonObject[]), part] };
          const frames = [created, event, itemAdded(item), textDelta('Hi'), itemDone(item), itemDone(mixed, 1)];
          const answer = await read([...frames, completed([item, mixed], fields)]);
          expect(answer.error).toBeUndefined();
          expect(answer.text).toBe('Hi');
          expect(answer.calls).toEqual([]);
          expect(answer.finish).toMatchObject(
            callId === undefined ? { reason: 'stop' } : { reason: 'other', rawReason: itemType },
          );
          const reports = [...otherReports(answer.chunks), ...toolChanges(answer.chunks).map(({ raw }) => raw)];
          expect(reports).toHaveLength(3);
          expect(reports).toEqual(expect.arrayContaining([event, item, part]));
          expect(itemsOf(answer.message)).toMatchObject([{ type: 'message' }, item]);
        },
      ),
    );
  });

  it('decodeResponses ends with stop if the response contains the output of an unknown call', async () => {
    const [call, output] = [callOf('new_call', 'call_x'), { ...callOf('new_call_output', 'call_x'), id: 'item_y' }];
    const { finish, chunks } = await read([itemDone(call), itemDone(output, 1), completed([call, output])]);
    expect(finish?.reason).toBe('stop');
    expect(toolChanges(chunks).map(({ id, status }) => [id, status])).toEqual([
      ['item_x', 'running'],
      ['item_x', 'completed'],
    ]);
  });

  it('decodeResponses ends with toolCalls if there is a known call beside an unknown one', async () => {
    const items = [callOf('new_call', 'call_x'), callItem()];
    expect((await read([completed(items)])).finish?.reason).toBe('toolCalls');
    expect((await read([completed(items.slice(0, 1))])).finish).toMatchObject({
      reason: 'other',
      rawReason: 'new_call',
    });
  });

  it('decodeResponses emits no content before the first text: a silence during hidden reasoning has no limit', () => {
    const frames = [
      created,
      { type: 'response.in_progress', response: created['response'] as JsonObject },
      { type: 'keepalive' },
      itemAdded({ type: 'reasoning', id: 'rs_1', summary: [] }),
      itemAdded({ type: 'web_search_call', id: 'ws_1', status: 'in_progress' }, 1),
    ];
    const contents: string[] = [];
    const decoder = decodeResponses((chunk) => {
      if (isAnswerContent(chunk)) contents.push(chunk.type);
    });
    for (const frame of frames) decoder.next(frame);
    expect(contents).toEqual([]);
    decoder.next(textDelta('Hi'));
    expect(contents).toEqual(['text']);
  });

  it('decodeResponses skips keep-alives', async () => {
    expect(otherReports((await read([{ type: 'keepalive' }, { type: 'ping' }, completed()])).chunks)).toEqual([]);
  });
});
