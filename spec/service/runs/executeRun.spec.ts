import { describe, expect, it } from '@jest/globals';
import { concat, concatMap, defer, EMPTY, NEVER, of, Subject, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { StreamEvent } from '../../../lib/core/event.js';
import { Executor } from '../../../lib/service/runs/executeRun.js';
import type { ExecutorOptions, RunPlan } from '../../../lib/service/runs/executeRun.js';
import type { RunRecord, RunStore } from '../../../lib/service/ports/runStore.js';
import { observe } from '../../support/observe.js';
import { mapStore } from '../../support/stores.js';

const started = { id: 'r', owner: 'ann', input: [] };
const create = (store: RunStore, checkpoints: ExecutorOptions['checkpoints'] = false) =>
  new Executor(store, { checkpoints, describe: () => ({}), onError: () => undefined });
const planOf = (events: Observable<StreamEvent>, more: Partial<RunPlan> = {}): RunPlan => ({
  record: started,
  events: () => events,
  ...more,
});
/** Executes a run in a store that a spec can read, and returns what was written. */
function execute(events: Observable<StreamEvent>, checkpoints: ExecutorOptions['checkpoints']) {
  const written: RunRecord[] = [];
  const store = mapStore(new Map(), (record) => written.push(record));
  const controls = { stop: NEVER, cancel: NEVER, prompts: EMPTY };
  observe(
    create(store, checkpoints)
      .execute(planOf(events))
      .pipe(concatMap((run) => run(controls))),
  );
  return written;
}
const event = (fields: object) => fields as StreamEvent;
const result = event({ type: 'result', result: { messages: [], text: 'Done.', usage: {}, turns: 1 } });

describe('Executor', () => {
  it.each([
    ['a checkpoint', true, event({ type: 'checkpoint', checkpoint: { version: 1 } }), true],
    ['a turn', true, event({ type: 'turn', turn: 1, checkpoint: { version: 1 } }), true],
    ['an event of the application', true, event({ type: 'station', checkpoint: 'Oslo' }), false],
    ['a turn, without checkpoints', false, event({ type: 'turn', turn: 1, checkpoint: {} }), false],
  ])('Executor writes the checkpoint of %s: %s', (_, checkpoints, first, isWritten) => {
    const written = execute(of(first, result), checkpoints);
    expect(written).toHaveLength(isWritten ? 3 : 2); // and at the start and at the end
    expect(written.some(({ checkpoint }) => checkpoint !== undefined)).toBe(isWritten);
    expect(written.at(-1)).toMatchObject({ state: 'ended', result: { text: 'Done.' } });
  });

  it.each([
    ['undone', false],
    ['kept if another process has begun it again meanwhile', true],
  ])('what a run that cannot begin has begun is %s', (_, isTaken) => {
    const store = mapStore();
    let undone = 0;
    const begin = defer(() => {
      const other = {
        ...started,
        state: 'running',
        attempt: 2,
        updated: 0,
        executor: { id: 'other', until: 1 },
      } as const;
      if (isTaken) store.records.set('r', { record: other, version: 2 });
      return throwError(() => new Error('The store is away.'));
    });
    const undo = defer(() => {
      undone += 1;
      return EMPTY;
    });
    const { error } = observe(create(store).execute(planOf(NEVER, { begin, undo })));
    expect(undone).toBe(isTaken ? 0 : 1);
    expect(store.records.get('r')?.record.attempt).toBe(isTaken ? 2 : undefined);
    expect(error).toMatchObject(isTaken ? { name: 'RunTakenError' } : { message: 'The store is away.' });
  });

  it('Executor writes when the state of a run was changed, and not when its lease was renewed', () => {
    new TestScheduler(() => undefined).run(({ cold }) => {
      const records: RunRecord[] = [];
      const store = mapStore(new Map(), (record) => records.push(record));
      const events = concat(cold('25s |'), of(result)) as Observable<StreamEvent>;
      const controls = { stop: NEVER, cancel: NEVER, prompts: EMPTY };
      create(store)
        .execute(planOf(events))
        .pipe(concatMap((run) => run(controls)))
        .subscribe({
          complete: () => {
            const times = records.map(({ state, updated, executor }) => [state, updated, executor?.until]);
            expect(times).toEqual([
              ['running', 0, 30_000],
              ['running', 0, 40_000],
              ['running', 0, 50_000],
              ['ended', 25_000, undefined],
            ]);
          },
        });
    });
    expect.assertions(1);
  });

  it('Executor does not execute a run that the store does not confirm', () => {
    const store: RunStore = { ...mapStore(), put: () => EMPTY };
    const { values, error } = observe(create(store).execute(planOf(of(result))));
    expect([values, error]).toEqual([[], expect.objectContaining({ code: 'run_taken' })]);
  });

  it('Executor lets another process take a run whose request ended while it began', () => {
    const store = mapStore();
    const { subscription } = observe(create(store).execute(planOf(of(result), { begin: NEVER })));
    expect(store.records.get('r')?.record.executor).toBeDefined();
    subscription.unsubscribe();
    expect(store.records.get('r')?.record.executor).toBeUndefined();
  });

  it('Executor restores the record of a run whose request ended while it was taken over', () => {
    const store = mapStore();
    const before: RunRecord = { ...started, state: 'running', updated: 0, attempt: 1 };
    observe(store.put(before, 0));
    const stored = store.records.get('r');
    const answers: Subject<void>[] = [];
    const put: RunStore['put'] = (record, version) =>
      defer(() => {
        const answer = new Subject<void>();
        answers.push(answer);
        return answer.pipe(concatMap(() => store.put(record, version)));
      });
    const { subscription } = observe(create({ ...store, put }).execute(planOf(of(result), { stored })));
    subscription.unsubscribe();
    answers[0]?.next();
    expect(store.records.get('r')?.record).toMatchObject({ attempt: 2, executor: expect.anything() });
    answers[1]?.next();
    expect(store.records.get('r')?.record).toEqual(before);
  });
});
