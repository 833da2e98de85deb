import { describe, expect, it } from '@jest/globals';
import { concat, defer, EMPTY, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../../lib/core/event.js';
import type { RunPlan } from '../../../lib/service/runs/executeRun.js';
import { continueRun } from '../../../lib/service/runs/continueLog.js';
import { handOver, recordOf } from '../../../lib/service/runs/handOver.js';
import { memoryLog } from '../../../lib/service/stores/memory/memoryLog.js';
import { RunNotFoundError, RunTakenError } from '../../../lib/service/runs/runErrors.js';
import { observe } from '../../support/observe.js';
import { mapStore } from '../../support/stores.js';

const record = { id: 'r', owner: 'ann', input: [] };

/** A front, whose queue notes what it is told. */
function front() {
  const service = { store: mapStore(), log: memoryLog() };
  const noted: string[] = [];
  const note = (text: string): Observable<never> =>
    defer(() => {
      noted.push(text);
      return EMPTY;
    });
  const give = (plan: Partial<RunPlan> = {}) =>
    observe(handOver(service, { record, events: () => EMPTY, ...plan }, note('enqueue')));
  return { ...service, noted, note, give };
}

describe('handOver', () => {
  it('writes the record, begins, opens the log and enqueues the run, in this order', () => {
    const { store, log, noted, note, give } = front();
    const begin = concat(
      note('begin'),
      defer(() => note(`written: ${store.records.size}`)),
      defer(() => note(`log: ${observe(log.read('r')).error instanceof RunNotFoundError ? 'none' : 'open'}`)),
    );
    expect(give({ begin })).toMatchObject({ values: [], error: undefined, completed: true });
    expect(noted).toEqual(['begin', 'written: 1', 'log: none', 'enqueue']);
    expect(store.records.get('r')).toEqual({
      record: { ...record, state: 'running', updated: expect.any(Number), attempt: 0 },
      version: 1,
    });
    expect(observe(log.read('r'))).toMatchObject({ values: [], error: undefined, completed: false });
    expect(observe(log.append('r', 1, [])).error).toBeUndefined(); // the first executor may write
  });

  it('a run that has a record is only enqueued', () => {
    const { store, noted, give } = front();
    give({ stored: { record: { ...record, state: 'running', updated: 0, attempt: 0 }, version: 1 } });
    expect(noted).toEqual(['enqueue']);
    expect(store.records.size).toBe(0);
  });

  it('a run that another front has written in the meantime is not enqueued', () => {
    const { store, noted, note, give } = front();
    observe(store.put({ ...record, state: 'running', updated: 0, attempt: 0 }, 0));
    expect(give({ begin: note('begin') }).error).toBeInstanceOf(RunTakenError);
    expect(noted).toEqual([]);
    expect(store.records.size).toBe(1);
  });

  it('a run that cannot begin is undone, and leaves no record', () => {
    const { store, noted, note, give } = front();
    const refused = new Error('answered already');
    expect(give({ begin: throwError(() => refused), undo: note('undo') }).error).toBe(refused);
    expect(give({ begin: throwError(() => refused) }).error).toBe(refused);
    expect(noted).toEqual(['undo']);
    expect(store.records.size).toBe(0);
  });
});

describe('continueRun', () => {
  const text = (value: string) => ({ type: 'text', text: value }) as StreamEvent;
  const events = [text('a'), { type: 'turn', turn: 1, finishReason: 'stop' } as StreamEvent];
  const continued = (attempt: number) => {
    const log = { ...memoryLog(), isShared: true };
    observe(log.append('r', 1, [text('a')]));
    observe(log.append('r', 2, [{ type: 'retract', attempt: 2 } as StreamEvent]));
    return continueRun(log, { ...record, state: 'running', updated: 0, attempt } as const, of(...events), undefined);
  };

  it('the first attempt of a run is the run', () => {
    expect(observe(continued(0)).values).toEqual(events);
  });

  it('a later attempt voids the turn that was interrupted, each time it is subscribed', () => {
    const run = continued(1);
    for (let n = 0; n < 2; n++) expect(observe(run).values).toEqual([{ type: 'retract', attempt: 2 }, ...events]);
  });
});

describe('recordOf', () => {
  it('recordOf emits the record of a run, or nothing', () => {
    const { store, give } = front();
    expect(observe(recordOf(store, 'r'))).toMatchObject({ values: [], completed: true });
    give();
    expect(observe(recordOf(store, 'r')).values).toMatchObject([{ record: { id: 'r' }, version: 1 }]);
  });
});
