import { computed, effect, ErrorHandler, inject, NgZone, PLATFORM_ID, signal, untracked } from '@angular/core';
import type { Signal } from '@angular/core';
import { catchError, defer, distinctUntilChanged, identity, map, NEVER, of, startWith, Subject } from 'rxjs';
import type { Observable } from 'rxjs';
import type { ConversationAgent } from '../conversationAgent.js';
import { answerText, emptyView, viewOf, type View, type ViewStatus } from '../../operators/view/view.js';
import { createViewFold } from '../../operators/view/viewFold.js';
import type { RunResult } from '../../core/event.js';
import { isResult } from '../../core/eventGuards.js';
import { messagesOf, type Input } from '../../core/input.js';
import { whileCurrent } from '../../transport/pageFetch.js';
import { randomId } from '../../transport/randomId.js';
import { isBusy } from './busy.js';
import { perFrame } from './perFrame.js';
import { injectAgent, injectUserKey } from './provideAgent.js';

/** An agent, with the type of its output: what `createAgent` or `remoteAgent` returns. */
type RunAgent<O = unknown> = ConversationAgent & {
  readonly run?: (...options: never[]) => Observable<RunResult<O>>;
};

/** Options of `injectRun`. */
export interface InjectRunOptions<O = unknown> {
  /** The agent. Default: the one of `provideAgent`. */
  readonly agent?: RunAgent<O> | undefined;
  /** The option `context` of the run, for a local agent. Default: undefined. */
  readonly context?: unknown;
  /** Whether the signals change at most once per animation frame. False: with each event, for tests. Default: true. */
  readonly perFrame?: boolean | undefined;
}

/** One run as signals. */
export interface InjectedRun<O = unknown> {
  /** The view: the input and the answer, with its tools. What did not change keeps its identity. */
  readonly value: Signal<View>;
  /** The text of the answer so far. */
  readonly text: Signal<string>;
  /** `idle` without an input, and after the end of the run; `failed` if it failed. */
  readonly status: Signal<ViewStatus>;
  /** Whether the run goes on. */
  readonly isLoading: Signal<boolean>;
  /** The error of the run. Undefined if it has not failed. */
  readonly error: Signal<unknown>;
  /** The result of the run. Undefined until its end, and if it failed. */
  readonly result: Signal<RunResult<O> | undefined>;
  /** Leaves the run, and starts another one with the same input. */
  reload(): void;
  /** Ends the run with what it has. */
  stop(): void;
}

interface RunSnapshot<O> {
  readonly view: View;
  readonly result?: RunResult<O>;
  readonly error?: unknown;
}

/**
 * Runs the provided agent with an input that is a signal, as signals.
 *
 * <span class="informal">A resource whose loader is an agent.</span>
 *
 * Each input, and each `user` of `provideAgent`, starts a run, and leaves the one before it. A run is also left when
 * the component or the service that has injected it is destroyed: a local run is aborted, and a service ends one that
 * nobody reads after its `grace`. On the server (SSR), no run starts. For prompts that know the earlier ones, and for
 * approvals, use `injectConversation`.
 *
 * ```ts
 * class Summary {
 *   readonly document = input.required<string>();
 *   readonly summary = injectRun(() => `Summarise in one sentence: ${this.document()}`);
 * }
 * // <p>{{ summary.text() }}</p>
 * // @if (summary.error()) { <button (click)="summary.reload()">Try again</button> }
 * ```
 *
 * @param input A function that reads signals and returns the input. Undefined: no run.
 * @param options `agent` (default: the provided one; with one of `createAgent`, `result` has the type of its output),
 * `context` (default: undefined), `perFrame` (default: true).
 * @returns The signals, and `reload` and `stop`.
 * @throws ConfigurationError `options` if there is no agent. Angular's error NG0203 outside of an injection context.
 */
export function injectRun<O = unknown>(
  input: () => Input | undefined,
  options: InjectRunOptions<O> = {},
): InjectedRun<O> {
  const { agent = injectAgent(), context, perFrame: isPerFrame = true } = options;
  const snapshot = signal<RunSnapshot<O>>({ view: emptyView });
  const userKey = injectUserKey();
  const revision = signal(0);
  const stop = new Subject<void>();
  const errors = inject(ErrorHandler);
  const zone = inject(NgZone);

  if (inject(PLATFORM_ID) !== 'server')
    effect((onCleanup) => {
      revision();
      const own = userKey();
      const prompt = input();
      untracked(() => {
        if (prompt === undefined) {
          snapshot.set({ view: emptyView });
          return;
        }
        const ofUser = whileCurrent(agent, () => untracked(userKey) === own); // also before the effect has run
        const snapshots = runSnapshots<O>(ofUser, prompt, stop, context).pipe(isPerFrame ? perFrame() : identity);
        // With zone.js, each read of the network would be a tick of the application.
        const subscription = zone.runOutsideAngular(() =>
          snapshots.subscribe({
            next: (value) => snapshot.set(value),
            error: (thrown: unknown) => zone.run(() => errors.handleError(thrown)),
          }),
        );
        onCleanup(() => subscription.unsubscribe());
      });
    });

  return {
    value: computed(() => snapshot().view),
    text: computed(() => answerText(snapshot().view)),
    status: computed(() => snapshot().view.status),
    isLoading: computed(() => isBusy(snapshot().view.status)),
    error: computed(() => snapshot().error),
    result: computed(() => snapshot().result),
    reload: () => revision.update((count) => count + 1),
    stop: () => zone.runOutsideAngular(() => stop.next()),
  };
}

/** An error of the run is the last snapshot, also one that `stream` throws. */
const runSnapshots = <O>(
  agent: ConversationAgent,
  input: Input,
  stop: Observable<void>,
  context: unknown,
): Observable<RunSnapshot<O>> =>
  defer(() => {
    const messages = messagesOf(input);
    const fold = createViewFold(viewOf(messages));
    const run = { id: randomId(), earlier: [], history: [], cancel: NEVER, fragments: true as const };
    let last: RunSnapshot<O> = { view: fold.start };
    return defer(() => agent.stream(messages, { ...run, stop, context })).pipe(
      map((event) => {
        const view = fold.add(event);
        // The types of the agent say what its output is.
        if (isResult(event)) last = { view, result: event.result as RunResult<O> };
        else if (view !== last.view) last = { ...last, view };
        return last;
      }),
      catchError((error: unknown) => of({ view: fold.fail(error), error })),
      startWith(last),
      distinctUntilChanged(),
    );
  });
