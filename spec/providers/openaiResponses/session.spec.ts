import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { isRecord } from '../../../lib/core/json/json.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../../lib/core/message.js';
import { providerDataOf } from '../../../lib/core/providerPart.js';
import type { Message, Part } from '../../../lib/core/message.js';
import type { Model, ModelRequest } from '../../../lib/core/model.js';
import { tool } from '../../../lib/core/tool.js';
import { openai } from '../../../lib/providers/openai.js';
import type { ResponsesOptions } from '../../../lib/providers/openai.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { Script } from '../../../lib/testing/index.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn, ServeOptions } from '../../../lib/testing/server/index.js';
import { answering } from '../answering.js';
import { own, response, text, written } from './conversation.js';

const user = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const call = (id: string, apiId = id): Part => ({
  ...{ type: 'toolCall', id, name: 'look', arguments: {} },
  providerData: { openai: { id: `fc_${apiId}`, call_id: apiId } },
});
const result = (id: string): Part => ({ type: 'toolResult', id, name: 'look', result: 'blue' });
const loire = response(written('msg_1', 'Loire'));

/** A message whose texts were replaced. */
const edited = (message: Message): Message => ({
  ...message,
  parts: message.parts.map((part) => (part.type === 'text' ? text('Loire, surely') : part)),
});

/** The body that is sent for a history. */
async function bodyFor(messages: readonly Message[], options: ResponsesOptions = {}, rest: Partial<ModelRequest> = {}) {
  const { fetch, requests } = answering({
    type: 'response.completed',
    response: { id: 'resp_9', status: 'completed', output: [] },
  });
  const model = openai('gpt-4o', { apiKey: 'k', fetch, session: true, ...options });
  await lastValueFrom(model.stream({ messages, ...rest }).pipe(toArray()));
  expect(requests).toHaveLength(1);
  return requests[0]?.body ?? {};
}

describe('findSession', () => {
  it('findSession returns the id of the newest response and what is newer, which is sent with the system prompt', async () => {
    const history = [systemMessage('Be brief.'), userMessage('Name a river.'), loire, userMessage('Longer?')];
    expect(await bodyFor(history)).toEqual({
      ...{
        model: 'gpt-4o',
        instructions: 'Be brief.',
        previous_response_id: 'resp_1',
        input: [user('Longer?')],
        store: true,
        stream: true,
      },
    });
  });

  it('findSession returns the id alone if nothing is newer', async () => {
    expect(await bodyFor([userMessage('Go on.'), loire])).toEqual({
      model: 'gpt-4o',
      previous_response_id: 'resp_1',
      store: true,
      stream: true,
    });
  });

  it('findSession returns the outputs of the calls under the ids of the API', async () => {
    const calls = response([...written('msg_1', 'Hm.'), call('a'), call('renamed', 'b')]);
    const body = await bodyFor([
      userMessage('Look.'),
      calls,
      userMessage([result('renamed'), result('a'), text('Well?')]),
    ]);
    expect(body).toMatchObject({ previous_response_id: 'resp_1' });
    expect(body['input']).toEqual([
      { type: 'function_call_output', call_id: 'b', output: 'blue' },
      { type: 'function_call_output', call_id: 'a', output: 'blue' },
      user('Well?'),
    ]);
    const cancelled = await bodyFor([userMessage('Look.'), calls]);
    expect(cancelled['input']).toEqual(
      ['a', 'b'].map((id) => ({
        type: 'function_call_output',
        call_id: id,
        output: '{"error":"The call was cancelled."}',
      })),
    );
  });

  it('findSession returns everything after the newest of several responses, messages of other models included', async () => {
    const seine = response(written('msg_2', 'Seine'), 'resp_2');
    const elsewhere = modelMessage('Rhine');
    const body = await bodyFor([userMessage('1'), loire, seine, elsewhere, userMessage('2')]);
    expect(body['previous_response_id']).toBe('resp_2');
    expect(body['input']).toEqual([
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Rhine', annotations: [] }] },
      user('2'),
    ]);
    const before = await bodyFor([userMessage('1'), elsewhere, loire, userMessage('2')]);
    expect(before).toMatchObject({ previous_response_id: 'resp_1', input: [user('2')] });
  });

  const completeInput = [user('1'), expect.objectContaining({ role: 'assistant' }), user('2')];
  it.each<[string, Message, ResponsesOptions, Partial<ModelRequest>]>([
    ['the response was not stored', response(written('msg_1', 'Hi'), 'resp_1', { stored: false }), {}, {}],
    ['the model stores nothing', loire, { store: false }, {}],
    ['the request is not stored', loire, {}, { providerOptions: { openai: { store: false } } }],
    ['sessions are switched off', loire, { session: false }, {}],
    ['the text was edited since', edited(loire), {}, {}],
    [
      'another provider made it',
      modelMessage([
        text('Hi'),
        { type: 'provider', provider: 'openai-chat', data: { type: 'response', id: 'resp_1' } },
      ]),
      {},
      {},
    ],
  ])('findSession returns nothing if %s, and the complete conversation is sent', async (_, answer, options, rest) => {
    const body = await bodyFor([userMessage('1'), answer, userMessage('2')], options, rest);
    expect(body).not.toHaveProperty('previous_response_id');
    expect(body['input']).toEqual(completeInput);
  });

  it('findSession is not used if the user has the API keep the conversation in another way', async () => {
    const history = [userMessage('1'), loire, userMessage('2')];
    for (const extra of [
      { conversation: 'conv_1' },
      { previous_response_id: null },
      { previous_response_id: 'resp_0' },
    ]) {
      const body = await bodyFor(history, {}, { providerOptions: { openai: extra } });
      expect(body).toMatchObject({ ...extra, input: completeInput });
    }
  });

  it('findSession returns an older response if the newest cannot be continued', async () => {
    const unstored = response(written('msg_2', 'Seine'), 'resp_2', { stored: false });
    const body = await bodyFor([userMessage('1'), loire, userMessage('2'), unstored, userMessage('3')]);
    expect(body['previous_response_id']).toBe('resp_1');
    expect(body['input']).toMatchObject([user('2'), { role: 'assistant' }, user('3')]);
  });
});

describe('a session over HTTP', () => {
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
    openai('gpt-5', { apiKey: 'k', baseUrl: server.url, retry: false, session: true, ...options });
  const turn = async (model: Model, history: readonly Message[], question: string) => {
    const { messages } = await firstValueFrom(createAgent({ model }).run(question, { history: history }));
    return [...history, userMessage(question), ...messages.filter(({ role }) => role === 'model')];
  };

  it('a session sends one item, five after two turns of another model, and one again', async () => {
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
    expect(history.map((message) => providerDataOf(message, 'openai').length > 0)).toEqual([
      ...[false, true, false, false, false, false, false, true, false, true],
    ]);
    expect(elsewhere.requests).toHaveLength(2);
  });

  it('a session sends only the tool outputs of a run, and the server has the conversation', async () => {
    let received: readonly JsonObject[] = [];
    const server = await serve((request) => {
      received = request.messages;
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
    expect(received.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call_output']);
  });

  it('a session falls back to the complete history if the server does not have the response', async () => {
    const server = await serve(['Three.']);
    const history = [systemMessage('Be brief.'), userMessage('1'), response(written('msg_1', 'Loire'), 'resp_old')];
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

  it('a session falls back to a history without unencrypted reasoning and the ids that refer to it', async () => {
    const server = await serve(['Fine.']);
    const parts = [
      own({ type: 'reasoning', id: 'rs_1', summary: [] }),
      ...written('msg_1', 'Loire'),
      own({ type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'sealed' }),
      call('a'),
    ];
    const thought = response(parts, 'resp_old');
    await lastValueFrom(at(server).stream({ messages: [userMessage('1'), thought, userMessage([result('a')])] }));
    expect(bodies(server).map(({ previous_response_id: id }) => id)).toEqual(['resp_old', undefined]);
    expect(bodies(server)[1]?.['input']).toEqual([
      user('1'),
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
  ])('isResponseNotFound recognises the error of %s', async (_, refusal) => {
    const server = await serve(['Fine.'], { forRequest: [refusal] });
    await lastValueFrom(at(server).stream({ messages: [userMessage('1'), loire, userMessage('2')] }));
    expect(sentBy(server)).toEqual([
      ['resp_1', 1],
      [null, 3],
    ]);
  });

  it('isResponseNotFound recognises the error at the beginning of a stream', async () => {
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

  it('a session falls back once, for no other error, and each of the two requests has its own retries', async () => {
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

  it('a session is not continued if nothing is stored', async () => {
    const server = await serve(['one', 'two']);
    const history = await turn(at(server, { store: false }), [], '1');
    expect(history.at(-1)?.parts.at(-1)).toMatchObject({ data: { type: 'response', id: 'resp_1', stored: false } });
    await turn(at(server), history, '2');
    expect(sentBy(server)).toEqual([
      [null, 1],
      [null, 3],
    ]);
  });
});
