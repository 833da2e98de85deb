import type { JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import type { Request, Thinking } from '../../core/model.js';

/**
 * How a server's requests differ from OpenAI's Chat Completions API. Responses need no dialect, because the decoder
 * reads all known variants. Only the provider's name is required. The defaults suit OpenAI's own API, except for
 * `maxTokens`.
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
  /** Encodes the setting `thinking` as fields of the body. Default: `reasoning_effort`. */
  readonly thinking?: (thinking: Thinking) => JsonObject;
  /** Encodes a file as a content part. Default, and if it returns undefined: the encoding that the API documents. */
  readonly file?: (file: FilePart) => JsonObject | undefined;
  /**
   * Converts a call's id to a valid id. It must return the same id for a call and its result. Default: ids are
   * unchanged. Mistral, for example, requires nine letters and digits.
   */
  readonly callId?: (id: string) => string;
  /** Changes the complete body, for example to rename or remove fields. Default: the body is unchanged. */
  readonly body?: (body: JsonObject, request: Request) => JsonObject;
}
