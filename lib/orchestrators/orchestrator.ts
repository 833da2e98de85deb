import type { Observable } from 'rxjs';
import type { RunEvent, RunState } from '../core/event.js';
import type { Model, RequestSettings, ToolChoiceOption } from '../core/model.js';
import type { Schema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import type { TurnPosition } from './runTurns.js';

/** The settings of a turn: those of its request, and those of its tools. */
export interface TurnOptions extends RequestSettings {
  /** Instructions for the model. They are part of each request, but of no event and no state. */
  readonly system?: string | undefined;
  /** Applies to the first turn of the run, unless it is a function of the state. Default: the model decides. */
  readonly toolChoice?: ToolChoiceOption | undefined;
  /**
   * How many calls run at a time. Default 1: one after the other, in the order of the calls. `Infinity` runs all at
   * once.
   */
  readonly toolConcurrency?: number | undefined;
  /**
   * Starts a call as soon as it is complete, while the model still streams. Default false: the model's connection is
   * closed before the first tool runs.
   */
  readonly eagerTools?: boolean | undefined;
  /** The maximum total time of one call, in milliseconds. Default: no deadline. */
  readonly toolDeadline?: number | undefined;
  /** How often a typed output that does not validate is sent back for repair. Default 2. */
  readonly maxRepairs?: number | undefined;
  /**
   * Emits the fragments of tool calls too, labelled with their call's index, name and id, for `partialArguments`.
   * Default false.
   */
  readonly fragments?: boolean | undefined;
  /** Makes ids for calls that have none. Default: nanoid. */
  readonly newId?: (() => string) | undefined;
}

/** What an orchestrator works with. `last`, from `runTurns`, is whether no turn may follow; default false. */
export interface TurnContext extends Partial<TurnPosition> {
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** The schema of the typed output, if one was requested. */
  readonly output?: Schema;
  readonly options: TurnOptions;
}

/**
 * Decides what a turn is. An orchestrator has no state of its own: it sets up at subscription, cleans up on teardown,
 * and remembers in `state.memo`, which it writes through the `next` of its `turn` event. A run can therefore be resumed
 * from any of its states.
 */
export interface Orchestrator {
  readonly name: string;
  turn(state: RunState, context: TurnContext): Observable<RunEvent>;
}
