import type { JsonObject, JsonValue } from './json/json.js';

/**
 * Data that a provider must get back, under the provider's name: signatures, response ids, encrypted reasoning. It is
 * sent to that provider only; the others ignore it.
 */
export type ProviderData = JsonObject;

/** Data about a message or a run, for the reader. The data under a provider's name is for that provider. */
export type Metadata = JsonObject;

/** Text. */
export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly providerData?: ProviderData;
}

/** An image, a document or audio: as base64 `data` or as a `url`. */
export type FilePart = {
  readonly type: 'file';
  /** The media type (`image/png`, `application/pdf`). */
  readonly mediaType: string;
  /** The file's name, if it has one. */
  readonly name?: string;
  readonly providerData?: ProviderData;
} & (
  | { /** The bytes in base64. */ readonly data: string; readonly url?: never }
  | { /** Where the provider can fetch it. */ readonly url: string; readonly data?: never }
);

/** A source that the model cites: a page, a file, a passage. */
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

/** A complete tool call. Arguments that were not valid JSON are `{ _raw, _error: 'invalid_json' }`. */
export interface ToolCallPart<Name extends string = string, Arguments = JsonObject> {
  readonly type: 'toolCall';
  readonly id: string;
  readonly name: Name;
  /** As the model sent them. They are validated when the tool runs. */
  readonly arguments: Arguments;
  readonly providerData?: ProviderData;
}

/**
 * Why a call has an error instead of a result. `cancelled`: it was stopped while it ran; `not_executed`: it was never
 * started; `denied`: its approval was refused; `unknown_tool`: there is no such tool; `invalid_arguments`: the
 * arguments are not JSON, or not what the schema requires; `timeout`: the deadline passed; `failed`: the tool threw, or
 * returned something that JSON cannot represent.
 */
export type ToolErrorCode =
  'cancelled' | 'not_executed' | 'denied' | 'unknown_tool' | 'invalid_arguments' | 'timeout' | 'failed';

/** The result of a tool call, or its error. `id` and `name` are those of the call. */
export type ToolResultPart<Name extends string = string, Result = JsonValue> =
  | {
      readonly type: 'toolResult';
      readonly id: string;
      readonly name: Name;
      readonly result: Result;
      readonly error?: never;
      readonly code?: never;
    }
  | {
      readonly type: 'toolResult';
      readonly id: string;
      readonly name: Name;
      /** What the model is told. */
      readonly error: string;
      readonly code?: ToolErrorCode;
      readonly result?: never;
    };

/** The texts of the errors that have no details. */
export const toolErrorTexts = {
  cancelled: 'The call was cancelled.',
  not_executed: 'The call was not executed.',
} as const satisfies Partial<Record<ToolErrorCode, string>>;

/** The answer to a call that did not end, or did not begin. */
export function unfinishedResult({ id, name }: ToolCallPart, code: keyof typeof toolErrorTexts): ToolResultPart {
  return { type: 'toolResult', id, name, error: toolErrorTexts[code], code };
}

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

/** Creates a message from a text or from parts. */
export function message(role: Role, content: string | readonly Part[]): Message {
  return { role, parts: typeof content === 'string' ? [{ type: 'text', text: content }] : content };
}

/** Creates a message of the user. */
export const userMessage = (content: string | readonly Part[]): Message => message('user', content);

/** Creates a message of the model. */
export const modelMessage = (content: string | readonly Part[]): Message => message('model', content);

/** Creates a system message: instructions for the model. */
export const systemMessage = (content: string): Message => message('system', content);

/**
 * Creates a part that holds a file: bytes are encoded in base64, a URL is passed on unchanged.
 *
 * ```ts
 * userMessage([{ type: 'text', text: 'What is this?' }, filePart(bytes, 'image/png')]);
 * ```
 *
 * @param content The bytes, or the URL from which the provider can fetch them.
 * @param mediaType The media type (`image/png`, `application/pdf`).
 * @param name The file's name, if the model should know it.
 */
export function filePart(content: Uint8Array | URL, mediaType: string, name?: string): FilePart {
  const nameField = name === undefined ? {} : { name };
  return content instanceof URL
    ? { type: 'file', mediaType, url: content.href, ...nameField }
    : { type: 'file', mediaType, data: base64(content), ...nameField };
}

/**
 * Encodes bytes in base64 without Node's Buffer. In slices, because spreading millions of arguments overflows the
 * stack.
 */
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

/** Whether a message holds tool results. */
export function hasToolResults(of: Message | undefined): boolean {
  return of?.parts.some((part) => part.type === 'toolResult') ?? false;
}
