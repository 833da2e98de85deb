import type { OperatorFunction } from 'rxjs';
import type { Checkpoint, Emitted, OpenCalls } from '../core/checkpoint.js';
import { createOperator } from '../core/createOperator.js';
import { startState, stateAfter, withoutNext } from '../core/event.js';
import type { CheckpointEvent, ResultEvent, RunResult, RunState, StreamEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { recordRun } from '../core/failedRun.js';
import type { FailedRun } from '../core/failedRun.js';
import { isSameJson } from '../core/json/equal.js';
import { omitUndefined } from '../core/json/json.js';
import { toJson } from '../core/json/toJson.js';
import type { Message } from '../core/message.js';
import { usageOfError } from '../core/remainder.js';
import { addUsage } from '../core/usage.js';
import type { Usage } from '../core/usage.js';
import { RunContent } from './runContent.js';

/** Options of `endRun`. */
export interface EndRunOptions {
  /**
   * Whether the `turn` events have a `checkpoint`, and `checkpoint` events report the calls of a turn. Default: false.
   */
  readonly checkpoints?: boolean | undefined;
  /** The orchestrator's name, for checkpoints and `runOf(error)`. Default: `custom` in checkpoints, none in errors. */
  readonly orchestrator?: string | undefined;
  /** Returns the prompts that arrived and did not join the run. Default: none. */
  readonly unjoined?: (() => readonly Message[]) | undefined;
  /** The checkpoint from which the run goes on; `start` is its state. Default: a new run. */
  readonly resumed?: Checkpoint | undefined;
  /** Checks the result before it is emitted. If it throws, the run fails with that error. Default: no check. */
  readonly check?: ((result: RunResult) => void) | undefined;
}

/**
 * Emits the run's `result` after its last turn.
 *
 * <span class="informal">Collects all events of a run and emits one result.</span>
 *
 * ![](../../marbles/endRun.svg)
 *
 * The result is emitted when the source completes after a `turn` event without `next`. If calls wait for answers, the
 * result has the finish reason `waiting`, the waiting calls and a checkpoint. `next` is removed from `turn` events. A
 * run that fails or is unsubscribed emits no result; `runOf(error)` returns what a run had done when it failed.
 * `retract` discards the content of the current turn, but the result includes the cost and the usage of the retracted
 * attempt.
 *
 * ```ts
 * runTurns(turn, start).pipe(prefixAfterTools(), endRun(start));
 * ```
 *
 * @param start The state from which the run started; the result includes its usage and its turns. Default: a new run.
 * @param options `checkpoints` (default: false), `orchestrator` (default: `custom`), `resumed` (default: a new run),
 * `unjoined` (default: none), `check` (default: no check).
 * @returns A function that returns an Observable of the source's events, and the `result`.
 */
export function endRun<E extends StreamEvent>(
  start?: RunState,
  options?: EndRunOptions,
): OperatorFunction<E, E | ResultEvent>;
export function endRun(
  start?: RunState,
  { checkpoints = false, orchestrator, unjoined = () => [], resumed, check }: EndRunOptions = {},
): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    const run = new RunContent(resumed?.emitted);
    let state = start ?? startState([]);
    let usage = addUsage(state.usage, undefined);
    let last: TurnEvent | undefined = resumed?.ended && {
      type: 'turn',
      turn: state.turn,
      next: null,
      ...resumed.ended,
    };
    let waiting: OpenCalls | undefined;

    const checkpointOf = (rest: Pick<Checkpoint, 'open' | 'ended'>): Checkpoint => {
      return { version: 1, orchestrator: orchestrator ?? 'custom', state, emitted: run.copy(), ...rest };
    };
    const endTurn = (event: TurnEvent) => {
      const { next } = event;
      const turn = withoutNext(event);
      last = event;
      usage = addUsage(usage, turn.usage);
      if (checkpoints) state = next ?? stateAfter(state, turn, run.turn.messages);
      run.endTurn();
      const rest = checkpoints && (next ? {} : endedCheckpoint(turn));
      out.next(rest ? withoutNext(event, { checkpoint: checkpointOf(rest) }) : turn);
    };
    const emitResult = (outcome: Outcome) => {
      const { afterTools: _, ...emitted } = run.copy();
      const result = { ...emitted, ...outcome, ...promptsField(unjoined()) };
      try {
        check?.(result);
      } catch (thrown) {
        fail(thrown);
        return;
      }
      out.next({ type: 'result', result } as ResultEvent);
    };
    const fail = (thrown: unknown) => {
      const { messages, text, thinking } = run.copy();
      const failedRun: FailedRun = {
        messages,
        partialText: run.turn.streamed.toString(),
        text,
        thinking,
        usage: addUsage(addUsage(usage, run.turn.usage), usageOfError(thrown)),
        turn: last && !last.next ? last.turn : (last ?? state).turn + 1,
        ...omitUndefined({ orchestrator }),
        ...promptsField(unjoined()),
      };
      out.error(recordRun(thrown, failedRun));
    };
    return {
      error: fail,
      next(event) {
        const known = asKnownEvent(event);
        switch (known.type) {
          case 'text':
            run.turn.addText(known.text);
            break;
          case 'thinking':
            run.turn.thinking.add(known.text);
            break;
          case 'message':
            run.turn.addMessage(known.message);
            break;
          case 'metadata':
            run.turn.metadata.add(known.metadata);
            break;
          case 'retract':
            run.retract(known.usage);
            break;
          case 'toolUsage':
            run.turn.usage = addUsage(run.turn.usage, known.usage);
            break;
          case 'turn':
            endTurn(known);
            return;
          case 'openCalls':
            state = known.state ?? state;
            if (known.waits) waiting = known.open;
            else if (checkpoints)
              out.next({ type: 'checkpoint', checkpoint: checkpointOf({ open: known.open }) } as CheckpointEvent);
            return;
          default:
        }
        out.next(event);
      },
      complete() {
        if (waiting) emitResult(waitingOutcome(waiting, usage, checkpointOf({ open: waiting })));
        else if (last && !last.next) emitResult(outcomeOf(last, usage));
        out.complete();
      },
    };
  });
}

const promptsField = (prompts: readonly Message[]) => (prompts.length > 0 ? { prompts } : {});

/** The outcome of a run, without its content. */
type Outcome = Omit<RunResult, keyof Emitted>;

function outcomeOf({ output, finishReason, rawReason, turn }: TurnEvent, usage: Usage): Outcome {
  return { output, finishReason, ...omitUndefined({ rawReason }), usage, turns: turn };
}

/** The turn that waits is counted, with its usage. */
function waitingOutcome(open: OpenCalls, usage: Usage, checkpoint: Checkpoint): Outcome {
  const turns = checkpoint.state.turn + 1;
  const total = addUsage(usage, open.finish.usage);
  return { output: undefined, finishReason: 'waiting', usage: total, turns, waiting: open.waiting, checkpoint };
}

/** What a checkpoint holds of the last turn; undefined if JSON cannot represent its output exactly. */
function endedCheckpoint({ finishReason, rawReason, output }: TurnEvent): Pick<Checkpoint, 'ended'> | undefined {
  const ended = { finishReason, ...omitUndefined({ rawReason }) };
  if (output === undefined) return { ended };
  try {
    const copy = toJson(output);
    return isSameJson(copy, output) ? { ended: { ...ended, output: copy } } : undefined;
  } catch {
    return undefined; // toJson throws for what JSON cannot represent; the checkpoint before the turn remains valid
  }
}
