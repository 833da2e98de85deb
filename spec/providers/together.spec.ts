import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { JsonObject } from '../../lib/core/json/json.js';
import { userMessage } from '../../lib/core/message.js';
import type { ModelRequest } from '../../lib/core/model.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import type { OpenModelOptions } from '../../lib/providers/httpModel.js';
import { together } from '../../lib/providers/together.js';
import { chatCompletions } from '../../lib/testing/server/dialects/chatCompletions/chatCompletions.js';
import { openTool } from '../checks/conformance/case.js';
import { answering } from './answering.js';
import { delta } from './chatCompletions/reading.js';
import { describeProviderContract, runTwoTurns } from '../support/providerContract.js';
import type { ProviderUnderTest } from '../support/providerContract.js';

const provider: ProviderUnderTest = {
  name: 'together',
  make: (baseUrl, options) => together('Qwen/Qwen3.5-9B', { ...options, baseUrl }),
  dialect: chatCompletions,
  transientCode: 'rate_limit_exceeded',
};
describeProviderContract(provider);

async function sent(request: Partial<ModelRequest>) {
  const { fetch, requests } = answering(delta({ content: 'a' }, 'eos'));
  await lastValueFrom(together('m', { apiKey: 'k', fetch }).stream({ messages: [userMessage('Hi')], ...request }));
  return requests[0]?.body ?? {};
}

describe('together: requests', () => {
  it('together sends the calls unchanged, the text besides them, and a result for each call', async () => {
    const { bodies } = await runTwoTurns(provider);
    const call = (id: string, name: string, args: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    expect(bodies[1]).toEqual({
      model: 'Qwen/Qwen3.5-9B',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How warm is it in Oslo and in Lisbon?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          reasoning_content: 'Two look-ups are needed.',
          tool_calls: [call('call_1_1', 'temperature', '{"city":"Oslo"}'), call('call_1_2', 'season', '{}')],
        },
        { role: 'tool', tool_call_id: 'call_1_1', content: '{"city":"Oslo","celsius":-3}' },
        { role: 'tool', tool_call_id: 'call_1_2', content: '{"error":"no calendar"}' },
      ],
      tools: (bodies[0] as { tools: unknown }).tools,
      reasoning: { enabled: true },
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('together sends a schema without strict mode', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    expect((await sent({ output: schema }))['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'output', schema },
    });
  });

  it.each<[NonNullable<ModelRequest['thinking']>, JsonObject]>([
    [true, { reasoning: { enabled: true } }],
    [false, { reasoning: { enabled: false } }],
    [{ effort: 'minimal' }, { reasoning_effort: 'low' }],
    [{ effort: 'high' }, { reasoning_effort: 'high' }],
  ])('together encodes thinking %j', async (thinking, fields) => {
    expect(await sent({ thinking })).toMatchObject(fields);
  });
});

describe('together: responses', () => {
  const llama = 'meta-llama/Llama-3.3-70B-Instruct-Turbo';
  const answer = async (
    texts: readonly string[],
    {
      model = llama,
      request = {},
      ...options
    }: { model?: string; request?: Partial<ModelRequest> } & OpenModelOptions = {},
  ) => {
    const { fetch } = answering(...texts.map((content) => delta({ content })), delta({}, 'eos'), '[DONE]');
    const events = together(model, { apiKey: 'k', fetch, ...options }).stream({
      messages: [userMessage('Hi')],
      tools: [openTool('add'), openTool('now')],
      ...request,
    });
    return lastValueFrom(events.pipe(accumulateToolCalls(), toArray()));
  };
  const written = '<|python_tag|>{"name": "add", "parameters": {"a": 1}}';
  const calls = [
    { type: 'toolCall', name: 'add', arguments: { a: 1 } },
    { type: 'finish', reason: 'toolCalls' },
  ];
  const quoted = [
    { type: 'text', text: written },
    { type: 'finish', reason: 'stop' },
  ];

  it('together emits calls that a Llama model wrote as text, and finishes with toolCalls', async () => {
    const events = await answer([
      '<think>Hm.</think>\n',
      '<|pyth',
      'on_tag|>{"name": "add", "parameters": {"a"',
      ': 1}}; {"name": "now", "parameters": {}}',
    ]);
    expect(events).toMatchObject([
      { type: 'thinking', text: 'Hm.' },
      { type: 'toolCall', name: 'add', arguments: { a: 1 } },
      { type: 'provider', provider: 'together', data: { think_tags: '<think>Hm.</think>\n' } },
      { type: 'toolCall', name: 'now', arguments: {} },
      { type: 'finish', reason: 'toolCalls' },
    ]);
  });

  it.each([
    'meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo',
    'meta-llama/Llama-3.2-3B-Instruct-Turbo',
    'meta-llama/Llama-4-Scout-17B-16E-Instruct',
  ])('together reads calls that %s wrote as text', async (model) => {
    expect(await answer([written], { model })).toMatchObject(calls);
  });

  it.each(['Qwen/Qwen3.5-9B', 'deepseek-ai/DeepSeek-V3', 'meta-llama/Llama-3-70b-chat-hf', 'me/meta-llama/Llama-4-x'])(
    'together reads no calls that %s wrote as text, unless the option textCalls declares it',
    async (model) => {
      expect(await answer([written], { model })).toMatchObject(quoted);
      expect(await answer([written], { model, textCalls: true })).toMatchObject(calls);
    },
  );

  it('together reads no calls in text with textCalls false, with the tool choice none, or of a tool that is not offered', async () => {
    expect(await answer([written], { textCalls: false })).toMatchObject(quoted);
    expect(await answer([written], { request: { toolChoice: 'none' } })).toMatchObject(quoted);
    expect(await answer([written], { request: { tools: [openTool('now')] } })).toMatchObject(quoted);
    expect(await answer([written], { request: { tools: [] } })).toMatchObject(quoted);
  });

  it('together emits thinking that is streamed as text, unless thinkTags is false', async () => {
    expect(await answer(['<think>Hm.</think>Yes'])).toMatchObject([
      { type: 'thinking', text: 'Hm.' },
      { type: 'text', text: 'Yes' },
      { reason: 'stop' },
    ]);
    expect(await answer(['<think>Hm.</think>Yes'], { thinkTags: false })).toMatchObject([
      { text: '<think>Hm.</think>Yes' },
      { reason: 'stop' },
    ]);
  });
});
