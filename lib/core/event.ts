import type { Chunk, FinishChunk, FinishReason, ProviderDataChunk, ToolCallFragment } from './chunk.js';
import type { JsonObject, JsonValue } from './json/json.js';
import type { Message, Metadata, ToolCallPart, ToolResultPart } from './message.js';
import { addUsage } from './usage.js';
import type { Usage } from './usage.js';
import { appendMessages } from './usedIds.js';

/**
 * Whatever flows through an operator: something with a `type`. Operators pass on what they do not know, with its type.
 */
export interface StreamEvent {
  readonly type: string;
}

/** A complete tool call, as the model sent it: the arguments are not validated yet. `name` narrows their type. */
export type ToolCallEvent<Name extends string = string, Arguments = JsonObject> = ToolCallPart<Name, Arguments>;

/** A tool starts: the arguments of the call are valid, and `execute` is called next. */
export interface ToolStartEvent<Name extends string = string, Arguments = JsonObject> {
  readonly type: 'toolStart';
  readonly id: string;
  readonly name: Name;
  /** Those of the call, as the model sent them. */
  readonly arguments: Arguments;
}

/** Progress of a running tool. `name` narrows the type of `value`. */
export interface ToolProgressEvent<Name extends string = string, Value = JsonValue> {
  readonly type: 'toolProgress';
  readonly id: string;
  readonly name: Name;
  readonly value: Value;
}

/** The result of a tool call, or its error with a `code`. `name` narrows the type of `result`. */
export type ToolResultEvent<Name extends string = string, Result = JsonValue> = ToolResultPart<Name, Result>;

/** What concerns a tool call, from the call itself to its result. */
export type ToolEvent = ToolCallEvent | ToolStartEvent | ToolProgressEvent | ToolResultEvent;

/** A whole message: the model's at the end of its answer, the tools' results after they ran. */
export interface MessageEvent {
  readonly type: 'message';
  readonly message: Message;
}

/** Where a run stands: plain JSON, it can be stored and resumed from. */
export interface RunState {
  /** The whole history, system prompt excepted. */
  readonly messages: readonly Message[];
  /** Turns done. */
  readonly turn: number;
  /** Summed over those turns. */
  readonly usage: Usage;
  /** What an orchestrator remembers from turn to turn. */
  readonly memo?: JsonObject;
}

/** The last event of a turn: what came of it, and whether another follows. */
export interface TurnEvent {
  readonly type: 'turn';
  /** The number of the turn in its run, from 1. */
  readonly turn: number;
  readonly finishReason: FinishReason;
  /** The provider's own word for the reason, where `finishReason` does not say it all. */
  readonly rawReason?: string;
  /** The usage of this turn alone, attempts that were retracted included. */
  readonly usage?: Usage;
  /**
   * The metadata of the turn, merged: the last value of a key wins, `serverTools` are merged by id, and costs are added.
   */
  readonly metadata?: Metadata;
  /** Where the next turn starts; null when none follows. Absent where the reader did not ask for checkpoints. */
  readonly next?: RunState | null;
  /** The typed output, validated; on the last turn of a run with typed output. */
  readonly output?: unknown;
}

/** What came of a run. */
export interface RunResult<T = unknown> {
  /** All visible text of the run, as it streamed. */
  readonly text: string;
  /** All thinking of the run, as it streamed. */
  readonly thinking: string;
  /** The typed output, where one was asked for. */
  readonly output: T;
  /** What the run added: append the input and these to the history to go on. */
  readonly messages: readonly Message[];
  readonly finishReason: FinishReason;
  /** The provider's own word for the reason of the last turn, where `finishReason` does not say it all. */
  readonly rawReason?: string;
  /** Summed over the turns. */
  readonly usage: Usage;
  /** The metadata of all turns, merged in the same way. */
  readonly metadata?: Metadata;
  /** Turns of the run. */
  readonly turns: number;
}

/** The last event of a run that did not fail. */
export interface ResultEvent<T = unknown> {
  readonly type: 'result';
  readonly result: RunResult<T>;
}

/**
 * What a run emits: the chunks that concern the reader, plus what the operators add. `Tool` stands for the events of
 * the run's tools.
 */
export type RunEvent<Tool = ToolEvent, Output = unknown> =
  | Exclude<Chunk, ToolCallFragment | ProviderDataChunk | FinishChunk>
  | Tool
  | MessageEvent
  | TurnEvent
  | ResultEvent<Output>;

/** The state of a run that begins with these messages. */
export function startState(messages: readonly Message[]): RunState {
  return { messages, turn: 0, usage: {} };
}

/**
 * The state after a turn, before it is decided whether another follows: its messages appended, its usage added, the
 * memo as it stands.
 */
export function stateAfter(state: RunState, turn: TurnEvent, messages: readonly Message[]): RunState {
  const memo = turn.next?.memo ?? state.memo;
  const usage = addUsage(state.usage, turn.usage);
  return { messages: appendMessages(state.messages, messages), turn: turn.turn, usage, ...(memo ? { memo } : {}) };
}
