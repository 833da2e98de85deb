import { afterAll, describe, expect, it } from '@jest/globals';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { firstValueFrom, map, of, Subject, tap, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Agent, AgentOptions } from '../../lib/agent/createAgent.js';
import type { CallAnswers, WaitingCall } from '../../lib/core/approval.js';
import type { RunResult } from '../../lib/core/event.js';
import { innermost } from '../../lib/core/nested.js';
import type { JsonValue } from '../../lib/core/json/json.js';
import type { Tool } from '../../lib/core/tool.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { deadlineTool } from '../../lib/tools/deadlineTool.js';
import { limitRepeatsTool } from '../../lib/tools/limitRepeatsTool.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import { mcpTools } from '../../lib/tools/mcp/index.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { toolCatalogue } from '../../lib/tools/toolCatalogue.js';
import { wrapTool } from '../../lib/tools/wrapTool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { newClient } from './mcp/servers.js';

const closers: (() => Promise<void>)[] = [];
afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
});

const seat = z.object({ seat: z.string() });
const bookTool = () =>
  askTool({
    name: 'book',
    description: 'Books a seat.',
    execute: (_, { ask }) => ask({ message: 'Which seat?', schema: seat }).pipe(map((given) => `booked ${given.seat}`)),
  });

/** A tool of an MCP server that asks for the seat. */
async function mcpTool(): Promise<Tool> {
  const requestedSchema = { type: 'object' as const, properties: { seat: { type: 'string' as const } } };
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'spec', version: '1.0.0' });
    server.registerTool('book', { description: 'Books a seat.' }, ({ mcpReq: { inputResponses: answers } }) => {
      if (!answers)
        return inputRequired({ inputRequests: { q: inputRequired.elicit({ message: 'Which?', requestedSchema }) } });
      return { content: [{ type: 'text', text: `booked ${acceptedContent<{ seat: string }>(answers, 'q')?.seat}` }] };
    });
    return server;
  });
  const client = newClient({ capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } });
  const fetch = (address: string | URL, init?: RequestInit) => handler.fetch(new Request(address, init));
  await client.connect(new StreamableHTTPClientTransport(new URL('http://mcp.example/mcp'), { fetch }));
  closers.push(() => client.close());
  const [tool] = await firstValueFrom(mcpTools(client));
  if (!tool) throw new Error('There is no tool.');
  return tool;
}

/** A sub-agent that makes one call, and answers with its result. */
const subAgent = () => {
  const model = scriptedModel(({ messages }) => {
    const [part] = messages.at(-1)?.parts ?? [];
    return part?.type === 'toolResult' ? JSON.stringify(part.result).slice(1, -1) : [toolCall('book', {}, 'i1')];
  });
  const inner = createAgent({ model, tools: [bookTool()] });
  return agentTool(inner, {
    name: 'book',
    description: 'Books.',
    parameters: { type: 'object' },
    prompt: () => 'Book.',
  });
};

const tools: Readonly<Record<string, () => Tool | Promise<Tool>>> = {
  'an askTool': bookTool,
  'a tool of an MCP server': mcpTool,
  'an agentTool whose agent asks': subAgent,
};

const wrappers: Readonly<Record<string, (tool: Tool) => Pick<AgentOptions, 'tools' | 'prepareTurn'>>> = {
  limitTool: (tool) => ({ tools: [limitTool(tool, { concurrency: 1 })] }),
  'limitTool of two': (tool) => ({ tools: [limitTool(tool, { concurrency: 2 })] }),
  retryTool: (tool) => ({ tools: [retryTool(tool, { count: 2, delay: 1 })] }),
  deadlineTool: (tool) => ({ tools: [deadlineTool(tool, 2000)] }),
  limitRepeatsTool: (tool) => ({ tools: [limitRepeatsTool(tool)] }),
  wrapTool: (tool) => ({ tools: [wrapTool(tool, (run) => run)] }),
  'wrappers in each other': (tool) => ({
    tools: [limitTool(retryTool(deadlineTool(tool, 2000), { count: 1 }), { concurrency: 1 })],
  }),
  toolCatalogue: (tool) => toolCatalogue([], { always: [tool] }),
};

const ids = ['c1', 'c2', 'c3'];

const agentOf = (options: Pick<AgentOptions, 'tools' | 'prepareTurn'>, toolConcurrency: number): Agent =>
  createAgent({
    model: scriptedModel(({ messages }) =>
      messages.length > 1 ? 'Done.' : ids.map((id) => toolCall('book', { n: id }, id)),
    ),
    toolConcurrency,
    ...options,
  });

/** Each call has a seat of its own. */
const answerTo = (id: string): CallAnswers => ({ results: { [id]: { seat: id.slice(0, 2) } } });

const resultsOf = ({ messages }: RunResult) =>
  messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === 'toolResult' ? [part.result ?? part.error] : []));

const live = (agent: Agent) => liveRun(agent, ({ id }) => answerTo(id));

async function liveRun(
  agent: Agent,
  answerOf: (call: WaitingCall) => CallAnswers,
  context?: string,
): Promise<RunResult> {
  const answers = new Subject<CallAnswers>();
  const events = await firstValueFrom(
    agent.stream('Book.', { answers, context }).pipe(
      tap((event) => {
        const asked = innermost(event);
        if (asked.type === 'toolWaiting') setTimeout(() => answers.next(answerOf(asked)), 2);
      }),
      toArray(),
    ),
  );
  const last = events.at(-1);
  if (last?.type !== 'result') throw new Error('The run has not ended.');
  return last.result;
}

async function resumed(agent: Agent): Promise<RunResult> {
  let result = await firstValueFrom(agent.run('Book.'));
  for (let rounds = 0; rounds < 5 && result.checkpoint; rounds += 1) {
    const waiting = result.waiting ?? [];
    const answers = waiting.map(({ id }) => answerTo(id).results);
    const checkpoint = JSON.parse(JSON.stringify(result.checkpoint)) as typeof result.checkpoint;
    result = await firstValueFrom(
      agent.resumeRun(checkpoint, { results: Object.assign({}, ...answers) as Record<string, JsonValue> }),
    );
  }
  return result;
}

const table = Object.entries(wrappers).flatMap(([wrapper, wrap]) =>
  Object.entries(tools).flatMap(([tool, create]) =>
    [1, 2].flatMap((concurrency) =>
      Object.entries({ live, resumed }).map(
        ([how, play]) => [wrapper, tool, how, concurrency, { wrap, create, play }] as const,
      ),
    ),
  ),
);

describe('three calls that ask', () => {
  it.each(table)(
    'each get their own answer through %s around %s (%s, toolConcurrency %s)',
    async (_, __, ___, concurrency, { wrap, create, play }) => {
      const result = await play(agentOf(wrap(await create()), concurrency));
      expect([result.finishReason, resultsOf(result)]).toEqual(['stop', ids.map((id) => `booked ${id}`)]);
    },
    5000,
  );

  it.each(['an askTool', 'an agentTool whose agent asks'])('are refused by cacheTool around %s', async (name) => {
    const tool = await tools[name]?.();
    expect(() => tool && cacheTool(tool)).toThrow('asks a person');
  });

  it('are errors of a tool of an MCP server in cacheTool: nobody gets the answer of another', async () => {
    const result = await live(agentOf({ tools: [cacheTool(await mcpTool(), { key: () => 'same' })] }, 3));
    expect(result.finishReason).toBe('stop');
    for (const answer of resultsOf(result)) expect(answer).not.toContain('booked');
  });

  it('do not keep cacheTool from a tool of an MCP server that does not ask', async () => {
    const quiet = { ...(await mcpTool()), execute: () => of('seen') };
    expect(resultsOf(await live(agentOf({ tools: [cacheTool(quiet as Tool)] }, 1)))).toEqual(['seen', 'seen', 'seen']);
  });
});

describe('cacheTool of an agent, used by two people', () => {
  const needsApproval = (): Tool => ({
    name: 'book',
    description: 'Books a seat.',
    parameters: { type: 'object' },
    execute: (_, { context }) => `booked ${String(context)}`,
    needsApproval: true,
  });
  const asking: Readonly<Record<string, () => Promise<Pick<AgentOptions, 'tools' | 'prepareTurn'>>>> = {
    'a tool of an MCP server': async () => ({ tools: [await mcpTool()] }),
    'a tool that needs an approval': async () => ({ tools: [needsApproval()] }),
    'an askTool of a catalogue': async () => toolCatalogue(of([bookTool()])),
    'a tool of an MCP server in a catalogue': async () => toolCatalogue(of([await mcpTool()])),
  };
  /** Makes each call, and answers with the last result. */
  const toolOf = (name: string, calls: readonly string[], options: Pick<AgentOptions, 'tools' | 'prepareTurn'>) => {
    const model = scriptedModel(({ messages }) => {
      const next = calls[(messages.length - 1) / 2];
      const [part] = messages.at(-1)?.parts ?? [];
      if (next !== undefined) return [toolCall(next, { query: 'Books' }, 'i')];
      return part?.type === 'toolResult' ? `answer: ${JSON.stringify(part.result ?? part.error)}` : 'nothing';
    });
    const parameters = { type: 'object' } as const;
    const agent = createAgent({ model, ...options });
    return agentTool(agent, { name, description: 'Books.', parameters, prompt: () => 'Book.' });
  };
  const levels: Readonly<Record<string, (tool: Tool) => Tool>> = {
    'one level': (tool) => tool,
    'two levels': (tool) => toolOf('book', ['inner'], { tools: [tool] }),
  };
  const ways = Object.keys(asking).flatMap((name) =>
    Object.keys(levels).flatMap((level) => ['live', 'resumed'].map((how) => [name, level, how] as const)),
  );

  it.each(ways)('asks each of them: %s, %s, %s', async (name, level, how) => {
    const calls = name.includes('catalogue') ? ['search_tools', 'book'] : ['book'];
    const inner = toolOf(level === 'one level' ? 'book' : 'inner', calls, (await asking[name]?.()) ?? {});
    const cached = cacheTool(levels[level]?.(inner) ?? inner);
    for (const person of ['Ann', 'Bob']) {
      const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('book', {}, 'c')]));
      const { questions, result } = await playOnce(createAgent({ model, tools: [cached] }), how, person);
      expect([questions, ...resultsOf(result).map((text) => /booked \w+/.exec(JSON.stringify(text))?.[0])]).toEqual([
        1,
        `booked ${person}`,
      ]);
    }
  });
});

/** A run whose one question or approval is answered, in memory or later. */
async function playOnce(agent: Agent, how: string, person: string) {
  let questions = 0;
  const answerOf = ({ id, question }: WaitingCall): CallAnswers => {
    questions += 1;
    return question ? { results: { [id]: { seat: person } } } : { decisions: { [id]: { approve: true } } };
  };
  if (how === 'live') return { result: await liveRun(agent, answerOf, person), questions };
  let result = await firstValueFrom(agent.run('Book.', { context: person }));
  const [call] = result.waiting ?? [];
  if (call && result.checkpoint)
    result = await firstValueFrom(agent.resumeRun(result.checkpoint, { context: person, ...answerOf(call) }));
  return { result, questions };
}
