import type { CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import type { StreamEvent } from '../../core/event.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { RecordedExchange } from './recordedExchange.js';
import type { Plain } from '../../core/typesOf.js';

/**
 * The version of the format that this release writes. It reads this version and all earlier ones: in version 1, entries
 * had no `recorder`.
 */
export const RECORDING_VERSION = 2;

/** How a run or a request ended. An end that is missing means that the recording was cut off. */
export type RecordedOutcome = 'completed' | 'failed' | 'unsubscribed';

/** The fields that most entries have. */
interface At {
  /** The time, in milliseconds of RxJS's clock: since 1970, or since the start of virtual time. */
  readonly at: number;
  /** Whether parts of the entry were not recorded because its line was too long. */
  readonly cut?: true;
}

/** A recorder numbers its runs from 1. Several recorders may write to one sink, and their entries may alternate. */
interface ByRecorder {
  /** The id of the recorder. Absent in version 1. */
  readonly recorder?: string;
}

interface OfRun extends At, ByRecorder {
  /** The number of the run, from 1 for each recorder. */
  readonly run: number;
}

interface OfRequest extends OfRun {
  /** The number of the request within its run, from 1. */
  readonly request: number;
}

/** The first entry of a recorder. */
interface HeaderEntry extends At, ByRecorder {
  readonly type: 'recording';
  readonly version: number;
  /** Whether texts, arguments and results were recorded. Without them, they are masked by dots. */
  readonly content: boolean;
}

/** A run was subscribed, or a model was recorded. */
export interface StartEntry extends OfRun {
  readonly type: 'start';
  readonly kind: 'run' | 'model';
  /** The name that `recordRun` received, if any. */
  readonly name?: string;
  /** The messages of the input. */
  readonly input?: readonly Message[];
  /** The conversation before the input. */
  readonly history?: readonly Message[];
  /** Whether the run was resumed from a checkpoint. */
  readonly resumed?: true;
  /** The checkpoint of a run that was resumed, without the id of the run. */
  readonly checkpoint?: Checkpoint;
  /** The answers to the calls that waited in the checkpoint. */
  readonly answers?: CallAnswers;
}

/** The settings of the agent that a run used in its first turn: those that JSON can represent. */
export interface AgentEntry extends OfRun {
  readonly type: 'agent';
  readonly orchestrator?: string;
  readonly system?: string;
  /** `'unlimited'` stands for Infinity. */
  readonly toolConcurrency?: number | 'unlimited';
  readonly eagerTools?: boolean;
  readonly toolDeadline?: number;
  readonly maxTurns?: number;
}

/** A request was sent to the model. */
export interface RequestEntry extends OfRequest {
  readonly type: 'request';
  readonly model: { readonly provider: string; readonly name: string };
  /** How many messages of the request were in the previous request of the run too. */
  readonly earlier: number;
  /** The other messages of the request, which follow those. */
  readonly messages: readonly Message[];
  /** The tools of the request. Absent if they are those of the previous request. */
  readonly tools?: readonly ToolDefinition[];
  /** The other fields of the request. */
  readonly settings?: JsonObject;
}

/**
 * A value: a chunk that only the model emitted, an event that only the run emitted, or one object that both emitted.
 */
export interface ValueEntry extends OfRun {
  readonly type: 'chunk' | 'event' | 'both';
  /** The request of a chunk. */
  readonly request?: number;
  readonly value: StreamEvent;
}

/** Consecutive deltas, as one entry: value number n is `value` with `texts[n]` as its `field`. */
export interface DeltasEntry extends OfRun {
  readonly type: 'deltas';
  readonly of: ValueEntry['type'];
  readonly request?: number;
  readonly value: StreamEvent;
  readonly field: 'text' | 'arguments';
  readonly texts: readonly string[];
  /** The time of each delta, in milliseconds since `at`. */
  readonly after: readonly number[];
}

/** The stream of a request ended. */
export interface RequestEndEntry extends OfRequest {
  readonly type: 'requestEnd';
  readonly outcome: RecordedOutcome;
  readonly error?: JsonObject;
  /** How many entries were not recorded because the recording had reached its limit. */
  readonly dropped?: number;
}

/** The application stopped the run. */
interface StopEntry extends OfRun {
  readonly type: 'stop';
}

/** A prompt arrived during the run. */
interface PromptEntry extends OfRun {
  readonly type: 'prompt';
  readonly messages: readonly Message[];
}

/** The run ended. */
export interface EndEntry extends OfRun {
  readonly type: 'end';
  readonly outcome: RecordedOutcome;
  readonly error?: JsonObject;
  /** How many entries were not recorded because the recording had reached its limit. */
  readonly dropped?: number;
}

/** An HTTP request and its response, with the time of the request. */
export interface ExchangeEntry extends At, ByRecorder {
  readonly type: 'exchange';
  readonly exchange: RecordedExchange;
  /** The time of each frame, in milliseconds since `at`. */
  readonly after: readonly number[];
}

/** One line of a recording. Readers ignore entries of unknown types. */
export type RecordingEntry = Plain<
  | HeaderEntry
  | StartEntry
  | AgentEntry
  | RequestEntry
  | ValueEntry
  | DeltasEntry
  | RequestEndEntry
  | StopEntry
  | PromptEntry
  | EndEntry
  | ExchangeEntry
>;

/** An entry of a run. */
export type RunEntry = Exclude<RecordingEntry, HeaderEntry | ExchangeEntry>;

/** Identifies a run among those of all recorders that write to one sink. */
export const runKey = ({ recorder = '', run }: OfRun): string => `${run}/${recorder}`;
