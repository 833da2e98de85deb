import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { serverToolChunk } from '../../../lib/core/metadata.js';
import type { ServerTool } from '../../../lib/core/metadata.js';
import type { ModelRequest } from '../../../lib/core/model.js';
import { encodeResponses } from '../../../lib/providers/openaiResponses/encode.js';
import { openai } from '../../../lib/providers/openai.js';
import { mcpApproval, responsesTools } from '../../../lib/providers/openaiResponses/serverTools.js';
import type { ResponsesTool } from '../../../lib/providers/openaiResponses/serverTools.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn, ServeOptions } from '../../../lib/testing/server/index.js';
import type { Script } from '../../../lib/testing/index.js';
import { own, reasoning, response, written } from './conversation.js';
import { toolChanges } from './frames.js';

const body = (serverTools: readonly ResponsesTool[], request: Partial<ModelRequest> = {}) =>
  encodeResponses('gpt-4o', { messages: [userMessage('Hi')], ...request }, { store: true, serverTools }).body;

describe('responsesTools', () => {
  const cases: readonly (readonly [
    what: string,
    tool: ResponsesTool,
    definition: JsonObject,
    include?: readonly string[],
  ])[] = [
    ['a web search', responsesTools.webSearch(), { type: 'web_search' }],
    ['a search of tools', responsesTools.hostedToolSearch(), { type: 'tool_search', execution: 'server' }],
    [
      'a web search with everything',
      responsesTools.webSearch({
        allowedDomains: ['a.example'],
        contextSize: 'low',
        location: { country: 'PT', city: 'Lisbon' },
        sources: true,
      }),
      {
        type: 'web_search',
        filters: { allowed_domains: ['a.example'] },
        search_context_size: 'low',
        user_location: { type: 'approximate', country: 'PT', city: 'Lisbon' },
      },
      ['web_search_call.action.sources'],
    ],
    [
      'a file search',
      responsesTools.fileSearch({ vectorStoreIds: ['vs_1'] }),
      { type: 'file_search', vector_store_ids: ['vs_1'] },
    ],
    [
      'a file search with everything',
      responsesTools.fileSearch({
        ...{ vectorStoreIds: ['vs_1'], filters: { type: 'eq', key: 'year', value: 2024 }, maxResults: 5 },
        ...{ ranker: 'auto', scoreThreshold: 0.5, results: true },
      }),
      {
        ...{
          type: 'file_search',
          vector_store_ids: ['vs_1'],
          filters: { type: 'eq', key: 'year', value: 2024 },
          max_num_results: 5,
        },
        ranking_options: { ranker: 'auto', score_threshold: 0.5 },
      },
      ['file_search_call.results'],
    ],
    [
      'a code interpreter',
      responsesTools.codeInterpreter(),
      { type: 'code_interpreter', container: { type: 'auto' } },
      ['code_interpreter_call.outputs'],
    ],
    [
      'a code interpreter with files',
      responsesTools.codeInterpreter({ fileIds: ['file_1'], memoryLimit: '4g', outputs: false }),
      { type: 'code_interpreter', container: { type: 'auto', file_ids: ['file_1'], memory_limit: '4g' } },
    ],
    [
      'a code interpreter in a container',
      responsesTools.codeInterpreter({ container: 'cntr_0', outputs: false }),
      { type: 'code_interpreter', container: 'cntr_0' },
    ],
    [
      'images',
      responsesTools.imageGeneration({
        ...{ model: 'gpt-image-1', action: 'edit', size: '1024x1024', quality: 'low', format: 'webp', compression: 80 },
        ...{ background: 'opaque', moderation: 'low', inputFidelity: 'high', partialImages: 2 },
      }),
      {
        ...{
          type: 'image_generation',
          model: 'gpt-image-1',
          action: 'edit',
          size: '1024x1024',
          quality: 'low',
          output_format: 'webp',
        },
        ...{
          output_compression: 80,
          background: 'opaque',
          moderation: 'low',
          input_fidelity: 'high',
          partial_images: 2,
        },
      },
    ],
    [
      'an MCP server',
      responsesTools.mcp({
        ...{ serverLabel: 'numbers', serverUrl: 'https://mcp.example', description: 'Counts.', allowedTools: ['add'] },
        ...{ requireApproval: { never: ['add'] }, headers: { 'x-team': 'blue' }, authorization: 'token' },
      }),
      {
        ...{ type: 'mcp', server_label: 'numbers', server_url: 'https://mcp.example', server_description: 'Counts.' },
        ...{ allowed_tools: ['add'], require_approval: { never: { tool_names: ['add'] } } },
        ...{ headers: { 'x-team': 'blue' }, authorization: 'token' },
      },
    ],
    [
      'a connector',
      responsesTools.mcp({ serverLabel: 'mail', connectorId: 'connector_gmail', requireApproval: 'never' }),
      { type: 'mcp', server_label: 'mail', connector_id: 'connector_gmail', require_approval: 'never' },
    ],
    [
      'any other tool',
      responsesTools.other({ type: 'programmatic_tool_calling', limit: 8 }, ['x.y']),
      { type: 'programmatic_tool_calling', limit: 8 },
      ['x.y'],
    ],
  ];
  it.each(cases.map(([what, tool, definition, include]) => ({ what, tool, definition, include })))(
    '$what',
    ({ tool, definition, include }) => {
      expect(body([tool])).toEqual({
        ...{ model: 'gpt-4o', input: expect.anything() as unknown, tools: [definition], store: true, stream: true },
        ...(include ? { include } : {}),
      });
    },
  );

  it('responsesTools.fileSearch without vector stores is omitted from the request', () => {
    expect(body([responsesTools.fileSearch({ vectorStoreIds: [], results: true })])).toEqual(body([]));
  });

  it('responsesTools are sent after the functions, and each include once', () => {
    const tools = [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }];
    const servers = [responsesTools.codeInterpreter(), responsesTools.codeInterpreter(), responsesTools.webSearch()];
    const { tools: sent, include } = body(servers, { tools, thinking: true });
    expect((sent as readonly JsonObject[]).map(({ type }) => type)).toEqual([
      ...['function', 'code_interpreter', 'code_interpreter', 'web_search'],
    ]);
    expect(include).toEqual(['reasoning.encrypted_content', 'code_interpreter_call.outputs']);
  });

  it('responsesTools can be chosen by type or by the label of the server, unless a function has the name', () => {
    const servers = [
      responsesTools.webSearch(),
      responsesTools.mcp({ serverLabel: 'numbers', serverUrl: 'https://mcp.example' }),
    ];
    const chosen = (name: string, tools: ModelRequest['tools'] = []) =>
      body(servers, { toolChoice: { name }, tools })['tool_choice'];
    expect(chosen('web_search')).toEqual({ type: 'web_search' });
    expect(chosen('numbers')).toEqual({ type: 'mcp', server_label: 'numbers' });
    expect(chosen('numbers', [{ name: 'numbers', description: '', parameters: {} }])).toEqual({
      type: 'function',
      name: 'numbers',
    });
    expect(body(servers, { toolChoice: 'required' })['tool_choice']).toBe('required');
  });
});

/** A message whose code ran in a container. */
const messageIn = (container_id: string): Message => {
  const code = { id: 'ci_1', status: 'completed', code: '1+2', container_id, outputs: null };
  return response([
    own(reasoning('rs_1', 'secret')),
    own({ type: 'code_interpreter_call', ...code }),
    ...written('msg_1', 'Three.'),
  ]);
};

describe('withContainer', () => {
  const containerFor = (messages: readonly Message[], tool = responsesTools.codeInterpreter()) =>
    (body([tool], { messages })['tools'] as readonly JsonObject[])[0]?.['container'];

  it('withContainer sets the container that code ran in last, unless the tool has its own', () => {
    const history = [
      userMessage('1'),
      messageIn('cntr_1'),
      userMessage('2'),
      messageIn('cntr_2'),
      userMessage('3'),
      modelMessage('Hm.'),
      userMessage('4'),
    ];
    expect(containerFor(history)).toBe('cntr_2');
    expect(containerFor(history, responsesTools.codeInterpreter({ container: 'cntr_0' }))).toBe('cntr_0');
    expect(containerFor([userMessage('1')])).toEqual({ type: 'auto' });
  });

  it('isContainerNotFound leads to a request with a new container, without what ran in the old one', () => {
    const messages = [userMessage('1'), messageIn('cntr_1'), userMessage('2')];
    const serverTools = [responsesTools.codeInterpreter()];
    const first = encodeResponses('gpt-5', { messages }, { serverTools, store: true });
    const input = first.body['input'] as readonly JsonObject[];
    expect(input.map(({ type }) => type)).toEqual([
      'message',
      'reasoning',
      'code_interpreter_call',
      'message',
      'message',
    ]);
    const expired = Object.assign(new Error('expired'), {
      status: 400,
      body: '{"error":{"message":"Container is expired."}}',
    });
    const second = first.fallback?.(expired);
    expect(second?.body).toEqual({
      ...first.body,
      input: [input[0], input[3], input[4]],
      tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
    });
    expect(second?.fallback?.(expired)).toBeUndefined();
    expect(first.fallback?.(new Error('Container'))).toBeUndefined();
  });

  it('isContainerNotFound may be followed by a lost session', () => {
    const options = { session: true, serverTools: [responsesTools.codeInterpreter()] };
    const first = encodeResponses(
      'gpt-5',
      { messages: [userMessage('1'), messageIn('cntr_1'), userMessage('2')] },
      options,
    );
    const refused = (text: string) => Object.assign(new Error(text), { status: 404 });
    const second = first.fallback?.(refused("Container 'cntr_1' not found."));
    const third = second?.fallback?.(refused("Previous response with id 'resp_1' not found."));
    expect([first, second, third].map((request) => request?.body['previous_response_id'])).toEqual([
      'resp_1',
      'resp_1',
      undefined,
    ]);
    expect(third?.body['tools']).toEqual([{ type: 'code_interpreter', container: { type: 'auto' } }]);
    expect(third?.fallback?.(refused("Container, previous_response_id: 'resp_1', 'cntr_1'"))).toBeUndefined();
  });
});

describe('responsesTools over HTTP', () => {
  const servers: LoopbackServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  const serve = async (script: Script<ServedTurn>, options?: ServeOptions) => {
    const server = await serveModel(script, options);
    servers.push(server);
    return server;
  };
  const toolOf = (raw: JsonObject, status: ServerTool['status'] = 'running', name = 'tool'): Chunk =>
    serverToolChunk({ id: [raw['id'], raw['item_id']].find((id) => typeof id === 'string') ?? '', name, status, raw });
  const request = {
    type: 'mcp_approval_request',
    id: 'mcpr_1',
    server_label: 'numbers',
    name: 'add',
    arguments: '{"a":1}',
  };
  it('mcpApproval answers a request for approval, which is reported once', async () => {
    const server = await serve([[toolOf(request)], 'Done.']);
    const serverTools = [responsesTools.mcp({ serverLabel: 'n', serverUrl: 'https://mcp.example' })];
    const model = openai('gpt-4o', { apiKey: 'k', baseUrl: server.url, session: true, serverTools });
    const agent = createAgent({ model });
    const events = await lastValueFrom(agent.stream('Add.').pipe(toArray()));
    const changes = toolChanges(events as readonly Chunk[]).filter(({ raw }) =>
      JSON.stringify(raw).includes('arguments'),
    );
    expect(changes).toEqual([{ id: 'mcpr_1', name: 'add', status: 'running', input: { a: 1 }, raw: request }]);
    const messages = events.flatMap((event) => (event.type === 'message' ? [event.message] : []));
    const answer = userMessage([mcpApproval('mcpr_1', false, 'Not now.')]);
    const { text } = await firstValueFrom(agent.run(answer, { history: [userMessage('Add.'), ...messages] }));
    expect(text).toBe('Done.');
    const response = {
      type: 'mcp_approval_response',
      approval_request_id: 'mcpr_1',
      approve: false,
      reason: 'Not now.',
    };
    expect(server.requests[1]?.body).toMatchObject({ previous_response_id: 'resp_1', input: [response] });
    const stateless = encodeResponses('gpt-4o', { messages: [userMessage('Add.'), ...messages, answer] });
    expect(stateless.body['input']).toMatchObject([{ role: 'user' }, request, response]);
  });

  it.each([
    { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'x' }, status: 'completed' },
    { type: 'image_generation_call', id: 'ig_1', result: 'AQ==', status: 'completed' },
    { type: 'mcp_call', id: 'mcp_1', name: 'add', arguments: '{}', output: '2', status: 'completed' },
  ])('a tool that the model was not given is unknown metadata, kept and sent back: $type', async (item) => {
    const server = await serve([[toolOf(item, 'completed'), 'Done.'], 'Yes.']);
    const agent = createAgent({ model: openai('gpt-4o', { apiKey: 'k', baseUrl: server.url, store: true }) });
    const result = await firstValueFrom(agent.run('Search.'));
    expect(result).toMatchObject({ text: 'Done.', finishReason: 'stop', metadata: { unknown: item } });
    expect(result.metadata).not.toHaveProperty('serverTools');
    await firstValueFrom(agent.run('Sure?', { history: [userMessage('Search.'), ...result.messages] }));
    const { input } = server.requests[1]?.body as { readonly input: readonly JsonObject[] };
    expect(input).toContainEqual(item);
  });

  it('responsesTools report each of their steps once, in order', async () => {
    const event = (type: string, rest: JsonObject = {}) => ({ type: `response.${type}`, item_id: 'ci_1', ...rest });
    const code = { type: 'code_interpreter_call', id: 'ci_1', code: '1 + 2', container_id: 'cntr_1', outputs: [] };
    const steps = [
      toolOf({ type: 'code_interpreter_call', id: 'ci_1', status: 'in_progress' }),
      toolOf(event('code_interpreter_call_code.delta', { delta: '1 +' })),
      toolOf(event('code_interpreter_call_code.delta', { delta: ' 2' })),
      toolOf(event('code_interpreter_call.interpreting')),
      toolOf({ ...code, status: 'completed' }, 'completed'),
      toolOf({ type: 'image_generation_call', id: 'ig_1', status: 'in_progress' }),
      toolOf({ ...event('image_generation_call.partial_image', { partial_image_b64: 'AQ==' }), item_id: 'ig_1' }),
      toolOf({ type: 'image_generation_call', id: 'ig_1', status: 'completed' }, 'completed'),
    ];
    const server = await serve([[...steps, 'Three.'], 'And.']);
    const model = openai('gpt-4o', {
      apiKey: 'k',
      baseUrl: server.url,
      serverTools: [responsesTools.codeInterpreter()],
    });
    const events = await lastValueFrom(createAgent({ model }).stream('1 + 2?').pipe(toArray()));
    const changes = toolChanges(events as readonly Chunk[]);
    expect(changes.map(({ id, name, status }) => [id, name, status])).toEqual([
      ...Array.from({ length: 4 }, () => ['ci_1', 'code_interpreter', 'running']),
      ['ci_1', 'code_interpreter', 'completed'],
      ['ig_1', 'image_generation', 'running'],
      ['ig_1', 'image_generation', 'running'],
      ['ig_1', 'image_generation', 'completed'],
    ]);
    expect(changes.map(({ raw }) => raw)).toMatchObject(toolChanges(steps).map(({ raw }) => raw as JsonObject));
    expect(changes[4]).toMatchObject({ input: '1 + 2', output: [] });
    const result = events.find((one) => one.type === 'result');
    expect(result).toMatchObject({
      result: {
        metadata: {
          serverTools: [
            { id: 'ci_1', status: 'completed' },
            { id: 'ig_1', status: 'completed' },
          ],
        },
      },
    });
    const messages = events.flatMap((event) => (event.type === 'message' ? [event.message] : []));
    await firstValueFrom(createAgent({ model }).run('And?', { history: [userMessage('1 + 2?'), ...messages] }));
    expect(server.requests[1]?.body).toMatchObject({ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] });
  });

  it('responsesTools.mcp keeps the token of the server out of errors', async () => {
    const server = await serve([], { status: 400, body: 'The server said: Bearer s3cr3t-token, x-key: k3y-of-mcp.' });
    const mcp = responsesTools.mcp({
      ...{
        serverLabel: 'n',
        serverUrl: 'https://mcp.example',
        authorization: 's3cr3t-token',
        headers: { 'x-key': 'k3y-of-mcp' },
      },
    });
    const model = openai('gpt-4o', { apiKey: 'k', baseUrl: server.url, retry: false, serverTools: [mcp] });
    const error: unknown = await lastValueFrom(model.stream({ messages: [userMessage('Hi')] })).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'http', message: expect.stringContaining('[key]') as unknown });
    expect(JSON.stringify(error) + String(error)).not.toMatch(/s3cr3t|k3y/);
  });
});
