import type { Observable } from 'rxjs';
import type { RunEvent, RunState } from '../core/event.js';
import type { Model, RequestSettings, ToolChoiceOption } from '../core/model.js';
import type { Schema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import type { EndTurnOptions } from '../operators/endTurn.js';
import type { ExecuteToolsOptions } from '../operators/executeTools.js';

/** How the turns of a run are made: the request's settings, the tools', the run's. */
export interface TurnOptions
  extends RequestSettings, Pick<EndTurnOptions, 'maxTurns'>, Omit<ExecuteToolsOptions, 'messages'> {
  /** Instructions for the model. They go into each request, and into no event and no state. */
  readonly system?: string | undefined;
  /** Holds for the first turn of the run, unless it is a function of the state. Default: the model decides. */
  readonly toolChoice?: ToolChoiceOption | undefined;
  /** How often a typed output that does not validate is sent back for repair. Default 2. */
  readonly maxRepairs?: number | undefined;
  /** Let the fragments of tool calls through, each told of its call, for `partialArguments`. Default false. */
  readonly fragments?: boolean | undefined;
  /** Makes ids for calls that have none. Default: nanoid. */
  readonly newId?: (() => string) | undefined;
}

/** What an orchestrator works with. */
export interface TurnContext {
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** What the answer has to be, where that was asked for. */
  readonly output?: Schema;
  readonly options: TurnOptions;
}

/**
 * Decides what a turn is. A value, without state of its own: set-up at subscription, clean-up by teardown, memory in `state.memo`, written through the
 * turn's `next`. So a run can be resumed from any of its states.
 */
export interface Orchestrator {
  readonly name: string;
  turn(state: RunState, context: TurnContext): Observable<RunEvent>;
}
