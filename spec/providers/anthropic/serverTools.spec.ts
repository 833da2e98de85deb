import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent.js';
import type { RunEvent } from '../../../lib/core/event.js';
import { nonEmptyString } from '../../../lib/core/json/json.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { userMessage } from '../../../lib/core/message.js';
import type { Message } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { anthropic } from '../../../lib/providers/anthropic/anthropic.js';
import { encodeAnthropic } from '../../../lib/providers/anthropic/encode.js';
import { anthropicTools, withBetas } from '../../../lib/providers/anthropic/serverTools.js';
import type { AnthropicTool } from '../../../lib/providers/anthropic/serverTools.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, Script, ServedTurn, ServeOptions } from '../../../lib/testing/server/index.js';
import { begin, block, end, text } from './frames.js';

const model = 'claude-sonnet-4-5';
const messages = [userMessage('What is the tide in Brest?')];
const tools = (...serverTools: readonly AnthropicTool[]) =>
  encodeAnthropic(model, { messages }, serverTools).body['tools'];
const add = { name: 'add', description: 'Adds.', parameters: {} };

/** A message of an answer that ran code. */
const ran = (id: string): Message => ({
  role: 'model',
  parts: [{ type: 'text', text: 'Done.' }],
  metadata: { anthropic: { container: { id, expires_at: '2026-03-01T07:00:00Z' } } },
});

/** Frames as the server sends them. */
const raw = (...frames: readonly JsonObject[]) =>
  frames.map((frame) => `event: ${nonEmptyString(frame['type']) ?? ''}\ndata: ${JSON.stringify(frame)}\n\n`);

const bodiesOf = (server: LoopbackServer) => server.requests.map(({ body }) => body as JsonObject);

async function over<T>(
  script: Script<ServedTurn>,
  options: ServeOptions,
  use: (server: LoopbackServer) => Promise<T>,
): Promise<T> {
  const server = await serveModel(script, options);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

describe('anthropic: the tools that Anthropic runs', () => {
  it('go into the request as the API has them, without what was not said', () => {
    expect(tools(anthropicTools.webSearch(), anthropicTools.webFetch(), anthropicTools.codeExecution())).toEqual([
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ]);
  });

  it('take settings, and the version that a model can do more with', () => {
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

  it('stand behind the tools of the request, and have a choice and its limits like these', () => {
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

  it('can be others than those with a function here, and of two with a name the later one counts', () => {
    const finder = { definition: { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' } };
    expect(tools(anthropicTools.webSearch(), finder, anthropicTools.webSearch({ maxUses: 2 }))).toEqual([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
      finder.definition,
    ]);
  });

  it('do not share a name with a tool of the user: said before the request', () => {
    const search = { ...add, name: 'web_search' };
    expect(() => encodeAnthropic(model, { messages, tools: [search] }, [anthropicTools.webSearch()])).toThrow(
      /Two tools are named "web_search"/,
    );
  });
});

describe('anthropic: the betas of tools', () => {
  it('are added to those of the user, each once, whatever the case of the header', () => {
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

  it('leave the headers alone where there are none', () => {
    expect(withBetas(undefined, [anthropicTools.webSearch()])).toBeUndefined();
    expect(withBetas({ 'Anthropic-Beta': 'x' }, [])).toEqual({ 'Anthropic-Beta': 'x' });
  });

  it('are in the request that is sent', () =>
    over(['Hi'], {}, async (server) => {
      const options = { apiKey: 'k', baseUrl: server.url, headers: { 'Anthropic-Beta': 'mine-2025-01-01' } };
      const serverTools = [anthropicTools.codeExecution(), anthropicTools.webFetch()];
      await lastValueFrom(anthropic(model, { ...options, serverTools }).stream({ messages }));
      expect(server.requests[0]?.headers['anthropic-beta']).toBe(
        'mine-2025-01-01,code-execution-2025-08-25,web-fetch-2025-09-10',
      );
    }));
});

describe('anthropic: the container', () => {
  const sent = (history: readonly Message[], ...serverTools: readonly AnthropicTool[]) =>
    encodeAnthropic(model, { messages: history }, serverTools).body['container'];
  const history = [
    ...messages,
    ran('container_1'),
    userMessage('And then?'),
    ran('container_2'),
    userMessage('And now?'),
  ];

  it('of the last answer that has one goes into the next request, if code can run there', () => {
    expect(sent(history, anthropicTools.codeExecution())).toBe('container_2');
    expect(sent(history, anthropicTools.webSearch({ version: '20260209' }))).toBe('container_2');
    expect(sent(messages, anthropicTools.codeExecution())).toBeUndefined();
    expect(sent(history, anthropicTools.webSearch())).toBeUndefined();
    expect(sent(history)).toBeUndefined();
  });

  it('comes out of the answer for the next turn of a conversation', () => {
    const container = { id: 'container_9', expires_at: '2026-03-01T07:00:00Z' };
    const [delta, stop] = end('end_turn');
    const ended = [{ ...delta, delta: { stop_reason: 'end_turn', stop_sequence: null, container } }, stop ?? {}];
    return over(
      ['Hello again.'],
      { forRequest: [{ raw: raw(begin(), ...text(0, 'Done.'), ...ended) }] },
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

  it('that is gone is done without: the same request goes once more, without it', () => {
    const gone = {
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message: 'container_2: container expired' } },
    };
    return over(['Fine.'], { forRequest: [gone] }, async (server) => {
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

describe('anthropic: a turn that is paused', () => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'tide Brest' } };
  const result = {
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
    return over(['High water is at 04:12.'], { forRequest: [{ raw: raw(...frames) }] }, async (server) => {
      const agent = createAgent({
        model: anthropic(model, { apiKey: 'k', baseUrl: server.url, serverTools: [anthropicTools.webSearch()] }),
        tools: [tool({ name: 'clock', description: 'The time.', execute: () => '06:00' })],
      });
      const events = await lastValueFrom(agent.stream(messages).pipe(toArray()));
      return { bodies: bodiesOf(server), events };
    });
  }
  const asked = { role: 'user', content: [{ type: 'text', text: 'What is the tide in Brest?' }] };
  const resultOf = (events: readonly RunEvent[]) => events.find((event) => event.type === 'result')?.result;

  it('goes on with a request that ends in what came, its blocks in their order', async () => {
    const { bodies, events } = await run([
      begin(),
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'I search.' },
        { type: 'signature_delta', signature: 'SIG' },
      ),
      ...text(1, 'Let me ', 'search.'),
      ...calling(2, use),
      ...block(3, result),
      ...text(4, 'Once more.'),
      ...calling(5, pending),
      ...end('pause_turn', { output_tokens: 30 }),
    ]);
    expect(bodies).toHaveLength(2);
    expect(bodies[1]?.['messages']).toEqual([
      asked,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I search.', signature: 'SIG' },
          { type: 'text', text: 'Let me search.' },
          use,
          result,
          { type: 'text', text: 'Once more.' },
          pending,
        ],
      },
    ]);
    expect(bodies[1]?.['tools']).toEqual(bodies[0]?.['tools']);
    expect(events.flatMap((event) => (event.type === 'turn' ? [event.finishReason] : []))).toEqual(['paused', 'stop']);
    const done = resultOf(events);
    expect(done).toMatchObject({
      text: 'Let me search.Once more.High water is at 04:12.',
      finishReason: 'stop',
      turns: 2,
    });
    expect(done?.messages.map(({ role }) => role)).toEqual(['model', 'model']);
    const shown = events.flatMap((event) =>
      event.type === 'metadata' && event.metadata['serverTool'] ? [event.metadata['serverTool']] : [],
    );
    expect(shown).toEqual([use, result, pending]);
  });

  it('goes on as well when it has no text at all', async () => {
    const { bodies, events } = await run([begin(), ...calling(0, use), ...end('pause_turn')]);
    expect(bodies[1]?.['messages']).toEqual([asked, { role: 'assistant', content: [use] }]);
    expect(resultOf(events)).toMatchObject({ text: 'High water is at 04:12.', finishReason: 'stop', turns: 2 });
    expect(resultOf(events)?.messages).toHaveLength(2);
  });

  it('is one message of the model in a request of a later turn', async () => {
    const { events } = await run([begin(), ...calling(0, use), ...end('pause_turn')]);
    const later = [...messages, ...(resultOf(events)?.messages ?? []), userMessage('Thanks.')];
    await over(['You are welcome.'], {}, async (server) => {
      await lastValueFrom(anthropic(model, { apiKey: 'k', baseUrl: server.url }).stream({ messages: later }));
      expect(bodiesOf(server)[0]?.['messages']).toEqual([
        asked,
        { role: 'assistant', content: [use, { type: 'text', text: 'High water is at 04:12.' }] },
        { role: 'user', content: [{ type: 'text', text: 'Thanks.' }] },
      ]);
    });
  });
});
