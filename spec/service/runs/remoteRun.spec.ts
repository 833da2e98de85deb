import { describe, expect, it } from '@jest/globals';
import { asyncScheduler, ignoreElements, lastValueFrom, NEVER, throwError, timer } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { memoryLog } from '../../../lib/service/stores/memory/memoryLog.js';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import { remoteRun, watchExecutor } from '../../../lib/service/runs/remoteRun.js';
import { ExecutorLostError } from '../../../lib/service/runs/runErrors.js';
import type { RunRecord } from '../../../lib/service/ports/runStore.js';
import { observe } from '../../support/observe.js';

/** Reads a run whose record has a state from the start, and whose log ends at a time, if it ends. */
async function readRun(state: RunRecord['state'], endsAt?: number) {
  const store = memoryStore();
  const log = memoryLog();
  await lastValueFrom(store.put({ id: 'r', owner: '', input: [], state, updated: 0, attempt: 1 }, 0));
  const states: { readonly thrown: unknown; readonly completed: boolean }[] = [];
  new TestScheduler(() => undefined).run(({ flush }) => {
    observe(log.append('r', 1, [{ type: 'a' }]));
    const lost = watchExecutor(store, 'r', () => false);
    const { events$ } = remoteRun(log, 'r', lost);
    if (endsAt !== undefined) timer(endsAt).subscribe(() => observe(log.end('r', 1)));
    events$.pipe(ignoreElements()).subscribe({
      error: (thrown: unknown) => states.push({ thrown, completed: false }),
      complete: () => states.push({ thrown: undefined, completed: true }),
    });
    flush();
  });
  return states;
}

describe('remoteRun', () => {
  it('remoteRun sends the end of a run whose log says so five seconds after its record', async () => {
    expect(await readRun('ended', 15_000)).toMatchObject([{ completed: true }]);
  });

  it('remoteRun fails if the record of a run has ended, and its log does not', async () => {
    expect(await readRun('ended')).toMatchObject([{ thrown: expect.any(ExecutorLostError) as unknown }]);
  });

  it('remoteRun fails at the next check when nobody executes the run', async () => {
    expect(await readRun('running', 15_000)).toMatchObject([{ thrown: expect.any(ExecutorLostError) as unknown }]);
  });

  it('remoteRun says why it fails, in words for a browser, and that the page may come back', async () => {
    const [{ thrown } = { thrown: undefined }] = await readRun('running');
    expect(thrown).toMatchObject({ name: 'ExecutorLostError', code: 'run_abandoned', retryable: true, isPublic: true });
    expect(String(thrown)).toContain('has ended. Join the run again.');
  });

  it('remoteRun waits as long as a process executes the run, and fails if its record is gone', () => {
    new TestScheduler(() => undefined).run(({ cold, flush }) => {
      const store = memoryStore();
      observe(store.put({ id: 'r', owner: '', input: [], state: 'running', updated: 0, attempt: 1 }, 0));
      const lost = (isExecuted: () => boolean) => watchExecutor(store, 'r', isExecuted);
      const seen: unknown[] = [];
      lost(() => asyncScheduler.now() < 25_000).subscribe({ error: () => seen.push(asyncScheduler.now()) });
      lost(() => true).subscribe({ error: (thrown: unknown) => seen.push(asyncScheduler.now(), thrown) });
      cold('35s (a|)').subscribe(() => observe(store.delete('r', 1)));
      flush();
      expect(seen).toEqual([30_000, 40_000, expect.any(ExecutorLostError)]);
    });
  });

  it('remoteRun emits the events of the log, and is a run in progress', () => {
    const log = memoryLog();
    observe(log.append('r', 1, [{ type: 'a' }]));
    const run = remoteRun(log, 'r', NEVER);
    expect([run.status, observe(run.events$).values]).toEqual(['running', [{ type: 'a' }]]);
  });

  it('remoteRun asks a store again that could not be reached', () => {
    const store = memoryStore();
    let reads = 0;
    new TestScheduler(() => undefined).run(({ flush }) => {
      const get = (id: string) => (++reads === 1 ? throwError(() => new Error('away')) : store.get(id));
      const { error } = observe(watchExecutor({ ...store, get }, 'r', () => true));
      expect([error, reads]).toEqual([undefined, 0]);
      flush();
    });
    expect(reads).toBe(2);
  });

  it.each([
    [undefined, true],
    ['1', false],
  ])('remoteRun waits for a log that is not open yet, unless it was read: %s', (after, waits) => {
    new TestScheduler(() => undefined).run(({ cold, flush }) => {
      const log = memoryLog();
      const reader = observe(remoteRun(log, 'r', NEVER).envelopes(after));
      cold('700ms (a|)').subscribe(() => observe(log.append('r', 1, [{ type: 'a' }])));
      cold('1200ms (a|)').subscribe(() => observe(log.end('r', 1)));
      flush();
      expect([reader.values.length, reader.completed]).toEqual(waits ? [1, true] : [0, false]);
      if (!waits) expect(reader.error).toMatchObject({ code: 'run_not_found' });
    });
  });
});
