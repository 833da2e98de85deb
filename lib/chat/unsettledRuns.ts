import { catchError, concat, concatMap, defer, EMPTY, filter, finalize, ignoreElements, map, merge } from 'rxjs';
import { mergeMap, of, range, startWith, Subject, switchMap, takeUntil, takeWhile, tap, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { isReconnecting } from '../core/connectionEvents.js';
import { isResult } from '../core/eventGuards.js';
import { isRecord, objectOrEmpty } from '../core/json/json.js';
import { after } from '../core/timeLimit.js';
import { createViewFold } from '../operators/view/viewFold.js';
import { cancelView, sendingView, shownMessages, type View } from '../operators/view/view.js';
import { awake, SERVER } from '../transport/pageFetch.js';
import { noticeOf, type ConversationAgent } from './conversationAgent.js';
import type { Exchange } from './exchange.js';
import { lostOf, type Exchanges } from './exchanges.js';

/** The tries last for eight minutes, after the page has given up. */
export const TRIES = 20;

/** How long a run that was stopped may take to end by itself, in milliseconds. */
export const STOP_TIME = 1000;

/** Milliseconds for a stopped run to send its end. */
const END_TIME = 10_000;

/** Milliseconds: the first delay, its growth, and the longest. */
const delayBefore = (attempt: number): number =>
  Math.min(1000 * 1.5 ** (attempt - 1), 30_000) * (1 - Math.random() / 2);

/** Each try from this one on, the first one at once. A service that asks to wait is not asked before. */
const tries = (exchanges: Exchanges, first: number): Observable<unknown> =>
  range(first, TRIES).pipe(
    concatMap((attempt) => {
      const open = exchanges.unsettled();
      const waits = open.map(({ view, notice }) =>
        Number(objectOrEmpty(notice?.['error'] ?? view.error)['retryAfter'] ?? 0),
      );
      if (open.length === 0) return EMPTY;
      return after(attempt === 0 ? 0 : Math.max(delayBefore(attempt), ...waits));
    }),
  );

export type UnsettledRuns = ReturnType<typeof createUnsettledRuns>;

/** A stop is sent until the service has it. What the service has of the run becomes the answer. */
export function createUnsettledRuns(
  agent: ConversationAgent,
  exchanges: Exchanges,
  update: (id: string, change: Partial<Exchange>) => void,
) {
  const requested = new Subject<string>();
  const failed = new Subject<void>();
  const asked = new Subject<void>();
  const settling = new Set<string>();
  const settled = new Subject<void>();

  /** The run before it waits, if the answers have not arrived: another device could answer it. */
  const deliver = (id: string, run: string): Observable<never> =>
    merge(...[...new Set([run, exchanges.get(id).run])].map((each) => agent.stop?.(each) ?? EMPTY)).pipe(
      tap({
        complete: () => {
          if (exchanges.get(id).stopping === run) update(id, { stopping: undefined, notice: undefined });
        },
      }),
    );

  /** A try that fails begins the others again only if it is a first one: otherwise they would go on without end. */
  function settle(id: string, again?: Subject<void>): Observable<unknown> {
    const { stopping } = exchanges.get(id);
    settling.add(id);
    return concat(
      stopping === undefined ? EMPTY : deliver(id, stopping),
      defer(() => readEnd(agent, exchanges.get(id), (change) => update(id, change))),
    ).pipe(
      catchError((thrown: unknown) => {
        if (exchanges.get(id).stopping === stopping) update(id, { notice: noticeOf('not_stopped', thrown) });
        again?.next();
        return EMPTY;
      }),
      finalize(() => {
        settling.delete(id);
        settled.next();
      }),
    );
  }

  function stop(id: string, run: string): void {
    if (agent.stop) update(id, { stopping: run });
    settling.delete(id); // a run that has begun to wait meanwhile is stopped once more
    requested.next(id);
  }

  return {
    stop,

    /** Stops the runs that the page has given up, but not those of `kept`. They are not joined again. */
    stopLost(kept: readonly Exchange[] = []): void {
      // One that is being stopped ends by itself.
      const left = lostOf(exchanges).filter((one) => !one.stopping && !kept.includes(one));
      for (const { id, view, run, lost } of left) {
        update(id, stoppedChange(view));
        stop(id, lost?.run ?? run);
      }
    },

    added(id: string): void {
      if (exchanges.get(id).view.status === 'stopped') requested.next(id);
      else failed.next();
    },

    again: (): void => asked.next(),

    /** Completes when it is known what the stopped runs of a path have done, or after a second. */
    known: (path: readonly Exchange[], stop: Observable<void>): Observable<never> =>
      whileUncertain(() => path.map(({ id }) => exchanges.get(id)), settled, merge(stop, timer(STOP_TIME))),

    /** Calls `joinAgain` when lost runs may be there. Works until `end`, and then until the stops are delivered. */
    run: (end: Observable<unknown>, joinAgain: (id: string) => void): Observable<unknown> => {
      const now = merge(awake(), asked).pipe(startWith(undefined));
      const again = merge(now.pipe(map(() => 0)), failed.pipe(map(() => 1))).pipe(
        switchMap((first) => tries(exchanges, first)),
        mergeMap(() => exchanges.unsettled()),
        filter(({ id, stopping, view }) => {
          if (!stopping && view.status === 'failed') joinAgain(id);
          return stopping !== undefined || view.status === 'stopped';
        }),
        map(({ id }) => id),
      );
      const due = (ids: Observable<string>) =>
        ids.pipe(
          filter((id) => !settling.has(id)),
          takeUntil(end),
        );
      // A stop that is being delivered goes on.
      return merge(
        due(requested).pipe(mergeMap((id) => settle(id, failed))),
        due(again).pipe(mergeMap((id) => settle(id))),
      );
    },
  };
}

/** Completes when no exchange is uncertain, or at the end. */
const whileUncertain = (
  path: () => readonly Exchange[],
  settled: Observable<void>,
  end: Observable<unknown>,
): Observable<never> =>
  settled.pipe(
    startWith(undefined),
    map(() => path().some(isUncertain)),
    takeWhile(Boolean),
    ignoreElements(),
    takeUntil(end),
  );

/** Whether an answer to its calls was on its way when it was stopped: the service may have executed them. */
const isUncertain = ({ lost, run, view }: Exchange): boolean =>
  view.status === 'stopped' && lost !== undefined && lost.run !== run;

export const stoppedChange = (view: View): Partial<Exchange> => ({
  view: cancelView(sendingView(view)), // without its error
  messages: shownMessages(view),
  base: undefined,
});

/** A stopped run stays stopped, whatever it did. */
function readEnd(
  agent: ConversationAgent,
  { lost, view: { status } }: Exchange,
  change: (change: Partial<Exchange>) => void,
): Observable<unknown> {
  if (!lost || status !== 'stopped' || !agent.join) return EMPTY;
  const { run, base } = lost;
  const fold = createViewFold(base);
  return agent.join(run, { stop: of(undefined), cancel: EMPTY }).pipe(
    takeWhile((event) => !isReconnecting(event)),
    tap((event) => {
      const view = fold.add(event);
      if (!isResult(event)) return;
      const { messages } = event.result;
      change({ run, messages, hasBegun: true, lost: undefined, view: cancelView(view) });
    }),
    catchError((thrown: unknown) => {
      if (!isOfPage(thrown)) change({ lost: undefined }); // the service has nothing more
      return EMPTY;
    }),
    takeUntil(timer(END_TIME)), // a service that goes on has not received the stop: it ends without a reader
  );
}

/** Errors of the connection between the page and its service, and not of the run. */
export const isOfPage = (thrown: unknown): boolean => isRecord(thrown) && thrown['provider'] === SERVER;

export const isRunNotFound = (thrown: unknown): boolean => isRecord(thrown) && thrown['code'] === 'run_not_found';
