import { asyncScheduler, concatMap, defer, EMPTY, ignoreElements, map, retry, tap, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { asArray } from '../core/json/json.js';
import { requireNumbers } from '../core/options.js';
import { costOf, type Prices } from '../core/prices.js';
import type { Usage } from '../core/usage.js';
import { later } from './http/requestError.js';
import type { RunRecord, RunStore } from './ports/runStore.js';
import { changeRecord } from './runs/changeRecord.js';
import { WorkLocks } from './runs/workLocks.js';

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

/** Limits that count in the store. */
export interface OwnerUsageOptions {
  /**
   * How many prompts of an owner are accepted in any minute, by all processes that share the store: those that start a
   * run, and those that join one. Another one is rejected with 429, whose `Retry-After` says when the next one is
   * accepted. An answer counts if the one before it was wrong. Repeated requests do not count. Default: no limit.
   */
  readonly maxPromptsPerMinute?: number | undefined;
  /**
   * What the runs of an owner may use. When it is used up, another run is rejected with 429; a run that continues may
   * use more. Usage counts when its turn ends, in all processes with the same store; of a response that was stopped, an
   * estimate, where its provider reports none. Default: no limit.
   */
  readonly budget?: OwnerBudget | undefined;
}

interface Amounts {
  readonly tokens: number;
  readonly cost: number;
}

/** The record of an owner: when its prompts of the last minute came, and what its runs have used until a time. */
interface OwnerCounts extends Amounts {
  readonly prompts: readonly number[];
  readonly until: number;
}

const MINUTE = 60_000;

/** How often a prompt that was refused is taken back while the store is away, in milliseconds. */
const BACK_INTERVAL = 1000;

/**
 * The owner of the records of owners, which are among those of runs. No user has this name, so nobody lists, exports or
 * deletes them: a run that was deleted is still paid for.
 */
export const OWNERS = '\u0001';

const sum = (a: Amounts, b: Amounts, sign = 1): Amounts => ({
  tokens: a.tokens + sign * b.tokens,
  cost: a.cost + sign * b.cost,
});

/** What owners do in all processes with the same store: one record of each, which the store removes in time. */
export class OwnerUsage {
  private readonly locks = new WorkLocks();
  /** What this process has not written yet, by owner. */
  private readonly unwritten = new Map<string, Amounts>();
  private readonly maxPrompts: number;
  private readonly hasBudget: boolean;
  private readonly budget;

  constructor(
    private readonly store: RunStore,
    { maxPromptsPerMinute = Infinity, budget }: OwnerUsageOptions,
  ) {
    const { tokens = Infinity, cost = Infinity, window = DAY, prices } = budget ?? {};
    requireNumbers({ maxPromptsPerMinute, 'budget.window': window }, 1);
    requireNumbers({ 'budget.tokens': tokens, 'budget.cost': cost }, 0);
    this.maxPrompts = maxPromptsPerMinute;
    this.hasBudget = budget !== undefined;
    this.budget = { tokens, cost, window, prices };
  }

  /**
   * Counts a prompt that starts a run, or joins one, and does its work. It fails with 429 if there were too many in a
   * minute. If the work fails, or emits `false` since there is no such run, the prompt does not count: it comes again.
   */
  countPrompt<T>(owner: string, work: Observable<T>): Observable<T> {
    const max = this.maxPrompts;
    if (max === Infinity) return work;
    return defer(() => {
      let time: number | undefined;
      const counted = this.change(owner, (counts, now) => {
        const [first = now] = counts.prompts.slice(-max);
        if (counts.prompts.length >= max) throw tooManyPrompts(max, first + MINUTE - now);
        time = now;
        return { ...counts, prompts: [...counts.prompts, now] };
      });
      const takeBack = () => time !== undefined && this.takeBack(owner, time);
      return counted.pipe(
        concatMap((isCounted) => (isCounted ? work : throwError(() => tooManyPrompts(max, 0)))), // many at once
        tap({ next: (value) => value === false && takeBack(), error: takeBack }),
      );
    });
  }

  /** Fails with 429 if an owner has used up its budget. */
  requireBudget(owner: string): Observable<never> {
    const { tokens, cost } = this.budget;
    if (tokens === Infinity && cost === Infinity) return EMPTY;
    return defer(() => this.store.get(idOf(owner))).pipe(
      tap((stored) => {
        const now = asyncScheduler.now();
        const counts = countsOf(stored?.record, now);
        const used = sum(counts, this.pending(owner));
        if (used.tokens >= tokens || used.cost >= cost) throw overBudget(this.endOf(counts, now) - now);
      }),
      ignoreElements(),
    );
  }

  /** Adds what a turn has used. What cannot be written is written with the next usage. */
  spend(owner: string, usage: Usage = {}): void {
    if (!this.hasBudget) return;
    const { prices } = this.budget;
    const { input = 0, output = 0, total = input + output } = usage;
    const cost = prices ? costOf(usage, prices) : (usage.cost ?? 0);
    this.unwritten.set(owner, sum(this.pending(owner), { tokens: total, cost }));
    let written = NOTHING;
    this.change(owner, (counts, now) => {
      written = this.pending(owner);
      // A write that has waited for another one may have nothing left to add.
      return written === NOTHING ? undefined : { ...counts, ...sum(counts, written), until: this.endOf(counts, now) };
    }).subscribe({
      next: (isWritten) => {
        const pending = this.pending(owner);
        if (isWritten && pending !== written) this.unwritten.set(owner, sum(pending, written, -1));
        else if (isWritten) this.unwritten.delete(owner);
      },
      error: () => undefined, // the guard of the store has reported it
    });
  }

  private takeBack(owner: string, time: number): void {
    const back = this.change(owner, ({ prompts, ...amounts }) => {
      const place = prompts.indexOf(time);
      return { ...amounts, prompts: prompts.filter((_, index) => index !== place) };
    });
    const error = () => undefined; // the guard of the store has reported it
    back.pipe(retry({ delay: BACK_INTERVAL, count: MINUTE / BACK_INTERVAL })).subscribe({ error });
  }

  private pending(owner: string): Amounts {
    return this.unwritten.get(owner) ?? NOTHING;
  }

  private endOf({ until }: OwnerCounts, now: number): number {
    return until > 0 ? Math.min(until, now + this.budget.window) : now + this.budget.window;
  }

  /** Changes the record of an owner, one change of this process at a time. Emits whether it was written. */
  private change(
    owner: string,
    change: (counts: OwnerCounts, now: number) => OwnerCounts | undefined,
  ): Observable<boolean> {
    const id = idOf(owner);
    return changeRecord(this.store, id, (record) => {
      const now = asyncScheduler.now();
      const counts = change(countsOf(record, now), now);
      const times = { updated: now, expires: Math.max(now + MINUTE, counts?.until ?? 0) };
      return counts && { id, owner: OWNERS, state: 'ended', attempt: 0, input: [], ...times, protocol: { ...counts } };
    }).pipe(
      map((stored) => stored !== undefined),
      this.locks.locked(owner, owner),
    );
  }
}

const DAY = 86_400_000;
const NOTHING: Amounts = { tokens: 0, cost: 0 };

/** A clock that was set back leaves times in the future: they do not count. */
function countsOf(record: RunRecord | undefined, now: number): OwnerCounts {
  const { prompts, tokens = 0, cost = 0, until = 0 } = (record?.protocol ?? {}) as Partial<OwnerCounts>;
  const recent = (asArray(prompts) as readonly number[]).filter((time) => Math.abs(now - time) < MINUTE);
  const isCurrent = until > now;
  return { prompts: recent, ...(isCurrent ? { tokens, cost, until } : { ...NOTHING, until: 0 }) };
}

/** The id of a record is ASCII. */
const idOf = (owner: string): string => `owner.${encodeURIComponent(owner)}`;

const inSeconds = (wait: number) => Math.max(1, Math.ceil(wait / 1000));

const tooManyPrompts = (max: number, wait: number) =>
  later(429, `At most ${max} prompts per minute are accepted from a user. Ask again later.`, inSeconds(wait), {
    code: 'prompt_rate',
    params: { max },
  });

const overBudget = (wait: number) =>
  later(429, 'The budget of this user is used up for now. Ask again later.', inSeconds(wait), { code: 'budget' });
