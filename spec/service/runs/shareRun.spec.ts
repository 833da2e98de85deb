import { describe, expect, it, jest } from '@jest/globals';
import {
  asyncScheduler,
  concat,
  config,
  defer,
  EMPTY,
  finalize,
  lastValueFrom,
  NEVER,
  Observable,
  of,
  Subject,
  switchMap,
  take,
  takeUntil,
  throwError,
  timer,
  tap,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { StreamEvent } from '../../../lib/core/event.js';
import { memoryLog } from '../../../lib/service/stores/memory/memoryLog.js';
import { RunAbandonedError, RunTakenError } from '../../../lib/service/runs/runErrors.js';
import type { RunLog } from '../../../lib/service/ports/runLog.js';
import { RunLife } from '../../../lib/service/runs/runLife.js';
import type { RunLifeOptions } from '../../../lib/service/runs/runLife.js';
import { shareRun } from '../../../lib/service/runs/shareRun.js';
import { describeError } from '../../../lib/transport/publicError.js';
import { countedSource, observe } from '../../support/observe.js';
import { contentOf, exampleEvents, exampleRun } from '../../support/runs.js';

const logRun = <E extends StreamEvent>(source: Observable<E>, options: RunLifeOptions) =>
  new RunLife((failure) => failure ?? source, options);

const text = (value: string): StreamEvent => ({ type: 'text', text: value }) as StreamEvent;
const other = (type: string): StreamEvent => ({ type });

describe('shareRun', () => {
  it('shareRun gives each subscriber all events, and subscribes the run once', () => {
    const source = new Subject<StreamEvent>();
    const run = shareRun(source);
    const first = observe(run.events$);
    source.next(other('a'));
    source.next(text('Hel'));
    source.next(text('lo'));
    const second = observe(run.events$);
    source.next(text('!'));
    source.complete();
    expect(first.values).toEqual([other('a'), text('Hel'), text('lo'), text('!')]);
    expect(second.values).toEqual([other('a'), text('Hello'), text('!')]);
    expect([first.completed, second.completed]).toEqual([true, true]);
    expect(run.status).toBe('completed');
  });

  it('shareRun gives a subscriber after the end all events and the end', () => {
    const run = shareRun(exampleRun({ fragments: false }));
    run.start();
    const { values, completed } = observe(run.events$);
    expect(completed).toBe(true);
    expect(values.filter(({ type }) => type !== 'text' && type !== 'thinking')).toEqual(
      exampleEvents({ fragments: false }).filter(({ type }) => type !== 'text' && type !== 'thinking'),
    );
  });

  it.each(['stack', 'message', 'name', 'code', 'cause', 'toString'])(
    'shareRun settles a run whose error throws when its %s is read',
    async (field) => {
      const unhandled: unknown[] = [];
      config.onUnhandledError = (error) => unhandled.push(error);
      try {
        const get = () => {
          throw new Error('read');
        };
        const failure = Object.defineProperty(new Error('secret'), field, { get });
        const source = throwError(() => failure);
        const run = logRun(source, { log: memoryLog(), id: 'r' });
        run.start();
        expect(observe(run.settled).completed).toBe(true);
        expect(observe(run.events$).error).toBeDefined();
        await lastValueFrom(timer(0)); // RxJS reports later
        expect(unhandled).toEqual([]);
      } finally {
        config.onUnhandledError = null;
      }
    },
  );

  it('shareRun passes an error to present and late subscribers', () => {
    const failure = new Error('no');
    const run = shareRun(
      concat(
        of(other('a')),
        throwError(() => failure),
      ),
    );
    const subscribers = [observe(run.events$), observe(run.events$)];
    for (const { values, error } of subscribers) expect([values, error]).toEqual([[other('a')], failure]);
    expect(run.status).toBe('failed');
  });

  it('shareRun starts the run at the first subscription only, never again', () => {
    const { count, source } = countedSource(() => other('a'));
    const run = shareRun(source.pipe(take(3)));
    expect(count.subscribed).toBe(0);
    observe(run.events$);
    observe(run.events$);
    run.start();
    expect(count).toEqual({ pulled: 3, subscribed: 1, torndown: 1 });
  });

  it('shareRun continues when its subscribers leave', () => {
    const source = new Subject<StreamEvent>();
    const run = shareRun(source);
    observe(run.events$).subscription.unsubscribe();
    source.next(other('a'));
    expect(observe(run.events$).values).toEqual([other('a')]);
    expect(run.status).toBe('running');
  });

  it('shareRun ends a run that has no subscriber for the grace time', () => {
    new TestScheduler(() => undefined).run(({ cold, flush }) => {
      const source = cold<StreamEvent>(
        'a-b-c-d-e-f-g-h-i-|',
        Object.fromEntries('abcdefghi'.split('').map((name) => [name, other(name)])),
      );
      const run = shareRun(source, { grace: 4 });
      observe(run.events$.pipe(takeUntil(timer(3))));
      const second = observe(
        timer(5).pipe(
          switchMap(() => run.events$),
          takeUntil(timer(7)),
        ),
      );
      flush();
      expect(second.values).toEqual(['a', 'b', 'c', 'd'].map(other));
      expect(source.subscriptions).toEqual([{ subscribedFrame: 0, unsubscribedFrame: 11 }]);
      expect(run.status).toBe('abandoned');
    });
  });

  it('shareRun ends a started run that nobody subscribes to within the grace time', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(({ flush }) => {
      const run = shareRun(NEVER, { grace: 60_000 });
      run.start();
      flush();
      expect(run.status).toBe('abandoned');
      expect(observe(run.events$).error).toBeInstanceOf(RunAbandonedError);
    });
  });

  it('shareRun.unsubscribe tears the run down and reports it to every subscriber', () => {
    let torndown = 0;
    const run = shareRun(concat(of(other('a')), NEVER).pipe(finalize(() => torndown++)));
    const { values, error } = observe(run.events$);
    const log = observe(run.events$);
    run.unsubscribe();
    run.unsubscribe();
    expect([values, torndown]).toEqual([[other('a')], 1]);
    expect(log.error).toBeInstanceOf(RunAbandonedError);
    expect(error).toBeUndefined();
  });

  it('shareRun lets a subscriber leave within a synchronous run, and does not pull for a closed one', () => {
    const { count, source } = countedSource(() => other('a'));
    const run = shareRun(source.pipe(take(50)), {});
    expect(observe(run.events$.pipe(take(1))).values).toEqual([other('a')]);
    expect(count.pulled).toBe(50); // leaving is not stopping
  });

  it('shareRun keeps the order for a subscriber that causes an event while it receives one', () => {
    const source = new Subject<StreamEvent>();
    const run = shareRun(source);
    const received: string[] = [];
    run.events$.subscribe(({ type }) => {
      received.push(type);
      if (type === 'a') source.next(other('b'));
    });
    const second = observe(run.events$);
    source.next(other('a'));
    expect(received).toEqual(['a', 'b']);
    expect(second.values).toEqual([other('a'), other('b')]);
  });

  it('shareRun gives the other subscribers everything if the handler of one throws', async () => {
    const unhandled: unknown[] = [];
    config.onUnhandledError = (error) => unhandled.push(error);
    try {
      const source = new Subject<StreamEvent>();
      const run = shareRun(source);
      const before = observe(run.events$);
      let seen = 0;
      run.events$.subscribe(() => {
        seen += 1;
        throw new Error('the page broke');
      });
      const after = observe(run.events$);
      source.next(other('a'));
      source.next(other('b'));
      source.complete();
      for (const { values, completed } of [before, after, observe(run.events$)])
        expect([values, completed]).toEqual([[other('a'), other('b')], true]);
      await lastValueFrom(timer(0)); // RxJS reports what a handler throws later
      expect([seen, unhandled]).toEqual([2, [new Error('the page broke'), new Error('the page broke')]]);
    } finally {
      config.onUnhandledError = null;
    }
  });

  it('shareRun leaves no timer of its grace time when the run ends', () => {
    jest.useFakeTimers();
    try {
      const source = new Subject<StreamEvent>();
      shareRun(source, { grace: 60_000 }).start();
      expect(jest.getTimerCount()).toBe(1);
      source.complete();
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('shareRun continues after the id of any envelope', () => {
    const source = new Subject<StreamEvent>();
    const run = shareRun(source);
    const all = observe(run.envelopes());
    exampleEvents().forEach((event) => source.next(event));
    const contentAfter = (position: number) => contentOf(all.values.slice(position).map(({ event }) => event));
    for (const [index, { id }] of all.values.entries())
      expect(contentOf(observe(run.envelopes(id)).values.map(({ event }) => event))).toEqual(contentAfter(index + 1));
  });

  it('shareRun reports an id that is not of this run', () => {
    expect(observe(shareRun(exampleRun()).envelopes('99')).error).toMatchObject({ code: 'configuration' });
  });

  it('shareRun merges the deltas that wait for a reader that comes back', () => {
    const source = new Subject<StreamEvent>();
    const run = shareRun(source);
    const first = observe(run.envelopes().pipe(take(1)));
    'abcd'.split('').forEach((delta) => source.next(text(delta)));
    source.next(other('x'));
    source.complete();
    expect(first.values.map(({ event }) => event)).toEqual([text('a')]);
    const rest = observe(run.envelopes(first.values[0]?.id));
    expect(rest.values.map(({ event }) => event)).toEqual([text('bcd'), other('x')]);
    expect(rest.completed).toBe(true);
  });

  it('shareRun gives a full receiver nothing, and the rest in one delta when it has drained', () => {
    const source = new Subject<StreamEvent>();
    const run = shareRun(source, { grace: 4 });
    const drained = new Subject<void>();
    const receiver = { isFull: false, drained };
    const reader = observe(run.envelopes(undefined, receiver).pipe(tap(() => (receiver.isFull = true))));
    'abcd'.split('').forEach((delta) => source.next(text(delta)));
    source.next(other('x'));
    source.complete();
    expect(reader.values.map(({ event }) => event)).toEqual([text('a')]);
    expect(reader.completed).toBe(false);
    for (const expected of [text('bcd'), other('x')]) {
      receiver.isFull = false;
      drained.next();
      expect(reader.values.at(-1)?.event).toEqual(expected);
    }
    receiver.isFull = false;
    drained.next();
    expect(reader.completed).toBe(true);
  });

  it('shareRun gives a run that ignores its stop 10 seconds, or its grace time if that is longer', () => {
    const ends = [4, 30_000].map((grace) => {
      const times: number[] = [];
      new TestScheduler(() => undefined).run(({ flush }) => {
        const note = () => times.push(asyncScheduler.now());
        shareRun(NEVER.pipe(finalize(note)), { grace, stop: note }).start();
        flush();
      });
      return times;
    });
    expect(ends).toEqual([
      [4, 10_004],
      [30_000, 60_000],
    ]);
  });

  it('RunLife ends a run whose log rejects its events, and writes nothing more', () => {
    const writes: string[] = [];
    const rejected = new Error('full');
    const memory = memoryLog();
    const log: RunLog = {
      ...memory,
      append(id, attempt, events) {
        writes.push(`append ${events.length}`);
        return events.length > 0 ? throwError(() => rejected) : memory.append(id, attempt, events);
      },
      end: (id, attempt, how) => defer(() => (writes.push('end'), memory.end(id, attempt, how))),
    };
    const source = new Subject<StreamEvent>();
    const run = logRun(source, { log });
    const settled = observe(run.settled);
    run.start();
    source.next(other('a'));
    expect([run.status, source.observed]).toEqual(['abandoned', false]);
    expect(settled.error).toMatchObject({ code: 'run_abandoned' });
    expect(writes).toEqual(['append 0', 'append 1']);
  });

  it('RunLife writes its end if it leaves a log that no other process reads', () => {
    const run = logRun(concat(of(other('a')), NEVER), { log: memoryLog() });
    run.start();
    run.leave();
    const { values, error } = observe(run.events$);
    expect(values).toEqual([other('a')]);
    expect(error).toBeInstanceOf(RunAbandonedError);
  });

  it('shareRun keeps the events of a run that has ended, however long', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const run = shareRun(of(other('a')));
      run.start();
      const late = observe(timer(1_000_000_000).pipe(switchMap(() => run.events$)));
      flush();
      expect([late.values, late.completed]).toEqual([[other('a')], true]);
    });
  });

  it('shareRun without a grace time continues without a subscriber, and has no timer', () => {
    jest.useFakeTimers();
    try {
      const run = shareRun(NEVER);
      observe(run.events$).subscription.unsubscribe();
      expect([run.status, jest.getTimerCount()]).toEqual(['running', 0]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('shareRun delivers 20000 events of which each causes the next', async () => {
    const unhandled: unknown[] = [];
    config.onUnhandledError = (error) => unhandled.push(error);
    try {
      const source = new Subject<StreamEvent>();
      const run = shareRun(source);
      let received = 0;
      run.events$.subscribe(() => {
        received += 1;
        if (received < 20_000) source.next(other('a'));
      });
      source.next(other('a'));
      await lastValueFrom(timer(0)); // RxJS reports a full stack later
      expect([received, unhandled]).toEqual([20_000, []]);
    } finally {
      config.onUnhandledError = null;
    }
  });

  it('shareRun rejects a `grace` below zero', () => {
    expect(() => shareRun(NEVER, { grace: -1 })).toThrow('grace is -1.');
  });

  it('RunAbandonedError tells a browser why the run has ended', () => {
    const error = new RunAbandonedError();
    expect(error.name).toBe('RunAbandonedError');
    expect(describeError(error)).toMatchObject({ code: 'run_abandoned', message: error.message });
    expect(error.message).toMatch(/^The run was ended before its result/);
  });
});

describe('RunLife', () => {
  /** A log that records its writes. `opening` is the first one. */
  function recordingLog(opening: Observable<never> = EMPTY) {
    const writes: unknown[] = [];
    const inner = memoryLog();
    const log: RunLog = {
      ...inner,
      isShared: true,
      append: (id, attempt, events) => {
        writes.push(events.map(({ type }) => type));
        return concat(writes.length === 1 ? opening : EMPTY, inner.append(id, attempt, events));
      },
      end: (id, attempt, end) => {
        writes.push('end');
        return inner.end(id, attempt, end);
      },
    };
    return { log, writes };
  }

  it('RunLife opens its log once, whatever the number of subscribers', () => {
    const { log, writes } = recordingLog();
    const run = logRun(of(other('a')), { log });
    for (let n = 0; n < 3; n++) observe(run.events$);
    expect(writes).toEqual([[], ['a'], 'end']);
  });

  it('RunLife opens nothing for a subscriber that is closed already', () => {
    const { log, writes } = recordingLog();
    const run = logRun(of(other('a')), { log });
    const { values, completed } = observe(
      new Observable<StreamEvent>((closed) => {
        closed.complete();
        return run.events$.subscribe(closed);
      }),
    );
    expect([values, completed, run.status]).toEqual([[], true, 'idle']);
    expect(writes).toEqual([]);
  });

  it('RunLife does not begin a run that was unsubscribed before its log was open', () => {
    const opening = new Subject<never>();
    const { count, source } = countedSource(() => other('a'));
    const run = logRun(source.pipe(take(3)), { log: recordingLog(opening).log });
    run.start();
    run.unsubscribe();
    opening.complete();
    expect([count.subscribed, run.status]).toEqual([0, 'abandoned']);
  });

  it('RunLife leaves a shared log to the process that has taken the run', () => {
    const { log, writes } = recordingLog();
    const run = logRun(
      throwError(() => new RunTakenError()),
      { log, id: 'r' },
    );
    const { error } = observe(run.events$);
    expect(error).toBeInstanceOf(RunTakenError);
    expect(writes).toEqual([[]]);
    observe(log.append('r', 2, [other('b')]));
    expect(observe(log.read('r')).values.map(({ event }) => event)).toEqual([other('b')]);
  });
});
