import { describe, expect, it } from '@jest/globals';
import { catchError, concat, concatMap, defer, delay, first, forkJoin, last, map, merge, NEVER, of } from 'rxjs';
import { takeUntil, tap, timeout, timer, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { agentTool, askTool, createAgent, limitTool, retryTool, tool, typed, wrapTool } from '../../lib/index.js';
import type { Agent, AgentOptions, RunResult, Tool, WaitingCall } from '../../lib/index.js';
import { CallScope } from '../../lib/core/callScope.js';
import { runTool } from '../../lib/operators/execute/runTool.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';
import { answersTo, stored } from '../support/askingRuns.js';
import { expectLinear } from '../support/cost.js';

type Context = Parameters<typeof runTool>[2];

interface World {
  /** Each effect, as often as it happens. */
  readonly effects: string[];
  /** An agent in a tool that calls `work` with its name, and then says "A done". */
  readonly agentNamed: (name: string, work: Partial<Tool>, options?: Partial<AgentOptions>) => Tool;
  /** It takes 100 ms. */
  readonly pay: Partial<Tool>;
  /** It needs an approval. */
  readonly remove: Partial<Tool>;
  /** It asks a person. */
  readonly confirm: Tool;
}

function createWorld(): World {
  const effects: string[] = [];
  let calls = 0;
  const agentNamed: World['agentNamed'] = (name, work, options = {}) => {
    const own = { name: 'work', description: '', parameters: z.object({}), ...work } as Tool;
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? [{ delay: 20 }, toolCall('work', {}, `${name}${++calls}`)] : `${name} done`,
    );
    return agentTool(createAgent({ model, tools: [own], ...options }), { name, description: '' });
  };
  return {
    effects,
    agentNamed,
    pay: {
      execute: () =>
        defer(() => (effects.push('pay begins'), timer(100))).pipe(map(() => (effects.push('paid'), 'paid'))),
    },
    remove: { needsApproval: true, execute: () => (effects.push('removed'), 'removed') },
    confirm: askTool({
      name: 'confirm',
      description: '',
      execute: (_, { ask }) =>
        ask({ message: 'Sure?', schema: z.object({ text: z.string() }) }).pipe(map(({ text }) => text)),
    }),
  };
}

const approve: AgentOptions['approve'] = () => of({ approve: true } as const);
const go = { prompt: 'Go.' };
const runLast = (inner: Tool, context: Context, args: unknown = go) => runTool(inner, args, context).pipe(last());
const executed = (inner: Tool, context: Context, args: unknown = go) =>
  (inner.execute?.(args, context) as Observable<unknown>).pipe(last());

/** As `firstValueFrom`, which unsubscribes before the tool goes on. */
const firstOf = (inner: Tool, context: Context, args: unknown) =>
  (inner.execute?.(args, context) as Observable<unknown>).pipe(first(), delay(1));
const twice = (work: () => Observable<unknown>) =>
  work().pipe(concatMap((one) => work().pipe(map((two) => [one, two]))));

const outerTool = (execute: (context: Context) => unknown): Tool =>
  tool({ name: 'all', description: '', execute: (_, context) => execute(context as Context) });

/** What the tool of a call does, what has happened in the end, and the result. */
const rows: Readonly<
  Record<string, readonly [make: (world: World) => Tool, effects: readonly string[], result: unknown]>
> = {
  'an agent waits while another one works': [
    ({ agentNamed, remove, pay }) => {
      const [first, second] = [agentNamed('A', remove), agentNamed('B', pay)];
      return outerTool((context) => forkJoin([executed(first, context), executed(second, context)]));
    },
    ['pay begins', 'paid', 'removed'],
    ['A done', 'B done'],
  ],
  'an agent waits while another one does what was approved': [
    ({ agentNamed, remove, pay }) => {
      const [first, second] = [agentNamed('A', remove), agentNamed('B', { ...pay, needsApproval: true }, { approve })];
      return outerTool((context) => forkJoin([executed(first, context), executed(second, context)]));
    },
    ['pay begins', 'paid', 'removed'],
    ['A done', 'B done'],
  ],
  'a question waits while an agent works': [
    ({ agentNamed, pay, confirm }) => {
      const first = agentNamed('A', pay);
      return outerTool((context) =>
        forkJoin([executed(first, context), timer(30).pipe(concatMap(() => executed(confirm, context, {})))]),
      );
    },
    ['pay begins', 'paid'],
    ['A done', 'to Sure?'],
  ],
  'an agent waits while a step of the tool runs': [
    ({ agentNamed, remove, effects }) => {
      const first = agentNamed('A', remove);
      const step = () => timer(100).pipe(map(() => (effects.push('step'), 'step')));
      return askTool({
        name: 'all',
        description: '',
        execute: (_, context) => forkJoin([executed(first, context as Context), context.once('step', step)]),
      });
    },
    ['step', 'removed'],
    ['A done', 'step'],
  ],
  'an agent runs twice with the same arguments, in order': [
    ({ agentNamed, remove }) => {
      const best = agentNamed('A', remove);
      return outerTool((context) =>
        concat(executed(best, context, { ...go }), executed(best, context, { ...go })).pipe(toArray()),
      );
    },
    ['removed', 'removed'],
    ['A done', 'A done'],
  ],
  'an agent runs twice with the same arguments, at a time': [
    ({ agentNamed, remove }) => {
      const best = agentNamed('A', remove);
      return outerTool((context) => forkJoin([executed(best, context, { ...go }), executed(best, context, { ...go })]));
    },
    ['removed', 'removed'],
    ['A done', 'A done'],
  ],
  'an agent with a wrapper runs twice with the same arguments': [
    ({ agentNamed, remove }) => {
      const best = retryTool(agentNamed('A', remove), { count: 1, delay: 1 });
      return outerTool((context) => forkJoin([executed(best, context, { ...go }), executed(best, context, { ...go })]));
    },
    ['removed', 'removed'],
    ['A done', 'A done'],
  ],
  'the tool asks twice in the same way': [
    ({ confirm }) =>
      outerTool((context) => concat(runLast(confirm, context, {}), runLast(confirm, context, {})).pipe(toArray())),
    [],
    ['to Sure?', 'to Sure?'],
  ],
  'retryTool executes a tool again that builds the arguments of its agent': [
    ({ agentNamed, remove }) => {
      const [first, fail] = [agentNamed('A', remove), failing(2)];
      const job = outerTool((context) => defer(() => executed(first, context, { ...go })).pipe(tap(fail)));
      return retryTool(job, { count: 3, delay: 1 });
    },
    ['removed'],
    'A done',
  ],
  'retryTool executes a tool again that runs two agents': [
    ({ agentNamed, remove }) => {
      const [first, second, fail] = [agentNamed('A', remove), agentNamed('B', remove), failing(2)];
      const job = outerTool((context) =>
        executed(first, context).pipe(
          concatMap((value) => executed(second, context).pipe(map((next) => [value, next]))),
          tap(fail),
        ),
      );
      return retryTool(job, { count: 3, delay: 1 });
    },
    ['removed', 'removed'],
    ['A done', 'B done'],
  ],
  'a tool begins its agent again by itself when it has failed': [
    ({ remove }) => {
      const fail = failing(1);
      const model = scriptedModel(({ messages }) => {
        if (messages.length > 1) fail();
        return messages.length === 1 ? [toolCall('work', {}, 'A1')] : 'A done';
      });
      const work = { name: 'work', description: '', parameters: z.object({}), ...remove } as Tool;
      const inner = agentTool(createAgent({ model, tools: [work] }), { name: 'A', description: '' }) as Tool;
      return outerTool((context) => executed(inner, context).pipe(catchError(() => executed(inner, context))));
    },
    ['removed'],
    'A done',
  ],
  'a tool takes the first value of an agent, twice': [
    ({ agentNamed, remove }) => {
      const best = agentNamed('A', remove);
      return outerTool((context) => twice(() => firstOf(best, context, { ...go })));
    },
    ['removed', 'removed'],
    ['A done', 'A done'],
  ],
  'a tool takes the first answer, twice': [
    ({ confirm }) => outerTool((context) => twice(() => firstOf(confirm, context, {}))),
    [],
    ['to Sure?', 'to Sure?'],
  ],
  'a tool that needs an approval runs an agent': [
    ({ agentNamed, remove }) => {
      const first = agentNamed('A', remove);
      return { ...outerTool((context) => executed(first, context)), needsApproval: true };
    },
    ['removed'],
    'A done',
  ],
  'a tool that needs an approval asks': [
    ({ confirm }) => ({ ...outerTool((context) => executed(confirm, context, {})), needsApproval: true }),
    [],
    'to Sure?',
  ],
  'a wrapper of an agent asks before': [
    ({ agentNamed, remove, confirm }) =>
      wrapTool(agentNamed('all', remove), (run, _, context) =>
        concat(executed(confirm, context, {}), run).pipe(last()),
      ),
    ['removed'],
    'all done',
  ],
  'a wrapper of an agent runs another one after it': [
    ({ agentNamed, remove }) => {
      const model = scriptedModel(() => '{"value":1}');
      const first = createAgent({ model, output: typed(z.object({ value: z.number() })) });
      const reviewer = agentNamed('B', remove);
      return wrapTool(agentTool(first, { name: 'all', description: '' }) as Tool, (run, _, context) =>
        run.pipe(
          last(),
          concatMap((value) => executed(reviewer, context, { prompt: JSON.stringify(value) })),
        ),
      );
    },
    ['removed'],
    'B done',
  ],
  'a wrapper of an agent runs another one beside it': [
    ({ agentNamed, remove }) => {
      const other = agentNamed('B', remove);
      return wrapTool(agentNamed('all', remove), (run, _, context) =>
        forkJoin([run.pipe(last()), executed(other, context)]),
      );
    },
    ['removed', 'removed'],
    ['all done', 'B done'],
  ],
  'a question has the only place of a limit, which an agent at work needs': [
    ({ agentNamed, confirm }) => {
      const limited = limitTool(confirm, { concurrency: 1 });
      const worker = agentNamed('A', { ...limited, name: 'work' });
      return outerTool((context) => forkJoin([executed(limited, context, {}), executed(worker, context)]));
    },
    [],
    ['to Sure?', 'A done'],
  ],
  'an agent that waits has the only place of a limit, which another one needs': [
    ({ agentNamed, remove }) => {
      const limited = limitTool(agentNamed('A', remove), { concurrency: 1 });
      const worker = agentNamed('B', { ...outerTool((context) => executed(limited, context)), name: 'work' });
      return outerTool((context) => forkJoin([executed(limited, context), executed(worker, context)]));
    },
    ['removed', 'removed'],
    ['A done', 'B done'],
  ],
  'a question waits in a tool that keeps the place of a limit, since it works': [
    ({ agentNamed, pay }) => {
      const worker = agentNamed('A', pay);
      const schema = z.object({ text: z.string() });
      const both = askTool({
        name: 'both',
        description: '',
        parameters: z.object({ of: z.number() }),
        execute: ({ of }, context) =>
          forkJoin([context.ask({ message: `${of}?`, schema }), executed(worker, context as Context)]),
      });
      const limited = limitTool(both as Tool, { concurrency: 1 });
      return outerTool((context) => forkJoin([1, 2].map((of) => executed(limited, context, { of }))));
    },
    ['pay begins', 'paid', 'pay begins', 'paid'],
    [
      [{ text: 'to 1?' }, 'A done'],
      [{ text: 'to 2?' }, 'A done'],
    ],
  ],
  'a tool runs twice, with other arguments, and so does the agent in it, with the same ones': [
    ({ agentNamed, remove }) => {
      const agent = agentNamed('A', remove);
      const inner = tool({
        name: 'inner',
        description: '',
        execute: (_, context) => executed(agent, context as Context),
      });
      return outerTool((context) => forkJoin([1, 2].map((of) => runLast(inner as Tool, context, { of }))));
    },
    ['removed', 'removed'],
    ['A done', 'A done'],
  ],
  'two tools run the same agent with the same arguments': [
    ({ agentNamed, remove }) => {
      const agent = agentNamed('A', remove);
      const wrapped = (name: string) =>
        tool({ name, description: '', execute: (_, context) => executed(agent, context as Context) }) as Tool;
      const tools = [wrapped('first'), wrapped('second')];
      return outerTool((context) => forkJoin(tools.map((inner) => runLast(inner, context))));
    },
    ['removed', 'removed'],
    ['A done', 'A done'],
  ],
};

/** Fails so many times. */
function failing(count: number): () => void {
  let left = count;
  return () => {
    if (left-- > 0) throw new Error('The upload has failed.');
  };
}

const outerAgent = (tools: readonly Tool[], options: Partial<AgentOptions> = {}): Agent => {
  const model = scriptedModel(({ messages }) =>
    messages.length === 1 ? [toolCall(tools[0]?.name ?? '', go, 'c1')] : 'Done.',
  );
  return createAgent({ model, tools, ...options });
};

const only = (run: () => Observable<RunResult>): RunResult => {
  const [{ value } = {}] = inVirtualTime(run).values;
  if (!value) throw new Error('The run has not ended.');
  return value;
};

const resultOf = ({ messages }: RunResult) =>
  messages.flatMap(({ parts }) => parts).find((part) => part.type === 'toolResult' && part.id === 'c1');

const MAX_STEPS = 6;

describe('the inner runs of a call', () => {
  it.each(Object.entries(rows))('happen once when %s, and the run is resumed', (_, [make, effects, expected]) => {
    const world = createWorld();
    const agent = outerAgent([make(world)]);
    let result = only(() => agent.run('Hi', { runId: 'r1', checkpoints: true }));
    for (let step = 0; step < MAX_STEPS && result.checkpoint; step++) {
      const checkpoint = stored(result);
      const answers = answersTo(result.waiting ?? []);
      result = only(() => agent.resumeRun(checkpoint, answers));
    }
    expect(resultOf(result)).toMatchObject({ result: expected });
    expect(world.effects).toEqual(effects);
  });

  it.each(Object.entries(rows))('happen once when %s, and people answer while the run lives', (_, row) => {
    const [make, effects, expected] = row;
    const world = createWorld();
    const agent = outerAgent([make(world)]);
    const result = only(() => {
      const answers = merge(...[0, 50, 150, 250, 350, 450].map((at) => timer(at)));
      let waiting: readonly WaitingCall[] = [];
      const events = agent.stream('Hi', { answers: answers.pipe(map(() => answersTo(waiting))), runId: 'r1' });
      return events.pipe(
        tap((event) => {
          if (event.type === 'toolWaiting') waiting = [...waiting, event];
          if (event.type !== 'nested') return;
          waiting = [...waiting, ...waitingIn(event.event, event.id)];
        }),
        concatMap((event) => (event.type === 'result' ? [event.result] : [])),
      );
    });
    expect(resultOf(result)).toMatchObject({ result: expected });
    expect(world.effects.toSorted()).toEqual([...effects].sort());
  });

  it.each([
    [50, 500],
    [500, 50],
  ])('do not count for the deadline while one of them waits (%d and %d ms)', (approval, answer) => {
    const { agentNamed, remove, confirm } = createWorld();
    const first = agentNamed('A', remove);
    const all = outerTool((context) => forkJoin([executed(first, context), executed(confirm, context, {})]));
    const given = merge(
      timer(approval).pipe(map(() => ({ decisions: { 'c1/A1': { approve: true } } }) as const)),
      timer(answer).pipe(map(() => ({ results: { 'c1/confirm.1.1': { text: 'yes' } } }))),
    );
    const result = only(() => outerAgent([all], { toolDeadline: 200 }).run('Hi', { answers: merge(given, NEVER) }));
    expect(resultOf(result)).toMatchObject({ result: ['A done', 'yes'] });
  });

  it('suspend when a question is answered while another one waits, and something works', () => {
    const { agentNamed, pay, effects } = createWorld();
    const worker = agentNamed('A', pay);
    const schema = z.object({ text: z.string() });
    const all = askTool({
      name: 'all',
      description: '',
      execute: (_, context) => {
        const ask = (key: string) => context.ask({ key, message: key, schema });
        const known = timer(60).pipe(concatMap(() => ask('known')));
        return forkJoin([ask('open'), executed(worker, context as Context), known]).pipe(map(() => 'done'));
      },
    }) as Tool;
    const answers = merge(timer(30).pipe(map(() => ({ results: { 'c1/known': { text: 'yes' } } }))), NEVER);
    const agent = outerAgent([all], { patience: 20 });
    const result = only(() => agent.run('Hi', { answers }));
    expect(result.waiting).toMatchObject([{ id: 'c1/open' }]);
    const checkpoint = stored(result);
    const end = only(() => agent.resumeRun(checkpoint, { results: { 'c1/open': { text: 'yes' } } }));
    expect(resultOf(end)).toMatchObject({ result: 'done' });
    expect(effects).toEqual(['pay begins', 'paid']);
  });

  it('do not wait when the call is stopped, also if the tool handles the error of one that works', () => {
    const { agentNamed, remove, pay } = createWorld();
    const [first, worker] = [agentNamed('A', remove), agentNamed('B', pay)];
    const all = outerTool((context) => {
      const handled = executed(worker, context).pipe(catchError(() => of('handled')));
      return forkJoin([executed(first, context), handled]);
    });
    const stopped = only(() => outerAgent([all]).run('Hi', { stop: timer(60) }));
    expect([stopped.finishReason, resultOf(stopped)]).toMatchObject(['stopped', { code: 'cancelled' }]);
    const cancelled = only(() => outerAgent([all]).run('Hi', { cancel: timer(60).pipe(map(() => 'c1')) }));
    expect([cancelled.finishReason, resultOf(cancelled)]).toMatchObject(['stop', { code: 'cancelled' }]);
  });

  it('are counted in linear time', () => {
    const inputs = [4_000, 8_000, 16_000].map((count) => Array.from({ length: count }, (_, index) => ({ row: index })));
    const inner = tool({ name: 'inner', description: '', execute: () => 1 });
    expectLinear((rows) => {
      const scope = new CallScope();
      for (const row of rows) scope.begin(inner, row);
      expect(scope.begin(inner, rows[0]).path).toBe('.1');
    }, inputs);
  });

  it('keep an answer that comes late, and has to wait for its turn', () => {
    const { agentNamed, pay, confirm, effects } = createWorld();
    const worker = agentNamed('A', pay);
    const all = outerTool((context) => forkJoin([executed(confirm, context, {}), executed(worker, context)]));
    const long = tool({ name: 'long', description: '', execute: () => timer(300).pipe(map(() => 'long')) }) as Tool;
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? [toolCall('all', {}, 'c1'), toolCall('long', {}, 'c2')] : 'Done.',
    );
    const agent = createAgent({ model, tools: [all, long], patience: 50 });
    const answers = merge(timer(80).pipe(map(() => ({ results: { 'c1/1': { text: 'yes' } } }))), NEVER);
    const result = only(() => agent.run('Hi', { answers }));
    expect([result.finishReason, resultOf(result)]).toMatchObject(['stop', { result: ['yes', 'A done'] }]);
    expect(effects).toEqual(['pay begins', 'paid']);
  });

  it.each<[string, (world: World) => readonly Tool[], string]>([
    ['a call', ({ remove }) => [tool({ name: 'all', description: '', ...remove } as never)], 'c1'],
    [
      'a call of an agent',
      ({ agentNamed, remove, pay }) => {
        const [first, second] = [agentNamed('A', remove), agentNamed('B', pay)];
        return [outerTool((context) => forkJoin([executed(first, context), executed(second, context)]))];
      },
      'c1/A1',
    ],
    [
      'a call of an agent of an agent',
      ({ agentNamed, remove, pay }) => {
        const inner = agentNamed('A', remove);
        const first = agentNamed('B', { ...outerTool((context) => executed(inner, context)), name: 'work' });
        const second = agentNamed('C', pay);
        return [outerTool((context) => forkJoin([executed(first, context), executed(second, context)]))];
      },
      'c1/B1/A3',
    ],
  ])('receive an approval, or a cancellation, of %s that comes late', (_, make, id) => {
    for (const [given, effects] of [
      [{ answers: { decisions: { [id]: { approve: true } } } }, ['removed']],
      [{ cancel: id }, []],
      [{ stop: true }, []],
    ] as const) {
      const world = createWorld();
      const [all] = make(world);
      const long = tool({ name: 'long', description: '', execute: () => timer(300).pipe(map(() => 'long')) }) as Tool;
      const model = scriptedModel(({ messages }) =>
        messages.length === 1 ? [toolCall('all', go, 'c1'), toolCall('long', {}, 'c2')] : 'Done.',
      );
      const agent = createAgent({ model, tools: [{ ...all, name: 'all' } as Tool, long], toolConcurrency: 2 });
      const late = <T>(value: T | undefined) => concat(timer(100).pipe(concatMap(() => (value ? [value] : []))), NEVER);
      const { cancel, answers, stop } = { cancel: undefined, answers: undefined, stop: undefined, ...given };
      const notifiers = { answers: late(answers), cancel: late(cancel), stop: late(stop) };
      const result = only(() => agent.run('Hi', { ...notifiers, patience: 50 }));
      expect([given, result.finishReason, result.waiting]).toEqual([given, stop ? 'stopped' : 'stop', undefined]);
      expect(world.effects.filter((effect) => effect === 'removed')).toEqual(effects);
    }
  });

  it('wait for a place of limitTool as long as a person decides about another one', () => {
    const { agentNamed, remove, effects } = createWorld();
    const limited = limitTool(agentNamed('A', remove), { concurrency: 1 });
    const calls = ['c1', 'c2'].map((id) => toolCall('A', go, id));
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? calls : 'Done.'));
    const agent = createAgent({ model, tools: [limited], toolConcurrency: Infinity, toolDeadline: 200 });
    const approvals = [timer(500).pipe(map(() => 'c1/A1')), timer(1000).pipe(map(() => 'c2/A2'))];
    const answers = merge(...approvals, NEVER).pipe(map((id) => ({ decisions: { [id]: { approve: true } } }) as const));
    const { messages } = only(() => agent.run('Hi', { answers }));
    const results = messages.flatMap(({ parts }) => parts).filter((part) => part.type === 'toolResult');
    expect(results).toMatchObject([{ result: 'A done' }, { result: 'A done' }]);
    expect(effects).toEqual(['removed', 'removed']);
  });

  it.each([undefined, 300])(
    'do not hold up the person whose answer frees the place that they need (%s)',
    (patience) => {
      const { agentNamed, confirm } = createWorld();
      const limited = limitTool(confirm, { concurrency: 1 });
      const worker = agentNamed('A', { ...limited, name: 'work' });
      const model = scriptedModel(({ messages }) =>
        messages.length === 1 ? [toolCall('confirm', {}, 'c1'), toolCall('A', go, 'c2')] : 'Done.',
      );
      const agent = createAgent({ model, tools: [limited, worker] });
      const answers = merge(
        timer(100).pipe(map(() => ({ results: { 'c1/1': { text: 'yes' } } }))),
        timer(200).pipe(map(() => ({ results: { 'c2/A1/1': { text: 'no' } } }))),
        NEVER,
      );
      const { finishReason, messages } = only(() => agent.run('Hi', { answers, patience }));
      const results = messages.flatMap(({ parts }) => parts).filter((part) => part.type === 'toolResult');
      expect([finishReason, results]).toMatchObject(['stop', [{ result: 'yes' }, { result: 'A done' }]]);
    },
  );

  it.each<[string, (run: Agent) => Observable<RunResult>]>([
    ['is stopped', (agent) => agent.run('Hi', { stop: timer(50) })],
    ['is unsubscribed', (agent) => agent.run('Hi').pipe(takeUntil(timer(50)))],
  ])('begin no call that waits for a place when the run %s', (_, run) => {
    const { pay, effects } = createWorld();
    const limited = limitTool(tool({ name: 'pay', description: '', ...pay } as never) as Tool, { concurrency: 1 });
    const calls = ['c1', 'c2', 'c3'].map((id) => toolCall('pay', {}, id));
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? calls : 'Done.'));
    inVirtualTime(() => run(createAgent({ model, tools: [limited], toolConcurrency: 3 })));
    expect(effects).toEqual(['pay begins']);
  });

  it('count again for the deadline when a question of an inner call is cancelled', () => {
    const { confirm } = createWorld();
    const never = { execute: () => NEVER };
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? [toolCall('ask', {}, 'a')] : [toolCall('never', {}, 'b')],
    );
    const tools = [{ ...confirm, name: 'ask' } as Tool, tool({ name: 'never', description: '', ...never }) as Tool];
    const inner = agentTool(createAgent({ model, tools }), { name: 'inner', description: '' });
    const result = only(() =>
      outerAgent([inner], { toolDeadline: 300 }).run('Hi', {
        answers: NEVER,
        cancel: timer(500).pipe(map(() => 'c1/a')),
      }),
    );
    expect(resultOf(result)).toMatchObject({ code: 'timeout' });
  });

  it('count again for the deadline when the tool has given up one that waits', () => {
    const { agentNamed, remove } = createWorld();
    const first = agentNamed('A', remove);
    const all = outerTool((context) =>
      executed(first, context).pipe(
        timeout(50),
        catchError(() => NEVER),
      ),
    );
    const result = only(() => outerAgent([all], { toolDeadline: 300 }).run('Hi', { answers: NEVER }));
    expect(resultOf(result)).toMatchObject({ code: 'timeout' });
  });
});

function waitingIn(event: unknown, path: string): readonly WaitingCall[] {
  const { type, id, event: inner } = event as { type: string; id: string; event?: unknown };
  if (type === 'nested') return waitingIn(inner, `${path}/${id}`);
  return type === 'toolWaiting' ? [{ ...(event as WaitingCall), id: `${path}/${id}` }] : [];
}
