import { afterAll, describe, expect, it } from '@jest/globals';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { firstValueFrom, map, of, Subject, tap, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Agent, AgentOptions } from '../../lib/agent/createAgent.js';
import type { CallAnswers } from '../../lib/core/approval.js';
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

async function live(agent: Agent): Promise<RunResult> {
  const answers = new Subject<CallAnswers>();
  const events = await firstValueFrom(
    agent.stream('Book.', { answers }).pipe(
      tap((event) => {
        const asked = innermost(event);
        if (asked.type === 'toolWaiting') setTimeout(() => answers.next(answerTo(asked.id)), 2);
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
