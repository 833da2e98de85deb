import type { JsonObject, JsonValue } from './json/json.js';

/**
 * What a provider must get back, under the provider's name: signatures, response ids, encrypted reasoning. It is echoed by that provider
 * only; the others ignore it.
 */
export type ProviderData = JsonObject;

/** Data about a message or a run, for the reader; under a provider's name, for that provider. */
export type Metadata = JsonObject;

/** Text. */
export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly providerData?: ProviderData;
}

/** An image, a document, a sound: as base64 `data` or as a `url`. */
export type FilePart = {
  readonly type: 'file';
  /** The media type (`image/png`, `application/pdf`). */
  readonly mediaType: string;
  /** The file's name, where there is one. */
  readonly name?: string;
  readonly providerData?: ProviderData;
} & (
  | { /** The bytes in base64. */ readonly data: string; readonly url?: never }
  | { /** Where the provider can fetch it. */ readonly url: string; readonly data?: never }
);

/** Something the model cites: a page, a file, a passage. */
export interface SourcePart {
  readonly type: 'source';
  /** The provider's id of the source. */
  readonly id?: string;
  readonly url?: string;
  readonly title?: string;
  /** The cited passage. */
  readonly text?: string;
  readonly providerData?: ProviderData;
}

/** A whole tool call. Arguments that were not valid JSON are `{ _raw, _error: 'invalid_json' }`. */
export interface ToolCallPart {
  readonly type: 'toolCall';
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly providerData?: ProviderData;
}

/** What a tool answered: `result`, or what went wrong as `error`. `id` and `name` are the call's. */
export type ToolResultPart = { readonly type: 'toolResult'; readonly id: string; readonly name: string } & (
  { readonly result: JsonValue; readonly error?: never } | { readonly error: string; readonly result?: never }
);

export type Part = TextPart | FilePart | SourcePart | ToolCallPart | ToolResultPart;

/** The tool results of a turn travel in one `user` message. */
export type Role = 'system' | 'user' | 'model';

/** One message of a conversation. Immutable, plain JSON. */
export interface Message {
  readonly role: Role;
  /** In order of arrival. */
  readonly parts: readonly Part[];
  readonly metadata?: Metadata;
}

/** A message of one text, or of parts. */
export function message(role: Role, content: string | readonly Part[]): Message {
  return { role, parts: typeof content === 'string' ? [{ type: 'text', text: content }] : content };
}

/** A message of the user. */
export const userMessage = (content: string | readonly Part[]): Message => message('user', content);

/** A message of the model. */
export const modelMessage = (content: string | readonly Part[]): Message => message('model', content);

/** Instructions for the model. */
export const systemMessage = (content: string): Message => message('system', content);

/**
 * A file as a part: bytes are encoded in base64, a URL is passed as it is.
 *
 * ```ts
 * userMessage([{ type: 'text', text: 'What is this?' }, filePart(bytes, 'image/png')]);
 * ```
 *
 * @param content The bytes, or where the provider can fetch them.
 * @param mediaType The media type (`image/png`, `application/pdf`).
 * @param name The file's name, where the model should know it.
 */
export function filePart(content: Uint8Array | URL, mediaType: string, name?: string): FilePart {
  const named = name === undefined ? {} : { name };
  return content instanceof URL
    ? { type: 'file', mediaType, url: content.href, ...named }
    : { type: 'file', mediaType, data: base64(content), ...named };
}

/** Base64 of bytes, without Node's Buffer. In slices: a spread of millions of arguments overflows the stack. */
export function base64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}

/** All text parts of a message, joined without a separator. */
export function messageText(of: Message): string {
  return of.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The tool calls of a message, in order. */
export function toolCallsOf(of: Message): readonly ToolCallPart[] {
  return of.parts.filter((part) => part.type === 'toolCall');
}

/** Whether a message carries tool results. */
export function hasToolResults(of: Message | undefined): boolean {
  return of?.parts.some((part) => part.type === 'toolResult') ?? false;
}
