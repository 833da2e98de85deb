import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, Message, SourcePart } from '../../core/message.js';
import type { ModelRequest, Thinking } from '../../core/model.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';

export interface Replay {
  createCollector(provider: string, out: ChunkReceiver): ReplayCollector;
  fields(message: Message, provider: string): JsonObject;
}

export interface ReplayCollector {
  /** No delta had reasoning, so that of the message counts. */
  readonly hasNoReasoning: boolean;
  add(delta: JsonObject): void;
  /** Adds the next part of the content: a thought is held, and emitted before any other part. */
  addPart(part?: unknown): void;
  end(hasCalls: boolean): void;
}

export interface MeasureReceiver {
  addUnknown(frame: JsonObject): void;
  emitProgress(fields: JsonObject): void;
}

export interface OtherContent {
  readFiles(delta: JsonObject): readonly FilePart[];
  readReferences(delta: JsonObject): readonly SourcePart[];
  readFrameSources(frame: JsonObject): readonly SourcePart[];
  readReasoningDetails(delta: JsonObject): string;
  readCost(frame: JsonObject): number | undefined;
  addMeasures(frame: JsonObject, report: MeasureReceiver): void;
  readFailure(frame: JsonObject): JsonObject | undefined;
}

/**
 * How a server's API differs from OpenAI's Chat Completions API. Text, thinking and calls need no dialect, because the
 * decoder reads all known variants. Only the provider's name is required. The defaults suit OpenAI's own API, except
 * for `maxTokens`.
 */
export interface Dialect {
  /** The provider's name, used in errors and as the key of its provider data. */
  readonly provider: string;
  /** The path below the base URL. Default: `/chat/completions`. */
  readonly path?: string;
  /**
   * The field for `maxOutputTokens`. Default: `max_tokens`, which all compatible servers accept. OpenAI replaced it
   * with `max_completion_tokens`.
   */
  readonly maxTokens?: 'max_tokens' | 'max_completion_tokens';
  /**
   * Whether to request usage with `stream_options`. Default: true. Set it to false for a server that rejects the field
   * and always sends usage.
   */
  readonly streamUsage?: boolean;
  /** Whether `file_data` accepts URLs. Default: false. OpenAI accepts only bytes; OpenRouter accepts both. */
  readonly fileUrls?: boolean;
  /**
   * Whether a tool result may contain files, encoded as in a user message. Default: false, only text files, as OpenAI
   * documents it (`ChatCompletionToolMessageParam`). OpenRouter accepts all files (`ToolResponseMessage` in its SDK).
   */
  readonly resultFiles?: boolean;
  /**
   * Whether the roles have to alternate, as the templates of Mistral's and Gemma's models require it ("roles must
   * alternate user/assistant"): messages of one role are joined, and an answer is added between results and a user's
   * message. Default: false.
   */
  readonly alternateRoles?: boolean;
  /** Encodes the setting `thinking` as fields of the body. Default: `reasoning_effort`. */
  readonly thinking?: (thinking: Thinking) => JsonObject;
  /** Encodes a file as a content part. Default, and if it returns undefined: the encoding that the API documents. */
  readonly file?: (file: FilePart) => JsonObject | undefined;
  /**
   * Converts a call's id to a valid id. It must return the same id for a call and its result. Default: ids are
   * unchanged. Mistral, for example, requires nine letters and digits.
   */
  readonly callId?: (id: string) => string;
  /**
   * Whether the server sends each call complete, in one delta, so that an eager tool starts at once. Default: false, a
   * call may go on until the next one or the end.
   */
  readonly wholeCalls?: boolean;
  /** Changes the complete body, for example to rename or remove fields. Default: the body is unchanged. */
  readonly body?: (body: JsonObject, request: ModelRequest) => JsonObject;
  /** Reads content that OpenAI's API does not have. Default: it is ignored. */
  readonly otherContent?: OtherContent;
  /** What the server expects back. Default: nothing, as with OpenAI. */
  readonly replay?: Replay | undefined;
  /** The messages of a context that is too long, in addition to OpenAI's. Default: none. */
  readonly contextLengthPatterns?: readonly RegExp[];
}
