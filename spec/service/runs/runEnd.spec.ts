import { describe, expect, it } from '@jest/globals';
import {
  asyncScheduler,
  concat,
  concatMap,
  defer,
  delay,
  EMPTY,
  ignoreElements,
  NEVER,
  of,
  throwError,
  timer,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { StreamEvent } from '../../../lib/core/event.js';
import { guardStore } from '../../../lib/service/ports/guardPorts.js';
import type { RunStore } from '../../../lib/service/ports/runStore.js';
import { Executor } from '../../../lib/service/runs/executeRun.js';
import { observe } from '../../support/observe.js';
import { mapStore } from '../../support/stores.js';

const controls = { stop: NEVER, cancel: NEVER, prompts: EMPTY };
const result = {
  type: 'result',
  result: { messages: [], text: 'Done.', usage: {}, turns: 1 },
} as unknown as StreamEvent;
const RUN_TIME = 5000;

/** How a run ends, 5 s after it has begun. */
const ends: Readonly<Record<string, Observable<StreamEvent>>> = {
  'its result': of(result),
  'its failure': throwError(() => new Error('Why.')),
  'that it was left': NEVER,
};

/** Executes a run whose end the store does not write at once. Returns what is known after a minute. */
function execute(end: Observable<StreamEvent>, write: (put: () => Observable<boolean>) => Observable<boolean>) {
  return new TestScheduler(() => undefined).run(({ flush }) => {
    const records = mapStore();
    const put: RunStore['put'] = (record, version) => {
      const written = defer(() => records.put(record, version));
      return record.state === 'running' ? written : write(() => written);
    };
    const errors: unknown[] = [];
    const onError = (thrown: unknown) => errors.push(thrown);
    const executor = new Executor(guardStore({ ...records, put }), {
      ...{ checkpoints: false, describe: () => ({ code: 'described' }), onError },
    });
    const plan = {
      record: { id: 'r', owner: 'ann', input: [] },
      events: () => concat(timer(RUN_TIME).pipe(ignoreElements()), end),
    };
    const run = observe(executor.execute(plan).pipe(concatMap((events) => events(controls))));
    const seen = { endedAt: 0, released: false };
    run.subscription.add(() => (seen.endedAt = asyncScheduler.now()));
    if (end === NEVER)
      asyncScheduler.schedule(() => {
        run.subscription.unsubscribe();
        executor.writes.done.subscribe({ complete: () => (seen.endedAt = asyncScheduler.now()) });
      }, RUN_TIME);
    flush();
    return { ...seen, error: run.error, errors, record: records.records.get('r')?.record };
  });
}

const away = () => throwError(() => new Error('The store is away.'));

describe('the end of the record of a run', () => {
  it.each(Object.entries(ends))('is written later if the store refuses %s for 3 s', (_, end) => {
    const isAway = () => asyncScheduler.now() < RUN_TIME + 3000;
    const { record, endedAt } = execute(end, (put) => defer(() => (isAway() ? away() : put())));
    expect(record).toMatchObject({ state: 'ended' });
    expect(endedAt).toBeGreaterThan(RUN_TIME + 3000);
    expect(endedAt).toBeLessThan(RUN_TIME + 6000);
  });

  it.each(Object.entries(ends))('is given up with the lease if the store refuses %s for ever', (_, end) => {
    const { record, endedAt, error, errors } = execute(end, away);
    expect(record).toMatchObject({ state: 'running', executor: { until: 30_000 } });
    expect(endedAt).toBeGreaterThan(25_000);
    expect(endedAt).toBeLessThanOrEqual(32_000); // its last call
    if (end !== NEVER) expect(error).toMatchObject({ name: 'ExecutorLostError' });
    expect(errors).toHaveLength(end === ends['its result'] ? 0 : 1); // the store is reported by its guard
  });

  it.each(Object.entries(ends))('is given up at once if this process has ended its connections: %s', (_, end) => {
    const { endedAt } = execute(end, () =>
      throwError(() => new Error('Cannot use a pool after calling end on the pool')),
    );
    expect(endedAt).toBe(RUN_TIME);
  });

  it('has no lease, also if the lease was to be renewed while it was written', () => {
    const { record } = execute(of(result), (put) => put().pipe(delay(7000)));
    expect(record).toMatchObject({ state: 'ended' });
    expect(record?.executor).toBeUndefined();
  });

  it('is not written over the answer to a run that waits, if it was written before, but nobody learned of it', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const store = mapStore();
      const { records } = store;
      const whenThere = <T>(call: Observable<T>) =>
        defer(() => (records.get('r')?.record.state === 'waiting' && asyncScheduler.now() < 1000 ? away() : call));
      const unanswered: RunStore = {
        ...store,
        get: (id) => whenThere(store.get(id)),
        put: (record, version) => store.put(record, version).pipe(concatMap((isDone) => whenThere(of(isDone)))),
      };
      const lease = 10_000;
      const options = { checkpoints: false, describe: () => ({}), onError: () => undefined, lease };
      const executor = new Executor(guardStore(unanswered, { lease }), options);
      const waits = { type: 'result', result: { ...result, checkpoint: { open: {} } } } as unknown as StreamEvent;
      const plan = { record: { id: 'r', owner: 'ann', input: [] }, events: () => of(waits) };
      const run = observe(executor.execute(plan).pipe(concatMap((events) => events(controls))));
      asyncScheduler.schedule(() => {
        const waiting = records.get('r');
        if (!waiting) return;
        const taken = { ...waiting.record, state: 'ended', checkpoint: undefined, resumedBy: 'next' } as const;
        records.set('r', { record: taken, version: waiting.version + 1 });
      }, 1500);
      flush();
      expect(records.get('r')?.record).toMatchObject({ state: 'ended', resumedBy: 'next' });
      expect(run.error).toMatchObject({ name: 'RunTakenError' });
    });
  });
});
