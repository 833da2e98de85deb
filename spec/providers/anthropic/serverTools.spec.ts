import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { encodeAnthropic } from '../../../lib/providers/anthropic/encode.js';
import { anthropicTools, withBetas } from '../../../lib/providers/anthropic/serverTools.js';
import type { AnthropicTool } from '../../../lib/providers/anthropic/serverTools.js';
import { begin, end, textBlock } from './frames.js';
import { bodiesOf, raw, serve } from './serve.js';

const model = 'claude-sonnet-4-5';
const messages = [userMessage('What is the tide in Brest?')];
const tools = (...serverTools: readonly AnthropicTool[]) =>
  encodeAnthropic(model, { messages }, serverTools).body['tools'];
const add = { name: 'add', description: 'Adds.', parameters: {} };

/** A model's message whose code ran in a container. */
const messageIn = (id: string): Message => ({
  role: 'model',
  parts: [
    { type: 'text', text: 'Done.' },
    { type: 'provider', provider: 'anthropic', data: { container: { id, expires_at: '2026-03-01T07:00:00Z' } } },
  ],
});

describe('anthropicTools', () => {
  it('anthropicTools are sent in the format of the API, without unset options', () => {
    expect(tools(anthropicTools.webSearch(), anthropicTools.webFetch(), anthropicTools.codeExecution())).toEqual([
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ]);
  });

  it('anthropicTools accept options and a version', () => {
    const search = anthropicTools.webSearch({
      maxUses: 3,
      allowedDomains: ['tides.example'],
      userLocation: { city: 'Brest', country: 'FR', timezone: 'Europe/Paris' },
    });
    const fetch = anthropicTools.webFetch({
      blockedDomains: ['x.example'],
      citations: true,
      maxContentTokens: 5000,
      version: '20260209',
    });
    expect(tools(search, fetch)).toEqual([
      {
        type: 'web_search_20250305',
        name: 'web_search',
        max_uses: 3,
        allowed_domains: ['tides.example'],
        user_location: { type: 'approximate', city: 'Brest', country: 'FR', timezone: 'Europe/Paris' },
      },
      {
        type: 'web_fetch_20260209',
        name: 'web_fetch',
        blocked_domains: ['x.example'],
        citations: { enabled: true },
        max_content_tokens: 5000,
      },
    ]);
  });

  it('anthropicTools are sent after the tools of the request, and can be chosen like these', () => {
    const { body } = encodeAnthropic(
      model,
      { messages, tools: [add], toolChoice: 'required', parallelToolCalls: false },
      [anthropicTools.webSearch()],
    );
    expect(body['tools']).toEqual([
      { name: 'add', description: 'Adds.', input_schema: { type: 'object' } },
      { type: 'web_search_20250305', name: 'web_search' },
    ]);
    expect(body['tool_choice']).toEqual({ type: 'any', disable_parallel_tool_use: true });
    expect(
      encodeAnthropic(model, { messages, toolChoice: { name: 'web_search' } }, [anthropicTools.webSearch()]).body,
    ).toMatchObject({
      tool_choice: { type: 'tool', name: 'web_search' },
    });
  });

  it('serverTools accept a tool made by hand, and keep the later of two that share a name', () => {
    const finder = { definition: { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' } };
    expect(tools(anthropicTools.webSearch(), finder, anthropicTools.webSearch({ maxUses: 2 }))).toEqual([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
      finder.definition,
    ]);
  });

  it('serverTools that share a name with a tool of the request are refused', () => {
    const search = { ...add, name: 'web_search' };
    expect(() => encodeAnthropic(model, { messages, tools: [search] }, [anthropicTools.webSearch()])).toThrow(
      /Two tools are named "web_search"/,
    );
  });
});

describe('withBetas', () => {
  it('withBetas adds betas to those of the user, each once, whatever the case of the header', () => {
    const wanted = [anthropicTools.codeExecution(), anthropicTools.webFetch(), anthropicTools.webFetch()];
    expect(
      withBetas({ 'Anthropic-Beta': 'context-1m-2025-08-07, web-fetch-2025-09-10', 'X-Team': 'a' }, wanted),
    ).toEqual({
      'anthropic-beta': 'context-1m-2025-08-07,web-fetch-2025-09-10,code-execution-2025-08-25',
      'x-team': 'a',
    });
    expect(withBetas(undefined, wanted)).toEqual({
      'anthropic-beta': 'code-execution-2025-08-25,web-fetch-2025-09-10',
    });
  });

  it('withBetas returns the same headers if no tool needs a beta', () => {
    expect(withBetas(undefined, [anthropicTools.webSearch()])).toBeUndefined();
    expect(withBetas({ 'Anthropic-Beta': 'x' }, [])).toEqual({ 'Anthropic-Beta': 'x' });
  });

  it('withBetas changes the request that is sent', () =>
    serve(['Hi'], {}, async (server) => {
      const options = { apiKey: 'k', baseUrl: server.url, headers: { 'Anthropic-Beta': 'mine-2025-01-01' } };
      const serverTools = [anthropicTools.codeExecution(), anthropicTools.webFetch()];
      await lastValueFrom(anthropic(model, { ...options, serverTools }).stream({ messages }));
      expect(server.requests[0]?.headers['anthropic-beta']).toBe(
        'mine-2025-01-01,code-execution-2025-08-25,web-fetch-2025-09-10',
      );
    }));
});

describe('findLastContainer', () => {
  const sent = (history: readonly Message[], ...serverTools: readonly AnthropicTool[]) =>
    encodeAnthropic(model, { messages: history }, serverTools).body['container'];
  const history = [
    ...messages,
    messageIn('container_1'),
    userMessage('And then?'),
    messageIn('container_2'),
    userMessage('And now?'),
  ];

  it('findLastContainer returns a container that is sent with the next request if code can run', () => {
    expect(sent(history, anthropicTools.codeExecution())).toBe('container_2');
    expect(sent(history, anthropicTools.webSearch({ version: '20260209' }))).toBe('container_2');
    expect(sent(messages, anthropicTools.codeExecution())).toBeUndefined();
    expect(sent(history, anthropicTools.webSearch())).toBeUndefined();
    expect(sent(history)).toBeUndefined();
  });

  it('findLastContainer finds the container of the previous answer of a conversation', () => {
    const container = { id: 'container_9', expires_at: '2026-03-01T07:00:00Z' };
    const [delta, stop] = end('end_turn');
    const endFrames = [{ ...delta, delta: { stop_reason: 'end_turn', stop_sequence: null, container } }, stop ?? {}];
    return serve(
      ['Hello again.'],
      { forRequest: [{ raw: raw(begin(), ...textBlock(0, 'Done.'), ...endFrames) }] },
      async (server) => {
        const agent = createAgent({
          model: anthropic(model, { apiKey: 'k', baseUrl: server.url, serverTools: [anthropicTools.codeExecution()] }),
        });
        const first = await lastValueFrom(agent.run(messages));
        await lastValueFrom(agent.run('And now?', { history: [...messages, ...first.messages] }));
        expect(bodiesOf(server).map((body) => body['container'])).toEqual([undefined, 'container_9']);
      },
    );
  });

  it('isContainerNotFound makes the model send the same request again without the container', () => {
    const gone = {
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message: 'container_2: container expired' } },
    };
    return serve(['Fine.'], { forRequest: [gone] }, async (server) => {
      const wired = anthropic(model, {
        apiKey: 'k',
        baseUrl: server.url,
        serverTools: [anthropicTools.codeExecution()],
      });
      const chunks = await lastValueFrom(wired.stream({ messages: history }).pipe(toArray()));
      expect(chunks).toContainEqual({ type: 'text', text: 'Fine.' });
      const [first, second] = bodiesOf(server);
      const { container, ...rest } = first ?? {};
      expect(container).toBe('container_2');
      expect(second).toEqual(rest);
      expect(server.requests).toHaveLength(2);
    });
  });
});
