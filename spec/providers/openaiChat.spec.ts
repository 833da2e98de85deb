import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { userMessage } from '../../lib/core/message.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { responsesTools } from '../../lib/providers/openaiResponses/serverTools.js';
import { chatCompletions } from '../../lib/testing/server/dialects/chatCompletions/chatCompletions.js';
import { serveModel } from '../../lib/testing/server/index.js';
import { declaredTools, describeProviderContract, runTwoTurns } from '../support/providerContract.js';
import type { ProviderUnderTest } from '../support/providerContract.js';
import { answering } from './answering.js';

const messages = [userMessage('Name a river.')];

describe('openaiChat', () => {
  it('openaiChat streams a response of the Chat Completions API', async () => {
    const { fetch, requests } = answering(
      { id: 'c1', model: 'gpt-5', choices: [{ index: 0, delta: { content: 'Loire' }, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
      '[DONE]',
    );
    const model = openaiChat('gpt-5', { apiKey: 'k', fetch });
    expect(await lastValueFrom(model.stream({ messages, maxOutputTokens: 9 }).pipe(toArray()))).toEqual([
      { type: 'metadata', metadata: { responseId: 'c1', model: 'gpt-5' } },
      { type: 'text', text: 'Loire' },
      { type: 'finish', reason: 'stop', rawReason: 'stop', usage: { input: 5, output: 1, total: 6 } },
    ]);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.url).toBe('https://api.openai.com/v1/chat/completions');
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer k');
    expect(requests[0]?.body).toEqual({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'Name a river.' }],
      max_completion_tokens: 9,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('openaiChat merges its provider options into the body', async () => {
    const { fetch, requests } = answering({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] });
    const model = openaiChat('gpt-5', { apiKey: 'k', fetch });
    await lastValueFrom(
      model.stream({ messages, providerOptions: { 'openai-chat': { service_tier: 'flex' }, other: { x: 1 } } }),
    );
    expect(requests[0]?.body).toMatchObject({ service_tier: 'flex' });
    expect(requests[0]?.body).not.toHaveProperty('x');
  });

  it('openaiChat has a provider, a name and capabilities', () => {
    expect(openaiChat('gpt-5')).toMatchObject({
      provider: 'openai-chat',
      name: 'gpt-5',
      capabilities: { tools: true, typedOutputWithTools: true, vision: true },
    });
  });

  it('openaiChat reports an unsupported setting before it sends a request', async () => {
    const { fetch, requests } = answering();
    for (const thinking of [{ budget: 5 }, { effort: 'xhigh' }] as const) {
      const stream = openaiChat('gpt-5', { apiKey: 'k', fetch }).stream({ messages, thinking });
      await expect(lastValueFrom(stream)).rejects.toMatchObject({ code: 'configuration', subject: 'options' });
    }
    expect(requests).toEqual([]);
  });
});

const provider: ProviderUnderTest = {
  name: 'openai-chat',
  make: (baseUrl, options) => openaiChat('gpt-5', { ...options, baseUrl }),
  dialect: chatCompletions,
  transientCode: 'rate_limit_exceeded',
};

describeProviderContract(provider);

describe('openaiChat in a run with tools', () => {
  it('openaiChat sends the calls unchanged, the text besides them, and a result for each call', async () => {
    const { bodies } = await runTwoTurns(provider);
    const call = (id: string, name: string, args: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    expect(bodies[1]).toEqual({
      model: 'gpt-5',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is it in Oslo and in Lisbon?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          tool_calls: [call('call_1_1', 'temperature', '{"city":"Oslo"}'), call('call_1_2', 'season', '{}')],
        },
        { role: 'tool', tool_call_id: 'call_1_1', content: '{"city":"Oslo","celsius":-3}' },
        { role: 'tool', tool_call_id: 'call_1_2', content: '{"error":"no calendar"}' },
      ],
      tools: declaredTools,
      stream: true,
      stream_options: { include_usage: true },
    });
  });
});

describe('openaiChat over HTTP', () => {
  it('openaiChat executes a free-form tool and sends its call back', async () => {
    const inputs: string[] = [];
    const sql = responsesTools.custom({
      name: 'run_sql',
      description: 'Runs a query.',
      format: { syntax: 'regex', definition: 'SELECT .+' },
      execute: (input) => {
        inputs.push(input);
        return '1 row';
      },
    });
    const input = 'SELECT "a\\b" -- 😀 and more';
    const call = {
      type: 'toolCallFragment',
      id: 'call_1',
      name: 'run_sql',
      arguments: { input },
      providerData: { 'openai-chat': { type: 'custom' } },
    } as const;
    const server = await serveModel([[call], 'Done.']);
    const model = openaiChat('gpt-5.6-sol', { apiKey: 'k', baseUrl: server.url });
    const agent = createAgent({ model, tools: [sql], toolChoice: { name: 'run_sql' } });
    const { text } = await lastValueFrom(agent.run('Go.'));
    await server.close();
    expect(text).toBe('Done.');
    expect(inputs).toEqual([input]);
    const [first, second] = server.requests.map(({ body }) => body as JsonObject);
    const grammar = { syntax: 'regex', definition: 'SELECT .+' };
    expect(first).toMatchObject({
      tools: [
        {
          type: 'custom',
          custom: { name: 'run_sql', description: 'Runs a query.', format: { type: 'grammar', grammar } },
        },
      ],
      tool_choice: { type: 'custom', custom: { name: 'run_sql' } },
    });
    expect(second?.['messages']).toEqual([
      { role: 'user', content: 'Go.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'run_sql', input } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '1 row' },
    ]);
  });
});
