import { asyncScheduler, defer, finalize, tap } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { requireNumber } from '../core/options.js';
import { costOf } from '../core/prices.js';
import type { Prices } from '../core/prices.js';
import type { Usage } from '../core/usage.js';
import { usageOfError } from '../core/usageOfError.js';
import { RequestError } from './http/requestError.js';

/** What each owner may use in a time. */
interface OwnerBudget {
  /** The tokens, as providers report them. Default: no limit. */
  readonly tokens?: number | undefined;
  /** The money, in the currency of `prices`. Default: no limit. */
  readonly cost?: number | undefined;
  /** The prices for `cost`. Without them, the `cost` that a provider reports counts. Default: none. */
  readonly prices?: Prices | undefined;
  /** The time, from the first run of an owner, in milliseconds. Default: 24 hours. */
  readonly window?: number | undefined;
}

/** Limits for each owner of runs. They count in this process. */
export interface OwnerLimitOptions {
  /** How many runs of an owner are executed at once. Another one is rejected with 429. Default: 100. */
  readonly maxRunsPerOwner?: number | undefined;
  /**
   * What the runs of an owner may use. When it is used up, another run is rejected with 429; a run that continues may
   * use more. Usage counts when its turn ends. Default: no limit.
   */
  readonly budget?: OwnerBudget | undefined;
}

const DEFAULT_MAX_RUNS = 100;

const DAY = 86_400_000;

export interface OwnerLimits {
  /** Does the work that starts a run, and counts as one. It fails with 429 if the owner has reached a limit. */
  admit<T>(owner: string, work: Observable<T>): Observable<T>;
  /** Counts a run from its subscription to its end, and what its turns use. */
  count(owner: string): MonoTypeOperatorFunction<StreamEvent>;
}

interface Spending {
  readonly until: number;
  tokens: number;
  cost: number;
}

export function createOwnerLimits({ maxRunsPerOwner = DEFAULT_MAX_RUNS, budget = {} }: OwnerLimitOptions): OwnerLimits {
  const { tokens: maxTokens = Infinity, cost: maxCost = Infinity, prices, window = DAY } = budget;
  requireNumber('maxRunsPerOwner', maxRunsPerOwner, 1);
  requireNumber('budget.tokens', maxTokens, 0);
  requireNumber('budget.cost', maxCost, 0);
  requireNumber('budget.window', window, 1);
  const runs = new Map<string, number>();
  /** By owner, in the order of their ends. */
  const spendings = new Map<string, Spending>();

  const changeCount = (owner: string, by: number) => {
    const count = (runs.get(owner) ?? 0) + by;
    if (count > 0) runs.set(owner, count);
    else runs.delete(owner);
  };
  const counted =
    <T>(owner: string): MonoTypeOperatorFunction<T> =>
    (source) =>
      defer(() => {
        changeCount(owner, 1);
        return source.pipe(finalize(() => changeCount(owner, -1)));
      });
  const removeEnded = () => {
    for (const [owner, { until }] of spendings) {
      if (until > asyncScheduler.now()) return;
      spendings.delete(owner);
    }
  };
  const spend = (owner: string, usage: Usage | undefined, reported: unknown) => {
    removeEnded();
    const { input = 0, output = 0, total = input + output } = usage ?? {};
    const reportedCost = typeof reported === 'number' ? reported : 0;
    const cost = prices ? costOf(usage ?? {}, prices) : reportedCost;
    const spending = spendings.get(owner) ?? { until: asyncScheduler.now() + window, tokens: 0, cost: 0 };
    spendings.set(owner, spending);
    spending.tokens += total;
    spending.cost += cost;
  };
  const check = (owner: string) => {
    if ((runs.get(owner) ?? 0) >= maxRunsPerOwner) throw tooManyRuns(maxRunsPerOwner);
    removeEnded();
    const spending = spendings.get(owner);
    if (spending && (spending.tokens >= maxTokens || spending.cost >= maxCost)) throw overBudget(spending.until);
  };

  return {
    admit: (owner, work) =>
      defer(() => {
        check(owner);
        return work.pipe(counted(owner));
      }),
    count: (owner) => (events) =>
      events.pipe(
        tap({
          next(event) {
            const known = asKnownEvent(event);
            if (known.type === 'turn') spend(owner, known.usage, known.metadata?.['cost']);
            if (known.type === 'result' && known.result.finishReason === 'waiting') {
              const open = known.result.checkpoint?.open; // its turn has no `turn` event
              spend(owner, open?.finish.usage, open?.metadata?.['cost']);
            }
          },
          error: (thrown: unknown) => spend(owner, usageOfError(thrown), undefined),
        }),
        counted(owner),
      ),
  };
}

const tooManyRuns = (max: number) =>
  new RequestError(429, `At most ${max} runs of a user are executed at once. Ask again when one has ended.`, {
    'retry-after': '5',
  });

const overBudget = (until: number) =>
  new RequestError(429, 'The budget of this user is used up for now. Ask again later.', {
    'retry-after': String(Math.max(1, Math.ceil((until - asyncScheduler.now()) / 1000))),
  });
