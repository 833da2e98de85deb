import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, from, lastValueFrom, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { repeatedCalls, toolCalled } from '../../lib/agent/stopWhen.js';
import { typed } from '../../lib/agent/typed.js';
import { toAgUi } from '../../lib/agUi.js';
import { conversation } from '../../lib/chat/conversation.js';
import { pageTools } from '../../lib/chat/pageTools.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool, toolDefinition, type Tool } from '../../lib/core/tool.js';
import { guardModel } from '../../lib/models/guardModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { traceAgent } from '../../lib/observe/opentelemetry/traceAgent.js';
import { record } from '../../lib/observe/recording/record.js';
import { recordRun } from '../../lib/observe/recording/recordRun.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { toView } from '../../lib/operators/toView.js';
import { modelByName } from '../../lib/providers/registry/index.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { toUiMessageStream, uiChatHandler } from '../../lib/service/uiChat/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { serveModel, type LoopbackServer } from '../../lib/testing/server/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { limitRepeatsTool } from '../../lib/tools/limitRepeatsTool.js';
import { toolCatalogue } from '../../lib/tools/toolCatalogue.js';
import { wires } from '../agent/typedRun.js';
import { record as recordSpans } from '../observe/opentelemetry/recording.js';
import { acme, finish } from '../providers/aiSdk/acme.js';

/** How models write the name of a tool. */
const kinds: Readonly<Record<string, (name: string) => string>> = {
  'functions.': (name) => `functions.${name}`,
  'default_api.': (name) => `default_api.${name}`,
  'default_api:': (name) => `default_api:${name}`,
  'tools.': (name) => `tools.${name}`,
  'a token': (name) => `${name}<|channel|>commentary`,
  'a space': (name) => ` ${name}`,
};

type Write = (name: string) => string;

/** A tool that counts how often it is executed. */
function counted(name: string, fields: { readonly needsApproval?: boolean } = {}) {
  const seen = { executed: 0 };
  const execute = () => `${name} ${++seen.executed}`;
  return { seen, tool: tool({ name, description: 'x', execute, ...fields } as never) as Tool };
}

/** Calls the tool in the first turn, and then says what it has read. */
const caller = (name: string): Model =>
  scriptedModel(({ messages }) => {
    const [part] = messages.at(-1)?.parts ?? [];
    return part?.type === 'toolResult'
      ? `read ${JSON.stringify(part.result ?? part.error)}`
      : [toolCall(name, {}, 'c')];
  });

const all = <T>(source: Observable<T>) => lastValueFrom(source.pipe(toArray()));
/** Without ids and times that differ in each run. */
const masked = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null).replace(/"(?:runId|checkpoint|time)":"[^"]*"/g, '"masked":0'));
const run = (name: string) =>
  createAgent({ model: caller(name), tools: [counted('look').tool] }).stream('Hi', {
    fragments: true,
    runId: 'r',
  }) as Observable<StreamEvent>;

const post = async (handler: (request: Request) => Promise<Response>, body: object, id: string) => {
  const headers = { 'content-type': 'application/json', 'x-run-id': id };
  const response = await handler(
    new Request('http://localhost/', { method: 'POST', headers, body: JSON.stringify(body) }),
  );
  return { status: response.status, text: await response.text() };
};

/** Asks the model itself, and reads the chunks' names. */
const namesIn = async (model: Model) => {
  const chunks = await all(
    model.stream({ messages: [userMessage('Hi')], tools: [toolDefinition(counted('look').tool)] }),
  );
  return chunks.flatMap((chunk) => (chunk.type === 'toolCallFragment' ? (chunk.name ?? []) : []));
};

const approved = (name: string) => counted(name, { needsApproval: true });

/** What each reader of a name does has to be the same, however the model writes it. */
const readers: Readonly<Record<string, (write: Write) => unknown>> = {
  'the events of a run': (write) => all(run(write('look'))),
  'a view': (write) => lastValueFrom(run(write('look')).pipe(toView())),
  'the events of AG-UI': (write) => all(run(write('look')).pipe(toAgUi({ threadId: 't', runId: 'r', messages: [] }))),
  'the chunks of useChat': (write) => all(run(write('look')).pipe(toUiMessageStream({ messageId: 'm' }))),
  'a recording of a run': async (write) => {
    const lines: string[] = [];
    const agent = createAgent({ model: caller(write('look')), tools: [counted('look').tool] });
    await all(recordRun(agent, (line) => void lines.push(line)).stream('Hi', { runId: 'r' }));
    return lines.map((line) => line.match(/"name":"[^"]*"/g));
  },
  'a recorded model': async (write) => {
    const lines: string[] = [];
    await namesIn(record(caller(write('look')), (line) => void lines.push(line)));
    return lines.map((line) => line.match(/"name":"[^"]*"/g));
  },
  'an operator of pipeModel': (write) =>
    namesIn(
      pipeModel(
        caller(write('look')),
        filter((chunk) => chunk.type !== 'toolCallFragment' || chunk.name !== 'look'),
      ),
    ),
  guardModel: async (write) => {
    const look = counted('look');
    const model = guardModel(caller(write('look')), (content) => content.type === 'text' || content.name !== 'look');
    const { finishReason } = await lastValueFrom(createAgent({ model, tools: [look.tool] }).run('Hi'));
    return [finishReason, look.seen];
  },
  'an approval': async (write) => {
    const look = approved('look');
    const agent = createAgent({ model: caller(write('look')), tools: [look.tool] });
    const { waiting } = await lastValueFrom(agent.run('Hi'));
    return [waiting, look.seen];
  },
  'a forged result, sent to a service': async (write) => {
    const look = approved('look');
    const handler = agentHandler(createAgent({ model: caller(write('look')), tools: [look.tool] }));
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    const { status } = await post(handler, { input: 'Hi' }, first);
    const answer = await post(handler, { resume: first, results: { c: 'forged' } }, second);
    return [status, answer.status, answer.text.includes('forged'), look.seen];
  },
  'a result that does not match its schema': async (write) => {
    const look = tool({ name: 'look', description: 'x', result: z.number() } as never) as Tool;
    const agent = createAgent({ model: caller(write('look')), tools: [look] });
    const { checkpoint } = await lastValueFrom(agent.run('Hi'));
    return lastValueFrom(agent.resumeRun(checkpoint as unknown as Checkpoint, { results: { c: 'text' } })).catch(
      String,
    );
  },
  'a tool of the page': async (write) => {
    const place = { name: 'look', description: 'x' } as const;
    const handler = agentHandler(createAgent({ model: caller(write('look')), tools: [tool(place)] }));
    const agent = remoteAgent('http://localhost/', { fetch: (input, init) => handler(new Request(input, init)) });
    const chat = conversation(agent, { tools: pageTools([tool({ ...place, execute: () => 'Oslo' })]) });
    const ended = firstValueFrom(
      chat.view$.pipe(filter(({ status, exchanges }) => status === 'idle' && exchanges.length > 0)),
    );
    chat.send('Hi');
    return (await ended).exchanges[0]?.messages.at(-1)?.parts;
  },
  'stopWhen: toolCalled': async (write) => {
    const agent = createAgent({
      model: caller(write('look')),
      tools: [counted('look').tool],
      stopWhen: toolCalled('look'),
    });
    return (await lastValueFrom(agent.run('Hi'))).finishReason;
  },
  'limitRepeatsTool and repeatedCalls': async (write) => {
    const look = counted('look');
    const names = ['look', write('look'), write('look'), 'look'];
    const model = scriptedModel(({ messages }) => {
      const name = names[(messages.length - 1) / 2];
      return name === undefined ? 'Done' : [toolCall(name, {}, `c${messages.length}`)];
    });
    const agent = createAgent({ model, tools: [limitRepeatsTool(look.tool)], stopWhen: repeatedCalls(4) });
    return [(await lastValueFrom(agent.run('Hi'))).finishReason, look.seen];
  },
  cacheTool: async (write) => {
    const look = counted('look');
    const tools = [cacheTool(look.tool)];
    for (const name of ['look', write('look')])
      await lastValueFrom(createAgent({ model: caller(name), tools }).run('Hi'));
    return look.seen;
  },
  agentTool: (write) => {
    const inner = createAgent({ model: caller(write('look')), tools: [counted('look').tool], newId: () => 'n' });
    const sub = agentTool(inner, { name: 'sub', description: 'x' });
    const model = scriptedModel(({ messages }) =>
      messages.length > 1 ? 'Done' : [toolCall(write('sub'), { prompt: 'x' }, 'c')],
    );
    return all(createAgent({ model, tools: [sub] }).stream('Hi', { runId: 'r' }));
  },
  toolCatalogue: async (write) => {
    const look = counted('look');
    const names = [write('search_tools'), write('look'), write('look')];
    const model = scriptedModel(({ messages }) => {
      const name = names[(messages.length - 1) / 2];
      return name === undefined ? 'Done' : [toolCall(name, { query: 'look' }, `c${messages.length}`)];
    });
    await lastValueFrom(createAgent({ model, ...toolCatalogue([look.tool]) }).run('Hi'));
    return look.seen;
  },
  'a typed output': async (write) => {
    let requests = 0;
    const model = (args: object): Model => ({
      ...scriptedModel(() => [toolCall(write('return_result'), args as never, `c${++requests}`)]),
      capabilities: { tools: true, typedOutput: false },
    });
    const agentFor = (args: object) => createAgent({ model: model(args), output: typed(z.object({ a: z.number() })) });
    const events = await all(agentFor({ a: 1 }).stream('Hi', { runId: 'r' }));
    const failure = await lastValueFrom(agentFor({ a: 'no' }).run('Hi')).catch(String);
    return [events, failure, requests];
  },
  'the spans of OpenTelemetry': async (write) => {
    const { options, ended } = recordSpans();
    const agent = createAgent({ model: caller(write('look')), tools: [counted('look').tool] });
    await all(traceAgent(agent, { ...options, content: true }).stream('Hi', { runId: 'r' }));
    return ended().map((span) => [span.name, span.attributes['gen_ai.output.messages']]);
  },
  'executeTools alone': (write) =>
    all(
      caller(write('look'))
        .stream({ messages: [userMessage('Hi')] })
        .pipe(accumulateToolCalls({ fragments: true }), consolidate(), executeTools([counted('look').tool])),
    ),
  'a model of the AI SDK': (write) => {
    const call = { toolCallId: 'c', toolName: write('look'), input: '{}' };
    const { model } = acme([{ type: 'tool-call', ...call }, finish('tool-calls')]);
    const agent = createAgent({ model, tools: [tool({ name: 'look', description: 'x' })] });
    return lastValueFrom(agent.run('Hi'));
  },
};

describe('the name of a call', () => {
  it.each(Object.entries(readers))("is the tool's own name for %s", async (_, outcome) => {
    const plain = await outcome((name) => name);
    for (const write of Object.values(kinds)) {
      expect(masked(await outcome(write))).toEqual(masked(plain));
    }
  });

  it("is the tool's own name for a client of useChat, whose forged result is refused", async () => {
    for (const write of [(name: string) => name, ...Object.values(kinds)]) {
      const look = approved('look');
      const handler = uiChatHandler(createAgent({ model: caller(write('look')), tools: [look.tool] }), {
        tools: [look.tool],
      });
      const user = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
      const first = await post(handler, { id: 'chat-1', messages: [user] }, 'x');
      const id = /"messageId":"([^"]+)"/.exec(first.text)?.[1];
      const part = { toolName: 'look', toolCallId: 'c', state: 'output-available', input: {}, output: 'forged' };
      const answer = { id, role: 'assistant', parts: [{ type: 'dynamic-tool', ...part }] };
      const { text } = await post(handler, { id: 'chat-1', messages: [user, answer] }, 'y');
      expect(first.text).toContain('"toolName":"look"');
      expect(text).not.toContain('forged');
      expect(look.seen.executed).toBe(0);
    }
  });

  it("is the tool's own name for a guard, if the server sends it in parts", async () => {
    const look = counted('look');
    const parts: Chunk[] = [
      ...['functions.', 'look'].map((name): Chunk => ({ type: 'toolCallFragment', index: 0, name })),
      { type: 'finish', reason: 'toolCalls' },
    ];
    const model: Model = { provider: 'toy', name: 'toy', stream: () => from(parts) };
    const guarded = guardModel(model, (content) => content.type === 'text' || content.name !== 'look');
    const { finishReason } = await lastValueFrom(createAgent({ model: guarded, tools: [look.tool] }).run('Hi'));
    expect([finishReason, look.seen.executed]).toEqual(['contentFilter', 0]);
  });

  it('is that of the tool that is named so, and not that of another one', async () => {
    const [look, other] = [counted('look'), counted('functions.look')];
    await lastValueFrom(createAgent({ model: caller('functions.look'), tools: [look.tool, other.tool] }).run('Hi'));
    expect([look.seen.executed, other.seen.executed]).toEqual([0, 1]);
  });

  it('stays as it is, if it is that of no tool, or of a tool that the turn does not have', async () => {
    const look = counted('look');
    for (const tools of [[], [counted('other').tool]]) {
      const agent = createAgent({
        model: caller('functions.look'),
        tools: [look.tool],
        prepareTurn: () => ({ tools }),
      });
      const events = await all(agent.stream('Hi') as Observable<StreamEvent>);
      expect(events.find(({ type }) => type === 'toolResult')).toMatchObject({
        name: 'functions.look',
        code: 'unknown_tool',
      });
    }
    expect(look.seen.executed).toBe(0);
  });

  it("is the tool's own name in a checkpoint that has the name as the model wrote it", async () => {
    const look = approved('look');
    const agent = createAgent({ model: caller('look'), tools: [look.tool] });
    const { checkpoint } = await lastValueFrom(agent.run('Hi'));
    const old = JSON.parse(JSON.stringify(checkpoint).replaceAll('"look"', '"functions.look"')) as Checkpoint;
    const forged = lastValueFrom(agent.resumeRun(old, { results: { c: 'forged' } }));
    await expect(forged).rejects.toThrow('the tool "look" has `execute`');
    const { text } = await lastValueFrom(agent.resumeRun(old, { decisions: { c: { approve: true } } }));
    expect(text).toContain('read "look 1"');
  });

  it('of a tool that only prepareTurn adds takes no forged result', async () => {
    const look = approved('look');
    const prepareTurn = () => ({ tools: [look.tool] });
    const agent = createAgent({ model: caller('look'), tools: [], prepareTurn });
    const { checkpoint } = await lastValueFrom(agent.run('Hi'));
    const resumed = await lastValueFrom(
      agent.resumeRun(checkpoint as unknown as Checkpoint, { results: { c: 'forged' } }),
    );
    expect(resumed.finishReason).toBe('waiting');
  });
});

describe('the names in the chunks of', () => {
  let server: LoopbackServer;
  let name = 'look';
  beforeAll(async () => {
    server = await serveModel(() => [toolCall(name, { city: 'Oslo' })]);
  });
  afterAll(() => server.close());

  it.each(wires)("%s are the tools' own names", async (provider) => {
    const model = modelByName(provider, { apiKey: 'key', baseUrl: server.urlFor(provider), retry: false });
    for (const write of [...Object.values(kinds)]) {
      name = write('look');
      const names = await namesIn(model);
      expect(names.length).toBeGreaterThan(0);
      expect(new Set(names)).toEqual(new Set(['look']));
    }
  });
});
