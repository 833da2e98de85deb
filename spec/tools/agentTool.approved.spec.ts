import { describe, expect, it } from '@jest/globals';
import {
  AsyncSubject,
  concat,
  concatMap,
  defer,
  forkJoin,
  identity,
  map,
  merge,
  retry,
  Subject,
  takeUntil,
  tap,
} from 'rxjs';
import { throwError, timer, type Observable } from 'rxjs';
import { createAgent, type Agent } from '../../lib/agent/createAgent.js';
import { backgroundTool } from '../../lib/agent/backgroundTool.js';
import type { Approve, CallAnswers, Decision, WaitingCall } from '../../lib/core/approval.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { RunEvent } from '../../lib/core/event.js';
import type { Model } from '../../lib/core/model.js';
import { innermost } from '../../lib/core/nested.js';
import { tool, type Tool, type ToolContext } from '../../lib/core/tool.js';
import { runTool } from '../../lib/operators/execute/runTool.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Step } from '../../lib/testing/script.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { wrapTool } from '../../lib/tools/wrapTool.js';

const broken = { error: Object.assign(new Error('broken'), { retryable: true }) };
const once = { count: 1, delay: 1 };
const pay = (amount: number) => toolCall('pay', { amount }, 'c');
const subCall = toolCall('sub', { prompt: 'Pay.' }, 's');
const described = { name: 'sub', description: '' } as const;
const sub = (agent: Agent) => agentTool(agent, described);

/** The amounts of the first call, and of the one that the next execution makes with the same id. */
type Amounts = readonly [first: number, next: number];

/** An agent that pays when it is asked. Each of its runs that is not resumed is an attempt. */
function paying(tools: readonly Tool[], amounts: Amounts, first: (call: Step) => readonly Step[], eagerTools = true) {
  let attempts = 0;
  const model = scriptedModel(({ messages }) => {
    if (messages.length > 1) return 'Paid.';
    return attempts++ === 0 ? first(pay(amounts[0])) : [{ delay: 40 }, pay(amounts[1]), { delay: 10 }];
  });
  return createAgent({ model, tools, eagerTools });
}

/** An agent that asks `tool`. */
const asking = (asked: Tool): Agent =>
  createAgent({
    model: scriptedModel(({ messages }) => (messages.length === 1 ? [subCall] : 'Done.')),
    tools: [asked],
  });

/** One whose first response breaks, after it has asked `tool`. */
const askingTwice = (asked: Tool, wrap = (model: Model) => retryModel(model, once)): Agent => {
  const response = scriptedModel([[subCall, { delay: 60 }, broken], [subCall, { delay: 10 }], 'Done.', 'Done.']);
  return createAgent({ model: wrap(response), tools: [asked], eagerTools: true });
};

const breaks = (call: Step) => [call, { delay: 20 }, broken];
const isSlow = (call: Step) => [call, { delay: 200 }];
const only = (call: Step) => [call];

const failing = <T>(run: Observable<T>): Observable<T> =>
  merge(run, timer(20).pipe(concatMap(() => throwError(() => new Error('failed')))));

/** The first execution fails while its call waits. */
function failingFirst(asked: Tool): Tool {
  let executions = 0;
  return wrapTool(asked, (run) => (executions++ === 0 ? failing(run) : run));
}

/** The ways in which an inner run is executed again. */
const ways: Readonly<Record<string, (tools: readonly Tool[], amounts: Amounts) => Agent>> = {
  'retryTool, after a response that breaks': (...given) => asking(retryTool(sub(paying(...given, breaks)), once)),
  'retryTool, while its call waits': (...given) => asking(retryTool(failingFirst(sub(paying(...given, only))), once)),
  'retryTool of an agent that asks it, after a response that breaks': (...given) =>
    asking(retryTool(sub(askingTwice(sub(paying(...given, only)), identity)), once)),
  'retryTool of an agent that asks it, while its call waits': (...given) =>
    asking(retryTool(failingFirst(sub(asking(sub(paying(...given, only))))), once)),
  'retryTool in an agent in an agent, after a response that breaks': (...given) =>
    asking(sub(asking(retryTool(sub(paying(...given, breaks)), once)))),
  'an outer response that is retracted': (...given) => askingTwice(sub(paying(...given, only, false))),
  'an outer response that is retracted, of an agent in an agent': (...given) =>
    askingTwice(sub(asking(sub(paying(...given, only))))),
  'backgroundTool of retryTool, after a response that breaks': (...given) =>
    asking(backgroundTool(retryTool(sub(paying(...given, breaks)), once))),
  'retryTool of backgroundTool, after a response that breaks': (...given) =>
    asking(retryTool(backgroundTool(sub(paying(...given, breaks))), once)),
  'another process': (...given) => asking(sub(paying(...given, isSlow))),
  'another process, in the background': (...given) => asking(backgroundTool(sub(paying(...given, isSlow)))),
};

interface Payment {
  readonly amount: unknown;
  readonly isApproved: boolean;
}

/** Longer than any run, in milliseconds. */
const LONG = 10_000;

interface PlayOptions {
  readonly crashAt?: number;
  /** Whether `approve` of the run asks. */
  readonly asks?: boolean;
  readonly shownBy?: 'toolWaiting' | 'toolCall';
}

/** A run whose calls are approved some milliseconds after they are shown, as they are shown. A click arrives later. */
function playApproved(
  agentOf: (tools: readonly Tool[]) => Agent,
  click: number,
  { crashAt = Infinity, asks = false, shownBy = 'toolWaiting' }: PlayOptions = {},
): readonly Payment[] {
  const payments: Payment[] = [];
  const approved = new Set<unknown>();
  const answers = new Subject<CallAnswers>();
  /** By ids, as whoever decides knows the calls. */
  const decided = new Map<string, Observable<Decision>>();
  const show = ({ id, arguments: { amount } }: WaitingCall): Observable<Decision> => {
    const decision = new AsyncSubject<Decision>();
    const clicked = tap(() => {
      approved.add(amount);
      answers.next({ decisions: { [id]: { approve: true } } });
    });
    timer(click)
      .pipe(
        clicked,
        map(() => ({ approve: true }) as const),
      )
      .subscribe(decision);
    return decision;
  };
  const approve: Approve = (call) => {
    const decision = decided.get(call.id) ?? show(call);
    decided.set(call.id, decision);
    return decision;
  };
  const execute = ({ amount }: Record<string, unknown>) => {
    payments.push({ amount, isApproved: approved.has(amount) });
    return 'paid';
  };
  const payTool = tool({ name: 'pay', description: '', needsApproval: true, execute });
  const agent = agentOf([payTool]);
  const kept: Checkpoint[] = [];
  const observe = tap((event: RunEvent) => {
    const known = innermost(event);
    if (known.type === shownBy && known.name === 'pay' && !asks) void show(known);
    if (event.type === 'checkpoint') kept.push(event.checkpoint);
  });
  const options = { checkpoints: crashAt < Infinity, ...(asks ? { approve } : { answers }) };
  inVirtualTime(() => {
    const begin = agent.stream('Go.', options).pipe(observe, takeUntil(timer(Math.min(crashAt, LONG))));
    const resume = (last: Checkpoint | undefined) =>
      last ? agent.resume(last, options) : agent.stream('Go.', options);
    const rest = defer(() => resume(kept.at(-1))).pipe(observe, takeUntil(timer(LONG)));
    return crashAt < Infinity ? concat(begin, rest) : begin;
  });
  return payments;
}

const clicks = [1, 15, 25, 45, 80, 150];

const kinds = [false, true].map((asks) => ({ asks, who: asks ? 'the function `approve`' : 'the person' }));

describe('a call of an inner run that is executed again', () => {
  const rows = Object.entries(ways).flatMap(([way, agentOf]) => kinds.map((kind) => ({ ...kind, way, agentOf })));
  const crashOf = (way: string) => (way.startsWith('another process') ? { crashAt: 50 } : {});

  it.each(rows)('is executed only as $who has approved it, whenever that is: by $way', ({ agentOf, asks, way }) => {
    for (const click of clicks) {
      const payments = playApproved((tools) => agentOf(tools, [1, 1_000_000]), click, { asks, ...crashOf(way) });
      expect(payments.map(({ isApproved }) => isApproved)).toEqual([true]);
      const same = playApproved((tools) => agentOf(tools, [1, 1]), click, { asks, ...crashOf(way) });
      expect(same).toEqual([{ amount: 1, isApproved: true }]);
    }
  });
});

describe('an answer to a call of an inner run that has not asked yet', () => {
  const rows = Object.entries(ways).filter(([way]) => way.includes('after a response that breaks'));

  it.each(rows)('is not for a call of the next execution: by %s', (_, agentOf) => {
    for (const click of [1, 15, 25, 45]) {
      const payments = playApproved((tools) => agentOf(tools, [1, 1_000_000]), click, { shownBy: 'toolCall' });
      expect(payments.filter(({ isApproved }) => !isApproved)).toEqual([]);
    }
  });
});

/** Inner runs that nobody continues, so that their ids may be those of calls that wait. */
const strangers: typeof ways = {
  'an agent without `resume`': (...given) => {
    const paid = paying(...given, only);
    const agent = {
      stream: (...input: Parameters<Agent['stream']>) => paid.stream(...input),
      run: (...input: Parameters<Agent['run']>) => paid.run(...input),
    };
    return asking(retryTool(failingFirst(agentTool(agent, described)), once));
  },
  'an agent that retries its own run': (...given) => {
    const agent = paying(...given, only);
    let runs = 0;
    const stream = (...input: Parameters<Agent['stream']>) =>
      defer(() => (runs++ === 0 ? failing(agent.stream(...input)) : agent.stream(...input))).pipe(retry(1));
    return asking(agentTool({ ...agent, stream }, described));
  },
  'two agents in one tool': (tools, [first, next]) => {
    const both = [first, next].map((amount) => sub(paying(tools, [amount, amount], only)));
    const execute = (_: unknown, context: ToolContext) =>
      forkJoin(both.map((each) => runTool(each as Tool, { prompt: 'Pay.' }, context)));
    return asking(tool({ name: 'sub', description: '', execute }));
  },
};

describe('another call of an inner run with the id of one that waits', () => {
  it.each(Object.entries(strangers))('is not executed as a person has approved the first one: of %s', (_, agentOf) => {
    for (const click of clicks) {
      const payments = playApproved((tools) => agentOf(tools, [1, 1_000_000]), click);
      const same = playApproved((tools) => agentOf(tools, [1, 1]), click);
      expect([...payments, ...same].filter(({ isApproved }) => !isApproved)).toEqual([]);
      expect(same.length).toBeGreaterThan(0);
    }
  });
});
