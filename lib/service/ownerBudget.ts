import { asyncScheduler, concatMap, defer, EMPTY, ignoreElements, map, of, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import { requireNumber } from '../core/options.js';
import { costOf } from '../core/prices.js';
import type { Prices } from '../core/prices.js';
import type { Usage } from '../core/usage.js';
import { RequestError } from './http/requestError.js';
import type { RunStore } from './ports/runStore.js';

/** What each owner may use in a time. */
export interface OwnerBudget {
  /** The tokens, as providers report them. Default: no limit. */
  readonly tokens?: number | undefined;
  /** The money, in the currency of `prices`. Default: no limit. */
  readonly cost?: number | undefined;
  /** The prices for `cost`. Without them, `usage.cost` counts, or what the provider reports. Default: none. */
  readonly prices?: Prices | undefined;
  /** The time, from the first run of an owner, in milliseconds. Default: 24 hours. */
  readonly window?: number | undefined;
}

/** What owners have used, in all processes with the same store. */
export interface Spending {
  /** Fails with 429 if an owner has used up its budget. */
  check(owner: string): Observable<never>;
  /** Adds what a turn has used. */
  spend(owner: string, usage: Usage | undefined): void;
}

interface Amounts {
  readonly tokens: number;
  readonly cost: number;
}

const NOTHING: Amounts = { tokens: 0, cost: 0 };

/** The owner of the records of budgets, which are not runs. No user has this name, and nobody can ask for them. */
export const BUDGETS = '\u0001';

/** How often a write is tried again after that of another process. */
const RETRIES = 10;

const sum = (a: Amounts, b: Amounts, sign = 1): Amounts => ({
  tokens: a.tokens + sign * b.tokens,
  cost: a.cost + sign * b.cost,
});

/**
 * Keeps what each owner has used in a record of the store, which is removed when the time is over. A run that is
 * deleted is still paid for, so the records of runs would not do.
 */
export function createOwnerBudget(store: RunStore, options?: OwnerBudget): Spending {
  if (!options) return { check: () => EMPTY, spend: () => undefined };
  const { tokens: maxTokens = Infinity, cost: maxCost = Infinity, prices, window = 86_400_000 } = options;
  requireNumber('budget.tokens', maxTokens, 0);
  requireNumber('budget.cost', maxCost, 0);
  requireNumber('budget.window', window, 1);
  /** What this process has not written yet, by owner. */
  const unwritten = new Map<string, Amounts>();
  const pending = (owner: string) => unwritten.get(owner) ?? NOTHING;
  const writing = new Set<string>();

  const read = (owner: string) =>
    defer(() => store.get(idOf(owner))).pipe(
      map((stored) => {
        const { expires = 0, protocol } = stored?.record ?? {};
        const isCurrent = expires > asyncScheduler.now();
        const used = isCurrent ? (protocol as unknown as Amounts) : NOTHING;
        return { used, until: isCurrent ? expires : asyncScheduler.now() + window, version: stored?.version ?? 0 };
      }),
    );
  /** Emits whether it was written. */
  const add = (owner: string, amounts: Amounts, retries = RETRIES): Observable<boolean> =>
    read(owner).pipe(
      concatMap(({ used, until, version }) => {
        const times = { updated: asyncScheduler.now(), expires: until };
        const kept = { id: idOf(owner), owner: BUDGETS, state: 'ended', attempt: 0, input: [] } as const;
        return store.put({ ...kept, ...times, protocol: { ...sum(used, amounts) } }, version);
      }),
      concatMap((isDone) => (isDone || retries === 0 ? of(isDone) : add(owner, amounts, retries - 1))),
    );
  /** Writes what was used, one write of a process at a time. What cannot be written is written with the next usage. */
  const write = (owner: string): void => {
    const amounts = unwritten.get(owner);
    if (!amounts || writing.has(owner)) return;
    writing.add(owner);
    const end = () => writing.delete(owner);
    add(owner, amounts).subscribe({
      next(isDone) {
        end();
        if (!isDone) return;
        if (pending(owner) === amounts) unwritten.delete(owner);
        else unwritten.set(owner, sum(pending(owner), amounts, -1));
        write(owner);
      },
      error: end, // the guard of the store has reported it
    });
  };
  return {
    check: (owner) =>
      read(owner).pipe(
        tap(({ used, until }) => {
          const { tokens, cost } = sum(used, pending(owner));
          if (tokens >= maxTokens || cost >= maxCost) throw overBudget(until);
        }),
        ignoreElements(),
      ),
    spend: (owner, usage = {}) => {
      const { input = 0, output = 0, total = input + output } = usage;
      const cost = prices ? costOf(usage, prices) : (usage.cost ?? 0);
      unwritten.set(owner, sum(pending(owner), { tokens: total, cost }));
      write(owner);
    },
  };
}

/** An owner may be any text; the id of a record is ASCII. */
const idOf = (owner: string): string => `budget.${encodeURIComponent(owner.replace(/[\uD800-\uDFFF]/gu, '?'))}`;

const overBudget = (until: number) =>
  new RequestError(
    429,
    'The budget of this user is used up for now. Ask again later.',
    { 'retry-after': String(Math.max(1, Math.ceil((until - asyncScheduler.now()) / 1000))) },
    { code: 'budget' },
  );
