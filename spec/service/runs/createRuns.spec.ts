import { describe, expect, it, jest } from '@jest/globals';
import {
  asyncScheduler,
  concat,
  defer,
  finalize,
  ignoreElements,
  NEVER,
  of,
  Subject,
  take,
  takeUntil,
  tap,
} from 'rxjs';
import { throwError, timer } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import { userMessage } from '../../../lib/core/message.js';
import { scriptedModel } from '../../../lib/testing/index.js';
import { createRuns } from '../../../lib/service/runs/createRuns.js';
import { memoryLog } from '../../../lib/service/stores/memory/memoryLog.js';
import type { RunLog } from '../../../lib/service/ports/runLog.js';
import { countedSource, observe } from '../../support/observe.js';

const other = (type: string): StreamEvent => ({ type });
const agent = createAgent({ model: scriptedModel(() => ['Hel', { delay: 1000 }, 'lo']) });

const typesOf = (values: readonly { readonly event: StreamEvent }[]) => values.map(({ event }) => event.type);
const virtual = (body: (flush: () => void) => void) =>
  new TestScheduler(() => undefined).run(({ flush }) => body(flush));

describe('createRuns', () => {
  it('createRuns gives each run an id that cannot be guessed', () => {
    const runs = createRuns();
    const ids = [1, 2].map(() => runs.start(() => of(other('a'))).id);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    observe(runs.shutdown());
  });

  it('createRuns joins a run that was started with the same id', () => {
    const runs = createRuns();
    const { count, source } = countedSource(() => other('a'));
    const first = runs.start(() => source.pipe(take(2)), 'r');
    expect(runs.start(() => source, 'r').run).toBe(first.run);
    expect(count.subscribed).toBe(1);
    observe(runs.shutdown());
  });

  it('createRuns attaches a reader from the start, and after an id', () => {
    virtual((flush) => {
      const runs = createRuns({ keep: Infinity });
      const { id } = runs.start(() => agent.stream('Hi'));
      const all = observe(runs.attach(id));
      flush();
      const rest = observe(runs.attach(id, all.values[0]?.id));
      expect(typesOf(all.values)).toEqual(['text', 'text', 'message', 'turn', 'result']);
      expect(rest.values).toEqual(all.values.slice(1));
      expect(rest.completed).toBe(true);
    });
  });

  it('createRuns stops a run, which ends with its result', () => {
    virtual(() => {
      const runs = createRuns();
      const { id } = runs.start((stop) => agent.stream('Hi', { stop }));
      const { values } = observe(runs.attach(id));
      expect(runs.stop(id)).toBe(true);
      expect(values.at(-1)).toMatchObject({ event: { result: { text: 'Hel', finishReason: 'stopped' } } });
      expect(runs.stop('unknown')).toBe(false);
      observe(runs.shutdown());
    });
  });

  it.each(['stop', 'shutdown'] as const)('createRuns keeps a %s for a run whose agent begins later', (how) => {
    virtual((flush) => {
      const model = scriptedModel(() => NEVER);
      const runs = createRuns();
      const { id } = runs.start((stop) =>
        concat(
          timer(10).pipe(ignoreElements()),
          defer(() => createAgent({ model }).stream('Hi', { stop })),
        ),
      );
      const { values } = observe(runs.attach(id));
      const ended = observe(how === 'stop' ? (runs.stop(id), runs.shutdown('finish')) : runs.shutdown());
      expect(ended.completed).toBe(false);
      flush();
      expect(values.at(-1)).toMatchObject({ event: { result: { text: '', finishReason: 'stopped' } } });
      expect(model.requests).toEqual([]);
      expect(ended.completed).toBe(true);
    });
  });

  it('createRuns reports a run that it does not have', () => {
    expect(observe(createRuns().attach('x')).error).toMatchObject({ code: 'run_not_found' });
  });

  it('createRuns keeps the events of a run for a time after its end', () => {
    virtual((flush) => {
      const runs = createRuns({ keep: 10 });
      const { id } = runs.start(() => of(other('a')));
      expect(typesOf(observe(runs.attach(id)).values)).toEqual(['a']);
      observe(timer(10));
      flush();
      expect(runs.get(id)).toBeUndefined();
    });
  });

  it('createRuns stops a run without a reader after the grace time', () => {
    virtual((flush) => {
      const runs = createRuns({ grace: 10, keep: Infinity });
      const { id } = runs.start((stop) => agent.stream('Hi', { stop }));
      flush();
      expect(observe(runs.attach(id)).values.at(-1)).toMatchObject({
        event: { result: { text: 'Hel', finishReason: 'stopped' } },
      });
    });
  });

  it('createRuns unsubscribes a run that continues after its stop', () => {
    virtual((flush) => {
      let tornDown = 0;
      const runs = createRuns({ grace: 10 });
      runs.start(() => NEVER.pipe(finalize(() => tornDown++)));
      flush();
      expect(tornDown).toBe(1);
    });
  });

  it.each([
    ['stop', 'stopped'],
    ['finish', 'stop'],
  ] as const)('createRuns completes a shutdown by `%s` when the runs have ended', (how, finishReason) => {
    virtual((flush) => {
      const runs = createRuns();
      const { id } = runs.start((stop) => agent.stream('Hi', { stop }));
      const { values } = observe(runs.attach(id));
      const shutdown = observe(runs.shutdown(how));
      expect(shutdown.completed).toBe(how === 'stop');
      flush();
      expect(shutdown.completed).toBe(true);
      expect(values.at(-1)).toMatchObject({ event: { result: { finishReason } } });
    });
  });

  it.each(['finish', 'abandon'] as const)(
    'createRuns writes the end of a run that ended during its last write before a shutdown by `%s` completes',
    (how) => {
      virtual((flush) => {
        const ends: unknown[] = [];
        const memory = memoryLog();
        const log: RunLog = {
          ...memory,
          isShared: true,
          append: (run, attempt, events) =>
            concat(memory.append(run, attempt, events), events.length === 0 ? [] : timer(100).pipe(ignoreElements())),
          end: (run, attempt, options) => defer(() => (ends.push(run), memory.end(run, attempt, options))),
        };
        const runs = createRuns({ log });
        const { run } = runs.start(() => of(other('a'), other('b')), 'r');
        expect([run.status, ends]).toEqual(['completed', []]);
        const shutdown = observe(runs.shutdown(how));
        expect(shutdown.completed).toBe(false);
        flush();
        expect([ends, shutdown.completed]).toEqual([['r'], true]);
      });
    },
  );

  it('createRuns abandons the runs at a shutdown, and their readers are told', () => {
    const runs = createRuns();
    const { id } = runs.start(() => concat(of(other('a')), NEVER));
    const reader = observe(runs.attach(id));
    expect(observe(runs.shutdown('abandon')).completed).toBe(true);
    expect(reader.error).toMatchObject({ code: 'run_abandoned' });
  });

  it('createRuns completes a shutdown although a run fails', () => {
    const runs = createRuns();
    const failing = new Subject<StreamEvent>();
    runs.start(() => failing);
    const shutdown = observe(runs.shutdown('finish'));
    failing.error(new Error('no'));
    expect([shutdown.completed, shutdown.error]).toEqual([true, undefined]);
    expect(observe(createRuns().shutdown()).completed).toBe(true);
  });

  it.each([
    ['finish', 1, ['a'], undefined],
    ['stop', 0, [], undefined],
    ['abandon', 0, [], 'run_abandoned'],
  ] as const)(
    'createRuns ends a run that begins after a shutdown with %s as those before it',
    (how, begun, seen, code) => {
      const runs = createRuns();
      runs.shutdown(how).subscribe();
      const { count, source } = countedSource(() => other('a'));
      const { run } = runs.start((stop) => source.pipe(take(1), takeUntil(stop)));
      const { values, error } = observe(run.events$);
      const types = values.map(({ type }) => type);
      expect([count.subscribed, types, (error as { code?: string } | undefined)?.code]).toEqual([begun, seen, code]);
    },
  );

  it.each(['stop', 'finish', 'abandon'] as const)('createRuns leaves no timer after a shutdown by `%s`', (how) => {
    jest.useFakeTimers();
    try {
      const runs = createRuns();
      const source = new Subject<StreamEvent>();
      runs.start((stop) => source.pipe(takeUntil(stop))); // nobody subscribes: the grace time begins
      expect(jest.getTimerCount()).toBe(1);
      const shutdown = observe(runs.shutdown(how));
      source.complete();
      expect([shutdown.completed, jest.getTimerCount()]).toEqual([true, 0]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('createRuns passes the messages that arrive by the log to the notifiers of the run', () => {
    const log = memoryLog();
    const runs = createRuns({ log });
    const seen: unknown[] = [];
    const { run } = runs.start((stop, cancel, prompts) => {
      stop.subscribe(() => seen.push('stop'));
      cancel.subscribe((call) => seen.push(call));
      prompts.subscribe((prompt) => seen.push(prompt));
      return NEVER;
    }, 'r');
    const prompt = userMessage('Hurry.');
    observe(log.send('r', { type: 'answers', answers: { results: { 'c0/1': 'x' } } }));
    observe(log.send('r', { type: 'cancel', id: 'c1' }));
    expect(runs.cancel('r', 'c2')).toBe(true);
    expect(runs.cancel('unknown', 'c2')).toBe(false);
    observe(log.send('r', { type: 'prompt', input: [prompt] }));
    observe(log.send('r', { type: 'stop' }));
    expect(seen).toEqual(['c1', 'c2', prompt, 'stop']);
    run.unsubscribe();
  });

  it('createRuns stops a run whose messages cannot be read for 10 s, since nobody could stop it later', () =>
    virtual((flush) => {
      const log = memoryLog();
      const ends: number[] = [];
      for (const away of [9000, Infinity]) {
        const messages: RunLog['messages'] = (id, from) =>
          defer(() => (asyncScheduler.now() < away ? throwError(() => new Error('away')) : log.messages(id, from)));
        const runs = createRuns({ log: { ...log, messages } });
        runs.start((stop) => NEVER.pipe(takeUntil(stop.pipe(tap(() => ends.push(asyncScheduler.now()))))));
      }
      flush();
      expect(ends.filter((time) => time < 60_000)).toEqual([10_000]);
    }));

  it('createRuns reads the messages again after those that it has handled', () =>
    virtual((flush) => {
      const log = memoryLog();
      const from: (string | undefined)[] = [];
      const messages: RunLog['messages'] = (id, after) => {
        from.push(after);
        const read = log.messages(id, after);
        return from.length === 1
          ? concat(
              read.pipe(take(1)),
              throwError(() => new Error('away')),
            )
          : read;
      };
      const prompts: unknown[] = [];
      const runs = createRuns({ log: { ...log, messages } });
      const { id } = runs.start((stop, _, prompted) => {
        prompted.subscribe((prompt) => prompts.push(prompt));
        return NEVER.pipe(takeUntil(stop));
      });
      for (const text of ['a', 'b']) observe(log.send(id, { type: 'prompt', input: [userMessage(text)] }));
      flush();
      expect(prompts).toEqual([userMessage('a'), userMessage('b')]);
      expect(from).toEqual(['0', '1']);
    }));

  it('createRuns rejects a `keep` below zero', () => {
    expect(() => createRuns({ keep: -1 })).toThrow('keep is -1.');
  });

  it('createRuns leaves the messages to a run at its end', () => {
    let left = 0;
    const messages = () => NEVER.pipe(finalize(() => left++));
    const runs = createRuns({ log: { ...memoryLog(), messages } });
    const source = new Subject<StreamEvent>();
    runs.start(() => source);
    expect(left).toBe(0);
    source.complete();
    expect(left).toBe(1);
  });
});
