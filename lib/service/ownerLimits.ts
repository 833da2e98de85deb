import { concat, defer, finalize, Subject, takeUntil, tap, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { Checkpoint } from '../core/checkpoint.js';
import type { StreamEvent } from '../core/event.js';
import { isMessage, isTurn } from '../core/eventGuards.js';
import type { Message } from '../core/message.js';
import { requireNumber, requireNumbers } from '../core/options.js';
import { estimateTokens } from '../core/tokens.js';
import type { Usage } from '../core/usage.js';
import { usageOfError } from '../core/usageOfError.js';
import { createUsageCounter } from '../core/usageCounter.js';
import { lateBody } from './http/readBody.js';
import { conversationTooLarge, later } from './http/requestError.js';
import { OwnerUsage, type OwnerUsageOptions } from './ownerUsage.js';
import type { RunLog, RunMessage } from './ports/runLog.js';
import type { RunStore } from './ports/runStore.js';
import { estimateSize } from './runs/estimateSize.js';
import { isReplayed } from './runs/replayed.js';
import type { WrapTurn } from './runs/wrapInnerRuns.js';

/**
 * Limits for each owner of runs. Prompts per minute and the budget count in the store, prompts that wait in the log,
 * the others in this process.
 */
export interface OwnerLimitOptions extends OwnerUsageOptions {
  /** How many runs of an owner this process executes at once. Another one is rejected with 429. Default: 100. */
  readonly maxRunsPerOwner?: number | undefined;
  /** How many prompts may wait for a run: another one is rejected with 429, wherever it arrives. Default: 100. */
  readonly maxWaitingPrompts?: number | undefined;
  /**
   * How many bytes the prompts that wait for a run may have together. One that waits alone may have `maxBodyBytes`, as
   * any request, so that a file fits. Another one is rejected with 429, wherever it arrives. Default: 8 MiB.
   */
  readonly maxWaitingBytes?: number | undefined;
  /**
   * How many bytes the runs of an owner that are executed, and the requests that arrive, may have in this process:
   * their input, the conversation before them, and what joined them. Another request is rejected with 429, and one that
   * alone has more with 413: no run has more than this, so choose at least `maxHistoryBytes` and `maxBodyBytes`
   * together. The requests of `useChat` that arrive count together, since each names its chat, and so its user, at its
   * end: one takes the room of the largest of the others (of the same size: the oldest), which is answered with 408.
   * Default: 64 MiB.
   */
  readonly maxOwnerBytes?: number | undefined;
}

export const DEFAULT_MAX_RUNS = 100;
const DEFAULT_OWNER_BYTES = 67_108_864;
const DEFAULT_WAITING_PROMPTS = 100;
const DEFAULT_WAITING_BYTES = 8_388_608;

/** What a request or a run of an owner holds. */
interface Held {
  /** Default: false. */
  readonly isRun?: boolean;
  readonly bytes: () => number;
  /** Ends a request that arrives, or the count of its body. */
  readonly end?: () => void;
  /** That of the request whose body is counted. */
  readonly place?: number;
}

/**
 * What the turns of a run use. Few providers report it for a response that was stopped: without an estimate, a client
 * that stops each response before its end would never use up its budget.
 */
export function createRunUsage(resumed?: Checkpoint) {
  const reportedBy = createUsageCounter(resumed);
  let conversation: readonly Message[] = [];
  let answer: readonly Message[] = [];
  /** Notes the conversation of each turn. */
  const wrapTurn: WrapTurn = (turn) => (state, context) => {
    conversation = state.messages;
    answer = [];
    return turn(state, context);
  };
  const usageOf = (event: StreamEvent): Usage | undefined => {
    const reported = reportedBy(event);
    if (isMessage(event) && event.message.role === 'model') answer = [event.message];
    if (!isTurn(event) || event.finishReason !== 'stopped') return reported;
    const { input = estimateTokens(conversation), output: known = 0 } = { ...reported };
    const output = Math.max(known, estimateTokens(answer));
    return { ...reported, input, output, total: input + output };
  };
  return { wrapTurn, usageOf };
}

export class OwnerLimits extends OwnerUsage {
  /** Under `undefined`: the requests whose owner is not known yet. */
  private readonly owners = new Map<string | undefined, Set<Held>>();
  private readonly maxRuns: number;
  private readonly maxBytes: number;
  readonly maxWaiting: { readonly count: number; readonly bytes: number };

  constructor(options: OwnerLimitOptions, store: RunStore) {
    const { maxRunsPerOwner = DEFAULT_MAX_RUNS, maxOwnerBytes = DEFAULT_OWNER_BYTES } = options;
    const { maxWaitingPrompts = DEFAULT_WAITING_PROMPTS, maxWaitingBytes = DEFAULT_WAITING_BYTES } = options;
    requireNumber('maxRunsPerOwner', maxRunsPerOwner, 1);
    requireNumbers({ maxOwnerBytes, maxWaitingPrompts, maxWaitingBytes }, 0);
    super(store, options);
    this.maxRuns = maxRunsPerOwner;
    this.maxBytes = maxOwnerBytes;
    this.maxWaiting = { count: maxWaitingPrompts, bytes: maxWaitingBytes };
  }

  /**
   * Does the work that starts a run, and counts as one. It fails with 413 or 429 if the owner has reached a limit.
   *
   * @param place That of the request, whose body no longer counts: the run has it.
   */
  admit<T>(owner: string, work: Observable<T>, bytes = 0, place = 0): Observable<T> {
    return defer(() => {
      const all = [...(this.owners.get(owner) ?? [])];
      all.find((held) => held.place === place)?.end?.();
      const runs = all.filter(({ isRun }) => isRun);
      if (runs.length >= this.maxRuns) throw tooManyRuns(this.maxRuns);
      return this.hold(owner, concat(this.requireBudget(owner), work), bytes, { isRun: true });
    });
  }

  /** Counts what has arrived of a request until it is complete: then its run counts. */
  readonly receive = <T>(owner: string | undefined, read: (note: (bytes: number) => void) => Observable<T>) =>
    defer(() => {
      let size = 0;
      const late = new Subject<never>();
      const held = { bytes: () => size, end: () => late.error(lateBody()) };
      const note = (bytes: number) => {
        size = 0;
        this.requireRoom(owner, bytes, held);
        size = bytes;
      };
      return this.counted(owner, takeUntil<T>(late)(read(note).pipe(tap(() => (size = 0)))), held);
    });

  /**
   * Does work that holds bytes of an owner. It fails with 413 or 429 if there is no room for them.
   *
   * @param held `place` of a request whose body is counted: until its run is admitted, or the work ends.
   */
  hold<T>(owner: string, work: Observable<T>, bytes: number, held: Omit<Held, 'bytes'>): Observable<T> {
    return defer(() => {
      this.requireRoom(owner, bytes);
      let size = bytes;
      return this.counted(owner, work, { ...held, bytes: () => size, end: () => (size = 0) });
    });
  }

  /**
   * Sends a message to a run. It fails with a RunFullError if too many wait for it; a stop is always sent.
   *
   * @param taken The position of the last message that does not wait. Default: all wait.
   */
  send(log: RunLog, id: string, owner: string, message: RunMessage, taken = '0'): Observable<boolean> {
    if (message.type === 'stop') return log.send(id, message);
    const sent = log.send(id, message, { after: taken, ...this.maxWaiting });
    const counted = message.type === 'prompt' ? this.countPrompt(owner, sent) : sent;
    return defer(() => this.hold(owner, counted, estimateSize(message), {}));
  }

  /** Counts a run from its subscription to its end, what its turns use, and what it holds, which may grow. */
  count(owner: string, bytes = () => 0, usage = createRunUsage()): MonoTypeOperatorFunction<StreamEvent> {
    return (events) =>
      defer(() => {
        const counted = tap<StreamEvent>({
          next: (event) => {
            const used = isReplayed(event) ? undefined : usage.usageOf(event);
            if (used) this.spend(owner, used);
          },
          error: (thrown: unknown) => this.spend(owner, usageOfError(thrown)),
        });
        return this.counted(owner, events.pipe(counted), { isRun: true, bytes });
      });
  }

  private counted<T>(owner: string | undefined, work: Observable<T>, held: Held): Observable<T> {
    const all = this.owners.get(owner) ?? new Set();
    this.owners.set(owner, all.add(held));
    return work.pipe(
      finalize(() => {
        all.delete(held);
        if (all.size === 0) this.owners.delete(owner);
      }),
    );
  }

  /** Requests whose owner is not known make room for others, the largest first: small ones of users stay. */
  private requireRoom(owner: string | undefined, bytes: number, own?: Held): void {
    if (bytes > this.maxBytes) throw tooLarge(this.maxBytes);
    const all = [...(this.owners.get(owner) ?? [])];
    let total = all.reduce((sum, held) => sum + held.bytes(), bytes);
    const others = owner === undefined && total > this.maxBytes ? all.filter((held) => held !== own) : [];
    for (const largest of others.sort((a, b) => b.bytes() - a.bytes())) {
      if (total <= this.maxBytes) break;
      total -= largest.bytes();
      largest.end?.();
    }
    if (total > this.maxBytes) throw tooMuch(this.maxBytes);
  }
}

export const tooManyRuns = (max: number) =>
  later(429, `At most ${max} runs of a user are executed at once. Ask again when one has ended.`, 5, {
    code: 'too_many_runs',
    params: { max },
  });

const tooLarge = (max: number) =>
  conversationTooLarge(`A run may have at most ${max} bytes, with the conversation before it. Start another one.`, max);

const tooMuch = (max: number) =>
  later(429, `The runs and requests of a user may have at most ${max} bytes. Ask again when one has ended.`, 5, {
    code: 'runs_too_large',
    params: { max },
  });

export const tooManyPrompts = (params: OwnerLimits['maxWaiting']) =>
  later(
    429,
    `At most ${params.count} prompts, and ${params.bytes} bytes, wait for a run. Send this one again later.`,
    5,
    { code: 'too_many_prompts', params },
  );
