import { describe, expect, it } from '@jest/globals';
import { concatMap, defer, firstValueFrom, forkJoin, last, lastValueFrom, map, merge, NEVER } from 'rxjs';
import { ignoreElements, retry, Subject, tap, timer, toArray } from 'rxjs';
import type { Observable, ObservedValueOf } from 'rxjs';
import * as z from 'zod';
import { createAgent, type AgentOptions } from '../../lib/agent/createAgent.js';
import type { CallAnswers } from '../../lib/core/approval.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool } from '../../lib/core/tool.js';
import { runTool } from '../../lib/operators/execute/runTool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import type { AskContext } from '../../lib/tools/ask/askOptions.js';
import { deadlineTool } from '../../lib/tools/deadlineTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { account, agentWith, anything, asking, label, lastResults } from '../support/askingRuns.js';
import { run, stored, subAgent, whichAccount } from '../support/askingRuns.js';
import { diagram } from '../support/diagram.js';
import { anyTool } from '../support/toolCalls.js';
import { inVirtualTime } from '../support/virtualTime.js';
import { sameType } from './calls.js';

describe('askTool', () => {
  it('askTool waits for an answer in memory, as in its diagram', () =>
    diagram('askTool', ({ source, answers }: Streams<'source'> & Streams<'answers', CallAnswers>) => {
      const pay = askTool({
        name: 'pay',
        description: '',
        execute: (_, { ask }) =>
          ask({ message: 'Which account?', schema: anything }).pipe(
            map((given) => `paid from ${(given as { account: string }).account}`),
          ),
      });
      return source.pipe(executeTools([pay], { answers: merge(answers, NEVER) }));
    }));

  it('the types of the answer and of a step follow from the schema and the work', () => {
    askTool({
      name: 'typed',
      description: '',
      execute: (_, { ask, once }) => {
        const answered = ask({ message: '', schema: account }).pipe(
          concatMap((given) => once('step', () => Promise.resolve(given.account))),
        );
        sameType<ObservedValueOf<typeof answered>, string>(true);
        return answered;
      },
    });
  });

  it('without anybody who answers, the run ends with `waiting`, and each answer resumes it', () => {
    const ledger: string[] = [];
    const pay = asking(({ ask, once }) =>
      once('load', () => void ledger.push('load')).pipe(
        concatMap(() => ask({ message: 'Account?', schema: account })),
        concatMap(({ account: from }) => once('pay', (key) => ledger.push(`pay ${from} ${key}`))),
        concatMap(() => ask({ message: 'Receipt?', schema: anything })),
        map((receipt) => receipt),
      ),
    );
    const agent = agentWith([pay]);
    const first = run((options) => agent.stream('Pay.', { ...options, runId: 'r' }));
    expect(first.labels).toEqual(['0 toolStart c1', '0 toolWaiting c1/1']);
    expect(first.result.waiting).toMatchObject([
      { id: 'c1/1', path: ['c1', '1'], question: { message: 'Account?', schema: { type: 'object' } } },
    ]);
    const second = run((options) =>
      agent.resume(stored(first.result), { ...options, results: { 'c1/1': { account: 'A' } } }),
    );
    expect(second.labels).toEqual(['0 toolStart c1/1', '0 toolResult c1/1: {"account":"A"}', '0 toolWaiting c1/2']);
    const third = run((options) =>
      agent.resume(stored(second.result), { ...options, results: { 'c1/2': { to: 'me' } } }),
    );
    expect(third.labels).toEqual([
      '0 toolStart c1/2',
      '0 toolResult c1/2: {"to":"me"}',
      '0 toolResult c1: {"to":"me"}',
    ]);
    expect(ledger).toEqual(['load', expect.stringMatching(/^pay A r\.0\.c1\.\w{16}\.pay$/)]);
    expect(third.result.text).toBe('Done.');
  });

  it('an answer that does not match the schema is asked again, with the problem', () => {
    const agent = agentWith([asking(whichAccount)]);
    const first = run((options) => agent.stream('Pay.', options));
    const again = run((options) =>
      agent.resume(stored(first.result), { ...options, results: { 'c1/1': { account: 5 } } }),
    );
    expect(again.labels).toEqual(['0 toolWaiting c1/1']);
    expect(again.result.waiting?.[0]?.question?.problem).toContain('account');
    const live = run((options) => agent.stream('Pay.', options), {
      answers: { 5: { results: { 'c1/1': { account: 5 } } }, 9: { results: { 'c1/1': { account: 'A' } } } },
    });
    expect(live.labels).toEqual([
      '0 toolStart c1',
      '0 toolWaiting c1/1',
      '5 toolWaiting c1/1',
      '9 toolStart c1/1',
      '9 toolResult c1/1: {"account":"A"}',
      '9 toolResult c1: {"account":"A"}',
    ]);
  });

  const bothAtOnce = ({ ask }: AskContext) =>
    forkJoin([ask({ message: 'A?', schema: anything, key: 'a' }), ask({ message: 'B?', schema: anything, key: 'b' })]);

  it('two questions at once wait together, and are answered in any order', () => {
    const agent = agentWith([asking(bothAtOnce)]);
    const first = run((options) => agent.stream('Ask.', options));
    expect(first.result.waiting?.map(({ id }) => id)).toEqual(['c1/a', 'c1/b']);
    const both = { results: { 'c1/a': { n: 1 }, 'c1/b': { n: 2 } } };
    expect(lastResults(run((options) => agent.resume(stored(first.result), { ...options, ...both })).result)).toEqual([
      [{ n: 1 }, { n: 2 }],
    ]);
    const second = run((options) => agent.resume(stored(first.result), { ...options, results: { 'c1/b': { n: 2 } } }));
    expect(second.result.waiting?.map(({ id }) => id)).toEqual(['c1/a']);
    const third = run((options) => agent.resume(stored(second.result), { ...options, results: { 'c1/a': { n: 1 } } }));
    expect(lastResults(third.result)).toEqual([[{ n: 1 }, { n: 2 }]]);
  });

  it.each([
    ['declined', { decisions: { 'c1/1': { approve: false, reason: 'no' } } }, 'denied'],
    ['failed elsewhere', { errors: { 'c1/1': 'The form is gone.' } }, 'failed'],
  ] as const)('a question that is %s fails the tool with the code of the reason, live and later', (_, given, code) => {
    const agent = agentWith([asking(whichAccount)]);
    const first = run((options) => agent.stream('Pay.', options));
    expect(lastResults(run((options) => agent.resume(stored(first.result), { ...options, ...given })).result)).toEqual([
      code,
    ]);
    expect(lastResults(run((options) => agent.stream('Pay.', options), { answers: { 5: given } }).result)).toEqual([
      code,
    ]);
  });

  it('a person may answer and decide in the handler of the event that asks', () => {
    const given = new Subject<CallAnswers>();
    const pay = askTool({
      name: 'pay',
      description: '',
      needsApproval: true,
      execute: (_, context) => whichAccount(context),
    });
    const { result } = run((options) =>
      agentWith([pay])
        .stream('Pay.', { ...options, answers: given })
        .pipe(
          tap((event) => {
            if (event.type === 'toolWaiting') given.next({ decisions: { c1: { approve: true } } });
            if (label(event).includes('toolWaiting c1/1')) given.next({ results: { 'c1/1': { account: 'A' } } });
          }),
        ),
    );
    expect(lastResults(result)).toEqual([{ account: 'A' }]);
  });

  it('a question that is cancelled fails the tool as cancelled', () => {
    const cancel = timer(5).pipe(map(() => 'c1/1'));
    const agent = agentWith([asking(whichAccount)]);
    const { result } = run((options) => agent.stream('Pay.', { ...options, cancel }), { answers: {} });
    expect(lastResults(result)).toEqual(['cancelled']);
  });

  it('a stop ends a call that waits', () => {
    const agent = agentWith([asking(whichAccount)]);
    const { result } = run((options) => agent.stream('Pay.', { ...options, stop: timer(5) }), { answers: {} });
    expect([result.finishReason, lastResults(result)]).toEqual(['stopped', ['cancelled']]);
  });

  it('the run ends with `waiting` when the patience is over, but not in the middle of a step', () => {
    const steps: string[] = [];
    const slow = ({ ask, once }: AskContext) =>
      forkJoin([
        ask({ message: 'A?', schema: anything }),
        once('slow', () =>
          timer(20).pipe(
            tap(() => steps.push('slow')),
            map(() => 'slow'),
          ),
        ),
      ]);
    const agent = agentWith([asking(slow)], { patience: 10 });
    const first = run((options) => agent.stream('Ask.', options), { answers: {} });
    expect([first.result.finishReason, steps]).toEqual(['waiting', ['slow']]);
    const second = run((options) => agent.resume(stored(first.result), { ...options, results: { 'c1/1': {} } }));
    expect([lastResults(second.result), steps]).toEqual([[[{}, 'slow']], ['slow']]);
  });

  it('the time of a person does not count for any deadline', () => {
    const late = { 50: { results: { 'c1/1': { account: 'A' } } }, 60: { results: { 'c1/i1/1': { account: 'A' } } } };
    const ended = (tool: Tool, options: Partial<AgentOptions> = {}) =>
      lastResults(run((given) => agentWith([tool], options).stream('Pay.', given), { answers: late }).result);
    const slow = (context: AskContext) =>
      whichAccount(context).pipe(concatMap((given) => timer(8).pipe(map(() => given))));
    expect(ended(asking(whichAccount), { toolDeadline: 10 })).toEqual([{ account: 'A' }]);
    expect(ended(deadlineTool(asking(whichAccount), 10))).toEqual([{ account: 'A' }]);
    expect(ended(agentTool(subAgent(), { name: 'sub', description: '' }), { toolDeadline: 10 })).toEqual(['Inner.']);
    expect(ended(asking(slow), { toolDeadline: 9 })).toEqual([{ account: 'A' }]);
    expect(ended(asking(slow), { toolDeadline: 7 })).toEqual(['timeout']);
  });

  it.each<[string, (tool: Tool) => { readonly tool?: Tool; readonly toolDeadline?: number }]>([
    ['toolDeadline', () => ({ toolDeadline: 10 })],
    ['deadlineTool', (tool) => ({ tool: deadlineTool(tool, 10) })],
  ])('the rest of a response, and a slow store, do not count for a deadline (%s)', (_, limit) => {
    const slow = (context: AskContext) =>
      whichAccount(context).pipe(concatMap((given) => context.once('pay', () => timer(8).pipe(map(() => given)))));
    const model = () =>
      scriptedModel([
        [toolCall('pay', { prompt: 'Go.' }, 'c1'), { delay: 30 }, { type: 'finish', reason: 'toolCalls' }],
        'Done.',
      ]);
    const sub = agentTool(agentWith([asking(slow)]), { name: 'pay', description: '' });
    for (const [inner, value] of [
      [asking(slow), { account: 'A' }],
      [sub, 'Done.'],
    ] as const) {
      const { tool: limited = inner, ...options } = limit(inner);
      const agent = createAgent({ model: model(), tools: [limited], eagerTools: true, ...options });
      const written = defer(() => timer(20).pipe(ignoreElements()));
      const { result } = run((given) => agent.stream('Pay.', { ...given, written }), {
        answers: { 200: { results: { 'c1/1': { account: 'A' }, 'c1/c1/1': { account: 'A' } } } },
      });
      expect([result.finishReason, lastResults(result)]).toEqual(['stop', [value]]);
    }
  });

  it('a call that waits leaves its place to the next one, and continues when there is a place', () => {
    const other = anyTool('other', () => timer(20).pipe(map(() => 'other')));
    const agent = agentWith([asking(whichAccount), other], { toolConcurrency: 1 });
    const { labels } = run((options) => agent.stream('Pay.', options), {
      answers: { 5: { results: { 'c1/1': { account: 'A' } } } },
    });
    expect(labels).toEqual([
      '0 toolStart c1',
      '0 toolWaiting c1/1',
      '0 toolStart c2',
      '20 toolResult c2: "other"',
      '20 toolStart c1/1',
      '20 toolResult c1/1: {"account":"A"}',
      '20 toolResult c1: {"account":"A"}',
    ]);
  });

  it('a question ends when its time is over, also while the run waits', () => {
    const within = (otherwise?: object) =>
      agentWith([
        asking(({ ask }) =>
          ask({ message: 'A?', schema: anything, within: 30, ...(otherwise ? { otherwise: otherwise as never } : {}) }),
        ),
      ]);
    expect(lastResults(run((options) => within().stream('Ask.', options), { answers: {} }).result)).toEqual([
      'timeout',
    ]);
    expect(lastResults(run((options) => within({ n: 0 }).stream('Ask.', options), { answers: {} }).result)).toEqual([
      { n: 0 },
    ]);
    const agent = within({ n: 0 });
    const first = run((options) => agent.stream('Ask.', options));
    const { result } = run((options) => timer(31).pipe(concatMap(() => agent.resume(stored(first.result), options))));
    expect(lastResults(result)).toEqual([{ n: 0 }]);
  });

  it('progress that was emitted before a question is not emitted again', () => {
    const told = asking(({ ask, progress }) => {
      progress('begun');
      return ask({ message: 'A?', schema: anything }).pipe(tap(() => progress('answered')));
    });
    const agent = agentWith([told]);
    const first = run((options) => agent.stream('Ask.', options));
    const second = run((options) => agent.resume(stored(first.result), { ...options, results: { 'c1/1': {} } }));
    expect(first.labels.filter((text) => text.includes('Progress'))).toHaveLength(1);
    expect(second.labels.filter((text) => text.includes('Progress'))).toHaveLength(1);
  });

  it('a tool that is executed again by retryTool, or a step that is retried, asks and records nothing twice', () => {
    const ledger: string[] = [];
    let failures = 2;
    const flaky = ({ ask, once }: AskContext) =>
      ask({ message: 'A?', schema: anything }).pipe(
        concatMap(() => once('paid', () => ledger.push('paid'))),
        concatMap(() =>
          once('sent', (key) => {
            ledger.push(key);
            if (failures-- > 0) throw new Error('no network');
            return 'sent';
          }).pipe(retry(1)),
        ),
      );
    const agent = agentWith([retryTool(asking(flaky), { delay: 1 })]);
    const { labels, result } = run((options) => agent.stream('Ask.', { ...options, runId: 'r' }), {
      answers: { 5: { results: { 'c1/1': {} } } },
    });
    expect(labels.filter((text) => text.includes('toolWaiting'))).toHaveLength(1);
    const sent: unknown = expect.stringMatching(/^r\.0\.c1\.\w{16}\.sent$/);
    expect(ledger).toEqual(['paid', sent, sent, sent]);
    expect(new Set(ledger).size).toBe(2);
    expect(lastResults(result)).toEqual(['sent']);
  });

  it('questions of sub-agents have the ids of their calls, live and later', () => {
    const agent = agentWith([agentTool(subAgent(), { name: 'sub', description: '' })]);
    const answers = { results: { 'c1/i1/1': { account: 'A' } } };
    const first = run((options) => agent.stream('Pay.', options));
    expect(first.result.waiting?.map(({ id, path }) => [id, path])).toEqual([['c1/i1/1', ['c1', 'i1', '1']]]);
    expect(
      lastResults(run((options) => agent.resume(stored(first.result), { ...options, ...answers })).result),
    ).toEqual(['Inner.']);
    expect(lastResults(run((options) => agent.stream('Pay.', options), { answers: { 5: answers } }).result)).toEqual([
      'Inner.',
    ]);
  });

  it('live answers decide about approvals too, and edited arguments survive a question', () => {
    const pay = askTool({
      name: 'pay',
      description: '',
      parameters: z.object({ to: z.string().default('Bob') }),
      needsApproval: true,
      execute: ({ to }, context) => whichAccount(context).pipe(map(({ account: from }) => `${from} to ${to}`)),
    });
    const agent = agentWith([pay], { patience: 20 });
    const approved: CallAnswers = { decisions: { c1: { approve: true, arguments: { to: 'Alice' } } } };
    const first = run((options) => agent.stream('Pay.', options), { answers: { 5: approved } });
    expect(first.result.finishReason).toBe('waiting');
    const { result } = run((options) =>
      agent.resume(stored(first.result), { ...options, results: { 'c1/1': { account: 'A' } } }),
    );
    expect(result.messages[1]?.parts[0]).toMatchObject({ result: 'A to Alice', arguments: { to: 'Alice' } });
  });

  it('a step begins after its call is stored, and is delivered after it is stored itself', () => {
    const log: string[] = [];
    let pending = new Subject<never>();
    const written = defer(() => (pending = new Subject<never>()));
    const step = () => (log.push('begun'), 'done');
    const agent = agentWith([asking(({ once }) => once('step', step).pipe(tap(() => log.push('delivered'))))]);
    const checkpoints: Checkpoint[] = [];
    agent.stream('Go.', { checkpoints: true, written }).subscribe((event) => {
      if (event.type === 'checkpoint') checkpoints.push(event.checkpoint);
    });
    expect(log).toEqual([]);
    pending.complete();
    expect(log).toEqual(['begun']);
    expect(checkpoints.at(-1)?.open?.nested?.['c1']?.state.memo).toEqual({ steps: { step: 'done' }, progress: 0 });
    pending.complete();
    expect(log).toEqual(['begun', 'delivered']);
  });

  it('does not continue the run of another kind of tool: it begins again', () => {
    const agent = agentWith([asking(whichAccount)]);
    const first = stored(run((options) => agent.stream('Pay.', options)).result);
    const { task, ...asked } = first.open?.nested?.['c1'] ?? {};
    const nested = { c1: { ...asked, task: { ...task, kind: 'agent' }, orchestrator: 'toolLoop' } };
    const { result } = run((options) =>
      agent.resume({ ...first, open: { ...first.open, nested } } as Checkpoint, options),
    );
    expect(result).toMatchObject({ finishReason: 'waiting', waiting: [{ id: 'c1/1' }] });
  });

  it.each<[string, CallAnswers, string]>([
    [
      'two answers',
      { results: { 'c1/1': {} }, decisions: { 'c1/1': { approve: false } } },
      'is denied, and has a result',
    ],
    ['a result and an error', { results: { 'c1/1': {} }, errors: { 'c1/1': 'gone' } }, 'has another answer too'],
    ['an approval', { decisions: { 'c1/1': { approve: true } } }, 'is approved, but has no answer'],
    ['no decision', { decisions: { 'c1/1': 'yes' as never } }, 'is not a decision'],
    ['no text as an error', { errors: { 'c1/1': 5 as never } }, 'is not a text'],
  ])('a question that is resumed with %s is refused, as a call is', (_, answers, problem) => {
    const agent = agentWith([asking(whichAccount)]);
    const first = stored(run((options) => agent.stream('Pay.', options)).result);
    expect(() => run((options) => agent.resume(first, { ...options, ...answers }))).toThrow(problem);
  });

  it.each([{}, { results: { 'c1/1': { account: 'A' } } }])(
    'a call whose tool has no `execute` any more waits for its result, and asks nothing (answers: %j)',
    (answers) => {
      const first = stored(run((options) => agentWith([asking(whichAccount)]).stream('Pay.', options)).result);
      const replaced = agentWith([tool({ name: 'pay', description: 'Paid elsewhere.' })]);
      const { result } = run((options) => replaced.resume(first, { ...options, ...answers }));
      expect(result.waiting).toEqual([{ id: 'c1', name: 'pay', arguments: { prompt: 'Go.' } }]);
      const last = run((options) => replaced.resume(stored(result), { ...options, results: { c1: 'paid' } }));
      expect(lastResults(last.result)).toEqual(['paid']);
    },
  );

  const slowTool = (name: string, time: number) => anyTool(name, () => timer(time).pipe(map(() => name)));

  it('a call that has its answer, and waits for its place, does not end as waiting', () => {
    const agent = agentWith([asking(whichAccount), slowTool('slow', 300)], { toolConcurrency: 1, patience: 100 });
    const { result } = run((options) => agent.stream('Pay.', options), {
      answers: { 50: { results: { 'c1/1': { account: 'A' } } } },
    });
    expect([result.finishReason, lastResults(result)]).toEqual(['stop', [{ account: 'A' }, 'slow']]);
  });

  it('each of two answers reaches its question, whatever else runs', () => {
    const both = ({ ask, once }: AskContext) =>
      forkJoin([
        ask({ message: 'A?', schema: anything, key: 'a' }).pipe(
          concatMap(() => once('step', () => timer(50).pipe(map(() => 'stepped')))),
        ),
        ask({ message: 'B?', schema: anything, key: 'b' }),
      ]);
    const agent = agentWith([asking(both), slowTool('slow', 30)], { toolConcurrency: 1 });
    const { result } = run((options) => agent.stream('Pay.', options), {
      answers: { 5: { results: { 'c1/a': { n: 1 }, 'c1/b': { n: 2 } } } },
    });
    expect(lastResults(result)).toEqual([['stepped', { n: 2 }], 'slow']);
  });

  it('the time of a person after a step counts for no deadline, and patience is kept for each question', () => {
    const both = ({ ask, once }: AskContext) =>
      forkJoin([
        ask({ message: 'A?', schema: anything, key: 'a' }).pipe(
          concatMap(() => once('step', () => timer(40).pipe(map(() => 'stepped')))),
        ),
        ask({ message: 'B?', schema: anything, key: 'b' }),
      ]);
    const first = { 5: { results: { 'c1/a': {} } } };
    const late = { ...first, 900: { results: { 'c1/b': {} } } };
    const patient = agentWith([asking(both)], { toolDeadline: 150 });
    expect(lastResults(run((options) => patient.stream('Pay.', options), { answers: late }).result)).toEqual([
      ['stepped', {}],
    ]);
    const impatient = agentWith([asking(both)], { patience: 30 });
    const { result } = run((options) => impatient.stream('Pay.', options), { answers: first });
    expect(result.waiting?.map(({ id }) => id)).toEqual(['c1/b']);
  });

  it.each(['constructor', 'toString', '__proto__'])('a question with the key %s waits for its own answer', (key) => {
    const agent = agentWith([asking(({ ask }) => ask({ message: 'A?', schema: z.any(), key }))]);
    const first = run((options) => agent.stream('Pay.', options));
    const again = run((options) => agent.resume(stored(first.result), options));
    expect(again.result.finishReason).toBe('waiting');
  });

  it('a default answer that does not match the schema fails the tool', () => {
    const otherwise = { account: 5 } as never;
    const agent = agentWith([asking(({ ask }) => ask({ message: 'A?', schema: account, within: 10, otherwise }))]);
    const { labels, result } = run((options) => agent.stream('Pay.', options), { answers: {} });
    expect(labels.filter((text) => text.includes('toolWaiting'))).toHaveLength(1);
    expect(lastResults(result)).toEqual(['failed']);
  });

  it('an asynchronous tool begins no step, and asks nobody, after its call has ended', () =>
    inVirtualTime(async () => {
      const effects: string[] = [];
      const late = new Subject<void>();
      const asynchronous = asking(async ({ ask, once }: AskContext) => {
        const step = firstValueFrom(late).then(() => firstValueFrom(once('step', () => effects.push('step'))));
        const question = firstValueFrom(ask({ message: 'A?', schema: anything }));
        return Promise.all([step, question]);
      });
      const events = await lastValueFrom(agentWith([asynchronous]).stream('Pay.').pipe(toArray()));
      expect(events.at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'waiting' } });
      late.next();
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(effects).toEqual([]);
    }));

  it('an attempt that has timed out asks nobody any more', () =>
    inVirtualTime(async () => {
      const flaky = asking(async ({ ask }: AskContext) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return firstValueFrom(ask({ message: 'A?', schema: anything }));
      });
      const agent = agentWith([retryTool(deadlineTool(flaky, 5), { count: 2, delay: 1 })]);
      const events = await lastValueFrom(agent.stream('Pay.').pipe(toArray()));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(events.map((event) => label(event)).filter((text) => text.includes('toolWaiting'))).toEqual([]);
      expect(events.at(-1)).toMatchObject({ result: { finishReason: 'stop' } });
    }));

  const asksComment = { waiting: [{ id: 'c1/shop.1.1', question: { message: 'A comment?' } }] };
  it.each<readonly [string, (asking: AskContext) => Observable<unknown>, object]>([
    ['the answer to its question', ({ ask }) => ask({ message: 'A comment?', schema: anything }), asksComment],
    [
      'the answer to its question with the same key',
      ({ ask }) => ask({ key: '1', message: 'A comment?', schema: anything }),
      asksComment,
    ],
    ['what it has recorded', ({ once }) => once('step', () => 'of the shop'), { answer: 'Done.' }],
  ])('a tool does not receive %s from another tool of the same call', async (_, second, end) => {
    const bank = askTool({
      name: 'bank',
      description: '',
      execute: (__, { ask, once }) =>
        once('step', () => 'of the bank').pipe(concatMap(() => ask({ message: 'Your PIN?', schema: anything }))),
    });
    const shop = askTool({ name: 'shop', description: '', execute: (__, asking) => second(asking) });
    const both = tool({
      name: 'both',
      description: '',
      execute: (__, context) =>
        runTool(bank, {}, context as never).pipe(
          last(),
          concatMap(() => runTool(shop, {}, context as never)),
        ),
    });
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('both', {}, 'c1')] : 'Done.'));
    const agent = createAgent({ model, tools: [both] });
    const answers = { results: { 'c1/1': { pin: 1234 } } };
    const { checkpoint } = await firstValueFrom(agent.run('Pay.'));
    const ends = await Promise.all(
      [
        agent.run('Pay.', { answers: [answers] }),
        agent.resumeRun(JSON.parse(JSON.stringify(checkpoint)) as Checkpoint, answers),
      ].map((again) => firstValueFrom(again)),
    );
    expect(ends).toMatchObject([end, end]);
  });
});
