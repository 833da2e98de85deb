import { concatMap, defaultIfEmpty, defer, EMPTY, from, take, takeUntil } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { RunEvent, RunState } from '../core/event.js';
import { requireMessages } from '../core/input.js';
import { isWeakKey, omitUndefined } from '../core/json/json.js';
import type { Message } from '../core/message.js';
import type { Model, ToolChoice } from '../core/model.js';
import { requireModel } from '../core/requireModel.js';
import { requireOptions } from '../core/requireOptions.js';
import { requireTool, type Tool } from '../core/tool.js';
import type { Orchestrator, TurnContext, TurnOptions } from './orchestrator.js';

/** What `prepareTurn` may change in one turn. */
export interface TurnChanges extends Omit<TurnOptions, 'toolChoice' | 'fragments' | 'newId'> {
  readonly model?: Model | undefined;
  /**
   * The tools of the turn; a call to another one is unknown. The events of a tool that the agent does not have are not
   * in the types of the run.
   */
  readonly tools?: readonly Tool[] | undefined;
  /** The messages of the request, without the system prompt. The history of the run stays complete. */
  readonly messages?: readonly Message[] | undefined;
  /** Whether the model may or must call tools in this turn, also if it is not the first turn. */
  readonly toolChoice?: ToolChoice | undefined;
}

/**
 * Changes a turn before it starts: receives its state and the user's own value, and returns changes, nothing, or an
 * ObservableInput whose first value counts. The request waits for it. If it fails, the run fails.
 */
export type PrepareTurn<C = never> = (
  state: RunState,
  context: C,
) => TurnChanges | ObservableInput<TurnChanges | undefined> | undefined;

const changeKinds = { model: 'any', tools: 'array', messages: 'array', toolChoice: ['string', 'object'] } as const;

/** The events of a turn after its changes. `controlled` returns the model that obeys the stop, and receives prompts. */
export function preparedTurn(
  orchestrator: Orchestrator,
  prepareTurn: PrepareTurn | undefined,
  state: RunState,
  context: TurnContext,
  controlled: (model: Model) => Model,
): Observable<RunEvent> {
  const start = (changes?: TurnChanges | null): Observable<RunEvent> => {
    const changed = changes == null ? context : applyChanges(context, changes);
    return orchestrator.turn(state, { ...changed, model: controlled(changed.model) });
  };
  if (!prepareTurn) return start();
  return defer(() => {
    const changes = prepareTurn(state, context.context as never);
    if (!isObservableInput(changes)) return start(changes);
    // The turn begins without changes if there is none, or if the run is stopped before it: it then ends at once.
    const first = from(changes).pipe(take(1), takeUntil(context.stop ?? EMPTY), defaultIfEmpty(undefined));
    return first.pipe(concatMap(start));
  });
}

function applyChanges(context: TurnContext, changes: TurnChanges): TurnContext {
  requireOptions('a turn (prepareTurn)', changes, changeKinds);
  const { model = context.model, tools = context.tools, messages, toolChoice, ...options } = changes;
  tools.forEach(requireTool);
  requireMessages(messages ?? []);
  requireModel(model, 'prepareTurn returned no model.');
  const choice = toolChoice === undefined ? undefined : () => toolChoice; // as it is, it would count for the first turn
  return {
    ...context,
    model,
    tools,
    ...omitUndefined({ messages }),
    options: { ...context.options, ...omitUndefined({ ...options, toolChoice: choice }) },
  };
}

/** Otherwise, the value is a plain object of changes. */
function isObservableInput<T extends TurnChanges>(
  value: T | ObservableInput<T | undefined> | undefined,
): value is Exclude<typeof value, T | undefined> {
  const keys: readonly PropertyKey[] = ['then', 'subscribe', '@@observable', Symbol.asyncIterator, Symbol.iterator];
  return isWeakKey(value) && keys.some((key) => key in value);
}
