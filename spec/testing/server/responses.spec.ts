import { afterEach, describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, toArray } from 'rxjs';
import { serverToolChunk } from '../../../lib/core/metadata.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import { openai } from '../../../lib/providers/openai.js';
import { responsesTools } from '../../../lib/providers/openaiResponses/serverTools.js';
import { responses } from '../../../lib/testing/server/dialects/responses/responses.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn } from '../../../lib/testing/server/index.js';
import type { Script } from '../../../lib/testing/index.js';

describe('Responses dialect of the loopback server', () => {
  const servers: LoopbackServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  const ask = async (script: Script<ServedTurn>) => {
    const server = await serveModel(script);
    servers.push(server);
    const model = openai('gpt-5', {
      ...{ apiKey: 'k', baseUrl: server.url, retry: false },
      serverTools: [responsesTools.imageGeneration()],
    });
    return lastValueFrom(model.stream({ messages: [userMessage('Hi')] }).pipe(toArray()));
  };

  it('the writer sends text, sources, images, call fragments and usage that openai reads back', async () => {
    const chunks = await ask([
      [
        'Look',
        { type: 'source', source: { type: 'source', url: 'https://a.example', title: 'A' } },
        { type: 'source', source: { type: 'source', id: 'file_1', title: 'a.pdf' } },
        { type: 'file', file: { type: 'file', mediaType: 'image/webp', data: 'AQID' } },
        { type: 'toolCallFragment', index: 0, id: 'c1', name: 'add', arguments: '{"a"' },
        { type: 'toolCallFragment', index: 1, id: 'c2', name: 'sub', arguments: '' },
        { type: 'toolCallFragment', index: 0, arguments: ':1}' },
        { type: 'finish', reason: 'toolCalls', usage: { input: 9, output: 4, cachedInput: 3, reasoning: 2 } },
      ],
    ]);
    const of = (type: string) => chunks.filter((chunk) => chunk.type === type);
    expect(of('source')).toHaveLength(2);
    expect(of('file')).toMatchObject([{ file: { mediaType: 'image/webp', data: 'AQID' } }]);
    expect(of('toolCallFragment')).toMatchObject([
      { index: 'fc_1_3', id: 'c1', name: 'add' },
      { index: 'fc_1_3', arguments: '{"a"' },
      { index: 'fc_1_4', id: 'c2', name: 'sub' },
      { index: 'fc_1_3', arguments: ':1}' },
      { index: 'fc_1_3', done: true },
      { index: 'fc_1_4', done: true },
    ]);
    expect(of('finish')).toMatchObject([
      { reason: 'toolCalls', usage: { input: 9, output: 4, total: 13, cachedInput: 3, reasoning: 2 } },
    ]);
  });

  it.each([
    ['stop', 'stop', 'completed'],
    ['length', 'length', 'max_output_tokens'],
    ['contentFilter', 'contentFilter', 'content_filter'],
    ['other', 'other', 'steered'],
  ] as const)('ends by %s', async (reason, expected, word) => {
    const chunks = await ask([['Hi', { type: 'finish', reason }]]);
    expect(chunks.at(-1)).toEqual({ type: 'finish', reason: expected, rawReason: word });
  });

  it('a response without its last event was interrupted, although [DONE] follows', async () => {
    await expect(ask([['Hi', { type: 'finish', reason: 'unspecified' }]])).rejects.toMatchObject({
      code: 'stream_interrupted',
    });
  });

  it('the writer does not end a call that was truncated by the token limit', async () => {
    const cut = { type: 'toolCallFragment', index: 0, id: 'c1', name: 'add', arguments: '{"a"' } as const;
    const chunks = await ask([[cut, { type: 'finish', reason: 'length' }]]);
    expect(chunks.filter((chunk) => chunk.type === 'toolCallFragment' && chunk.done)).toEqual([]);
  });

  it('the writer throws for a chunk that the API cannot express', async () => {
    const retracted = ask(() => from([{ type: 'retract' } as const]));
    await expect(retracted).rejects.toMatchObject({
      code: 'provider',
      message: expect.stringContaining('"retract"') as unknown,
    });
  });

  it('the writer sends metadata of provider-run tools as items and events, and each item in the complete response', async () => {
    const fact = (raw: JsonObject) => serverToolChunk({ id: 'mcp_1', name: 'add', status: 'running', raw });
    const item = {
      type: 'mcp_call',
      id: 'mcp_1',
      status: 'completed',
      name: 'add',
      server_label: 'n',
      arguments: '{}',
      output: '1',
    };
    const writer = responses.writer({ turn: 1, path: '/v1/responses', body: {} });
    const facts = [
      { type: 'response.mcp_call.in_progress' },
      { type: 'response.mcp_call_arguments.delta', delta: '{}' },
      item,
    ].map(fact);
    const frames = [...facts, { type: 'finish', reason: 'stop' } as const].flatMap((chunk) => writer.next(chunk));
    expect(frames.map(({ event }) => event)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call.completed',
      'response.output_item.done',
    ]);
    expect(JSON.parse(writer.end()[0]?.data ?? '')).toMatchObject({
      type: 'response.completed',
      response: { output: [item] },
    });
    await expect(ask([[{ type: 'metadata', metadata: { a: 1 } }]])).rejects.toMatchObject({
      message: expect.stringContaining('"metadata"') as unknown,
    });
  });

  const post = async (server: LoopbackServer, body: JsonObject) => {
    const answer = await fetch(`${server.url}/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', stream: true, ...body }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const serve = async (script: Script<ServedTurn>) => {
    const server = await serveModel(script);
    servers.push(server);
    return server;
  };

  it('the server stores each response by its id and passes the complete conversation to the script', async () => {
    const heard: (readonly (string | undefined)[])[] = [];
    const server = await serve(({ turn, history }) => {
      heard.push(
        history.flatMap(({ role, parts }) => [
          role,
          ...parts.map((part) => (part.type === 'text' ? part.text : part.type)),
        ]),
      );
      return `answer ${turn}`;
    });
    await post(server, { input: 'one' });
    await post(server, { input: 'two', previous_response_id: 'resp_1' });
    await post(server, { input: [{ role: 'user', content: 'again' }], previous_response_id: 'resp_1' });
    await post(server, { previous_response_id: 'resp_2' });
    expect(heard).toEqual([
      ['user', 'one'],
      ['user', 'one', 'model', 'answer 1', 'user', 'two'],
      ['user', 'one', 'model', 'answer 1', 'user', 'again'],
      ['user', 'one', 'model', 'answer 1', 'user', 'two', 'model', 'answer 2'],
    ]);
  });

  it("the server refuses unknown and unstored ids with OpenAI's message, and items that do not match the response", async () => {
    const server = await serve([['x'], [{ type: 'toolCallFragment', id: 'c', name: 'f', arguments: {}, done: true }]]);
    await post(server, { input: 'one', store: false });
    const refused = await post(server, { input: 'two', previous_response_id: 'resp_1' });
    expect({ ...refused, text: JSON.parse(refused.text) as unknown }).toEqual({
      status: 400,
      text: {
        error: {
          message: "Previous response with id 'resp_1' not found.",
          type: 'invalid_request_error',
          param: 'previous_response_id',
          code: 'previous_response_not_found',
        },
      },
    });
    await post(server, { input: 'two' });
    const unanswered = await post(server, { input: 'three', previous_response_id: 'resp_2' });
    expect(unanswered).toMatchObject({
      status: 400,
      text: expect.stringContaining('No tool output found for function call c.') as unknown,
    });
    const orphan = await post(server, {
      input: ['c', 'd'].map((id) => ({ type: 'function_call_output', call_id: id, output: '' })),
      previous_response_id: 'resp_2',
    });
    expect(orphan).toMatchObject({ status: 400, text: expect.stringContaining('call_id d') as unknown });
  });

  const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] };
  const asked = { type: 'function_call', call_id: 'a', name: 'add', arguments: '{}' };
  const answered = { type: 'function_call_output', call_id: 'a', output: '' };
  const body = (rest: JsonObject): JsonObject => ({ model: 'm', input: [user], stream: true, ...rest });
  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    ['no JSON', 'text', /could not parse/],
    ['messages of the other API', body({ messages: [] }), /Unsupported parameter: 'messages'/],
    ['no model', body({ model: '' }), /'model'/],
    ['no input', { model: 'm', stream: true }, /'input'/],
    ['an empty input', body({ input: [] }), /empty/],
    [
      'a tool in the form of the other API',
      body({ tools: [{ type: 'function', function: { name: 'x' } }] }),
      /tools\[0\]\.name/,
    ],
    ['no wish to stream', body({ stream: false }), /stream/],
    ['a call without its output', body({ input: [user, asked] }), /No tool output found for function call a/],
    ['an output without its call', body({ input: [user, answered] }), /No tool call found.*a/],
    [
      'an id that is too long',
      body({
        input: [
          { ...asked, call_id: 'x'.repeat(65) },
          { ...answered, call_id: 'x'.repeat(65) },
        ],
      }),
      /64/,
    ],
    [
      'reasoning that nothing follows',
      body({ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }, user] }),
      /'rs_1'.*required following item/,
    ],
  ];
  it.each(wrong)('refusal refuses %s', (_, request, words) => {
    expect(responses.refusal(request)).toMatchObject({ status: 400, message: expect.stringMatching(words) as unknown });
  });

  it('refusal accepts a call with its output, and the output alone if a stored response has the call', () => {
    expect(responses.refusal(body({ input: [user, asked, answered] }))).toBeUndefined();
    expect(responses.refusal(body({ input: [answered], previous_response_id: 'resp_1' }))).toBeUndefined();
    expect(responses.refusal(body({ input: 'Hi' }))).toBeUndefined();
  });
});
