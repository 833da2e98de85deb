import type { JsonObject, JsonValue } from './json/json.js';
import type { FilePart, Metadata, ProviderData, SourcePart } from './message.js';
import type { Usage } from './usage.js';

/**
 * Why a turn, or a run, ended. `unspecified`: the provider gave no reason; `other`: one that has no name here (`rawReason` holds it);
 * `paused`: the provider wants to be asked again to go on; `stopped`: by the reader; `maxTurns`: by the limit of the run.
 */
export type FinishReason =
  | 'stop'
  | 'length'
  | 'toolCalls'
  | 'contentFilter'
  | 'paused'
  | 'stopped'
  | 'maxTurns'
  | 'error'
  | 'other'
  | 'unspecified';

/** Visible text, as it streams. */
export interface TextChunk {
  readonly type: 'text';
  readonly text: string;
  readonly providerData?: ProviderData;
}

/** The model's reasoning, as it streams. Never part of a message. */
export interface ThinkingChunk {
  readonly type: 'thinking';
  readonly text: string;
}

/** A piece of a tool call in any dialect: whatever the wire says of it, joined by `accumulateToolCalls`. */
export interface ToolCallFragment {
  readonly type: 'toolCallFragment';
  /** The wire's index of the call, or the id of its block or item. */
  readonly index?: number | string;
  /** The wire's id of the call. */
  readonly id?: string;
  /** The name, or a piece of it. */
  readonly name?: string;
  /** A piece of the arguments' JSON text, or the arguments. */
  readonly arguments?: string | JsonObject | null;
  /** The wire marks the end of the call. */
  readonly done?: true;
  readonly providerData?: ProviderData;
}

/** A file that the model made. */
export interface FileChunk {
  readonly type: 'file';
  readonly file: FilePart;
}

/** A source that the model cites. */
export interface SourceChunk {
  readonly type: 'source';
  readonly source: SourcePart;
}

/** For the reader: passed through once, never stored. */
export interface MetadataChunk {
  readonly type: 'metadata';
  readonly metadata: Metadata;
}

/** For the provider: stored in the message, not shown. */
export interface ProviderDataChunk {
  readonly type: 'providerData';
  readonly provider: string;
  readonly data: JsonValue;
}

/** All chunks since the turn began are void; the turn starts over. */
export interface RetractChunk {
  readonly type: 'retract';
  /** What the void attempt has used, where it is known: it counts as usage of the turn. */
  readonly usage?: Usage;
}

/** The terminal mark of a model's stream: exactly one, last. */
export interface FinishChunk {
  readonly type: 'finish';
  readonly reason: FinishReason;
  /** The provider's own word, where `reason` does not say it all. */
  readonly rawReason?: string;
  readonly usage?: Usage;
}

/** What a model emits, free of the provider's dialect. */
export type Chunk =
  | TextChunk
  | ThinkingChunk
  | ToolCallFragment
  | FileChunk
  | SourceChunk
  | MetadataChunk
  | ProviderDataChunk
  | RetractChunk
  | FinishChunk;
