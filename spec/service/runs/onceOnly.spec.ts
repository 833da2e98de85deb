import { afterEach, describe, expect, it } from '@jest/globals';
import { concat, EMPTY, NEVER, Subject } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import { tool } from '../../../lib/core/tool.js';
import { agentTool } from '../../../lib/tools/agentTool.js';
import type { Tool, ToolContext } from '../../../lib/core/tool.js';
import { agentHandler } from '../../../lib/service/http/agentHandler.js';
import { isLate } from '../../../lib/core/lateTool.js';
import { onceOnly } from '../../../lib/service/runs/onceOnly.js';
import type { RunRecord } from '../../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { observe } from '../../support/observe.js';
import { postRun as post, shutDown } from '../../support/services.js';
import { afterCrash, mapStore } from '../../support/stores.js';
import { ignorePrintedErrors } from '../../support/printedErrors.js';

ignorePrintedErrors();

const newId = () => crypto.randomUUID();
type TurnContext = Parameters<ReturnType<ReturnType<typeof onceOnly>>>[1];
type Handler = (request: Request) => Promise<Response>;
const turn = () => new Promise((resolve) => setImmediate(resolve));

type Store = ReturnType<typeof mapStore>;
type Settings = Pick<Tool, 'needsApproval' | 'atMostOnce'>;
type Script = Parameters<typeof scriptedModel>[0];

const handlers: Handler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

/**
 * A service, as the only one of its process. Its tool `work` runs until `end` is called.
 *
 * @param depth How many inner agents are around the tool: each calls the next one, and the last one the tool.
 * @param hasMark Whether `agentTool` runs them; otherwise a tool that executes it.
 */
function startProcess(
  store: Store,
  settings: Settings,
  script: Script,
  agentOptions: object = {},
  depth = 0,
  hasMark = true,
) {
  const keys: string[] = [];
  const records: (RunRecord | undefined)[] = [];
  const ended = new Subject<string>();
  const execute = (_: unknown, { idempotencyKey }: ToolContext) => {
    keys.push(idempotencyKey);
    records.push([...store.records.values()].at(-1)?.record);
    return ended;
  };
  const work: Tool = { ...tool({ name: 'work', description: 'Works.' }), ...settings, execute };
  const model = scriptedModel(script);
  let inner: Tool = work;
  for (let level = 0; level < depth; level++) {
    const own = inner;
    const innerModel = scriptedModel(({ messages }) => (messages.length === 1 ? [callOf(own)].flat() : 'Inner.'));
    const innerAgent = createAgent({ model: innerModel, tools: [own] });
    const asking: Tool = agentTool(innerAgent, { name: `ask${level}`, description: 'Asks.' });
    inner = hasMark ? asking : tool({ ...executing(asking), parameters: asking.parameters });
  }
  const tools = [inner];
  const handler = agentHandler(createAgent({ model, tools, ...agentOptions }), { store, checkpoints: true });
  handlers.push(handler);
  const end = () => {
    ended.next('worked');
    ended.complete();
  };
  return { handler, keys, records, model, end };
}

/** A tool of which nobody knows that it runs an agent. */
const executing = (inner: Tool) => ({
  name: inner.name,
  description: '',
  execute: (args: unknown, context: ToolContext) => inner.execute?.(args, context),
});

const callOf = ({ name }: Tool) => toolCall(name, name === 'work' ? {} : { prompt: 'Work.' }, 'c1');
const call = [toolCall('work', {}, 'c1')];

/** A process is killed while the call runs, and another one continues the run. */
async function killed(settings: Settings) {
  const store = mapStore();
  const first = startProcess(store, settings, [call, 'Done.']);
  const id = newId();
  const waits = Boolean(settings.needsApproval);
  const started = await post(first.handler, id, { input: 'Work.' });
  if (waits) await started.text();
  const resumed = waits ? newId() : id;
  if (waits) await post(first.handler, resumed, { resume: id, decisions: { c1: { approve: true } } });
  while (first.keys.length === 0) await turn();
  const second = startProcess(afterCrash(store), settings, waits ? ['Done.'] : ['Done.']);
  const response = await post(second.handler, resumed, {});
  for (let n = 0; n < 5; n++) await turn();
  second.end();
  return { first, second, text: await response.text() };
}

describe('a call that had begun when its process ended', () => {
  it.each([
    ['with needsApproval', { needsApproval: true }],
    ['with atMostOnce', { atMostOnce: true }],
  ])(
    'is not executed again if its tool is one %s: page and model learn that the outcome is unknown',
    async (_, settings) => {
      const { first, second, text } = await killed(settings);
      expect([first.keys.length, second.keys.length]).toEqual([1, 0]);
      expect(first.records[0]).toMatchObject({ begun: first.keys });
      expect(text).toContain('"code":"outcome_unknown"');
      expect(JSON.stringify(second.model.requests.at(-1))).toContain('The outcome of the call is unknown');
      expect(text).toContain('Done.');
    },
  );

  it.each([
    ['without either', {}],
    ['with needsApproval and atMostOnce: false', { needsApproval: true, atMostOnce: false }],
  ])('is executed again with the same idempotencyKey if its tool is one %s', async (_, settings) => {
    const { first, second, text } = await killed(settings);
    expect(first.keys).toHaveLength(1);
    expect(second.keys).toEqual(first.keys);
    expect(first.records[0]?.begun).toBeUndefined();
    expect(text).toContain('worked');
  });
});

describe('a call of an inner agent that had begun when its process ended', () => {
  it.each([
    [1, true],
    [2, true],
    [1, false],
    [2, false],
  ])(
    'is not executed again if its tool is one with atMostOnce (%i inner agents, by agentTool: %s)',
    async (depth, hasMark) => {
      const store = mapStore();
      const script: Script = ({ messages }) =>
        messages.length === 1 ? [toolCall(`ask${depth - 1}`, { prompt: 'Work.' }, 'c1')] : 'Done.';
      const first = startProcess(store, { atMostOnce: true }, script, {}, depth, hasMark);
      const id = newId();
      await post(first.handler, id, { input: 'Work.' });
      while (first.keys.length === 0) await turn();
      const [key = ''] = first.keys;
      expect(first.records[0]).toMatchObject({ begun: [key] });
      expect(key.split('.c1')).toHaveLength(depth + 2); // the path of the call
      const second = startProcess(afterCrash(store), { atMostOnce: true }, script, {}, depth, hasMark);
      const text = await (await post(second.handler, id, {})).text();
      expect(second.keys).toEqual([]);
      expect(text).toContain('"code":"outcome_unknown"');
      expect(text).toContain('Done.');
    },
  );
});

describe('a call of an atMostOnce tool', () => {
  it('is not executed if the store cannot write that it begins', async () => {
    const store = mapStore(undefined, ({ begun }) => {
      if (begun) throw new Error('The store is away.');
    });
    const { handler, keys } = startProcess(store, { atMostOnce: true }, [call, 'Done.']);
    const text = await (await post(handler, newId(), { input: 'Work.' })).text();
    expect(keys).toEqual([]);
    expect(text).toContain('"code":"not_executed"');
    expect(text).not.toContain('away');
  });

  it('is known with those that run at the same time, and forgotten at the end of the run', async () => {
    const store = mapStore();
    const calls = [...call, toolCall('work', {}, 'c2')];
    const settings = { toolConcurrency: 2 };
    const { handler, keys, records, end } = startProcess(store, { atMostOnce: true }, [calls, 'Done.'], settings);
    const id = newId();
    const response = await post(handler, id, { input: 'Work.' });
    while (keys.length < 2) await turn();
    expect(records.at(-1)?.begun).toEqual(keys);
    expect(new Set(keys).size).toBe(2);
    end();
    await response.text();
    expect(store.records.get(id)?.record.begun).toBeUndefined();
  });

  it('does not begin before the message of the model is stored, with eagerTools too', async () => {
    const store = mapStore();
    const chunks = new Subject<Chunk>();
    const { handler, keys, records } = startProcess(store, { atMostOnce: true }, [chunks, 'Done.'], {
      eagerTools: true,
    });
    await post(handler, newId(), { input: 'Work.' });
    const fragment = {
      type: 'toolCallFragment',
      index: 0,
      id: 'c1',
      name: 'work',
      arguments: '{}',
      done: true,
    } as const;
    chunks.next(fragment);
    for (let n = 0; n < 5; n++) await turn();
    expect(keys).toEqual([]);
    chunks.next({ type: 'finish', reason: 'toolCalls' });
    chunks.complete();
    while (keys.length === 0) await turn();
    expect(records[0]?.checkpoint?.open?.messages).toHaveLength(1);
  });
});

describe('the tools of a turn', () => {
  /** Which of its tools a turn does not execute early. */
  function lateOf(...tools: readonly Tool[]) {
    const received: (readonly boolean[])[] = [];
    const turnOf = onceOnly([], () => EMPTY);
    const turned = turnOf((_, { tools: own }) => {
      received.push(own.map(isLate));
      return EMPTY;
    })({} as never, { tools } as unknown as TurnContext);
    observe(turned);
    return received[0];
  }
  const named = (name: string, settings: Partial<Tool> = {}): Tool => ({
    ...tool({ name, description: 'Works.', execute: () => 'worked' }),
    ...settings,
  });
  const asking = (name: string, ...tools: readonly Tool[]) =>
    agentTool(createAgent({ model: scriptedModel([]), tools: [...tools] }), { name, description: 'Asks.' });
  const pay = named('pay', { atMostOnce: true });
  const zone: Tool = { name: 'zone', description: 'Asks.', parameters: pay.parameters, atMostOnce: true };

  it.each<readonly [string, readonly Tool[], readonly boolean[]]>([
    ['without such a tool', [named('look')], [false]],
    ['with such a tool among others', [named('look'), pay], [false, true]],
    ['whose only such tool is executed by the page', [zone], [false]],
    ['with an inner agent that has such a tool among others', [asking('ask', named('look'), pay)], [true]],
    ['with an inner agent that has no such tool', [asking('ask', named('look'))], [false]],
  ])('%s are late only where it is necessary', (_, tools, late) => {
    expect(lateOf(...tools)).toEqual(late);
  });
});

describe('idempotencyKey', () => {
  it('differs for each call of a run, and names run, turn and call, and its arguments by a hash', async () => {
    const { handler, keys, end } = startProcess(mapStore(), {}, [call, [toolCall('work', {}, 'c1')], 'Done.']);
    const id = newId();
    const response = await post(handler, id, { input: 'Work.' });
    end();
    await response.text();
    expect(keys).toHaveLength(2);
    expect(keys[0]).toMatch(new RegExp(`^${id}\\.0\\.c1\\.\\w{16}$`));
    expect(keys[1]).toMatch(new RegExp(`^${id}\\.1\\.`));
  });

  it('is the same in a run that another one resumes from its checkpoint', async () => {
    const store = mapStore();
    const { handler, keys } = startProcess(store, { needsApproval: true }, [call, () => NEVER]);
    const id = newId();
    await (await post(handler, id, { input: 'Work.' })).text();
    await post(handler, newId(), { resume: id, decisions: { c1: { approve: true } } });
    while (keys.length === 0) await turn();
    expect(keys).toEqual([expect.stringMatching(new RegExp(`^${id}\\.0\\.c1\\.\\w{16}$`))]);
  });
});

describe('the record of a run', () => {
  it('is written before the reader receives anything', async () => {
    const written = new Subject<never>();
    const records = mapStore();
    const put: Store['put'] = (record, version) => concat(written, records.put(record, version));
    const { handler } = startProcess({ ...records, put }, {}, ['Done.']);
    let isAnswered = false;
    const response = post(handler, newId(), { input: 'Hi' }).finally(() => (isAnswered = true));
    for (let n = 0; n < 10; n++) await turn();
    expect([isAnswered, records.records.size]).toEqual([false, 0]);
    written.complete();
    expect(await (await response).text()).toContain('Done.');
  });

  it('has its earlier runs only until it has a checkpoint or has ended', async () => {
    const store = mapStore();
    const { handler, end } = startProcess(store, {}, ['One.', call, 'Two.']);
    const [one, two] = [newId(), newId()];
    await (await post(handler, one, { input: 'a' })).text();
    expect(store.records.get(one)?.record.history).toBeUndefined();
    const response = await post(handler, two, { input: 'b', history: [{ id: one, input: [] }] });
    while (!store.records.get(two)?.record.checkpoint) await turn();
    expect(store.records.get(two)?.record.history).toBeUndefined();
    end();
    await response.text();
  });
});
