import { describe, expect, it } from '@jest/globals';
import { concat, concatMap, EMPTY, from, NEVER, of, Subject, throwError, timer } from 'rxjs';
import { ignoreElements, map } from 'rxjs';
import * as z from 'zod';
import type { Agent, RunOptions } from '../../lib/agent/createAgent.js';
import type { CallAnswers } from '../../lib/core/approval.js';
import type { Model } from '../../lib/core/model.js';
import type { Tool } from '../../lib/core/tool.js';
import { fallback } from '../../lib/models/fallback.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { agentWith, anything, asking, callsOnce, lastResults, run, stored } from '../support/askingRuns.js';
import { createAgent } from '../../lib/agent/createAgent.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { anyTool, turnOf, callOf } from '../support/toolCalls.js';

const askTwice = () =>
  asking(({ ask }) =>
    ask({ message: 'A?', schema: anything, key: 'a' }).pipe(
      concatMap((first) => ask({ message: 'B?', schema: anything, key: 'b' }).pipe(map((second) => [first, second]))),
    ),
  );
const inner = () => createAgent({ model: callsOnce([toolCall('pay', {}, 'i1')], 'Inner.'), tools: [askTwice()] });
const approved = () => ({ ...anyTool('pay', () => of('paid')), needsApproval: true });

interface Kind {
  readonly agent: () => Agent;
  /** The first answer, and all that follow. */
  readonly one: CallAnswers;
  readonly rest: CallAnswers;
  readonly result: unknown;
  /** What waits if nobody has answered. */
  readonly asked: string;
}

const kinds = {
  'an askTool': {
    agent: () => agentWith([askTwice()]),
    one: { results: { 'c1/a': { n: 1 } } },
    rest: { results: { 'c1/b': { n: 2 } } },
    result: [{ n: 1 }, { n: 2 }],
    asked: 'c1/a',
  },
  'an askTool in the second turn': {
    agent: () => {
      const turns = [[toolCall('look', {}, 'c0')], [toolCall('pay', {}, 'c1')], 'Done.'];
      const model = scriptedModel(({ messages }) => turns[Math.floor(messages.length / 2)] ?? 'Done.');
      const look = anyTool('look', () => timer(3).pipe(map(() => 'seen')));
      return createAgent({ model, tools: [look, askTwice()] });
    },
    one: { results: { 'c1/a': { n: 1 } } },
    rest: { results: { 'c1/b': { n: 2 } } },
    result: [{ n: 1 }, { n: 2 }],
    asked: 'c1/a',
  },
  'an agentTool whose agent asks': {
    agent: () => agentWith([agentTool(inner(), { name: 'sub', description: '' })]),
    one: { results: { 'c1/i1/a': { n: 1 } } },
    rest: { results: { 'c1/i1/b': { n: 2 } } },
    result: 'Inner.',
    asked: 'c1/i1/a',
  },
  'a call that needs an approval': {
    agent: () => agentWith([approved()]),
    one: { decisions: { c1: { approve: true } } },
    rest: {},
    result: 'paid',
    asked: 'c1',
  },
} satisfies Readonly<Record<string, Kind>>;

type Answers = NonNullable<RunOptions['answers']>;

const sources: Readonly<Record<string, (kind: Kind) => Answers>> = {
  'all at once, before the run begins': ({ one, rest }) => concat(of(one, rest), NEVER),
  'all at once, and complete': ({ one, rest }) => of(one, rest),
  'in the wrong order': ({ one, rest }) => concat(of(rest), timer(9).pipe(map(() => one)), NEVER),
  'as a list': ({ one, rest }) => [one, rest],
  'each twice, with another value': ({ one, rest }) =>
    concat(from([one, rest].flatMap((given) => [given, other(given)])), NEVER),
};

/** The same ids with another answer. */
const other = ({ results = {}, decisions = {} }: CallAnswers): CallAnswers => ({
  results: Object.fromEntries(Object.keys(results).map((id) => [id, { n: 9 }])),
  decisions: Object.fromEntries(Object.keys(decisions).map((id) => [id, { approve: false }])),
});

const table = Object.entries(kinds).flatMap(([name, kind]) =>
  Object.entries(sources).map(([how, source]) => [name, how, kind, source] as const),
);
const eachKind = Object.entries(kinds);

describe('`answers` of a run', () => {
  it.each(table)('reach %s that come %s', (_, __, kind, source) => {
    const { result } = run((options) => kind.agent().stream('Go.', options), { given: source(kind) });
    expect([result.finishReason, lastResults(result).at(-1)]).toEqual(['stop', kind.result]);
  });

  it.each(eachKind)('that complete leave %s waiting: the run ends', (_, { agent, asked, one, rest, result }) => {
    for (const given of [EMPTY, timer(20).pipe(ignoreElements())]) {
      const first = run((options) => agent().stream('Go.', options), { given });
      expect(first.result.waiting?.map(({ id }) => id)).toEqual([asked]);
      const last = run((options) => agent().resume(stored(first.result), { ...options, ...one }), { given: of(rest) });
      expect([last.result.finishReason, lastResults(last.result).at(-1)]).toEqual(['stop', result]);
    }
  });

  it('that complete between two questions leave the second one waiting, and what is answered is kept', () => {
    const { agent, one, rest, result } = kinds['an agentTool whose agent asks'];
    const first = run((options) => agent().stream('Go.', options), { given: of(one) });
    expect(first.result.waiting?.map(({ id }) => id)).toEqual(['c1/i1/b']);
    const last = run((options) => agent().resume(stored(first.result), { ...options, ...rest }));
    expect(lastResults(last.result)).toEqual([result]);
  });

  it.each(eachKind)('that fail while %s waits fail the run', (_, { agent }) => {
    for (const given of [throwError(() => new Error('lost')), timer(5).pipe(map(() => notGiven()))])
      expect(() => run((options) => agent().stream('Go.', options), { given })).toThrow('lost');
  });

  it('show the question of an early answer, and then the answer', () => {
    const { agent, one, rest } = kinds['an askTool'];
    const { labels } = run((options) => agent().stream('Go.', options), { given: of(one, rest) });
    expect(labels).toEqual([
      '0 toolStart c1',
      '0 toolWaiting c1/a',
      '0 toolStart c1/a',
      '0 toolResult c1/a: {"n":1}',
      '0 toolWaiting c1/b',
      '0 toolStart c1/b',
      '0 toolResult c1/b: {"n":2}',
      '0 toolResult c1: [{"n":1},{"n":2}]',
    ]);
  });

  it('that are early and not valid are used once: the question is asked again', () => {
    const strict = asking(({ ask }) => ask({ message: 'A?', schema: z.object({ n: z.number() }), key: 'a' }));
    const { result } = run((options) => agentWith([strict]).stream('Go.', options), {
      given: of({ results: { 'c1/a': { n: 'one' } } }),
    });
    expect(result.waiting).toMatchObject([{ id: 'c1/a', question: { problem: expect.stringContaining('number') } }]);
  });

  it('are kept up to a limit: a checkpoint has those of asked questions only', () => {
    const many = Array.from({ length: 3000 }, (_, index) => ({ results: { [`c1/none${index}`]: index } }));
    const { result } = run((options) => agentWith([askTwice()]).stream('Go.', options), {
      given: of(...many, { results: { 'c1/a': { n: 1 } } }),
    });
    expect(result.waiting?.map(({ id }) => id)).toEqual(['c1/b']);
    expect(JSON.stringify(result.checkpoint)).not.toContain('none');
  });

  /** Pays 'a', and fails; then pays 'b' by the same id. */
  const paysTwice = (isCutLater: boolean) => {
    const cut = { error: Object.assign(new Error('cut'), { retryable: true }) };
    const to = (payee: string) => ({ ...toolCall('pay', { payee }, 'c1'), done: true as const });
    const first = isCutLater ? [[to('a')], [cut]] : [[to('a'), { delay: 9 }, cut]];
    return scriptedModel([...first, [to('b'), { delay: 9 }], 'Done.']);
  };
  const sub = (tools: readonly Tool[]) =>
    retryTool(agentTool(createAgent({ model: paysTwice(true), tools }), { name: 'sub', description: '' }), {
      delay: 9,
    });
  const turn =
    (wrap: (model: Model) => Model, eagerTools = true) =>
    (tools: readonly Tool[]) =>
      createAgent({ model: wrap(paysTwice(false)), tools, eagerTools });
  const retried = (model: Model) => retryModel(model, { delay: 9 });
  const again: Readonly<
    Record<string, [(tools: readonly Tool[]) => Agent, string, decided: number, answered: number]>
  > = {
    'a turn that starts over': [turn(retried), '', 1, 0],
    'the turn of another model': [turn((model) => fallback([model, model])), '', 1, 0],
    'a turn that starts over before its calls begin': [turn(retried, false), '', 0, 0],
    'the turn of another model, before its calls begin': [turn((model) => fallback([model, model]), false), '', 0, 0],
    'an inner run that starts over': [(tools) => agentWith([sub(tools)]), 'c1/', 1, 1],
  };

  it.each(Object.entries(again))(
    'decide about no call of %s by the same id',
    (_, [agentOf, path, decided, answered]) => {
      const paid: unknown[] = [];
      const pay = { ...anyTool('pay', ({ payee }) => paid.push(payee)), needsApproval: true };
      const asks = asking(({ ask }) =>
        ask({ message: 'Pay?', schema: anything, key: 'k' }).pipe(map(() => paid.push(0))),
      );
      const decisions = { [`${path}c1`]: { approve: true } } as const;
      for (const [tool, answer, payments] of [
        [pay, { decisions }, decided],
        [asks, { results: { [`${path}c1/k`]: {} } }, answered], // a question waits for the end of the response
      ] as const) {
        paid.length = 0;
        const once = concat(timer(1).pipe(map(() => answer)), timer(99).pipe(ignoreElements()));
        const { result } = run((options) => agentOf([tool]).stream('Go.', options), { given: once });
        expect([result.finishReason, paid.length]).toEqual(['waiting', payments]);
      }
    },
  );

  it('of executeTools without an agent are kept and completed in the same way', () => {
    const events: string[] = [];
    turnOf(callOf('pay'))
      .pipe(executeTools([askTwice()], { answers: of({ results: { 'id-pay/a': {}, 'id-pay/b': {} } }) }))
      .subscribe((event) => events.push(event.type));
    expect(events.filter((type) => type === 'toolResult')).toHaveLength(1);
  });

  it('are unsubscribed with the run', () => {
    const given = new Subject<CallAnswers>();
    const subscription = agentWith([askTwice()]).stream('Go.', { answers: given }).subscribe();
    expect(given.observed).toBe(true);
    subscription.unsubscribe();
    expect(given.observed).toBe(false);
  });
});

const notGiven = (): CallAnswers => {
  throw new Error('lost');
};
