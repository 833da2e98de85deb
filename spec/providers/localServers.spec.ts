import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { objectOrEmpty } from '../../lib/core/json/json.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { modelByName } from '../../lib/providers/registry/index.js';
import type { Model, ModelRequest } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { openai } from '../../lib/providers/openai.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openaiCompatible } from '../../lib/providers/openaiCompatible.js';
import type { CompatibleServer } from '../../lib/providers/openaiCompatible.js';

interface Sent {
  readonly path: string;
  readonly body: JsonObject;
}

/** A `fetch` that answers with bodies, one after the other, the last one again and again. */
function answeringBodies(...bodies: readonly (readonly [status: number, body: string])[]) {
  const sent: Sent[] = [];
  const answer: typeof fetch = (url, init) => {
    const [status, body] = bodies[Math.min(sent.length, bodies.length - 1)] ?? [500, ''];
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    sent.push({ path: pathname, body: objectOrEmpty(JSON.parse(init?.body as string)) });
    const type = body.startsWith('{') ? 'application/json' : 'text/event-stream';
    return Promise.resolve(new Response(body, { status, headers: { 'content-type': type } }));
  };
  return { fetch: answer, sent };
}

const frames = (...payloads: readonly JsonObject[]): string =>
  [...payloads.map((payload) => JSON.stringify(payload)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
const events = (...payloads: readonly JsonObject[]): string =>
  payloads.map((payload) => `event: ${payload['type'] as string}\ndata: ${JSON.stringify(payload)}\n\n`).join('');
const delta = (fields: JsonObject, finish: string | null = null, rest: JsonObject = {}): JsonObject => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
  ...rest,
});
const callDelta = (args: string): JsonObject => ({
  tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: args } }],
});

const at = { baseUrl: 'http://127.0.0.1:8080/v1', retry: { count: 2, initialDelay: 1 } } as const;
const compatible = (options: ModelOptions, server: Partial<CompatibleServer> = {}): Model =>
  openaiCompatible({ name: 'local', ...at, ...server })('m', options);
const responsesAt = (options: ModelOptions): Model => openai('m', { ...at, ...options });
const makers: Readonly<Record<string, (options: ModelOptions) => Model>> = {
  chat: (options) => compatible(options),
  responses: responsesAt,
  messages: (options) => anthropic('m', { ...at, ...options }),
};

async function read(model: Model, request: Partial<ModelRequest> = {}) {
  const chunks: Chunk[] = [];
  let error: unknown;
  const source = model.stream({ messages: [userMessage('Hi')], ...request });
  await source
    .pipe(accumulateToolCalls())
    .forEach((chunk) => chunks.push(chunk as Chunk))
    .catch((thrown: unknown) => (error = thrown));
  const joined = (type: 'text' | 'thinking') => chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('');
  return {
    chunks,
    error,
    text: joined('text'),
    thinking: joined('thinking'),
    finish: chunks.find((chunk) => chunk.type === 'finish'),
    calls: (chunks as readonly { type: string; name?: string; arguments?: unknown }[]).filter(
      ({ type }) => type === 'toolCall',
    ),
    metadata: chunks.flatMap((chunk) => (chunk.type === 'metadata' ? [chunk.metadata] : [])),
  };
}

const look = tool({ name: 'look', description: 'Looks.', execute: () => 'blue' });

/** The requests of a run with one call of `look`. */
async function runOnce(make: (options: ModelOptions) => Model, first: string, second: string) {
  const { fetch, sent } = answeringBodies([200, first], [200, second]);
  const result = await lastValueFrom(createAgent({ model: make({ fetch }), tools: [look] }).run('Hi'));
  return { result, sent };
}

describe('the echo of reasoning', () => {
  const end = [delta(callDelta('{}')), delta({}, 'tool_calls')];
  const done = frames(delta({ content: 'Done.' }, 'stop'));
  const databricks = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm', signature: 's' }] };
  it.each<[string, JsonObject, JsonObject, ModelOptions & { thinkTags?: boolean }]>([
    ['reasoning_content', { reasoning_content: 'Hm' }, { content: null, reasoning_content: 'Hm' }, {}],
    ['reasoning', { reasoning: 'Hm' }, { content: null, reasoning: 'Hm' }, {}],
    ['reasoning_text', { reasoning_text: 'Hm' }, { content: null, reasoning_text: 'Hm' }, {}],
    ['think tags', { content: '<think>Hm</think>\nSo.' }, { content: '<think>Hm</think>\nSo.' }, { thinkTags: true }],
    ['a part of the content', { content: [databricks] }, { content: [databricks] }, {}],
  ])('reasoning that arrived as %s is sent back there', async (_, thinking, echoed, options) => {
    const { sent } = await runOnce(
      (rest) => compatible({ ...rest, ...options }),
      frames(delta(thinking), ...end),
      done,
    );
    const { role, tool_calls: calls, ...rest } = objectOrEmpty((sent[1]?.body['messages'] as JsonObject[])[1]);
    expect([role, Array.isArray(calls), rest]).toEqual(['assistant', true, echoed]);
  });

  it('the parts of Databricks are read, in whatever pieces they arrive', async () => {
    const piece = (text: string) =>
      delta({ content: [{ type: 'reasoning', summary: [{ type: 'summary_text', text }] }] });
    const text = delta({ content: [{ type: 'text', text: 'Hi' }] });
    const { fetch } = answeringBodies([200, frames(piece('H'), piece('m'), text, delta({ content: '!' }, 'stop'))]);
    expect(await read(compatible({ fetch }))).toMatchObject({ thinking: 'Hm', text: 'Hi!' });
  });

  it.each<[CompatibleServer['replay'], boolean, boolean]>([
    [undefined, true, false],
    ['calls', true, false],
    ['all', true, true],
    ['none', false, false],
  ])('with the replay %j, messages with calls have it: %j, others: %j', async (replay, withCalls, withoutCalls) => {
    for (const [thinking, thinkTags] of [
      [{ reasoning: 'Hm' }, false],
      [{ content: '<think>Hm</think>' }, true],
    ] as const) {
      const make = (rest: ModelOptions) => compatible({ ...rest, ...{ thinkTags } }, { replay });
      const { sent } = await runOnce(make, frames(delta(thinking), ...end), done);
      expect(JSON.stringify(sent[1]?.body['messages']).includes('Hm')).toBe(withCalls);
    }
    const { fetch, sent } = answeringBodies([
      200,
      frames(delta({ reasoning: 'Hm' }), delta({ content: 'Hi' }, 'stop')),
    ]);
    const agent = createAgent({ model: compatible({ fetch }, { replay }) });
    const { messages } = await lastValueFrom(agent.run('Hi'));
    await lastValueFrom(agent.run('And?', { history: [userMessage('Hi'), ...messages] }));
    expect(JSON.stringify(sent[1]?.body['messages']).includes('Hm')).toBe(withoutCalls);
  });

  it('the reasoning of a server that stores nothing is sent back whole by openai', async () => {
    const item = { id: 'rs_1', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] };
    const call = {
      id: 'fc_1',
      type: 'function_call',
      call_id: 'c1',
      name: 'look',
      arguments: '{}',
      status: 'completed',
    };
    const response = (output: readonly JsonObject[]) =>
      events({ type: 'response.completed', response: { id: 'r', status: 'completed', output } });
    const { sent } = await runOnce((rest) => openai('m', { ...at, ...rest }), response([item, call]), response([]));
    expect(sent[1]?.body['input']).toMatchObject([{ role: 'user' }, item, { type: 'function_call' }, {}]);
  });
});

describe('what templates and servers require', () => {
  const answer = frames(delta({ content: 'Hi' }, 'stop'));
  const call = { type: 'toolCall', id: 'a', name: 'look', arguments: {} } as const;
  const result = { type: 'toolResult', id: 'a', name: 'look', result: 'blue' } as const;
  const history: readonly Message[] = [
    userMessage('1'),
    userMessage('2'),
    { role: 'model', parts: [call] },
    userMessage([result]),
    userMessage('3'),
    userMessage([{ type: 'file', mediaType: 'image/png', data: 'AQ==' }]),
    modelMessage('So.'),
    userMessage('4'),
  ];

  it.each([
    [true, ['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'user']],
    [false, ['user', 'assistant', 'tool', 'user', 'assistant', 'user']],
  ])('with alternateRoles: %j the roles are %j', async (alternateRoles, roles) => {
    const { fetch, sent } = answeringBodies([200, answer]);
    await read(compatible({ fetch }, { alternateRoles }), { messages: history });
    const messages = sent[0]?.body['messages'] as readonly JsonObject[];
    expect(messages.map(({ role }) => role)).toEqual(roles);
    expect(JSON.stringify(messages)).toMatch(/1.*2.*blue.*3.*image_url.*So\..*4/s);
  });

  it('alternateRoles joins what providerOptions keep apart', async () => {
    const { fetch, sent } = answeringBodies([200, answer]);
    const marked = (text: string): Message => ({ ...userMessage(text), providerOptions: { local: { name: 'x' } } });
    await read(compatible({ fetch }, { alternateRoles: true }), { messages: [marked('1'), marked('2')] });
    expect(sent[0]?.body['messages']).toEqual([{ role: 'user', content: '1\n\n2', name: 'x' }]);
  });

  it('a server that takes no object as tool_choice gets the named tool, as a required one', async () => {
    const refusal =
      '{"error":{"code":500,"message":"[json.exception.type_error.302] type must be string, but is object"}}';
    const { fetch, sent } = answeringBodies([400, refusal], [200, answer]);
    const tools = ['look', 'other'].map((name) => ({ name, description: 'd', parameters: { type: 'object' } }));
    expect((await read(compatible({ fetch }), { tools, toolChoice: { name: 'look' } })).text).toBe('Hi');
    expect(sent.map(({ body }) => body['tool_choice'])).toEqual([
      { type: 'function', function: { name: 'look' } },
      'required',
    ]);
    expect(sent[1]?.body['tools']).toMatchObject([{ function: { name: 'look' } }]);
    const other = answeringBodies([400, '{"error":{"message":"No."}}']);
    expect((await read(compatible(other), { tools, toolChoice: { name: 'look' } })).error).toMatchObject({
      status: 400,
    });
    expect(other.sent).toHaveLength(1);
  });

  it('the model of the registry at another server sends its reasoning back, and reads its context', async () => {
    const open = (options: ModelOptions) => modelByName('openai-chat:m', { ...at, ...options });
    const first = frames(delta({ reasoning: 'Hm' }), delta(callDelta('{}')), delta({}, 'tool_calls'));
    const { sent } = await runOnce(open, first, answer);
    expect(sent[1]?.body['messages']).toMatchObject([{}, { reasoning: 'Hm' }, {}]);
    const message = 'request (4011 tokens) exceeds the available context size (1024 tokens), try increasing it';
    const { fetch } = answeringBodies([400, JSON.stringify({ error: { code: 400, message } })]);
    expect((await read(open({ fetch }))).error).toMatchObject({ code: 'context_length', limit: 1024, tokens: 4011 });
  });
});

describe('what servers send beside the choices', () => {
  const token = (text: string) => ({ token: text, logprob: -0.125, bytes: null, top_logprobs: [] });
  it.each<[string, (options: ModelOptions) => Model, string]>([
    ['openaiCompatible', (options) => compatible(options), 'local'],
    ['openaiChat', (options) => openaiChat('gpt-4o', { apiKey: 'k', ...options }), 'openai-chat'],
  ])('%s reports the log probabilities of a response as metadata', async (_, make, provider) => {
    const part = (text: string) => ({
      choices: [{ index: 0, delta: { content: text }, logprobs: { content: [token(text)], refusal: null } }],
    });
    const { fetch } = answeringBodies([200, frames(part('H'), part('i'), delta({}, 'stop'))]);
    const { metadata } = await read(make({ fetch }));
    expect(metadata).toContainEqual({ [provider]: { logprobs: { content: [token('H'), token('i')] } } });
  });

  it('the progress of the prompt is reported at once, the timings at the end', async () => {
    const progress = (processed: number) => ({ total: 9, cache: 0, processed, time_ms: 1 });
    const { fetch } = answeringBodies([
      200,
      frames(
        delta({ role: 'assistant', content: null }, null, {
          prompt_progress: progress(4),
          timings: { predicted_n: 0 },
        }),
        delta({ role: 'assistant', content: null }, null, { prompt_progress: progress(9) }),
        delta({ content: 'Hi' }, null, { timings: { predicted_n: 1 } }),
        delta({}, 'stop', { timings: { predicted_n: 2 } }),
      ),
    ]);
    const { metadata, chunks } = await read(compatible({ fetch }));
    expect(metadata).toEqual([
      { local: { frame: { prompt_progress: progress(4) } } },
      { local: { frame: { prompt_progress: progress(9) } } },
      { local: { frame: { prompt_progress: progress(9), timings: { predicted_n: 2 } } } },
    ]);
    expect(chunks.findIndex(({ type }) => type === 'text')).toBe(2);
  });

  it('a call in a second choice of a frame is read, as GitHub Copilot sends it', async () => {
    const two = {
      choices: [
        { index: 0, delta: { content: 'Let me see.' } },
        { index: 0, delta: callDelta('{"a":1}') },
      ],
    };
    const { fetch } = answeringBodies([200, frames(two, delta({}, 'tool_calls'))]);
    const { text, calls } = await read(compatible({ fetch }));
    expect([text, calls]).toMatchObject(['Let me see.', [{ name: 'look', arguments: { a: 1 } }]]);
  });

  it('a call that an abort of the server has cut is not executed', async () => {
    const { fetch } = answeringBodies([200, frames(delta(callDelta('{"city":"Os')), delta({}, 'abort'))]);
    const { calls, finish } = await read(compatible({ fetch }));
    expect([calls, finish]).toMatchObject([[], { reason: 'error', rawReason: 'abort' }]);
  });
});

describe('a response that is cut, though the server says completed', () => {
  const cut = { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'look', arguments: '{', status: 'completed' };
  const body = (output: readonly JsonObject[], rest: JsonObject = {}) =>
    events({
      type: 'response.completed',
      response: { id: 'r', status: 'completed', output, usage: { input_tokens: 5, output_tokens: 25 }, ...rest },
    });
  const text = { id: 'm_1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] };
  it.each<[string, string, number | undefined, JsonObject]>([
    ['with half a call', body([cut]), 25, { reason: 'length', rawReason: 'max_output_tokens' }],
    ['with text', body([text]), 25, { reason: 'length' }],
    ['below the limit', body([text]), 26, { reason: 'stop' }],
    ['without a limit', body([text]), undefined, { reason: 'stop' }],
    ['of a server that reports its cuts', body([text], { incomplete_details: null }), 25, { reason: 'stop' }],
  ])('%s', async (_, answer, maxOutputTokens, finish) => {
    const { fetch } = answeringBodies([200, answer]);
    const got = await read(responsesAt({ fetch }), maxOutputTokens === undefined ? {} : { maxOutputTokens });
    expect(got.finish).toMatchObject(finish);
    if (finish['reason'] !== 'length') return;
    const executed: unknown[] = [];
    const own = tool({ name: 'look', description: 'Looks.', execute: (args) => executed.push(args) });
    const { fetch: again } = answeringBodies([200, answer]);
    const model = openai('m', { ...at, fetch: again });
    const agent = createAgent({ model, tools: [own], maxOutputTokens: 25 });
    expect(await lastValueFrom(agent.run('Hi'))).toMatchObject({ finishReason: 'length' });
    expect(executed).toEqual([]);
  });
});

describe('a server that refuses previous_response_id', () => {
  const refused = '{"error":{"code":400,"message":"It does not support \'previous_response_id\'."}}';
  const gone = '{"error":{"code":"previous_response_not_found","message":"Previous response \'resp_1\' not found."}}';
  const call = { id: 'fc', type: 'function_call', call_id: 'c', name: 'look', arguments: '{}', status: 'completed' };
  const text = { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
  const answer = (id: string, output: readonly JsonObject[]) =>
    events({ type: 'response.completed', response: { id, status: 'completed', output } });
  it.each([
    ['refuses it', refused, [0, 1, 0, 0]],
    ['has lost a response', gone, [0, 1, 0, 1]],
  ])('is asked once if it %s', async (_, refusal, continued) => {
    const { fetch, sent } = answeringBodies(
      [200, answer('resp_1', [call])],
      [400, refusal],
      [200, answer('resp_2', [{ ...call, call_id: 'c2' }])],
      [200, answer('resp_3', [text])],
    );
    const model = openai('m', { ...at, fetch, session: true });
    await lastValueFrom(createAgent({ model, tools: [look] }).run('Hi'));
    expect(sent.map(({ body }) => Number('previous_response_id' in body))).toEqual(continued);
  });
});

const folder = '../shared/llama-cpp';
(existsSync(folder) ? describe : describe.skip)('the bodies of a real llama-server', () => {
  const body = (name: string) => readFileSync(`${folder}/${name}`, 'utf8');
  const ask = (wire: string, name: string, status = 200, request: Partial<ModelRequest> = {}) => {
    const { fetch, sent } = answeringBodies([status, body(name)]);
    const model = (makers[wire] ?? compatible)({ fetch });
    return read(model, request).then((got) => ({ ...got, requests: sent.length }));
  };

  it.each<[string, string, object]>([
    ['chat', '01-chat-text-stop.sse', { finish: { reason: 'stop' }, calls: [] }],
    ['chat', '02-chat-one-call.sse', { finish: { reason: 'toolCalls' }, calls: [{ name: 'get_weather' }, {}] }],
    [
      'chat',
      '14-chat-reasoning-then-call.sse',
      { finish: { reason: 'toolCalls' }, calls: [{ name: 'get_weather' }, {}] },
    ],
    [
      'messages',
      '15-messages-thinking-call.sse',
      { finish: { reason: 'toolCalls' }, calls: [{ name: 'get_weather' }] },
    ],
    ['responses', '16-responses-reasoning-call.sse', { finish: { reason: 'toolCalls' } }],
  ])('%s reads %s', async (wire, name, expected) => {
    const got = await ask(wire, name);
    expect(got).toMatchObject({ ...expected, error: undefined });
    expect(got.finish?.usage?.input).toBeGreaterThan(0);
    if (/reasoning|thinking/.test(name)) expect(got.thinking.length).toBeGreaterThan(20);
  });

  it('the measures and the log probabilities are metadata', async () => {
    const { metadata } = await ask('chat', '04-chat-progress-timings.sse');
    const [first] = metadata.flatMap(({ local }) => (local === undefined ? [] : [local]));
    expect(first).toMatchObject({ frame: { prompt_progress: { total: 711, processed: 4 } } });
    expect(metadata.at(-1)).toMatchObject({ local: { frame: { timings: { prompt_n: 707 } } } });
    const probable = (await ask('chat', '06-chat-logprobs.sse')).metadata.at(-1);
    expect(probable).toMatchObject({ local: { logprobs: { content: [{ token: '<tool_call>' }, {}, {}] } } });
  });

  it.each<[string, string, number, object]>([
    ['chat', '07-chat-overflow.json', 400, { code: 'context_length', limit: 1024, tokens: 4011 }],
    ['messages', '13-messages-overflow.json', 400, { code: 'context_length', limit: 1024, tokens: 4011 }],
    ['chat', '08-chat-image.json', 500, { code: 'http', retryable: false }],
    ['chat', '09-chat-bad-arguments-in-history.json', 500, { code: 'http', retryable: false }],
    ['responses', '11-responses-previous-400.json', 400, { code: 'http', retryable: false }],
    ['chat', '17-chat-error-in-stream.sse', 200, { code: 'provider', providerCode: 'server_error' }],
    ['responses', '19-responses-error-in-stream.sse', 200, { code: 'provider', providerCode: 'server_error' }],
  ])('%s fails with %s (%d)', async (wire, name, status, expected) => {
    const { error, requests } = await ask(wire, name, status);
    expect(error).toMatchObject(expected);
    if (status !== 200) expect(requests).toBe(1);
  });

  it('a call that is cut is not executed', async () => {
    const { finish } = await ask('responses', '10-responses-call-cut-but-completed.sse', 200, { maxOutputTokens: 25 });
    expect(finish).toMatchObject({ reason: 'length' });
  });

  it('the reasoning of a response is sent back whole', async () => {
    const { sent } = await runOnce(
      (rest) => openai('m', { ...at, ...rest }),
      body('16-responses-reasoning-call.sse').replaceAll('get_weather', 'look'),
      body('16-responses-reasoning-call.sse').replaceAll('get_weather', 'other'),
    );
    const items = sent[1]?.body['input'] as readonly JsonObject[];
    const types = [...new Set(items.map(({ type }) => type))]; // five calls
    expect(types).toEqual(['message', 'reasoning', 'function_call', 'function_call_output']);
    expect(JSON.stringify(items[1])).toContain('Most boats leave early');
  });
});
