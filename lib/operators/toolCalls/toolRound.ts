import { finalize, mergeAll, of, Subject } from 'rxjs';
import type { Observable, Subscriber } from 'rxjs';
import type { Approve, WaitingCall } from '../../core/approval.js';
import type { ResumedTurn } from '../../core/checkpoint.js';
import type { StreamEvent, ToolWaitingEvent } from '../../core/event.js';
import { unfinishedResult } from '../../core/message.js';
import type { Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import type { Tool } from '../../core/tool.js';
import { approveCall, mayWait } from './approveCall.js';
import type { ApprovedCall } from './approveCall.js';
import { runTool } from './runTool.js';
import type { RunningToolEvent } from './runTool.js';

/** The settings of all calls of a turn. */
export interface RoundSettings {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly messages: readonly Message[];
  readonly context: unknown;
  readonly deadline: number | undefined;
  readonly concurrency: number;
  readonly approve?: Approve | undefined;
  readonly resumed?: ResumedTurn | undefined;
  /** Called after each `toolWaiting` and each `toolResult`. */
  readonly changed?: ((calls: CallsOfRound) => void) | undefined;
}

/** The calls of a turn that have ended, and those that wait for an answer. */
export interface CallsOfRound {
  /** The results by the ids of the calls. */
  readonly results: ReadonlyMap<string, ToolResultPart>;
  /** The waiting calls by id. Empty if the round was vetoed. */
  readonly waiting: ReadonlyMap<string, WaitingCall>;
}

/** The calls of one attempt at a turn; `retract` starts another round. */
export interface ToolRound {
  /** Runs the call as soon as `concurrency` allows; does nothing if `begin` was already called for it. */
  readonly begin: (call: ToolCallPart) => void;
  /** Cancels the running calls and the open decisions; calls that have not started get a `not_executed` result. */
  readonly veto: () => void;
  /** Unsubscribes the running tools and the open decisions, and discards all results. */
  readonly unsubscribe: () => void;
  /** Calls back when all calls have ended, except those that wait for an answer from outside the run. */
  readonly end: (ended: (calls: CallsOfRound) => void) => void;
  /** The calls so far; changed by later events. */
  readonly calls: CallsOfRound;
}

type RoundEvent = RunningToolEvent | ToolWaitingEvent | ApprovedCall;

/** Starts to accept the calls of an attempt at a turn; emits their events. */
export function startRound(out: Subscriber<StreamEvent>, settings: RoundSettings): ToolRound {
  const { tools, concurrency, resumed, changed } = settings;
  const queue: ToolCallPart[] = [];
  const started = new Subject<Observable<RoundEvent>>();
  const cancelled = new Subject<void>();
  const results = new Map(resumed?.open.results.map((result) => [result.id, result]));
  const waiting = new Map(resumed?.open.waiting.map((call) => [call.id, call]));
  const calls = { results, waiting };
  const begun = new Set(results.keys());
  let active = 0;
  /** The calls whose approval has not ended. */
  const deciding = new Set<string>();
  let isStarting = false;
  let vetoed = false;
  let allEnded: ((calls: CallsOfRound) => void) | undefined;
  const running = started.pipe(mergeAll()).subscribe({
    next: emit,
    error: (thrown: unknown) => out.error(thrown),
  });
  out.add(running);

  function emit(event: RoundEvent) {
    switch (event.type) {
      case 'approvedCall':
        waiting.delete(event.call.id);
        queue.push(event.call);
        return;
      case 'toolResult':
        waiting.delete(event.id);
        results.set(event.id, event);
        break;
      case 'toolWaiting':
        waiting.set(event.id, { id: event.id, name: event.name, arguments: event.arguments });
        break;
      default:
    }
    out.next(event);
    if (event.type === 'toolResult' || event.type === 'toolWaiting') changed?.(calls);
  }

  function decide(call: ToolCallPart, tool: Tool) {
    deciding.add(call.id);
    const events = approveCall(call, tool, { ...settings, cancelled });
    started.next(
      events.pipe(
        finalize(() => {
          deciding.delete(call.id);
          startQueued();
        }),
      ),
    );
  }

  function run(call: ToolCallPart) {
    active++;
    const events = vetoed ? of(unfinishedResult(call, 'not_executed')) : runTool(call, { ...settings, cancelled });
    started.next(
      events.pipe(
        finalize(() => {
          active--;
          startQueued();
        }),
      ),
    );
  }

  /**
   * Starts as many queued calls as `concurrency` allows. It is a loop, because `mergeMap(run, concurrency)` starts a
   * call inside the completion of the previous call: 160 synchronous calls after an asynchronous call overflowed the
   * stack, and RxJS dropped the error.
   */
  function startQueued() {
    if (isStarting || running.closed) return;
    isStarting = true;
    for (let call; active < concurrency && (call = queue.shift());) run(call);
    isStarting = false;
    if (active + deciding.size + queue.length === 0) allEnded?.(calls);
  }

  return {
    calls,
    begin(call) {
      if (begun.has(call.id)) return;
      begun.add(call.id);
      const tool = tools.get(call.name);
      if (tool && !vetoed && mayWait(tool, call, resumed)) {
        decide(call, tool);
        return;
      }
      queue.push(call);
      startQueued();
    },
    veto() {
      vetoed = true;
      const undecided = [...waiting.values()].filter(({ id }) => !deciding.has(id));
      // Before the running calls are cancelled: the last of them ends the round.
      for (const call of undecided) emit(unfinishedResult(call, 'not_executed'));
      cancelled.next();
    },
    unsubscribe: () => running.unsubscribe(),
    end(ended) {
      allEnded = ended;
      startQueued();
    },
  };
}
