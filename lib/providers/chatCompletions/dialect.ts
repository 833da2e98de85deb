import type { JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import type { Request, Thinking } from '../../core/model.js';

/**
 * How a server's requests differ from those of the Chat Completions API. Responses need no dialect: the decoder reads all known
 * variants. Only the provider's name is required; the defaults are those of OpenAI's own API, except for `maxTokens`.
 */
export interface Dialect {
  /** The provider's name: in errors, and as the key of its provider data. */
  readonly provider: string;
  /** The path below the base URL. Default: `/chat/completions`. */
  readonly path?: string;
  /** The field for `maxOutputTokens`. Default: `max_tokens`, which all compatible servers accept; OpenAI itself replaced it. */
  readonly maxTokens?: 'max_tokens' | 'max_completion_tokens';
  /** Whether to request usage with `stream_options`. Default: true; false for servers that refuse the field and always send usage. */
  readonly streamUsage?: boolean;
  /** Whether `file_data` accepts URLs. Default: false: OpenAI accepts only bytes, OpenRouter accepts both. */
  readonly fileUrls?: boolean;
  /** Encodes the setting `thinking` as fields of the body. Default: `reasoning_effort`. */
  readonly thinking?: (thinking: Thinking) => JsonObject;
  /** Encodes a file as a content part. Default, and for undefined: as the API documents it. */
  readonly file?: (file: FilePart) => JsonObject | undefined;
  /** Makes a call's id valid; the call and its result must get the same id. Default: unchanged; Mistral requires nine letters and digits. */
  readonly callId?: (id: string) => string;
  /** Changes the complete body: renames and removals. Default: unchanged. */
  readonly body?: (body: JsonObject, request: Request) => JsonObject;
}
