import { catchError, concatMap, defer, filter, from, map, of, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Checkpoint } from '../../core/checkpoint.js';
import { ConfigurationError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { isMessage, isResult } from '../../core/eventGuards.js';
import type { Input } from '../../core/input.js';
import type { Message } from '../../core/message.js';
import type { ResumeOptions, RunOptions } from '../../agent.js';
import { answersOf } from './answers.js';
import { fromAgUiMessages } from './messages.js';
import type { OutcomeOptions } from './outcome.js';
import type { RunAgentInput } from './protocol.js';
import { AgUiRequestError, historyOf } from './request.js';
import type { HistoryOptions } from './request.js';

/** What is used of an agent. Every agent fits. */
export interface AgUiAgent<C = unknown> {
  stream(input: Input, options: RunOptions<C>): Observable<StreamEvent>;
  resume(checkpoint: Checkpoint, options: ResumeOptions<C>): Observable<StreamEvent>;
}

/** Where the runs that wait are kept, by thread. A Map fits. */
export interface AgUiStore {
  get(key: string): Checkpoint | undefined | PromiseLike<Checkpoint | undefined>;
  set(key: string, checkpoint: Checkpoint): unknown;
  /**
   * @returns false, or a Promise of it, if there was nothing to delete: another request has just gone on with the run.
   * Otherwise, two requests at once could execute a call twice.
   */
  delete(key: string): unknown;
}

/** Options of `runAgUi`. */
export interface RunAgUiOptions<C = unknown> extends Pick<OutcomeOptions, 'clientTools'>, HistoryOptions {
  /** Where the runs that wait for an approval or a result are kept. Default: no run can be resumed. */
  readonly store?: AgUiStore | undefined;
  /**
   * The key of the thread in the store. The client chooses the id of its thread, and may choose that of another user:
   * add who asks. Default: the thread's id.
   */
  readonly key?: string | undefined;
  /** The value for tools and `prepareTurn`. Default: undefined. */
  readonly context?: C | undefined;
  /** Stops the run when it emits. Default: never. */
  readonly stop?: RunOptions['stop'];
}

/**
 * Runs an agent for a request of an AG-UI client: starts a run, or goes on with the one that waits in the thread.
 *
 * A run that waits for an approval, or for a tool of the client, is kept in the store with its checkpoint. The next
 * request of the thread that answers it goes on with it, once: what is resumed is removed from the store first. A
 * request that answers nothing starts a run with its messages as history, and what waited is forgotten; but if an
 * approval waits, AG-UI requires an answer, and the run fails.
 *
 * ```ts
 * runAgUi(agent, request, { store }).pipe(toAgUi(request)).subscribe(send);
 * ```
 *
 * @param agent The agent, with the client's tools (`clientTools`).
 * @param request The request, as `readAgUiRequest` returns it.
 * @param options `store` (default: no run can be resumed), `key` (default: the thread's id), `clientTools`,
 * `instructions`, `context`, `stop`.
 * @returns The events of the run, with the fragments of its calls. Cold: each subscription is a run. It fails with an
 * AgUiRequestError if the request does not fit what waits.
 */
export function runAgUi<C>(
  agent: AgUiAgent<C>,
  request: RunAgentInput,
  options: RunAgUiOptions<C> = {},
): Observable<StreamEvent> {
  const { store, key = request.threadId, context, stop } = options;
  const clientTools = new Set([...request.tools.map(({ name }) => name), ...(options.clientTools ?? [])]);
  const runOptions = { fragments: true, context, stop };
  const start = () => agent.stream([], { ...runOptions, history: historyOf(request, options) });

  const goOn = (checkpoint: Checkpoint) => {
    const answers = answersOf(request, checkpoint.open?.waiting ?? [], (name) => clientTools.has(name));
    if (!answers) return after(store?.delete(key), start);
    const prompts = newPrompts(request);
    let hasBegun = false;
    const resume = (deleted: unknown) => {
      if (deleted === false) throw noRunWaits(request.threadId);
      return agent.resume(checkpoint, { ...runOptions, ...answers, ...(prompts.length > 0 ? { prompts } : {}) });
    };
    return after(store?.delete(key), (deleted) =>
      resume(deleted).pipe(
        tap(() => (hasBegun = true)),
        filter((event) => !(isMessage(event) && prompts.includes(event.message))), // the client has them
        catchError((thrown: unknown) => {
          // The answers were not valid, so nothing was executed: the run still waits.
          const isRejected = thrown instanceof ConfigurationError && !hasBegun;
          const restored = isRejected ? store?.set(key, checkpoint) : undefined;
          return after<StreamEvent>(restored, () => {
            throw thrown;
          });
        }),
      ),
    );
  };

  return defer(() => valueOf(store?.get(key))).pipe(
    concatMap((checkpoint) => {
      if (checkpoint) return goOn(checkpoint);
      if (request.resume && request.resume.length > 0) throw noRunWaits(request.threadId);
      return start();
    }),
    concatMap((event) => {
      const checkpoint = isResult(event) ? event.result.checkpoint : undefined;
      // The client may answer as soon as it has the end of the run.
      return checkpoint ? valueOf(store?.set(key, checkpoint)).pipe(map(() => event)) : of(event);
    }),
  );
}

/** The messages that the user has added to the answers. */
function newPrompts({ messages }: RunAgentInput): readonly Message[] {
  const end = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool');
  return fromAgUiMessages(messages.slice(end + 1).filter(({ role }) => role === 'user'));
}

/** A value, or that of a Promise. */
const valueOf = <T>(value: T | PromiseLike<T>): Observable<T> => (isPromise(value) ? from(value) : of(value));

const isPromise = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof (value as Partial<PromiseLike<T>> | undefined)?.then === 'function';

/** An Observable, once the store has done its work. */
const after = <T>(done: unknown, next: (done: unknown) => Observable<T>): Observable<T> =>
  valueOf(done).pipe(concatMap(next));

const noRunWaits = (threadId: string) =>
  new AgUiRequestError(`no run waits in the thread "${threadId}". It was resumed already, or the server has lost it.`);
