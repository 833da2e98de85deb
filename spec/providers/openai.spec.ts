import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { userMessage } from '../../lib/core/message.js';
import { objectOrEmpty } from '../../lib/core/json/json.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import type { ProviderOptions } from '../../lib/core/message.js';
import type { RequestSettings } from '../../lib/core/model.js';
import { openai } from '../../lib/providers/openai.js';
import type { ResponsesOptions } from '../../lib/providers/openai.js';
import { serveModel } from '../../lib/testing/server/index.js';
import { responses } from '../../lib/testing/server/dialects/responses/responses.js';
import { describeProviderContract, runTwoTurns } from '../support/providerContract.js';
import type { ProviderUnderTest } from '../support/providerContract.js';
import { answering } from './answering.js';
import { completed, created, itemDone } from './openaiResponses/frames.js';
import { own } from './openaiResponses/conversation.js';

const provider: ProviderUnderTest = {
  name: 'openai',
  make: (baseUrl, options) => openai('gpt-5', { ...options, baseUrl }),
  dialect: responses,
  transientCode: 'rate_limit_exceeded',
};

describeProviderContract(provider);

describe('openai: the second request of a run', () => {
  const tools = [
    {
      type: 'function',
      name: 'temperature',
      description: 'The temperature of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      strict: false,
    },
    {
      type: 'function',
      name: 'season',
      description: 'The season now.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
      strict: false,
    },
  ];
  const question = {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: 'How warm is it in Oslo and in Lisbon?' }],
  };
  const shared = {
    model: 'gpt-5',
    instructions: 'Be brief.',
    tools,
    reasoning: { summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    store: false,
    stream: true,
  };

  const results = [
    { type: 'function_call_output', call_id: 'call_1_1', output: '{"city":"Oslo","celsius":-3}' },
    { type: 'function_call_output', call_id: 'call_1_2', output: '{"error":"no calendar"}' },
  ];

  it('openai with a session sends only the results and the id of the first response', async () => {
    const { bodies } = await runTwoTurns({
      ...provider,
      make: (baseUrl, options) => openai('gpt-5', { ...options, baseUrl, session: true }),
    });
    expect(bodies).toEqual([
      { ...shared, store: true, input: [question] },
      { ...shared, store: true, previous_response_id: 'resp_1', input: results },
    ]);
  });

  it('openai sends back each item with its id, in its order, then the results, and stores nothing', async () => {
    const { bodies, paths, messages } = await runTwoTurns(provider);
    expect(messages[0]?.parts.at(-1)).toMatchObject({ data: { type: 'response', id: 'resp_1', stored: false } });
    expect(paths).toEqual(['/v1/responses', '/v1/responses']);
    expect(bodies[0]).toEqual({ ...shared, input: [question] });
    const call = (id: string, callId: string, name: string, args: string) => ({
      id,
      type: 'function_call',
      call_id: callId,
      name,
      arguments: args,
    });
    expect(bodies[1]).toEqual({
      ...shared,
      input: [
        question,
        {
          id: 'rs_1_1',
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'Two look-ups are needed.' }],
          encrypted_content: 'encrypted_1_1',
        },
        {
          id: 'msg_1_2',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Let me look.', annotations: [] }],
        },
        call('fc_1_3', 'call_1_1', 'temperature', '{"city":"Oslo"}'),
        call('fc_1_4', 'call_1_2', 'season', '{}'),
        ...results,
      ],
    });
  });
});

describe('openai', () => {
  const messages = [userMessage('Name a river.')];

  it('openai streams a response', async () => {
    const { fetch, requests } = answering(
      { type: 'response.created', response: { id: 'resp_1', model: 'gpt-5' } },
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Loire' },
      {
        type: 'response.completed',
        response: { id: 'resp_1', status: 'completed', usage: { input_tokens: 5, output_tokens: 1 } },
      },
    );
    const model = openai('gpt-5', { apiKey: 'k', fetch });
    expect(await lastValueFrom(model.stream({ messages }).pipe(toArray()))).toEqual([
      { type: 'metadata', metadata: { responseId: 'resp_1', model: 'gpt-5' } },
      own({ type: 'message', id: 'msg_1' }),
      { type: 'text', text: 'Loire' },
      own({ type: 'response', id: 'resp_1', textLength: 5 }),
      { type: 'finish', reason: 'stop', rawReason: 'completed', usage: { input: 5, output: 1, total: 6 } },
    ]);
    expect(requests[0]?.url).toBe('https://api.openai.com/v1/responses');
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer k');
  });

  it('openai emits no empty text to the readers of an agent, and stores an approval request', async () => {
    const request = { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'add', arguments: '{}' };
    const { fetch } = answering(created, itemDone(request), completed([request]));
    const agent = createAgent({ model: openai('gpt-5', { apiKey: 'k', fetch }) });
    const events = await lastValueFrom(agent.stream(messages).pipe(toArray()));
    expect(events.filter(({ type }) => type === 'text' || type === 'thinking')).toEqual([]);
    const message = events.find((event) => event.type === 'message')?.message;
    expect(message?.parts).toEqual([own(request), own({ type: 'response', id: 'resp_1', textLength: 0 })]);
  });

  it('openai derives its capabilities from the name of the model', () => {
    expect(openai('gpt-5')).toMatchObject({
      provider: 'openai',
      name: 'gpt-5',
      capabilities: { thinking: true, vision: true },
    });
    expect(openai('gpt-4o').capabilities).toMatchObject({ tools: true, thinking: false });
    expect(openai('our-deployment').capabilities).not.toHaveProperty('thinking');
  });

  it.each<[string, ResponsesOptions, string[] | undefined]>([
    ['gpt-5', {}, ['reasoning.encrypted_content']],
    ['gpt-4o', {}, undefined],
    ['our-deployment', {}, ['reasoning.encrypted_content']],
    ['our-deployment', { store: true }, undefined],
    ['our-deployment', { session: true }, undefined],
    ['our-deployment', { session: true, capabilities: { thinking: true } }, ['reasoning.encrypted_content']],
    ['our-deployment', { capabilities: { thinking: false } }, undefined],
  ])('openai(%j, %j) includes %j', async (name, options, include) => {
    const { fetch, requests } = answering({ type: 'response.completed', response: { status: 'completed' } });
    await lastValueFrom(openai(name, { apiKey: 'k', fetch, ...options }).stream({ messages }));
    expect(requests[0]?.body['include']).toEqual(include);
    expect(requests[0]?.body['store']).toBe(options.store ?? options.session ?? false);
  });

  it('openai omits encrypted reasoning once a model of an unknown name has refused it', async () => {
    const message = 'Encrypted content is not supported with this model.';
    const server = await serveModel(['One.', 'Two.'], { forRequest: [{ status: 400, body: { error: { message } } }] });
    const model = openai('our-deployment', { apiKey: 'k', baseUrl: server.url, retry: false });
    await lastValueFrom(model.stream({ messages }));
    await lastValueFrom(model.stream({ messages }));
    await server.close();
    const bodies = server.requests.map(({ body }) => objectOrEmpty(body)['include']);
    expect(bodies).toEqual([['reasoning.encrypted_content'], undefined, undefined]);
  });

  it.each<[string, ResponsesOptions, JsonObject, RegExp]>([
    ['background without store', {}, { openai: { background: true } }, /Pass store: true/],
    ['background with store: false', { session: true }, { openai: { background: true, store: false } }, /store: true/],
    ['background without its code', { store: true }, { openai: { background: true } }, /background: background\(\)/],
    ['options of its former name', {}, { 'openai-responses': { truncation: 'auto' } }, /Call the key `openai`/],
  ])('openai refuses %s before any request', async (_, options, providerOptions, expected) => {
    const { fetch, requests } = answering();
    const model = openai('gpt-5', { apiKey: 'k', fetch, ...options });
    await expect(
      lastValueFrom(model.stream({ messages, providerOptions: providerOptions as ProviderOptions })),
    ).rejects.toMatchObject({ subject: 'options', message: expect.stringMatching(expected) as unknown });
    expect(requests).toEqual([]);
  });

  const unsupported: readonly (readonly [string, RequestSettings])[] = [
    ['stop sequences', { stopSequences: ['END'] }],
    ['a seed', { seed: 7 }],
    ['a budget for thinking', { thinking: { budget: 1000 } }],
  ];
  it.each(unsupported)('openai refuses %s, which the API does not support, before any request', async (_, settings) => {
    const { fetch, requests } = answering();
    const stream = openai('gpt-5', { apiKey: 'k', fetch }).stream({ messages, ...settings });
    await expect(lastValueFrom(stream)).rejects.toMatchObject({ code: 'configuration', subject: 'options' });
    expect(requests).toEqual([]);
  });
});
