import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent.js';
import { isRecord } from '../../../lib/core/json/json.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message, Part } from '../../../lib/core/message.js';
import type { Model, Request } from '../../../lib/core/model.js';
import { tool } from '../../../lib/core/tool.js';
import { openaiResponses } from '../../../lib/providers/openaiResponses/openaiResponses.js';
import type { ResponsesOptions } from '../../../lib/providers/openaiResponses/openaiResponses.js';
import { toolCall, scriptedModel } from '../../../lib/testing/index.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, Script, ServedTurn, ServeOptions } from '../../../lib/testing/server/index.js';
import { answering } from '../answering.js';

const own = 'openai-responses';
const said = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const text = (words: string): Part => ({ type: 'text', text: words });
const asked = (id: string, item = `fc_${id}`): Part => ({
  ...{ type: 'toolCall', id, name: 'look', arguments: {} },
  providerData: { [own]: { id: item } },
});
const result = (id: string): Part => ({ type: 'toolResult', id, name: 'look', result: 'blue' });
const response = (
  id: string,
  parts: readonly Part[],
  output: readonly JsonObject[],
  rest: JsonObject = {},
): Message => ({
  ...modelMessage(parts),
  metadata: { [own]: { responseId: id, output, ...rest } },
});
const loire = response('resp_1', [text('Loire')], [{ type: 'message', id: 'msg_1', length: 5 }]);

/** The body that is sent for a history. */
async function bodyFor(messages: readonly Message[], options: ResponsesOptions = {}, rest: Partial<Request> = {}) {
  const { fetch, seen } = answering({
    type: 'response.completed',
    response: { id: 'resp_9', status: 'completed', output: [] },
  });
  const model = openaiResponses('gpt-4o', { apiKey: 'k', fetch, ...options });
  await lastValueFrom(model.stream({ messages, ...rest }).pipe(toArray()));
  expect(seen).toHaveLength(1);
  return seen[0]?.body ?? {};
}

describe('openai-responses: what is sent in a session', () => {
  it('is what is newer than the newest response, its id, and the system prompt', async () => {
    const history = [systemMessage('Be brief.'), userMessage('Name a river.'), loire, userMessage('Longer?')];
    expect(await bodyFor(history)).toEqual({
      ...{
        model: 'gpt-4o',
        instructions: 'Be brief.',
        previous_response_id: 'resp_1',
        input: [said('Longer?')],
        stream: true,
      },
    });
  });

  it('is the id alone where nothing is newer', async () => {
    expect(await bodyFor([userMessage('Go on.'), loire])).toEqual({
      model: 'gpt-4o',
      previous_response_id: 'resp_1',
      stream: true,
    });
  });

  it('is outputs for the calls of the response, under the ids that the API gave them', async () => {
    const calls = response(
      'resp_1',
      [text('Hm.'), asked('a'), asked('renamed', 'fc_b')],
      [
        { type: 'message', id: 'msg_1', length: 3 },
        { type: 'function_call', id: 'fc_a', call_id: 'a' },
        { type: 'function_call', id: 'fc_b', call_id: 'b' },
      ],
    );
    const body = await bodyFor([
      userMessage('Look.'),
      calls,
      userMessage([result('renamed'), result('a'), text('Well?')]),
    ]);
    expect(body).toMatchObject({ previous_response_id: 'resp_1' });
    expect(body['input']).toEqual([
      { type: 'function_call_output', call_id: 'b', output: 'blue' },
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
      said('Well?'),
    ]);
    const cancelled = await bodyFor([userMessage('Look.'), calls]);
    expect(cancelled['input']).toEqual(
      ['a', 'b'].map((id) => ({ type: 'function_call_output', call_id: id, output: '{"error":"cancelled"}' })),
    );
  });

  it('is everything after the newest of several responses, and what another model said after it, also right after it', async () => {
    const seine = response('resp_2', [text('Seine')], [{ type: 'message', id: 'msg_2', length: 5 }]);
    const elsewhere = modelMessage('Rhine');
    const body = await bodyFor([userMessage('1'), loire, seine, elsewhere, userMessage('2')]);
    expect(body['previous_response_id']).toBe('resp_2');
    expect(body['input']).toEqual([
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Rhine', annotations: [] }] },
      said('2'),
    ]);
    const before = await bodyFor([userMessage('1'), elsewhere, loire, userMessage('2')]);
    expect(before).toMatchObject({ previous_response_id: 'resp_1', input: [said('2')] });
  });

  const whole = [said('1'), expect.objectContaining({ role: 'assistant' }), said('2')];
  it.each<[string, Message, ResponsesOptions, Partial<Request>]>([
    ['the response was not stored', response('resp_1', [text('Hi')], [], { stored: false }), {}, {}],
    ['nothing is to be stored', loire, { store: false }, {}],
    ['this request is not to be stored', loire, {}, { providerOptions: { [own]: { store: false } } }],
    ['sessions are not wanted', loire, { session: false }, {}],
    ['the text was edited since', { ...loire, parts: [text('Loire, surely')] }, {}, {}],
    ['another provider made it', { ...modelMessage('Hi'), metadata: { openai: { responseId: 'resp_1' } } }, {}, {}],
    [
      'a call of it was cut',
      response('resp_1', [text('Hi')], [{ type: 'function_call', id: 'fc_1', call_id: 'a' }]),
      {},
      {},
    ],
  ])('is the whole conversation where %s', async (_, answer, options, rest) => {
    const body = await bodyFor([userMessage('1'), answer, userMessage('2')], options, rest);
    expect(body).not.toHaveProperty('previous_response_id');
    expect(body['input']).toEqual(whole);
  });

  it('is the whole conversation where the user has the API keep it in another way', async () => {
    const history = [userMessage('1'), loire, userMessage('2')];
    for (const extra of [
      { conversation: 'conv_1' },
      { previous_response_id: null },
      { previous_response_id: 'resp_0' },
    ]) {
      const body = await bodyFor(history, {}, { providerOptions: { [own]: extra } });
      expect(body).toMatchObject({ ...extra, input: whole });
    }
  });

  it('goes on from an older response where the newest cannot be gone on from', async () => {
    const unstored = response('resp_2', [text('Seine')], [{ type: 'message', id: 'msg_2', length: 5 }], {
      stored: false,
    });
    const body = await bodyFor([userMessage('1'), loire, userMessage('2'), unstored, userMessage('3')]);
    expect(body['previous_response_id']).toBe('resp_1');
    expect(body['input']).toMatchObject([said('2'), { role: 'assistant' }, said('3')]);
  });
});

describe('openai-responses: sessions over HTTP', () => {
  const servers: LoopbackServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  const serve = async (script: Script<ServedTurn>, options?: ServeOptions) => {
    const server = await serveModel(script, options);
    servers.push(server);
    return server;
  };
  const bodies = ({ requests }: LoopbackServer) => requests.map(({ body }) => (isRecord(body) ? body : {}));
  const sentBy = (server: LoopbackServer) =>
    bodies(server).map(({ previous_response_id: id, input }) => [id ?? null, (input as readonly JsonObject[]).length]);
  const at = (server: LoopbackServer, options: ResponsesOptions = {}) =>
    openaiResponses('gpt-5', { apiKey: 'k', baseUrl: server.url, retry: false, ...options });
  const turn = async (model: Model, history: readonly Message[], question: string) => {
    const { messages } = await firstValueFrom(createAgent({ model }).run(question, { history: history }));
    return [...history, userMessage(question), ...messages.filter(({ role }) => role === 'model')];
  };

  it('send one item, five after two turns elsewhere, and one again, each with the id of the newest response', async () => {
    const server = await serve(['one', 'four', 'five']);
    const elsewhere = scriptedModel(['two', 'three']);
    let history = await turn(at(server), [], '1');
    history = await turn(elsewhere, history, '2');
    history = await turn(elsewhere, history, '3');
    history = await turn(at(server), history, '4');
    history = await turn(at(server), history, '5');
    expect(sentBy(server)).toEqual([
      [null, 1],
      ['resp_1', 5],
      ['resp_2', 1],
    ]);
    expect(history.map(({ metadata }) => metadata?.[own] !== undefined)).toEqual([
      ...[false, true, false, false, false, false, false, true, false, true],
    ]);
    expect(elsewhere.requests).toHaveLength(2);
  });

  it('send the outputs of a run alone, and the server has the conversation', async () => {
    let heard: readonly JsonObject[] = [];
    const server = await serve((request) => {
      heard = request.messages;
      return request.turn === 1 ? [toolCall('look', {})] : 'Blue.';
    });
    const look = tool({ name: 'look', description: 'Looks.', execute: () => 'blue' });
    await firstValueFrom(createAgent({ model: at(server), tools: [look] }).run('What colour?'));
    expect(bodies(server)[1]).toMatchObject({
      ...{
        previous_response_id: 'resp_1',
        input: [{ type: 'function_call_output', call_id: 'call_1_1', output: 'blue' }],
      },
    });
    expect(heard.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call_output']);
  });

  it('fall back to the whole history, once, where the server does not know the response', async () => {
    const server = await serve(['Three.']);
    const history = [
      systemMessage('Be brief.'),
      userMessage('1'),
      { ...loire, metadata: { [own]: { responseId: 'resp_old' } } },
    ];
    const chunks = await lastValueFrom(
      at(server)
        .stream({ messages: [...history, userMessage('2')] })
        .pipe(toArray()),
    );
    expect(chunks.filter(({ type }) => type === 'text')).toEqual([{ type: 'text', text: 'Three.' }]);
    expect(sentBy(server)).toEqual([
      ['resp_old', 1],
      [null, 3],
    ]);
    expect(bodies(server).map(({ instructions }) => instructions)).toEqual(['Be brief.', 'Be brief.']);
  });

  it('fall back to a history without what only the lost response had: reasoning that is not encrypted, and the ids that hang on it', async () => {
    const server = await serve(['Fine.']);
    const output = [
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'message', id: 'msg_1', length: 5 },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'sealed' },
      { type: 'function_call', id: 'fc_a', call_id: 'a' },
    ];
    const thought = response('resp_old', [text('Loire'), asked('a')], output);
    await lastValueFrom(at(server).stream({ messages: [userMessage('1'), thought, userMessage([result('a')])] }));
    expect(bodies(server).map(({ previous_response_id: id }) => id)).toEqual(['resp_old', undefined]);
    expect(bodies(server)[1]?.['input']).toEqual([
      said('1'),
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Loire', annotations: [] }] },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'sealed' },
      { type: 'function_call', id: 'fc_a', call_id: 'a', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
    ]);
  });

  const lost = (status: number, error: JsonObject) => ({ status, body: { error } });
  it.each([
    [
      'OpenAI',
      lost(400, { message: "Previous response with id 'resp_1' not found.", code: 'previous_response_not_found' }),
    ],
    [
      'a server that has a 404 for it',
      lost(404, { message: "Response with id 'resp_1' not found.", type: 'NotFoundError' }),
    ],
    ['a server without sessions', lost(422, { message: "Unknown parameter: 'previous_response_id'." })],
  ])('fall back by the words of %s', async (_, refusal) => {
    const server = await serve(['Fine.'], { forRequest: [refusal] });
    await lastValueFrom(at(server).stream({ messages: [userMessage('1'), loire, userMessage('2')] }));
    expect(sentBy(server)).toEqual([
      ['resp_1', 1],
      [null, 3],
    ]);
  });

  it('fall back when the stream begins with that error', async () => {
    const event = {
      type: 'error',
      code: 'previous_response_not_found',
      message: "Previous response with id 'resp_1' not found.",
    };
    const server = await serve(['Fine.'], {
      forRequest: [{ raw: [`event: error\ndata: ${JSON.stringify(event)}\n\n`] }],
    });
    await lastValueFrom(at(server).stream({ messages: [userMessage('1'), loire, userMessage('2')] }));
    expect(sentBy(server).map(([id]) => id)).toEqual(['resp_1', null]);
  });

  it('do not fall back twice, nor for any other error, and retries of either request count for themselves', async () => {
    const gone = lost(400, { message: 'gone', code: 'previous_response_not_found' });
    const messages = [userMessage('1'), loire, userMessage('2')];
    const twice = await serve([], { forRequest: [gone, gone] });
    await expect(lastValueFrom(at(twice).stream({ messages }))).rejects.toMatchObject({ code: 'http', status: 400 });
    expect(twice.requests).toHaveLength(2);
    const other = await serve([], { forRequest: [lost(400, { message: 'No.', code: 'invalid' })] });
    await expect(lastValueFrom(at(other).stream({ messages }))).rejects.toMatchObject({ code: 'http', status: 400 });
    expect(other.requests).toHaveLength(1);
    const busy = { status: 503 };
    const retried = await serve(['Fine.'], { forRequest: [busy, gone, busy] });
    await lastValueFrom(at(retried, { retry: { count: 1, initialDelay: 0 } }).stream({ messages }));
    expect(sentBy(retried).map(([id]) => id)).toEqual(['resp_1', 'resp_1', null, null]);
  });

  it('are not kept by a server that was told not to store', async () => {
    const server = await serve(['one', 'two']);
    const history = await turn(at(server, { store: false }), [], '1');
    expect(history.at(-1)?.metadata).toMatchObject({ [own]: { responseId: 'resp_1', stored: false } });
    await turn(at(server), history, '2');
    expect(sentBy(server)).toEqual([
      [null, 1],
      [null, 3],
    ]);
  });
});
