import { asyncScheduler, defer, finalize, tap } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { Checkpoint } from '../core/checkpoint.js';
import type { StreamEvent } from '../core/event.js';
import { requireNumber } from '../core/options.js';
import { costOf } from '../core/prices.js';
import type { Prices } from '../core/prices.js';
import type { Usage } from '../core/usage.js';
import { usageOfError } from '../core/usageOfError.js';
import { createUsageCounter } from '../core/usageOfEvent.js';
import { RequestError } from './http/requestError.js';
import { isReplayed } from './runs/replayed.js';

/** What each owner may use in a time. */
interface OwnerBudget {
  /** The tokens, as providers report them. Default: no limit. */
  readonly tokens?: number | undefined;
  /** The money, in the currency of `prices`. Default: no limit. */
  readonly cost?: number | undefined;
  /** The prices for `cost`. Without them, `usage.cost` counts, or what the provider reports. Default: none. */
  readonly prices?: Prices | undefined;
  /** The time, from the first run of an owner, in milliseconds. Default: 24 hours. */
  readonly window?: number | undefined;
}

/** Limits for each owner of runs. They count in this process, except the prompts: these count in the store. */
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
   * use more. Usage counts when its turn ends. Default: no limit.
   */
  readonly budget?: OwnerBudget | undefined;
  /**
   * How many prompts may wait for a run: another one is rejected with 429, in whatever process it arrives. So is one
   * with which they have more bytes than a request may have (`maxBodyBytes`). Default: 100.
   */
  readonly maxWaitingPrompts?: number | undefined;
  /**
   * How many bytes the runs of an owner that are executed, and the prompts for them, may have in this process: their
   * input, the conversation before them, and what joined them. Another request is rejected with 429, and one that alone
   * has more with 413. Default: 64 MiB.
   */
  readonly maxOwnerBytes?: number | undefined;
}

export const DEFAULT_MAX_RUNS = 100;
const DEFAULT_OWNER_BYTES = 67_108_864;

const DAY = 86_400_000;

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

interface Spending {
  readonly until: number;
  tokens: number;
  cost: number;
}

export function createOwnerLimits(options: OwnerLimitOptions): OwnerLimits {
  const { maxRunsPerOwner = DEFAULT_MAX_RUNS, maxOwnerBytes = DEFAULT_OWNER_BYTES, budget = {} } = options;
  const { tokens: maxTokens = Infinity, cost: maxCost = Infinity, prices, window = DAY } = budget;
  requireNumber('maxRunsPerOwner', maxRunsPerOwner, 1);
  requireNumber('maxOwnerBytes', maxOwnerBytes, 0);
  requireNumber('budget.tokens', maxTokens, 0);
  requireNumber('budget.cost', maxCost, 0);
  requireNumber('budget.window', window, 1);
  const owners = new Map<string, Set<Held>>();
  /** By owner, in the order of their ends. */
  const spendings = new Map<string, Spending>();

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
  const removeEnded = () => {
    for (const [owner, { until }] of spendings) {
      if (until > asyncScheduler.now()) return;
      spendings.delete(owner);
    }
  };
  const spend = (owner: string, usage: Usage = {}) => {
    removeEnded();
    const { input = 0, output = 0, total = input + output } = usage;
    const cost = prices ? costOf(usage, prices) : (usage.cost ?? 0);
    const spending = spendings.get(owner) ?? { until: asyncScheduler.now() + window, tokens: 0, cost: 0 };
    spendings.set(owner, spending);
    spending.tokens += total;
    spending.cost += cost;
  };
  const check = (owner: string) => {
    const runs = [...(owners.get(owner) ?? [])].filter(({ isRun }) => isRun);
    if (runs.length >= maxRunsPerOwner) throw tooManyRuns(maxRunsPerOwner);
    removeEnded();
    const spending = spendings.get(owner);
    if (spending && (spending.tokens >= maxTokens || spending.cost >= maxCost)) throw overBudget(spending.until);
  };

  return {
    admit: (owner, work, bytes = 0) =>
      defer(() => {
        check(owner);
        requireRoom(owner, bytes);
        return work.pipe(counted(owner, true, () => bytes));
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
              if (used) spend(owner, used);
            },
            error: (thrown: unknown) => spend(owner, usageOfError(thrown)),
          }),
          counted(owner, true, bytes),
        );
      },
  };
}

export const tooManyRuns = (max: number) =>
  new RequestError(429, `At most ${max} runs of a user are executed at once. Ask again when one has ended.`, {
    'retry-after': '5',
  });

const tooLarge = (max: number) =>
  new RequestError(413, `A run may have at most ${max} bytes, with the conversation before it. Start another one.`);

const tooMuch = (max: number) =>
  new RequestError(429, `The runs of a user may have at most ${max} bytes. Ask again when one has ended.`, {
    'retry-after': '5',
  });

const overBudget = (until: number) =>
  new RequestError(429, 'The budget of this user is used up for now. Ask again later.', {
    'retry-after': String(Math.max(1, Math.ceil((until - asyncScheduler.now()) / 1000))),
  });
