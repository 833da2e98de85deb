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

/** A missing end means that the recording was cut off. */
export type RecordedOutcome = 'completed' | 'failed' | 'unsubscribed';

interface At {
  /** Milliseconds of RxJS's clock: since 1970, or since the start of virtual time. */
  readonly at: number;
  /** Parts were not recorded because the line was too long. */
  readonly cut?: true;
}

/** Several recorders may write to one sink, and their entries may alternate. */
interface ByRecorder {
  /** Absent in version 1. */
  readonly recorder?: string;
}

interface OfRun extends At, ByRecorder {
  readonly run: number;
}

interface OfRequest extends OfRun {
  readonly request: number;
}

interface HeaderEntry extends At, ByRecorder {
  readonly type: 'recording';
  readonly version: number;
  /** Without content, texts, arguments and results are masked by dots. */
  readonly content: boolean;
}

export interface StartEntry extends OfRun {
  readonly type: 'start';
  readonly kind: 'run' | 'model';
  readonly name?: string;
  readonly input?: readonly Message[];
  readonly history?: readonly Message[];
  readonly resumed?: true;
  readonly checkpoint?: Checkpoint;
  readonly answers?: CallAnswers;
}

/** In the first turn: those that JSON can represent. */
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

export interface RequestEntry extends OfRequest {
  readonly type: 'request';
  readonly model: { readonly provider: string; readonly name: string };
  /** How many messages of the request were in the previous request of the run, too. */
  readonly earlier: number;
  /** The messages that follow those. */
  readonly messages: readonly Message[];
  /** Absent if the tools are those of the previous request. */
  readonly tools?: readonly ToolDefinition[];
  readonly settings?: JsonObject;
}

/** A chunk that only the model emitted, an event that only the run emitted, or one object of both. */
export interface ValueEntry extends OfRun {
  readonly type: 'chunk' | 'event' | 'both';
  readonly request?: number;
  readonly value: StreamEvent;
}

/** Consecutive deltas: value number n is `value` with `texts[n]` as its `field`. */
export interface DeltasEntry extends OfRun {
  readonly type: 'deltas';
  readonly of: ValueEntry['type'];
  readonly request?: number;
  readonly value: StreamEvent;
  readonly field: 'text' | 'arguments';
  readonly texts: readonly string[];
  /** Milliseconds since `at`, of each delta. */
  readonly after: readonly number[];
}

export interface RequestEndEntry extends OfRequest {
  readonly type: 'requestEnd';
  readonly outcome: RecordedOutcome;
  readonly error?: JsonObject;
  /** How many entries exceeded the limit of the recording. */
  readonly dropped?: number;
}

interface StopEntry extends OfRun {
  readonly type: 'stop';
}

interface PromptEntry extends OfRun {
  readonly type: 'prompt';
  readonly messages: readonly Message[];
}

export interface EndEntry extends OfRun {
  readonly type: 'end';
  readonly outcome: RecordedOutcome;
  readonly error?: JsonObject;
  /** How many entries exceeded the limit of the recording. */
  readonly dropped?: number;
}

export interface ExchangeEntry extends At, ByRecorder {
  readonly type: 'exchange';
  readonly exchange: RecordedExchange;
  /** Milliseconds since `at`, of each frame. */
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

export type RunEntry = Exclude<RecordingEntry, HeaderEntry | ExchangeEntry>;

/** Unique among all recorders that write to one sink. */
export const runKey = ({ recorder = '', run }: OfRun): string => `${run}/${recorder}`;
