import type { JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import type { Request, Thinking } from '../../core/model.js';

/**
 * Where servers of the Chat Completions API differ in what they take. What they send needs no dialect: it is read by what it is.
 * All fields but the provider's name have defaults, those of OpenAI's own API except for the name of the token limit.
 */
export interface Dialect {
  /** The provider's name: in errors, and as the key of its provider data. */
  readonly provider: string;
  /** The path below the base URL. Default `/chat/completions`. */
  readonly path?: string;
  /** The field for `maxOutputTokens`. Default `max_tokens`, which all compatible servers know; OpenAI's own replaces it. */
  readonly maxTokens?: 'max_tokens' | 'max_completion_tokens';
  /** Whether to ask for usage with `stream_options`. Default true; false for servers that refuse the field and send usage anyway. */
  readonly streamUsage?: boolean;
  /** Whether files other than images may be passed by address, in `file_data`. Default false: OpenAI takes bytes only, OpenRouter takes both. */
  readonly fileUrls?: boolean;
  /** Fields for the wish to think. Default: `reasoning_effort`. */
  readonly thinking?: (thinking: Thinking) => JsonObject;
  /** The content part for a file, where it differs; undefined for the default. */
  readonly file?: (file: FilePart) => JsonObject | undefined;
  /** Makes an id of a tool call valid, the same way for the call and its result. Default: as it is; Mistral wants nine letters and digits. */
  readonly callId?: (id: string) => string;
  /** The last word on the body: renames and removals. Default: as it is. */
  readonly body?: (body: JsonObject, request: Request) => JsonObject;
}
