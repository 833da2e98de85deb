import type { Question, WaitingCall } from './approval.js';
import type { Checkpoint } from './checkpoint.js';
import type { Chunk, FinishChunk, FinishReason, ProviderChunk, ToolCallFragment } from './chunk.js';
import type { JsonObject, JsonValue } from './json/json.js';
import type { Message, Metadata, ReadablePart, ToolCallPart, ToolResultPart } from './message.js';
import type { RunState } from './runState.js';
import { addUsage, type Usage } from './usage.js';
import type { Plain } from './typesOf.js';

export type { RunState } from './runState.js';

/**
 * Any event that passes through an operator. Operators forward events of unknown types and preserve their TypeScript
 * types.
 */
export interface StreamEvent {
  readonly type: string;
}

/** A complete tool call, as the model sent it: the arguments are not validated yet. `name` narrows their type. */
export type ToolCallEvent<Name extends string = string, Arguments = JsonObject> = ToolCallPart<Name, Arguments>;

/** A call waits for a decision or its result: its tool needs an approval, has no `execute`, or asks a person. */
export interface ToolWaitingEvent<Name extends string = string, Arguments = JsonObject> {
  readonly type: 'toolWaiting';
  readonly id: string;
  readonly name: Name;
  /** The call's arguments, as the model sent them. */
  readonly arguments: Arguments;
  /** What `needsApproval` of the tool has emitted for the person who decides. Absent if it has only said `true`. */
  readonly details?: JsonObject;
  /** Set if a person is asked (`askTool`): the result of this call is the answer. */
  readonly question?: Question;
}

/** A tool starts: the arguments of the call are valid, and `execute` is called next. */
export interface ToolStartEvent<Name extends string = string, Arguments = JsonObject> {
  readonly type: 'toolStart';
  readonly id: string;
  readonly name: Name;
  /** The call's arguments: those that the model sent, or their replacement from the approval. */
  readonly arguments: Arguments;
}

/** Progress of a running tool. `name` narrows the type of `value`. */
export interface ToolProgressEvent<Name extends string = string, Value = JsonValue> {
  readonly type: 'toolProgress';
  readonly id: string;
  readonly name: Name;
  readonly value: Value;
}

/** Tokens that a running tool itself has used, for example an agent. The usage of the turn includes them. */
export interface ToolUsageEvent<Name extends string = string> {
  readonly type: 'toolUsage';
  readonly id: string;
  readonly name: Name;
  readonly usage: Usage;
}

/**
 * An event of a run inside a tool (`agentTool`); inner agents nest further. Its ids are unique only in the inner
 * conversation, and it adds nothing to the outer messages. `name` narrows the type of `event`.
 */
export interface NestedEvent<Name extends string = string, Event extends StreamEvent = RunEvent> {
  readonly type: 'nested';
  readonly id: string;
  readonly name: Name;
  readonly event: Event;
}

/** The result of a tool call, or its error with a `code`. `name` narrows the type of `result`. */
export type ToolResultEvent<Name extends string = string, Result = JsonValue> = ToolResultPart<Name, Result>;

export type ToolEvent = Plain<
  ToolCallEvent | ToolWaitingEvent | ToolStartEvent | ToolProgressEvent | ToolUsageEvent | NestedEvent | ToolResultEvent
>;

/** A complete message: the model's at the end of its response, or the one with the results of its tool calls. */
export interface TurnMessageEvent {
  readonly type: 'message';
  readonly message: Message;
}

/** The last event of a turn: its outcome, and whether another turn follows. */
export interface TurnEvent {
  readonly type: 'turn';
  /** The number of the turn in its run, from 1. */
  readonly turn: number;
  readonly finishReason: FinishReason;
  /** The provider's raw finish reason, if `finishReason` does not express it completely. */
  readonly rawReason?: string;
  /** The usage of this turn alone, including retracted attempts and the tokens that tools report (`context.usage`). */
  readonly usage?: Usage;
  /** The last value of a key wins, `serverTools` are merged by id, and costs are added. */
  readonly metadata?: Metadata;
  /** The state from which the next turn starts; null if no turn follows. `endRun` removes it. */
  readonly next?: RunState | null;
  /** The run after this turn, for `agent.resume`. Only with the option `checkpoints`. */
  readonly checkpoint?: Checkpoint;
  /** The validated typed output. Present on the last turn of a run with typed output. */
  readonly output?: unknown;
}

/** The outcome of a run. */
export interface RunResult<T = unknown> {
  /** All visible text that the run streamed. After a tool round or a prompt, the next text starts on a new line. */
  readonly text: string;
  /**
   * The text of the model's last message, without what it wrote before earlier tool calls. Empty if the run ends with
   * the results of tools (at a limit), or without text. It is complete if `finishReason` is `stop`.
   */
  readonly answer: string;
  /** All thinking that the run streamed. */
  readonly thinking: string;
  /** The typed output, if one was requested. */
  readonly output: T;
  /**
   * The messages that the run added. To continue the conversation, append the input and these messages to the history.
   * If calls wait, the last message has the results of the others: without an answer, those that wait are cancelled.
   */
  readonly messages: readonly Message[];
  readonly finishReason: FinishReason;
  /** The provider's raw finish reason of the last turn, if `finishReason` does not express it completely. */
  readonly rawReason?: string;
  /** The sum of the usage of all turns. */
  readonly usage: Usage;
  /** What the run has cost, as `usage.cost`, otherwise as the provider reports it. Absent if it is unknown. */
  readonly cost?: number;
  /** The merged metadata of all turns, as in `TurnEvent.metadata`. */
  readonly metadata?: Metadata;
  /** The number of turns of the run. */
  readonly turns: number;
  /** The prompts that arrived when no turn could follow any more. Absent if there are none. */
  readonly prompts?: readonly Message[];
  /** The calls that wait for a decision or for their result. Present if `finishReason` is `waiting`. */
  readonly waiting?: readonly WaitingCall[];
  /** The run so far, for `agent.resume`. Present if `finishReason` is `waiting`. */
  readonly checkpoint?: Checkpoint;
}

/** The last event of a run that did not fail. */
export interface ResultEvent<T = unknown> {
  readonly type: 'result';
  readonly result: RunResult<T>;
}

/** The run so far, within a turn: the model has answered. Only with the option `checkpoints`. */
export interface CheckpointEvent {
  readonly type: 'checkpoint';
  readonly checkpoint: Checkpoint;
}

/**
 * Everything that a run emits: the chunks for the subscriber, and the events that the operators add. `Tool` is the type
 * of the events of the run's tools.
 */
export type RunEvent<Tool = ToolEvent, Output = unknown> =
  | Exclude<Chunk, ToolCallFragment | ProviderChunk | FinishChunk>
  | Tool
  | Plain<TurnMessageEvent | TurnEvent | CheckpointEvent | ResultEvent<Output>>;

/** The initial state of a run with these messages. */
export function startState(messages: readonly Message[]): RunState {
  return { messages, turn: 0, usage: {} };
}

/** Without `turn.next`, the memo is unchanged. */
export function stateAfter(state: RunState, turn: TurnEvent, messages: readonly Message[]): RunState {
  const memo = turn.next?.memo ?? state.memo;
  const usage = addUsage(state.usage, turn.usage);
  return { messages: [...state.messages, ...messages], turn: turn.turn, usage, ...(memo ? { memo } : {}) };
}

/** Turns without `next` after which another turn starts. */
const followed = /* @__PURE__ */ new WeakSet<TurnEvent>();

/** `turnFollows` still knows whether there is a next turn. */
export function withoutNext({ next, ...rest }: TurnEvent, added?: Pick<TurnEvent, 'checkpoint'>): TurnEvent {
  const turn = added ? { ...rest, ...added } : rest;
  if (next) followed.add(turn);
  return turn;
}

/** Whether another turn starts after this event. The event must be the one that the run has emitted, not a copy. */
export const turnFollows = (turn: TurnEvent): boolean => Boolean(turn.next) || followed.has(turn);

export function eventOfPart(part: ReadablePart): Extract<RunEvent, { readonly type: ReadablePart['type'] }> {
  switch (part.type) {
    case 'file':
      return { type: 'file', file: part };
    case 'source':
      return { type: 'source', source: part };
    default:
      return part;
  }
}
