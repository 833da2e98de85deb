import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { RunEvent } from '../../../lib/core/event.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { filePart, systemMessage, userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { anthropicTools } from '../../../lib/providers/anthropic/serverTools.js';
import { toolCall } from '../../../lib/testing/script.js';
import { anthropic as dialect } from '../../../lib/testing/server/dialects/anthropic/anthropic.js';
import type { ServedTurn } from '../../../lib/testing/server/index.js';
import { describeProviderContract, runTwoTurns } from '../../support/providerContract.js';
import type { ProviderUnderTest } from '../../support/providerContract.js';
import { begin, block, end, replayed, serverToolsIn, textBlock, thinkingBlock } from './frames.js';
import { bodiesOf, raw, serve } from './serve.js';

const model = 'claude-sonnet-4-5';
const messages = [userMessage('What is the tide in Brest?')];

const provider: ProviderUnderTest = {
  name: 'anthropic',
  make: (baseUrl, options) => anthropic(model, { ...options, baseUrl }),
  dialect,
  thinking: { budget: 2048 },
  transientCode: 'overloaded_error',
};

describeProviderContract(provider);

describe('anthropic', () => {
  it('anthropic sends back signed thinking, text and calls in their order, then the results, with errors marked', async () => {
    const { bodies, headers, paths } = await runTwoTurns(provider);
    expect(paths).toEqual(['/v1/messages', '/v1/messages']);
    expect(headers[1]).toMatchObject({ 'anthropic-version': '2023-06-01', 'content-type': 'application/json' });
    expect(headers[1]).not.toHaveProperty('authorization');
    expect(bodies[1]).toEqual({
      model: 'claude-sonnet-4-5',
      max_tokens: 64_000,
      system: 'Be brief.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'How warm is it in Oslo and in Lisbon?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Two look-ups are needed.', signature: 'sig_1_0' },
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'call_1_1', name: 'temperature', input: { city: 'Oslo' } },
            { type: 'tool_use', id: 'call_1_2', name: 'season', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1_1', content: '{"city":"Oslo","celsius":-3}' },
            { type: 'tool_result', tool_use_id: 'call_1_2', content: 'no calendar', is_error: true },
          ],
        },
      ],
      tools: [
        {
          name: 'temperature',
          description: 'The temperature of a city.',
          input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
        {
          name: 'season',
          description: 'The season now.',
          input_schema: { type: 'object', properties: {}, additionalProperties: false },
        },
      ],
      thinking: { type: 'enabled', budget_tokens: 2048 },
      stream: true,
    });
  });
});

describe('anthropic in an agent', () => {
  it('anthropic emits neither empty texts nor provider data to the readers of an agent', () => {
    const citation = { type: 'char_location', cited_text: 'Tides', document_title: 'Almanac' };
    const frames = [
      begin(),
      ...thinkingBlock(0, 'I look.', 'SIG'),
      ...textBlock(1, 'High water '),
      ...block(
        2,
        { type: 'text', text: '', citations: [] },
        { type: 'citations_delta', citation },
        { type: 'text_delta', text: 'at 04:12.' },
      ),
      ...end(),
    ];
    return serve([], { forRequest: [{ raw: raw(...frames) }] }, async (server) => {
      const agent = createAgent({ model: anthropic(model, { apiKey: 'k', baseUrl: server.url }) });
      const events = await lastValueFrom(agent.stream(messages).pipe(toArray()));
      expect(events.filter(({ type }) => type === 'text' || type === 'thinking')).toEqual([
        { type: 'thinking', text: 'I look.' },
        { type: 'text', text: 'High water ' },
        { type: 'text', text: 'at 04:12.' },
      ]);
      const message = events.find((event) => event.type === 'message')?.message;
      expect(replayed(message)).toEqual([
        { type: 'thinking', thinking: 'I look.', signature: 'SIG' },
        { type: 'text', text: 'High water ' },
        { type: 'text', text: 'at 04:12.', citations: [citation] },
      ]);
    });
  });
});

describe('anthropic: a paused turn', () => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'tide Brest' } };
  const found = {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [{ type: 'web_search_result', url: 'https://tides.example', title: 'Tides', encrypted_content: 'E1' }],
  };
  const pending = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'web_search', input: { query: 'tide Brest low' } };
  const calling = (index: number, { input, ...fields }: JsonObject) =>
    block(index, { ...fields, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(input) });

  async function run(
    frames: readonly JsonObject[],
  ): Promise<{ readonly bodies: readonly JsonObject[]; readonly events: readonly RunEvent[] }> {
    return serve(['High water is at 04:12.'], { forRequest: [{ raw: raw(...frames) }] }, async (server) => {
      const agent = createAgent({
        model: anthropic(model, { apiKey: 'k', baseUrl: server.url, serverTools: [anthropicTools.webSearch()] }),
        tools: [tool({ name: 'clock', description: 'The time.', execute: () => '06:00' })],
      });
      const events = await lastValueFrom(agent.stream(messages).pipe(toArray()));
      return { bodies: bodiesOf(server), events };
    });
  }
  const question = { role: 'user', content: [{ type: 'text', text: 'What is the tide in Brest?' }] };
  const resultOf = (events: readonly RunEvent[]) => events.find((event) => event.type === 'result')?.result;

  it('anthropic goes on after a paused turn with a request that ends with its blocks, in their order', async () => {
    const { bodies, events } = await run([
      begin(),
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'I search.' },
        { type: 'signature_delta', signature: 'SIG' },
      ),
      ...textBlock(1, 'Let me ', 'search.'),
      ...calling(2, use),
      ...block(3, found),
      ...textBlock(4, 'Once more.'),
      ...calling(5, pending),
      ...end('pause_turn', { output_tokens: 30 }),
    ]);
    expect(bodies).toHaveLength(2);
    expect(bodies[1]?.['messages']).toEqual([
      question,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I search.', signature: 'SIG' },
          { type: 'text', text: 'Let me search.' },
          use,
          found,
          { type: 'text', text: 'Once more.' },
          pending,
        ],
      },
    ]);
    expect(bodies[1]?.['tools']).toEqual(bodies[0]?.['tools']);
    expect(events.flatMap((event) => (event.type === 'turn' ? [event.finishReason] : []))).toEqual(['paused', 'stop']);
    const result = resultOf(events);
    expect(result).toMatchObject({
      text: 'Let me search.Once more.High water is at 04:12.',
      finishReason: 'stop',
      turns: 2,
    });
    expect(result?.messages.map(({ role }) => role)).toEqual(['model', 'model']);
    expect(serverToolsIn(events).map(({ raw }) => raw)).toEqual([use, found, pending]);
  });

  it('anthropic goes on after a paused turn without text', async () => {
    const { bodies, events } = await run([begin(), ...calling(0, use), ...end('pause_turn')]);
    expect(bodies[1]?.['messages']).toEqual([question, { role: 'assistant', content: [use] }]);
    expect(resultOf(events)).toMatchObject({ text: 'High water is at 04:12.', finishReason: 'stop', turns: 2 });
    expect(resultOf(events)?.messages).toHaveLength(2);
  });

  it('anthropic sends a paused turn and the turn after it as one message', async () => {
    const { events } = await run([begin(), ...calling(0, use), ...end('pause_turn')]);
    const later = [...messages, ...(resultOf(events)?.messages ?? []), userMessage('Thanks.')];
    await serve(['You are welcome.'], {}, async (server) => {
      await lastValueFrom(anthropic(model, { apiKey: 'k', baseUrl: server.url }).stream({ messages: later }));
      expect(bodiesOf(server)[0]?.['messages']).toEqual([
        question,
        // The scripted response after the pause does not have the result, so the API would refuse the call.
        { role: 'assistant', content: [{ type: 'text', text: 'High water is at 04:12.' }] },
        { role: 'user', content: [{ type: 'text', text: 'Thanks.' }] },
      ]);
    });
  });
});

describe('anthropic over a socket', () => {
  const look = tool({
    name: 'look',
    description: 'Takes a picture.',
    providerOptions: { anthropic: { cache_control: { type: 'ephemeral' } } },
    execute: () => ['The harbour:', filePart(new Uint8Array([1, 2, 3]), 'image/png')],
  });

  it('anthropic sends the files of a tool result, which the server reads as files', () => {
    let history: readonly Message[] = [];
    const second = (turn: ServedTurn) => {
      history = turn.history;
      return 'A harbour.';
    };
    return serve([[toolCall('look')], second], {}, async (server) => {
      const agent = createAgent({ model: anthropic(model, { apiKey: 'k', baseUrl: server.url }), tools: [look] });
      const { text } = await lastValueFrom(agent.run('What do you see?'));
      expect(text).toContain('A harbour.');
      expect(history.at(-1)?.parts).toEqual([
        {
          type: 'toolResult',
          id: 'call_1_1',
          name: 'look',
          result: ['The harbour:', { type: 'file', mediaType: 'image/png', data: 'AQID' }],
        },
      ]);
    });
  });

  it('anthropic sends cache breakpoints in tools, instructions and messages, and reports the cached tokens', () => {
    const cached = { anthropic: { cache_control: { type: 'ephemeral' } } };
    const usage = { input: 5000, output: 12, cachedInput: 4800 };
    const conversation: Message[] = [
      { ...systemMessage('A long handbook.'), providerOptions: cached },
      { ...userMessage('What is the tide in Brest?'), providerOptions: cached },
    ];
    return serve([['Low.', { type: 'finish', reason: 'stop', usage }]], {}, async (server) => {
      const agent = createAgent({ model: anthropic(model, { apiKey: 'k', baseUrl: server.url }), tools: [look] });
      const result = await lastValueFrom(agent.run(conversation));
      expect(result.usage).toMatchObject(usage);
      const cache_control = { type: 'ephemeral' };
      expect(bodiesOf(server)[0]).toMatchObject({
        system: [{ type: 'text', text: 'A long handbook.', cache_control }],
        tools: [{ name: 'look', cache_control }],
        messages: [{ role: 'user', content: [{ type: 'text', cache_control }] }],
      });
    });
  });

  it('anthropic fails with the error of the server for a fifth cache breakpoint', () => {
    const providerOptions = { anthropic: { cache_control: { type: 'ephemeral' } } };
    const parts = [1, 2, 3, 4, 5].map((page) => ({ type: 'text', text: `Page ${page}`, providerOptions }) as const);
    return serve(['Never.'], {}, async (server) => {
      const wired = anthropic(model, { apiKey: 'k', baseUrl: server.url });
      await expect(lastValueFrom(wired.stream({ messages: [userMessage(parts)] }))).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining('A maximum of 4 blocks with cache_control') as unknown,
      });
    });
  });
});
