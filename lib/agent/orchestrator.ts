import type { Observable } from 'rxjs';
import type { Approve, CallAnswers } from '../core/approval.js';
import type { ResumedTurn } from '../core/checkpoint.js';
import type { RunEvent, RunState } from '../core/event.js';
import type { Message, ToolCallPart } from '../core/message.js';
import type { PausableCall } from '../core/nested.js';
import type { Model, RequestSettings, ToolChoiceOption } from '../core/model.js';
import type { Schema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import type { Usage } from '../core/usage.js';
import type { TurnPosition } from './runTurns.js';

/** The settings of a turn: the settings of its request and of its tools. */
export interface TurnOptions extends RequestSettings {
  /** Instructions for the model. They are sent with each request, but are not part of any event or state. */
  readonly system?: string | undefined;
  /**
   * Whether the model may or must call tools; in the first turn only, unless it is a function. Default: the model
   * decides.
   */
  readonly toolChoice?: ToolChoiceOption | undefined;
  /** The maximum number of calls that run at a time. Default: 1, in order. `Infinity`: all at once. */
  readonly toolConcurrency?: number | undefined;
  /**
   * Whether a call starts while the model still streams. Chat Completions does not mark its end: a call is complete
   * when the next one begins, or at the end of the response. Default: false: the connection is closed before the first
   * tool runs.
   */
  readonly eagerTools?: boolean | undefined;
  /** The maximum total time of one call, in milliseconds. Default: no deadline. */
  readonly toolDeadline?: number | undefined;
  /**
   * Receives what a tool throws, with its stack, for your log. The model and the events have only the message. Default:
   * none.
   */
  readonly onToolError?: ((thrown: unknown, call: ToolCallPart) => void) | undefined;
  /**
   * Decides about calls of tools with `needsApproval`; an empty Observable denies. Default: the run ends with
   * `waiting`.
   */
  readonly approve?: Approve | undefined;
  /**
   * How long a call waits for an answer of a person in memory, in milliseconds, before the run ends with `waiting`.
   * Default: until the run is stopped if it has `answers`, otherwise 0.
   */
  readonly patience?: number | undefined;
  /** How often the model is asked to repair a typed output that is not valid. Default: 2. */
  readonly maxRepairs?: number | undefined;
  /** Whether the run emits labelled fragments of tool calls, for `partialArguments`. Default: false. */
  readonly fragments?: boolean | undefined;
  /** Generates the id of a call without an id. Default: `nanoid`. */
  readonly newId?: (() => string) | undefined;
}

/** The input of an orchestrator. `runTurns` sets `last`, which is true if no turn may follow. Default: false. */
export interface TurnContext extends Partial<TurnPosition> {
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** The schema of the typed output, if one was requested. */
  readonly output?: Schema;
  readonly options: TurnOptions;
  /** The messages of the request, if `prepareTurn` replaced them. Default: those of the state. */
  readonly messages?: readonly Message[];
  /** The user's own value, for tools and for functions of the options. Default: undefined. */
  readonly context?: unknown;
  /**
   * Emits when the run is stopped, also to a late subscriber. The streams of `model` end then; pass it to
   * `executeTools`, and do not start anything else. Absent if the run cannot be stopped.
   */
  readonly stop?: Observable<unknown>;
  /** The ids of calls to cancel: pass it to `executeTools`. Absent if no call can be cancelled. */
  readonly cancel?: Observable<string>;
  /** Answers to waiting calls: pass it to `executeTools`. Absent if nobody answers while the run lives. */
  readonly answers?: Observable<CallAnswers>;
  /** Completes when everything that the run has emitted is stored: pass it to `executeTools`. Absent: nothing is. */
  readonly written?: Observable<never> | undefined;
  /** The call of an outer run that this run is in (`agentTool`): pass it to `executeTools`. */
  readonly outerCall?: PausableCall | undefined;
  /** Receives the usage of a response that has ended: pass it to `executeTools`. A run that fails includes it. */
  readonly onUsage?: (usage: Usage) => void;
  /** The id of the run, for the idempotency keys of its calls. Default: `executeTools` makes random ones. */
  readonly runId?: string | undefined;
  /** Whether the turn reports its calls for checkpoints. Default: false. */
  readonly checkpoints?: boolean | undefined;
  /** The open calls with which this turn is resumed: the model is not asked again. Default: a new turn. */
  readonly resumed?: ResumedTurn | undefined;
}

/**
 * Defines a turn: which requests it sends, and whether another turn follows. An orchestrator object has no mutable
 * state. It acquires its resources at subscription and releases them on teardown. Data for later turns goes into
 * `state.memo`, through the `next` of its `turn` event. A run can therefore be resumed from any of its states.
 */
export interface Orchestrator {
  readonly name: string;
  turn(state: RunState, context: TurnContext): Observable<RunEvent>;
}
