import { concat, defer, finalize, tap } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { Checkpoint } from '../core/checkpoint.js';
import type { StreamEvent } from '../core/event.js';
import { requireNumber } from '../core/options.js';
import { usageOfError } from '../core/usageOfError.js';
import { createUsageCounter } from '../core/usageOfEvent.js';
import { RequestError } from './http/requestError.js';
import { createOwnerBudget } from './ownerBudget.js';
import type { OwnerBudget } from './ownerBudget.js';
import type { RunStore } from './ports/runStore.js';
import { isReplayed } from './runs/replayed.js';

/** Limits for each owner of runs. Prompts per minute and the budget count in the store, the others in this process. */
export interface OwnerLimitOptions {
  /** How many runs of an owner are executed at once. Another one is rejected with 429. Default: 100. */
  readonly maxRunsPerOwner?: number | undefined;
  /**
   * How many prompts of an owner are accepted in any minute, by all processes that share the store: those that start a
   * run, and those that join one. Another one is rejected with 429, whose `Retry-After` says when the next one is
   * accepted. Answers to a run that waits, and repeated requests, do not count. Default: no limit.
   */
  readonly maxPromptsPerMinute?: number | undefined;
  /**
   * What the runs of an owner may use. When it is used up, another run is rejected with 429; a run that continues may
   * use more. Usage counts when its turn ends, in all processes with the same store. Default: no limit.
   */
  readonly budget?: OwnerBudget | undefined;
  /** How many prompts may wait for a run: another one is rejected with 429, wherever it arrives. Default: 100. */
  readonly maxWaitingPrompts?: number | undefined;
  /**
   * How many bytes the prompts that wait for a run may have together. One that waits alone may have as many as a request
   * (`maxBodyBytes`), so that a file fits. Another one is rejected with 429, wherever it arrives. Default: 8 MiB.
   */
  readonly maxWaitingBytes?: number | undefined;
  /**
   * How many bytes the runs of an owner that are executed, and the prompts for them, may have in this process: their
   * input, the conversation before them, and what joined them. Another request is rejected with 429, and one that alone
   * has more with 413: no run has more than this, so choose at least `maxHistoryBytes` and `maxBodyBytes` together.
   * Default: 64 MiB.
   */
  readonly maxOwnerBytes?: number | undefined;
}

export const DEFAULT_MAX_RUNS = 100;
const DEFAULT_OWNER_BYTES = 67_108_864;

export interface OwnerLimits {
  /** Does the work that starts a run, and counts as one. It fails with 413 or 429 if the owner has reached a limit. */
  admit<T>(owner: string, work: Observable<T>, bytes?: number): Observable<T>;
  /** Does other work that holds bytes of an owner. It fails with 413 or 429 if there is no room for them. */
  hold<T>(owner: string, work: Observable<T>, bytes: number): Observable<T>;
  /** Counts a run from its subscription to its end, what its turns use, and what it holds, which may grow. */
  count(owner: string, bytes?: () => number, resumed?: Checkpoint): MonoTypeOperatorFunction<StreamEvent>;
}

/** What a request or a run of an owner holds. */
interface Held {
  readonly isRun: boolean;
  readonly bytes: () => number;
}

export function createOwnerLimits(options: OwnerLimitOptions, store: RunStore): OwnerLimits {
  const { maxRunsPerOwner = DEFAULT_MAX_RUNS, maxOwnerBytes = DEFAULT_OWNER_BYTES } = options;
  requireNumber('maxRunsPerOwner', maxRunsPerOwner, 1);
  requireNumber('maxOwnerBytes', maxOwnerBytes, 0);
  const budget = createOwnerBudget(store, options.budget);
  const owners = new Map<string, Set<Held>>();

  const counted =
    <T>(owner: string, isRun: boolean, bytes: () => number): MonoTypeOperatorFunction<T> =>
    (source) =>
      defer(() => {
        const own = { isRun, bytes };
        const all = owners.get(owner) ?? new Set();
        owners.set(owner, all.add(own));
        return source.pipe(
          finalize(() => {
            all.delete(own);
            if (all.size === 0) owners.delete(owner);
          }),
        );
      });
  const requireRoom = (owner: string, bytes: number) => {
    if (bytes > maxOwnerBytes) throw tooLarge(maxOwnerBytes);
    const total = [...(owners.get(owner) ?? [])].reduce((sum, held) => sum + held.bytes(), bytes);
    if (total > maxOwnerBytes) throw tooMuch(maxOwnerBytes);
  };
  const check = (owner: string) => {
    const runs = [...(owners.get(owner) ?? [])].filter(({ isRun }) => isRun);
    if (runs.length >= maxRunsPerOwner) throw tooManyRuns(maxRunsPerOwner);
  };

  return {
    admit: (owner, work, bytes = 0) =>
      defer(() => {
        check(owner);
        requireRoom(owner, bytes);
        return concat(budget.check(owner), work).pipe(counted(owner, true, () => bytes));
      }),
    hold: (owner, work, bytes) =>
      defer(() => {
        requireRoom(owner, bytes);
        return work.pipe(counted(owner, false, () => bytes));
      }),
    count:
      (owner, bytes = () => 0, resumed) =>
      (events) => {
        const usageOf = createUsageCounter(resumed);
        return events.pipe(
          tap({
            next(event) {
              const used = isReplayed(event) ? undefined : usageOf(event);
              if (used) budget.spend(owner, used);
            },
            error: (thrown: unknown) => budget.spend(owner, usageOfError(thrown)),
          }),
          counted(owner, true, bytes),
        );
      },
  };
}

export const tooManyRuns = (max: number) =>
  new RequestError(
    429,
    `At most ${max} runs of a user are executed at once. Ask again when one has ended.`,
    { 'retry-after': '5' },
    { code: 'too_many_runs', params: { max } },
  );

const tooLarge = (max: number) =>
  new RequestError(
    413,
    `A run may have at most ${max} bytes, with the conversation before it. Start another one.`,
    {},
    { code: 'conversation_too_large', params: { max } },
  );

const tooMuch = (max: number) =>
  new RequestError(
    429,
    `The runs of a user may have at most ${max} bytes. Ask again when one has ended.`,
    { 'retry-after': '5' },
    { code: 'runs_too_large', params: { max } },
  );
