import { computed, DestroyRef, inject, linkedSignal, NgZone, PLATFORM_ID, type Signal } from '@angular/core';
import { takeUntilDestroyed, toObservable } from '@angular/core/rxjs-interop';
import { catchError, EMPTY, finalize, map, merge, NEVER, Subject, type Observable } from 'rxjs';
import type { CallAnswers, Decision } from '../../core/approval.js';
import { omitUndefined, type JsonValue } from '../../core/json/json.js';
import { requireNumber } from '../../core/options.js';
import { followingId } from '../../transport/randomId.js';
import type { WaitingRun } from '../../transport/waitingRun.js';
import type { ConversationAgent } from '../conversationAgent.js';
import { injectAgent } from './provideAgent.js';
import { readList } from './readList.js';
import { injectSession } from './session.js';

/** Options of `injectWaiting`. */
export interface InjectWaitingOptions {
  /** The agent, a `remoteAgent`. Default: the one of `provideAgent`. */
  readonly agent?: ConversationAgent | undefined;
  /**
   * How often the list is read again, in milliseconds. It is also read when the page gets the focus, and after each
   * answer. Default: 30000.
   */
  readonly refresh?: number | undefined;
}

/** What waits for the user, in all conversations, and what answers it. `run` is the id of a run in `runs`. */
export interface InjectedWaiting {
  /** The runs that wait, the one that began to wait last first. */
  readonly runs: Signal<readonly WaitingRun[]>;
  /** The number of questions and calls that wait. */
  readonly count: Signal<number>;
  /** Why the last request has failed. Undefined after one that succeeds. */
  readonly error: Signal<unknown>;
  answer(run: string, callId: string, result: JsonValue): void;
  decline(run: string, callId: string, reason?: string): void;
  decide(run: string, callId: string, decision: Decision): void;
  /** Reads the list again, since something has changed on this page: an answer in a conversation. */
  refresh(): void;
}

/**
 * Injects what waits for the user at the service: questions (`askTool`) and calls, of all conversations.
 *
 * <span class="informal">"Three things wait for you."</span>
 *
 * An answer continues its run at the service. The first answer counts, on whatever device it is given.
 *
 * ```ts
 * class Waiting {
 *   readonly waiting = injectWaiting();
 * }
 * // <p role="status">{{ waiting.count() }} things wait for you</p>
 * // @for (run of waiting.runs(); track run.id) { <app-waiting-run [run]="run" /> }
 * ```
 *
 * @param options `agent` (default: the provided one), `refresh` in milliseconds (default: 30000).
 * @returns The signals and the commands.
 * @throws ConfigurationError `options` if there is no agent. Angular's error NG0203 outside of an injection context.
 */
export function injectWaiting({ agent = injectAgent(), refresh = 30_000 }: InjectWaitingOptions = {}): InjectedWaiting {
  requireNumber('refresh', refresh, 0);
  const { source, guard } = injectSession('waiting');
  const state = linkedSignal<unknown, State>({ source, computation: () => ({ runs: [] }) });
  const changed = new Subject<void>();
  const zone = inject(NgZone);
  const destroyed = inject(DestroyRef);
  const reported = <T>(work: (own: ConversationAgent) => Observable<T>) =>
    guard(agent, work).pipe(
      catchError((error: unknown) => {
        state.update((before) => ({ ...before, error }));
        return EMPTY;
      }),
    );
  if (inject(PLATFORM_ID) !== 'server') {
    const read$ = reported((own) => own.waiting?.() ?? EMPTY).pipe(map((runs) => state.set({ runs })));
    const reading = merge(toObservable(source), changed).pipe(readList(refresh, read$));
    zone.runOutsideAngular(() => reading.pipe(takeUntilDestroyed(destroyed)).subscribe());
  }
  /** The run is read while the user is the same: without a reader, the service would stop it after a while. */
  const answer = (run: string, answers: CallAnswers): void => {
    const notifiers = { stop: NEVER, cancel: NEVER, fragments: true, context: undefined } as const;
    const options = { ...notifiers, ...answers, id: followingId(run), earlier: [{ id: run, input: [] }] };
    state.update((before) => ({ ...before, runs: before.runs.filter(({ id }) => id !== run) }));
    const work = reported((own) => own.resume(undefined, options)).pipe(finalize(() => changed.next()));
    zone.runOutsideAngular(() => work.pipe(takeUntilDestroyed(destroyed)).subscribe());
  };
  const decide = (run: string, callId: string, decision: Decision) =>
    answer(run, { decisions: { [callId]: decision } });
  return {
    runs: computed(() => state().runs),
    count: computed(() => state().runs.reduce((sum, { waiting }) => sum + waiting.length, 0)),
    error: computed(() => state().error),
    answer: (run, callId, result) => answer(run, { results: { [callId]: result } }),
    decline: (run, callId, reason) => decide(run, callId, { approve: false, ...omitUndefined({ reason }) }),
    decide,
    refresh: () => changed.next(),
  };
}

interface State {
  readonly runs: readonly WaitingRun[];
  readonly error?: unknown;
}
