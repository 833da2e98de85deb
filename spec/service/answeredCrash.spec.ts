import { afterEach, describe, expect, it } from '@jest/globals';
import { defer, tap } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Approve, CallAnswers } from '../../lib/core/approval.js';
import { tool, type Tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { RunStore, StoredRun } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';
import { postRun as post, shutDown, type Handler } from '../support/services.js';
import { afterCrash, mapStore } from '../support/stores.js';

ignorePrintedErrors();

const handlers: Handler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

const newId = () => crypto.randomUUID();
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** What a tool returns that takes some time. */
async function after(turns: number, value: string): Promise<string> {
  for (let n = 0; n < turns; n++) await turn();
  return value;
}

type ScriptedCall = ReturnType<typeof toolCall>;

/** A model that calls these tools, and then says what they have returned. */
const callsThenSays = (calls: readonly ScriptedCall[]) =>
  scriptedModel(({ messages }) => {
    const results = messages.at(-1)?.parts.flatMap((part) => (part.type === 'toolResult' ? [part] : [])) ?? [];
    return results.length > 0
      ? results.map(({ result, code }) => (typeof result === 'string' ? result : code)).join()
      : [...calls];
  });

/** A tool with an agent inside, which calls another tool. */
const agentAround = (own: Tool, call: ScriptedCall, name = 'agent'): Tool =>
  agentTool(createAgent({ model: callsThenSays([call]), tools: [own] }), { name, description: '' });

const note = (settings: Partial<Tool> = {}): Tool => ({
  name: 'note',
  description: '',
  parameters: z.object({}),
  ...settings,
});

const noteAfter = (turns: number) =>
  note({ needsApproval: true, atMostOnce: false, execute: () => after(turns, 'noted') });

const askingNote: Tool = askTool({
  name: 'note',
  description: '',
  execute: (_, { ask }) => ask({ message: 'Where?', schema: z.object({ where: z.string() }) }),
});

const approved = { decisions: { n1: { approve: true } } } as const;
const denied = { decisions: { n1: { approve: false, reason: 'No.' } } } as const;

interface OtherCall {
  readonly tool: Tool;
  readonly answers: CallAnswers;
  readonly result: unknown;
  /** Whether a third call waits for its answer until the run has ended. */
  readonly hasThird?: boolean;
}

/** The other call of the turn, what is answered to it, and what comes of it. */
const others = {
  'is denied': { tool: noteAfter(1), answers: denied, result: 'denied' },
  'is denied, and a third one waits on': { tool: noteAfter(1), answers: denied, result: 'denied', hasThird: true },
  'is approved, and ends first': { tool: noteAfter(1), answers: approved, result: 'noted' },
  'is approved, and ends last': { tool: noteAfter(6), answers: approved, result: 'noted' },
  'has a result of the page': { tool: note(), answers: { results: { n1: 'Oslo' } }, result: 'Oslo' },
  'has an error of the page': { tool: note(), answers: { errors: { n1: 'Closed.' } }, result: 'failed' },
  'has asked, and is answered': {
    tool: askingNote,
    answers: { results: { 'n1/1': { where: 'Oslo' } } },
    result: { where: 'Oslo' },
  },
  'runs an agent, whose call is approved': {
    tool: agentAround(noteAfter(1), toolCall('note', {}, 'i1'), 'note'),
    answers: { decisions: { 'n1/i1': { approve: true } } },
    result: 'noted',
  },
} as const satisfies Readonly<Record<string, OtherCall>>;

const edited = { to: 'Carl' } as const;

/** What the call is, and whether a person has changed its arguments. */
const subjects = {
  'of an atMostOnce tool': { atMostOnce: true },
  'of an atMostOnce tool with other arguments': { atMostOnce: true, edited },
  'of an atMostOnce tool in an agent': { atMostOnce: true, isInner: true },
  'of any other tool': { atMostOnce: false },
  'of any other tool with other arguments': { atMostOnce: false, edited },
} as const;

interface Setting {
  readonly atMostOnce: boolean;
  readonly isInner?: boolean;
  readonly edited?: { readonly to: string };
  readonly other: OtherCall;
  readonly isFirst?: boolean;
  readonly toolConcurrency?: number;
  readonly approve?: Approve;
}

/** A service in a process. Its tool `pay` takes some time. */
function startProcess(store: RunStore, setting: Setting) {
  const { atMostOnce, isInner = false, other, isFirst = true, toolConcurrency, approve } = setting;
  const payments: string[] = [];
  const pay = tool({
    name: 'pay',
    description: '',
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    atMostOnce,
    execute({ to }, { idempotencyKey }) {
      payments.push(`${idempotencyKey} ${to}`);
      return after(4, 'paid');
    },
  });
  const payCall = toolCall('pay', { to: 'Bob' }, 'p1');
  const pair = [isInner ? toolCall('agent', { prompt: '' }, 'a1') : payCall, toolCall('note', { prompt: '' }, 'n1')];
  const calls = [...(isFirst ? pair : pair.reverse()), ...(other.hasThird ? [toolCall('note', {}, 'n2')] : [])];
  const tools = [isInner ? agentAround(pay, payCall) : pay, other.tool];
  const agent = createAgent({
    model: callsThenSays(calls),
    tools,
    ...(toolConcurrency && { toolConcurrency }),
    ...(approve && { approve }),
  });
  const handler = agentHandler(agent, { store, checkpoints: true });
  handlers.push(handler);
  return { handler, payments };
}

/** What a store has after each write, and how many payments were made until the next one. */
function observedStore(paid: () => number) {
  const store = mapStore();
  const crashes: { readonly records: Map<string, StoredRun>; paid: number }[] = [];
  const count = () => {
    const last = crashes.at(-1);
    if (last) last.paid = paid();
  };
  const put: RunStore['put'] = (record, version) =>
    defer(() => {
      count();
      return store.put(record, version).pipe(tap(() => crashes.push({ records: new Map(store.records), paid: 0 })));
    });
  return { store: { ...store, put }, crashes, count };
}

/** The results of the calls in the result of a run, by the ids of the calls. */
const resultsIn = (records: ReadonlyMap<string, StoredRun>, run: string) =>
  new Map(
    records
      .get(run)
      ?.record.result?.messages.flatMap(({ parts }) => parts)
      .flatMap((part) => (part.type === 'toolResult' ? [[part.id, part]] : [])),
  );

/** A run waits, is answered, and is lost with its process after each write. Another process continues it each time. */
async function crashAtEachWrite(setting: Setting) {
  const { atMostOnce, isInner = false, other } = setting;
  const observed = observedStore(() => first.payments.length);
  const first = startProcess(observed.store, setting);
  const [run, answered, last] = [newId(), newId(), newId()];
  const id = isInner ? 'a1/p1' : 'p1';
  const decision = { approve: true, ...(setting.edited && { arguments: setting.edited }) };
  const decisions = { ...other.answers.decisions, [id]: decision };
  const answers = { ...other.answers, resume: run, decisions };
  await (await post(first.handler, run, { input: 'Pay.' })).text();
  await (await post(first.handler, answered, answers)).text();
  observed.count();
  const problems: unknown[] = [];
  const outcomes = new Set<unknown>();
  for (const crash of observed.crashes.filter(({ records }) => records.has(answered))) {
    const store = afterCrash(mapStore(crash.records));
    const second = startProcess(store, setting);
    let text = await (await post(second.handler, answered, answers)).text();
    const rest = { resume: answered, decisions: { n2: { approve: false } } };
    if (other.hasThird) text += await (await post(second.handler, last, rest)).text();
    const results = resultsIn(store.records, other.hasThird ? last : answered);
    const [result, otherResult] = [results.get(isInner ? 'a1' : 'p1'), results.get('n1')];
    const outcome = result?.result ?? result?.code;
    outcomes.add(outcome);
    const payments = [...first.payments.slice(0, crash.paid), ...second.payments];
    const isPaid = outcome === 'paid' && (atMostOnce ? payments.length === 1 : new Set(payments).size === 1);
    const isUnknown = outcome === 'outcome_unknown' && second.payments.length === 0;
    const isRight =
      (isPaid || isUnknown) &&
      !/"type":"toolWaiting","id":"[pn]1"/.test(text) &&
      payments.every((payment) => payment.endsWith(setting.edited?.to ?? 'Bob')) &&
      JSON.stringify(result?.arguments) === JSON.stringify(setting.edited) &&
      JSON.stringify(otherResult?.result ?? otherResult?.code) === JSON.stringify(other.result);
    if (!isRight) problems.push({ text, payments, results });
  }
  return { problems, outcomes: [...outcomes].sort() };
}

describe('an approved call whose process ends', () => {
  it.each<readonly [keyof typeof subjects, keyof typeof others, 'first' | 'last', toolConcurrency: number]>([
    ['of an atMostOnce tool', 'is denied', 'first', 1],
    ['of an atMostOnce tool', 'is denied', 'first', 4],
    ['of an atMostOnce tool', 'is denied, and a third one waits on', 'first', 1],
    ['of an atMostOnce tool', 'is approved, and ends first', 'first', 4],
    ['of an atMostOnce tool', 'is approved, and ends first', 'last', 1],
    ['of an atMostOnce tool', 'is approved, and ends last', 'first', 1],
    ['of an atMostOnce tool', 'is approved, and ends last', 'last', 4],
    ['of an atMostOnce tool', 'has a result of the page', 'first', 1],
    ['of an atMostOnce tool', 'has an error of the page', 'first', 4],
    ['of an atMostOnce tool', 'has asked, and is answered', 'first', 4],
    ['of an atMostOnce tool', 'runs an agent, whose call is approved', 'first', 4],
    ['of an atMostOnce tool', 'runs an agent, whose call is approved', 'last', 1],
    ['of an atMostOnce tool with other arguments', 'is denied', 'first', 1],
    ['of an atMostOnce tool with other arguments', 'is approved, and ends first', 'first', 4],
    ['of an atMostOnce tool in an agent', 'is approved, and ends first', 'first', 1],
    ['of an atMostOnce tool in an agent', 'is approved, and ends last', 'first', 4],
    ['of any other tool', 'is denied', 'first', 4],
    ['of any other tool', 'has a result of the page', 'first', 1],
    ['of any other tool with other arguments', 'is denied', 'first', 1],
  ])('%s is not asked again: another call %s (the call is the %s one, toolConcurrency: %i)', async (...row) => {
    const [subject, other, place, toolConcurrency] = row;
    const settings = subjects[subject];
    const setting = { ...settings, other: others[other], isFirst: place === 'first', toolConcurrency };
    const { problems, outcomes } = await crashAtEachWrite(setting);
    expect(problems).toEqual([]);
    expect(outcomes).toEqual(settings.atMostOnce ? ['outcome_unknown', 'paid'] : ['paid']);
  });
});

describe('a call of an atMostOnce tool that had begun when its process ended', () => {
  const setting = { atMostOnce: true, other: others['is denied'] };

  it('is not asked again of `approve`: its outcome is unknown', async () => {
    const asked: string[] = [];
    const approve: Approve = ({ id }) => [(asked.push(id), { approve: true })];
    const store = mapStore();
    const first = startProcess(store, { ...setting, approve });
    const run = newId();
    await post(first.handler, run, { input: 'Pay.' });
    while (first.payments.length === 0) await turn();
    const lost = afterCrash(store);
    asked.length = 0;
    const second = startProcess(lost, { ...setting, approve });
    await (await post(second.handler, run, {})).text();
    expect(resultsIn(lost.records, run).get('p1')).toMatchObject({ code: 'outcome_unknown' });
    expect([asked, second.payments]).toEqual([['n1'], []]);
  });

  it('has an unknown outcome too if the run is stopped before it continues', async () => {
    const store = mapStore();
    const first = startProcess(store, setting);
    const [run, answered] = [newId(), newId()];
    await (await post(first.handler, run, { input: 'Pay.' })).text();
    const decisions = { p1: { approve: true }, n1: { approve: true } };
    await post(first.handler, answered, { resume: run, decisions });
    while (first.payments.length === 0) await turn();
    const lost = afterCrash(store);
    const second = startProcess(lost, setting);
    await second.handler(new Request('http://service.test', { method: 'DELETE', headers: { 'x-run-id': answered } }));
    const results = resultsIn(lost.records, answered);
    expect([results.get('p1')?.code, results.get('n1')?.code]).toEqual(['outcome_unknown', 'not_executed']);
  });

  it('is known as long as it has no result: to a run that waits, and to the one that resumes it', async () => {
    const written: (readonly [run: string, state: string, begun: number | undefined])[] = [];
    const store = mapStore(undefined, ({ id, state, begun }) => written.push([id, state, begun?.length]));
    const asking: Tool = { ...askingNote, atMostOnce: true };
    const agent = createAgent({ model: callsThenSays([toolCall('note', {}, 'n1')]), tools: [asking] });
    const handler = agentHandler(agent, { store, checkpoints: true });
    handlers.push(handler);
    const [run, answered] = [newId(), newId()];
    await (await post(handler, run, { input: 'Note.' })).text();
    expect(written.at(-1)).toEqual([run, 'waiting', 1]);
    written.length = 0;
    await (await post(handler, answered, { resume: run, results: { 'n1/1': { where: 'Oslo' } } })).text();
    expect(written.slice(0, 3)).toEqual([
      [answered, 'running', 1],
      [run, 'ended', undefined],
      [answered, 'running', 1],
    ]);
    expect(written.at(-1)).toEqual([answered, 'ended', undefined]);
  });
});
