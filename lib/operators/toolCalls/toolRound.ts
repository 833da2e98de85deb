import { finalize, mergeMap, of, Subject } from 'rxjs';
import type { Subscriber } from 'rxjs';
import type { StreamEvent } from '../../core/event.js';
import { unfinishedResult } from '../../core/message.js';
import type { Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import type { Tool } from '../../core/tool.js';
import { runTool } from './runTool.js';

/** The settings of all calls of a turn. */
export interface RoundSettings {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly messages: readonly Message[];
  readonly context: unknown;
  readonly deadline: number | undefined;
  readonly concurrency: number;
}

/** The results of a turn's calls, by id. */
export type Results = ReadonlyMap<string, ToolResultPart>;

/** The calls of one attempt at a turn; `retract` starts another round. */
export interface ToolRound {
  /** Runs the call as soon as `concurrency` allows; does nothing if `begin` was already called for it. */
  readonly begin: (call: ToolCallPart) => void;
  /** Cancels the running calls; calls that have not started get a `not_executed` result. */
  readonly veto: () => void;
  /** Unsubscribes the running tools and discards all results. */
  readonly unsubscribe: () => void;
  /** Passes the results to the callback when all calls have ended. */
  readonly end: (ended: (results: Results) => void) => void;
}

/** Starts to accept the calls of an attempt at a turn; emits their events. */
export function startRound(out: Subscriber<StreamEvent>, { concurrency, ...settings }: RoundSettings): ToolRound {
  const waiting: ToolCallPart[] = [];
  const started = new Subject<ToolCallPart>();
  const cancelled = new Subject<void>();
  const begun = new Set<string>();
  const results = new Map<string, ToolResultPart>();
  let active = 0;
  let isStarting = false;
  let vetoed = false;
  let allEnded: ((results: Results) => void) | undefined;
  const run = (call: ToolCallPart) => {
    const events = vetoed ? of(unfinishedResult(call, 'not_executed')) : runTool(call, { ...settings, cancelled });
    return events.pipe(
      finalize(() => {
        active--;
        startWaiting();
      }),
    );
  };
  const running = started.pipe(mergeMap(run)).subscribe({
    next(event) {
      if (event.type === 'toolResult') results.set(event.id, event);
      out.next(event);
    },
    error: (thrown: unknown) => out.error(thrown),
  });
  out.add(running);

  /**
   * Starts as many waiting calls as `concurrency` allows. It is a loop, because `mergeMap(run, concurrency)` starts a
   * call inside the completion of the previous call: 160 synchronous calls after an asynchronous call overflowed the
   * stack, and RxJS dropped the error.
   */
  function startWaiting() {
    if (isStarting || running.closed) return;
    isStarting = true;
    for (let call; active < concurrency && (call = waiting.shift());) {
      active++;
      started.next(call);
    }
    isStarting = false;
    if (active === 0 && waiting.length === 0) allEnded?.(results);
  }
  return {
    begin(call) {
      if (begun.has(call.id)) return;
      begun.add(call.id);
      waiting.push(call);
      startWaiting();
    },
    veto() {
      vetoed = true;
      cancelled.next();
    },
    unsubscribe: () => running.unsubscribe(),
    end(ended) {
      allEnded = ended;
      startWaiting();
    },
  };
}
