import type { JsonObject } from './json/json.js';
import type { Metadata, Part } from './message.js';
import type { ProviderData, ProviderPart } from './providerPart.js';
import type { Usage } from './usage.js';
import type { OfType, Plain } from './typesOf.js';

/**
 * Why a turn, or a run, ended.
 *
 * - `stop`: the model completed its response;
 * - `length`: the token limit truncated the response;
 * - `toolCalls`: the model calls tools;
 * - `contentFilter`: the provider withheld the response, or the model refused;
 * - `paused`: the provider expects another request to continue;
 * - `stopped`: the application stopped the run;
 * - `waiting`: the run waits for decisions or results of tool calls;
 * - `maxTurns`: the run reached its maximum number of turns;
 * - `limit`: the run reached another limit; `rawReason` names it;
 * - `error`: the provider reported a failure;
 * - `other`: a reason that is not in this list; `rawReason` contains it;
 * - `unspecified`: the provider reported no reason.
 */
export type FinishReason =
  | 'stop'
  | 'length'
  | 'toolCalls'
  | 'contentFilter'
  | 'paused'
  | 'stopped'
  | 'waiting'
  | 'maxTurns'
  | 'limit'
  | 'error'
  | 'other'
  | 'unspecified';

/** The response is incomplete or void: no tool runs, and the run ends. */
export const vetoReasons: ReadonlySet<FinishReason> = new Set(['length', 'contentFilter', 'error', 'stopped']);

export interface TextChunk {
  readonly type: 'text';
  readonly text: string;
  /** The beginning of `text` that `prefixAfterTools` added to separate it from an earlier turn. A view may omit it. */
  readonly prefix?: string;
}

export const withoutPrefix = ({ text, prefix = '' }: TextChunk): string => text.slice(prefix.length);

/** A delta of the model's reasoning. Never part of a message. */
export interface ThinkingChunk {
  readonly type: 'thinking';
  readonly text: string;
}

/** A fragment of a tool call, as the provider sends it. `accumulateToolCalls` joins the fragments of any provider. */
export interface ToolCallFragment {
  readonly type: 'toolCallFragment';
  /** The provider's index of the call, or the id of its block or item. */
  readonly index?: number | string;
  /** The provider's id of the call. */
  readonly id?: string;
  /** The name, or a fragment of it. */
  readonly name?: string;
  /** A fragment of the arguments' JSON text, or the arguments as an object. */
  readonly arguments?: string | JsonObject | null;
  /** Set if the provider marks the end of the call in this fragment. */
  readonly done?: true;
  /**
   * Set if this fragment is only for readers: nothing is a call until a fragment without it brings the whole call, with
   * the same `index`. What that one has counts.
   */
  readonly preview?: true;
  readonly providerData?: ProviderData;
}

export function argumentsDelta({ arguments: args }: Pick<ToolCallFragment, 'arguments'>): string {
  if (typeof args === 'string') return args;
  return args ? JSON.stringify(args) : '';
}

export interface FileChunk {
  readonly type: 'file';
  readonly file: OfType<Part, 'file'>;
}

export interface SourceChunk {
  readonly type: 'source';
  readonly source: OfType<Part, 'source'>;
}

/** Data for the subscriber: emitted once, not stored in the history. */
export interface MetadataChunk {
  readonly type: 'metadata';
  readonly metadata: Metadata;
}

/** A part of the message that only the provider can read. It is not emitted to the subscriber. */
export interface ProviderChunk extends ProviderPart {
  /** Set if it makes a message even without any other part: the user may have to reply to it. */
  readonly standsAlone?: true;
}

/** Voids all chunks since the start of the turn: the turn starts over. */
export interface RetractChunk {
  readonly type: 'retract';
  /** In the log of a service, when another process continues the run: the number of its attempt, from 2. */
  readonly attempt?: number;
  /** The usage of the void attempt, if known. It counts as usage of the turn. */
  readonly usage?: Usage;
}

/** Something is sent again after a delay. It voids nothing (`retract` does), and may precede the first chunk. */
export interface RetryChunk {
  readonly type: 'retry';
  /** The number of the retry, from 1. */
  readonly attempt: number;
  /** The time until the retry, in milliseconds. */
  readonly delay: number;
  /** Why the previous attempt failed: `toJSON()` of its error, without secrets. */
  readonly error: JsonObject;
  /** The model that is asked instead. Absent: the same one is asked again. */
  readonly next?: { readonly provider: string; readonly name: string };
}

export interface FinishChunk {
  readonly type: 'finish';
  readonly reason: FinishReason;
  /** The provider's raw finish reason, if `reason` does not express it completely. */
  readonly rawReason?: string;
  readonly usage?: Usage;
}

/** A value that a model emits, independent of the provider's wire format. */
export type Chunk = Plain<
  | TextChunk
  | ThinkingChunk
  | ToolCallFragment
  | FileChunk
  | SourceChunk
  | MetadataChunk
  | ProviderChunk
  | RetractChunk
  | RetryChunk
  | FinishChunk
>;
