import { afterEach, describe, expect, it } from '@jest/globals';
import { asyncScheduler, concatMap, EMPTY, filter, firstValueFrom, forkJoin, last, map, of, Subject, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import * as z from 'zod';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { AskContext } from '../../lib/tools/ask/askOptions.js';
import { agentTool, askTool, createAgent, tool } from '../../lib/index.js';
import type { CallAnswers, Checkpoint, RunEvent, RunResult, Tool, WaitingCall } from '../../lib/index.js';
import { innermost } from '../../lib/core/nested.js';
import { runTool } from '../../lib/operators/execute/runTool.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';
import { answersTo, answerTo } from '../support/askingRuns.js';
import { shutDown } from '../support/services.js';
import { mapStore } from '../support/stores.js';

interface Parts {
  /** Runs an inner tool. */
  readonly run: (inner: string) => Observable<unknown>;
  readonly ask: (message: string) => Observable<unknown>;
  readonly once: (key: string) => Observable<unknown>;
  /** Runs inner tools at a time. In each execution of the tool they begin in another order. */
  readonly runAll: (...inner: readonly string[]) => Observable<unknown>;
}

/** What the tool of a call does, step by step, and what it returns. `bank` and `shop` ask; `post` and `mail` are agents. */
const rows: Readonly<Record<string, readonly [work: (parts: Parts) => Observable<unknown>, result: unknown]>> = {
  'asks, then runs an agent': [
    ({ run, ask, once }) => inOrder([() => once('pay'), () => ask('A?'), () => run('post'), () => once('note')]),
    ['pay', 'to A?', 'post sent', 'note'],
  ],
  'runs an agent, then asks': [
    ({ run, ask, once }) => inOrder([() => run('post'), () => once('pay'), () => ask('A?'), () => once('note')]),
    ['post sent', 'pay', 'to A?', 'note'],
  ],
  'runs an agent before and after it asks': [
    ({ run, ask, once }) => inOrder([() => once('pay'), () => run('mail'), () => ask('A?'), () => run('post')]),
    ['pay', 'mail sent', 'to A?', 'post sent'],
  ],
  'asks before and after an agent': [
    ({ run, ask, once }) => inOrder([() => ask('A?'), () => once('pay'), () => run('post'), () => ask('B?')]),
    ['to A?', 'pay', 'post sent', 'to B?'],
  ],
  'runs two tools that ask': [
    ({ run }) => inOrder([() => run('bank'), () => run('shop')]),
    ['to PIN of bank?,pay', 'to PIN of shop?,pay'],
  ],
  'asks, and runs two tools that ask and an agent': [
    ({ run, ask }) => inOrder([() => ask('A?'), () => run('bank'), () => run('mail'), () => run('shop')]),
    ['to A?', 'to PIN of bank?,pay', 'mail sent', 'to PIN of shop?,pay'],
  ],
  'runs two agents at a time, which both wait': [
    ({ run }) => forkJoin([run('post'), run('mail')]),
    ['post sent', 'mail sent'],
  ],
  'begins two agents in another order each time': [({ runAll }) => runAll('post', 'mail'), ['post sent', 'mail sent']],
  'begins two tools that ask in another order each time': [
    ({ runAll }) => runAll('bank', 'shop'),
    ['to PIN of bank?,pay', 'to PIN of shop?,pay'],
  ],
  'asks, and begins all kinds in another order each time': [
    ({ ask, runAll, once }) =>
      inOrder([() => ask('A?'), () => runAll('shop', 'post', 'bank', 'mail'), () => once('pay')]),
    ['to A?', ['to PIN of shop?,pay', 'post sent', 'to PIN of bank?,pay', 'mail sent'], 'pay'],
  ],
};

const inOrder = ([work, ...rest]: readonly (() => Observable<unknown>)[]): Observable<readonly unknown[]> =>
  work
    ? work().pipe(
        concatMap((value) => (rest.length > 0 ? inOrder(rest).pipe(map((more) => [value, ...more])) : [[value]])),
      )
    : of([]);

const anyText = z.object({ text: z.string() });

function createWorld(work: (parts: Parts) => Observable<unknown>) {
  /** Each effect, as often as it happens. */
  const effects: string[] = [];
  const stepsOf = ({ ask, once }: AskContext, owner: string) => ({
    ask: (message: string) => ask({ message, schema: anyText }).pipe(map(({ text }) => text)),
    once: (key: string) => once(key, (id) => (effects.push(`${owner} ${id}`), key)),
  });
  const asking = (name: string) =>
    askTool({
      name,
      description: '',
      execute: (_, context) => {
        const { ask, once } = stepsOf(context, name);
        return inOrder([() => ask(`PIN of ${name}?`), () => once('pay')]).pipe(map((steps) => steps.join(',')));
      },
    });
  const agentNamed = (name: string) => {
    const send = tool({
      name: 'send',
      description: '',
      needsApproval: true,
      execute: (_, { idempotencyKey }) => (effects.push(`${name} ${idempotencyKey}`), 'sent'),
    });
    const call = toolCall('send', {}, `send_${name}`);
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? [call] : `${name} sent`));
    return agentTool(createAgent({ model, tools: [send] }), { name, description: '' });
  };
  const inner = new Map<string, Tool>(['bank', 'shop'].map((name) => [name, asking(name) as Tool]));
  for (const name of ['post', 'mail']) inner.set(name, agentNamed(name));
  let executions = 0;
  const all = askTool({
    name: 'all',
    description: '',
    execute: (_, context) => {
      const isReversed = executions++ % 2 === 1;
      const run = (name: string) => {
        const found = inner.get(name);
        return (found ? runTool(found, { prompt: 'Go.' }, context) : EMPTY).pipe(last());
      };
      const runAll = (...names: readonly string[]) => {
        const begun = isReversed ? names.toReversed() : names;
        return forkJoin(Object.fromEntries(begun.map((name) => [name, run(name)]))).pipe(
          map((results) => names.map((name) => results[name])),
        );
      };
      return work({ run, runAll, ...stepsOf(context, 'all') });
    },
  });
  const model = scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('all', {}, 'c1')] : 'Done.'));
  return { effects, agent: createAgent({ model, tools: [all] }) };
}

const ownerOf = (effect: string) => effect.split(' ')[0] ?? '';

const copyOf = (checkpoint: Checkpoint) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;
const options = { checkpoints: true, runId: 'r1' };

const valueOf = (result: RunResult | undefined) =>
  result?.messages.flatMap(({ parts }) => parts).find((part) => part.type === 'toolResult');

const handlers: ReturnType<typeof agentHandler>[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

describe.each(Object.entries(rows))('a tool that %s', (_, [work, expected]) => {
  /** Resumes a run, with an answer to one call that waits, until nothing waits. */
  function runToEnd(world: ReturnType<typeof createWorld>, from?: Checkpoint) {
    const stages: { readonly checkpoint: Checkpoint; readonly done: number }[] = [];
    let checkpoint = from;
    for (;;) {
      const answers = answersTo(checkpoint?.open?.waiting.slice(0, 1) ?? []);
      const { agent, effects } = world;
      const resumed = checkpoint && copyOf(checkpoint);
      const { values } = inVirtualTime<RunEvent>(() =>
        (resumed ? agent.resume(resumed, { ...options, ...answers }) : agent.stream('Go.', options)).pipe(
          tap((event) => {
            const kept = event.type === 'checkpoint' || event.type === 'turn' ? event.checkpoint : undefined;
            if (kept) stages.push({ checkpoint: copyOf(kept), done: effects.length });
          }),
        ),
      );
      const end = values.at(-1)?.value;
      const result = end?.type === 'result' ? end.result : undefined;
      if (!result?.checkpoint) return { result, stages };
      checkpoint = result.checkpoint;
    }
  }

  it('continues all of it in memory', () => {
    const { agent, effects } = createWorld(work);
    const answers = new Subject<CallAnswers>();
    const { values } = inVirtualTime<RunEvent>(() =>
      agent.stream('Go.', { ...options, answers }).pipe(
        tap((event) => {
          const known = innermost(event);
          if (known.type === 'toolWaiting') asyncScheduler.schedule(() => answers.next(answersTo([known])), 1);
        }),
      ),
    );
    const end = values.at(-1)?.value;
    expect(valueOf(end?.type === 'result' ? end.result : undefined)).toMatchObject({ result: expected });
    expect(new Set(effects).size).toBe(effects.length);
  });

  it('continues all of it from each checkpoint', () => {
    const world = createWorld(work);
    const { result, stages } = runToEnd(world);
    const effects = [...world.effects];
    expect(valueOf(result)).toMatchObject({ result: expected });
    expect(new Set(effects).size).toBe(effects.length);
    expect(stages.length).toBeGreaterThan(3);
    for (const { checkpoint, done } of stages) {
      world.effects.length = 0;
      expect(valueOf(runToEnd(world, checkpoint).result)).toMatchObject({ result: expected });
      const resumed = world.effects;
      expect(resumed.map(ownerOf).sort()).toEqual(effects.slice(done).map(ownerOf).sort());
      if (done < effects.length && stages.findLast((stage) => stage.done === done)?.checkpoint === checkpoint)
        expect(resumed).toContain(effects[done]); // it may have happened since: its key is the same
    }
  });

  it('continues all of it in other processes of a service', async () => {
    const store = mapStore();
    const effects: string[] = [];
    const process = () => {
      const world = createWorld(work);
      const handler = agentHandler(world.agent, { store, checkpoints: true });
      handlers.push(handler);
      return { world, fetch: (url: string | URL | Request, init?: RequestInit) => handler(new Request(url, init)) };
    };
    let saved: string | undefined;
    let waiting: readonly WaitingCall[] = [];
    do {
      const { world, fetch } = process();
      const chat = conversation(remoteAgent('http://service.test', { fetch }), { saved });
      const views = chat.view$.subscribe();
      const [next] = waiting;
      if (next) await firstValueFrom(chat.view$.pipe(filter((now) => now.waiting.some(({ id }) => id === next.id))));
      if (next?.question) chat.answer(next.id, answerTo(next));
      else if (next) chat.decide(next.id, { approve: true });
      else chat.send('Go.');
      const view = await firstValueFrom(
        chat.view$.pipe(
          filter((now) => now.status === 'idle' || (now.waiting.length > 0 && now.waiting[0]?.id !== next?.id)),
        ),
      );
      while ([...store.records.values()].some(({ record }) => record.state === 'running'))
        await new Promise((resolve) => setImmediate(resolve));
      saved = JSON.stringify(chat.save());
      waiting = view.waiting;
      effects.push(...world.effects);
      views.unsubscribe();
    } while (waiting.length > 0);
    const [record] = [...store.records.values()].map(({ record }) => record).filter(({ result }) => valueOf(result));
    expect(valueOf(record?.result)).toMatchObject({ result: expected });
    expect(new Set(effects).size).toBe(effects.length);
  });
});
