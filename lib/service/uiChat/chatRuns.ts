import { concatMap, defer, EMPTY, endWith, ignoreElements, map, onErrorResumeNext, takeUntil, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { randomId } from '../../transport/randomId.js';
import type { Kernel } from '../kernel.js';
import type { RunPlan } from '../runs/executeRun.js';
import { settleLost } from '../runs/runEnd.js';
import type { Client } from '../client.js';
import type { LoggedRun } from '../runs/runLife.js';
import type { SharedRun } from '../runs/sharedRun.js';
import { responseId } from './planResponse.js';

/** How long a stopped run may take to write its result, in milliseconds. */
const STOP_TIME = 10_000;

interface ChatRun {
  readonly runId: string;
  readonly owner: string;
  readonly messageId: string;
  readonly earlier: readonly StreamEvent[];
  /** That of its request among the others. */
  readonly place: number;
}

type FoundRun = ChatRun & { readonly run: LoggedRun };

export class ChatRuns<C> {
  private readonly chats = new Map<string, ChatRun>();

  constructor(private readonly kernel: Kernel<C>) {}

  /**
   * Stops the run of the message before, and waits for its result, which a request with this message reads. Undefined:
   * it reads none, or the next message has overtaken this one.
   */
  endPrevious(key: string, ids: readonly string[], place: number): Observable<never> | undefined {
    const previous = this.current(key);
    if (previous?.run.status !== 'running' || previous.place > place) return undefined;
    if (!ids.includes(responseId(previous.owner, previous.messageId))) return undefined;
    return defer(() => {
      this.kernel.registry.stop(previous.runId);
      return onErrorResumeNext(previous.run.settled).pipe(takeUntil(timer(STOP_TIME)));
    });
  }

  start(
    key: string,
    { plan, messageId, earlier, place, ...times }: Omit<ChatRun, 'runId' | 'owner'> & Started,
  ): Observable<SharedRun> {
    return defer(() => {
      const previous = this.current(key);
      const { owner } = plan.record;
      const runId = randomId();
      return this.kernel.launch(plan, { ...times, id: runId, lockId: key }).pipe(
        map((run) => {
          const isLate = previous && previous.place > place; // the next message has overtaken it
          if (previous) this.kernel.registry.stop(isLate ? runId : previous.runId);
          if (isLate) return run;
          this.removeEnded();
          this.chats.delete(key);
          this.chats.set(key, { runId, owner, messageId, earlier, place });
          return run;
        }),
      );
    });
  }

  /** Settles the record of a run whose end could not be written. */
  find(key: string, client: Client<C>): Observable<FoundRun | undefined> {
    return defer(() => {
      const current = this.current(key);
      if (current) {
        const joinable = this.kernel.joinable(current.runId, current.owner);
        return joinable.pipe(map((run) => run && { ...current, run }));
      }
      return this.settleLost(key, client).pipe(ignoreElements(), endWith(undefined));
    });
  }

  /** Stops the run of a request up to a place: one that begins, or the one that the chat has. */
  stop(key: string, owner: string, upTo: number): void {
    this.kernel.locks.stop(key, owner, upTo);
    const current = this.current(key);
    if (current && current.place <= upTo) this.kernel.registry.stop(current.runId);
  }

  private current(key: string): FoundRun | undefined {
    const chat = this.chats.get(key);
    const run = chat && this.kernel.runOf(chat.runId, chat.owner);
    return run && { ...chat, run };
  }

  /** Two chats for each new one, so that a long run hides none of them. */
  private removeEnded(): void {
    const [first, second] = this.chats;
    for (const [key, chat] of [first, second].filter((one) => one !== undefined)) {
      this.chats.delete(key);
      if (this.kernel.runOf(chat.runId, chat.owner)) this.chats.set(key, chat);
    }
  }

  private settleLost(key: string, client: Client<C>): Observable<unknown> {
    const last = this.chats.get(key);
    if (!last) return EMPTY;
    const { access, executor } = this.kernel;
    return this.kernel.locked(key, client, () =>
      access.find(responseId(last.owner, last.messageId), client.owner).pipe(
        concatMap((stored) => {
          const isRunning = stored?.record.state === 'running' && executor.locate(stored.record) !== 'elsewhere';
          if (!isRunning || this.current(key)) return EMPTY;
          return settleLost(this.kernel, stored);
        }),
      ),
    );
  }
}

interface Started {
  readonly plan: RunPlan;
  readonly grace: number;
  readonly keep: number;
}
