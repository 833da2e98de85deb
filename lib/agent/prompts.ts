import { concat, defer, from, ignoreElements, of, startWith, Subject, tap, using } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable, ObservableInput } from 'rxjs';
import { stateAfter, type RunEvent, type RunState, type TurnEvent } from '../core/event.js';
import { idsOf, isNew, messagesOf, requireMessages, type Input } from '../core/input.js';
import type { Message } from '../core/message.js';
import type { Model } from '../core/model.js';
import { hasEmitted } from '../core/notifier.js';
import { replaceTurnEvent } from '../operators/followUp.js';
import { stoppedTurn } from './openTurn.js';
import { interruptible } from './stopRun.js';
import type { TurnContext } from './orchestrator.js';
import { requireSync } from '../core/options.js';

/** Options of a run that receives prompts. */
export interface PromptOptions {
  /**
   * Prompts that join the run while it runs.
   *
   * ![](../../marbles/createAgent.prompts.svg)
   *
   * Each becomes a user message at the end of the turn in which it arrives, after the results of its tools. It is
   * emitted as `message`, and is part of the result. A run that would end continues with it. It is subscribed once per
   * run, until the run ends. Prompts that arrive when no turn can follow any more (after the last `turn` event, or at a
   * limit between two turns) are in `prompts` of the result. A message with an `id` joins once, also if it arrives
   * again, or when the run is resumed. Default: no prompts.
   */
  readonly prompts?: ObservableInput<Input> | undefined;
  /**
   * When a prompt joins the run. `nextTurn`: at the end of the turn. `interrupt`: the model's response ends at once, as
   * by `stop`, and the run resumes from its partial text. Tools are not interrupted: calls that `eagerTools` has begun
   * run to their end, and the prompt follows their results. An interrupted turn has the finish reason `stopped`, the
   * `rawReason` `prompt` and a `next` state, and counts for `maxTurns`. A function: it receives the model of each turn
   * and the prompts that arrive while it responds, and returns a model that passes them on; they join the run at the
   * end of that turn. `steer` of `webSocketTransport` (rivulet/openai) is such a function. Default: `nextTurn`.
   */
  readonly whenPrompted?:
    | 'nextTurn'
    | 'interrupt'
    | ((model: Model, prompts: Observable<readonly Message[]>) => Model)
    | undefined;
}

export interface PromptQueue {
  readonly take: () => readonly Message[];
  /** A subscriber also gets the prompts that have arrived. */
  readonly arrivals: Observable<readonly Message[]>;
  readonly failure: Observable<never>;
}

/** The source is subscribed once, for the duration of the run. `before`: the messages that the run has added before. */
export function collectPrompts<T>(
  prompts: ObservableInput<Input>,
  before: readonly Message[] | undefined,
  run: (queue: PromptQueue) => Observable<T>,
): Observable<T> {
  return defer(() => {
    let waiting: readonly Message[] = [];
    const known = new Set(idsOf(before));
    const arrived = new Subject<readonly Message[]>();
    const failure = new Subject<never>();
    const add = (prompt: Input) => {
      const all = messagesOf(prompt);
      requireMessages(all);
      const messages = all.filter((message) => isNew(message, known));
      if (messages.length === 0) return;
      waiting = [...waiting, ...messages];
      arrived.next(messages);
    };
    const take = () => {
      const taken = waiting;
      waiting = [];
      return taken;
    };
    const arrivals = defer(() => (waiting.length > 0 ? arrived.pipe(startWith(waiting)) : arrived));
    return using(
      () => from(prompts).pipe(tap(add), ignoreElements()).subscribe(failure),
      () => run({ take, arrivals, failure }),
    );
  });
}

/** Undefined if the model of a turn does not learn of prompts while it responds. */
export function receiverOf(
  whenPrompted: PromptOptions['whenPrompted'],
  { arrivals }: PromptQueue,
): ((model: Model) => Model) | undefined {
  if (typeof whenPrompted === 'function') return (model) => requireSync('whenPrompted', whenPrompted(model, arrivals));
  return whenPrompted === 'interrupt' ? (model) => interruptible(model, arrivals) : undefined;
}

/** A run that would end continues with an empty memo: a typed output is asked for again. Not after an interruption. */
export function joinPrompts(
  queue: PromptQueue,
  state: RunState,
  { last, stop }: Pick<TurnContext, 'last' | 'stop'>,
): MonoTypeOperatorFunction<RunEvent> {
  return replaceTurnEvent((turn, messages) => {
    const prompts = queue.take();
    if (prompts.length === 0) return of<RunEvent>(turn);
    return concat(
      from(prompts.map((message): RunEvent => ({ type: 'message', message }))),
      defer(() => of<RunEvent>(turnWithPrompts())),
    );

    function turnWithPrompts(): TurnEvent {
      if (hasEmitted(stop)) return turn.next ? stoppedTurn(turn) : turn;
      if (last) return { ...turn, finishReason: 'maxTurns', next: null };
      const { output: _, ...rest } = turn;
      return { ...rest, next: stateWithPrompts(state, turn, messages, prompts) };
    }
  });
}

function stateWithPrompts(
  state: RunState,
  turn: TurnEvent,
  messages: readonly Message[],
  prompts: readonly Message[],
): RunState {
  if (turn.next) return { ...turn.next, messages: [...turn.next.messages, ...prompts] };
  const { memo, ...after } = stateAfter(state, turn, [...messages, ...prompts]);
  const isInterrupted = turn.finishReason === 'stopped';
  return isInterrupted && memo ? { ...after, memo } : after;
}
