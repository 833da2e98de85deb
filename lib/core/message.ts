import { mapChanged, objectOrEmpty, type JsonObject, type JsonValue } from './json/json.js';
import type { ProviderData, ProviderPart } from './providerPart.js';
import type { Plain, OfType } from './typesOf.js';

/**
 * Fields for a provider's request, under the provider's name. They are merged into what Rivulet encodes, and override
 * it: `{ anthropic: { cache_control: { type: 'ephemeral' } } }`. Other providers ignore them.
 */
export type ProviderOptions = Readonly<Record<string, JsonObject>>;

export type Metadata = JsonObject;

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  /** Fields for the provider's encoding of this part (`cache_control`). Default: none. */
  readonly providerOptions?: ProviderOptions;
}

export type FilePart = {
  readonly type: 'file';
  readonly mediaType: string;
  readonly name?: string;
  readonly providerData?: ProviderData;
  /** Fields for the provider's encoding of this part (`cache_control`, `detail`). Default: none. */
  readonly providerOptions?: ProviderOptions;
} & (
  | { /** The bytes in base64. */ readonly data: string; readonly url?: never }
  | { /** The URL from which the provider can fetch the file. */ readonly url: string; readonly data?: never }
);

export interface SourcePart {
  readonly type: 'source';
  /** The provider's id of the source. */
  readonly id?: string;
  /** As the provider or the model wrote it: make a link only of `https:`, `http:` and `mailto:`. */
  readonly url?: string;
  readonly title?: string;
  readonly text?: string;
  /** Where in the text of the response the citation begins, in characters as the provider counts them. */
  readonly start?: number;
  /** The position after the last character of the citation, counted like `start`. */
  readonly end?: number;
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
 * Why a call has an error instead of a result. `cancelled`: it was cancelled while it ran; `not_executed`: it was never
 * started; `denied`: its approval was denied; `unknown_tool`: there is no tool with its name; `invalid_arguments`:
 * the arguments are not JSON, or do not match the schema; `timeout`: the tool missed its deadline; `failed`: the tool
 * threw, or returned a value that JSON cannot represent; `outcome_unknown`: the process that executed it ended, and
 * the tool must not be executed twice; `incomplete`: the agent behind the tool (`agentTool`) ended without an
 * answer.
 */
export type ToolErrorCode =
  | 'cancelled'
  | 'not_executed'
  | 'denied'
  | 'unknown_tool'
  | 'invalid_arguments'
  | 'timeout'
  | 'failed'
  | 'outcome_unknown'
  | 'incomplete';

/** The result of a tool call, or its error. `id` and `name` are those of the call. */
export type ToolResultPart<Name extends string = string, Result = JsonValue> =
  | AnsweredCall<Name, Result>
  | UnansweredCall<Name>;

export interface AnsweredCall<Name extends string, Result> {
  readonly type: 'toolResult';
  readonly id: string;
  readonly name: Name;
  readonly result: Result;
  /** The arguments of the execution, if the person who approved the call has changed them. The model reads them. */
  readonly arguments?: JsonObject;
  readonly error?: never;
  readonly code?: never;
  readonly reason?: never;
  readonly data?: never;
}

export interface UnansweredCall<Name extends string> {
  readonly type: 'toolResult';
  readonly id: string;
  readonly name: Name;
  readonly error: string;
  readonly code?: ToolErrorCode;
  /** What the person who denied the call has said. */
  readonly reason?: string;
  /** The arguments of the execution, if the person who approved the call has changed them. */
  readonly arguments?: JsonObject;
  /** What the tool had done. Of an agent that has ended without an answer: its `finishReason` and its `text`. */
  readonly data?: JsonObject;
  readonly result?: never;
}

/** The error messages for calls that were not executed, or did not end. */
export const toolErrorTexts = {
  cancelled: 'The call was cancelled.',
  not_executed: 'The call was not executed.',
  denied: 'The user denied the call.',
} as const satisfies Partial<Record<ToolErrorCode, string>>;

export const denialText = (reason: string | undefined): string =>
  reason === undefined ? toolErrorTexts.denied : `${toolErrorTexts.denied} Reason: ${reason}`;

/** What the model reads before the result of a call whose arguments a person has changed. */
export const editedArgumentsNote = ({ arguments: args }: Pick<ToolResultPart, 'arguments'>): string =>
  args ? `The user changed the arguments to ${JSON.stringify(args)}.\n` : '';

export function unfinishedResult(
  { id, name }: Pick<ToolCallPart, 'id' | 'name'>,
  code: 'cancelled' | 'not_executed',
): ToolResultPart {
  return { type: 'toolResult', id, name, error: toolErrorTexts[code], code };
}

/** A part of a message. */
export type Part = Plain<TextPart | FilePart | SourcePart | ToolCallPart | ToolResultPart | ProviderPart>;

export type ReadablePart = Exclude<Part, { readonly type: 'provider' }>;

/** The author of a message. The tool results of a turn are one `user` message. */
export type Role = 'system' | 'user' | 'model';

/** One message of a conversation. Immutable, plain JSON. */
export interface Message {
  /**
   * The id of a prompt of the user, which a run takes once, however often it arrives. The provider does not receive it.
   * A service reads 32 hexadecimal digits, or a UUID. Default: none.
   */
  readonly id?: string;
  readonly role: Role;
  /** In order of arrival. */
  readonly parts: readonly Part[];
  readonly metadata?: Metadata;
  /**
   * Fields for the provider's encoding of this message; of its last block, if the wire has options for blocks only
   * (Anthropic's `cache_control`). Default: none.
   */
  readonly providerOptions?: ProviderOptions;
}

function message(role: Role, content: string | readonly Part[]): Message {
  return { role, parts: typeof content === 'string' ? [{ type: 'text', text: content }] : content };
}

export const readableParts = (parts: readonly Part[]): readonly ReadablePart[] =>
  parts.filter((part) => part.type !== 'provider');

/** Creates a user message. */
export const userMessage = (content: string | readonly Part[]): Message => message('user', content);

/** Creates a message as if the model had written it. */
export const modelMessage = (content: string | readonly Part[]): Message => message('model', content);

/** Creates a system message: instructions for the model. */
export const systemMessage = (content: string): Message => message('system', content);

/**
 * Creates a part with a file: bytes are encoded in base64, a URL is passed on unchanged. A file that a person has
 * chosen is read, with its type and its name: its part is in a Promise.
 *
 * ```ts
 * userMessage([{ type: 'text', text: 'What is this?' }, filePart(bytes, 'image/png')]);
 * userMessage([{ type: 'text', text: 'What is this?' }, await filePart(input.files[0])]);
 * ```
 *
 * @param content The bytes, the URL from which the provider can fetch them, or the `File` of a page.
 * @param mediaType The media type (`image/png`, `application/pdf`).
 * @param name The file's name, for the model. Default: none.
 */
export function filePart(content: Blob): Promise<OfType<Part, 'file'>>;
export function filePart(content: Uint8Array | URL, mediaType: string, name?: string): OfType<Part, 'file'>;
export function filePart(
  content: Uint8Array | URL | Blob,
  mediaType = 'application/octet-stream',
  name?: string,
): OfType<Part, 'file'> | Promise<OfType<Part, 'file'>> {
  if ('arrayBuffer' in content)
    return content
      .arrayBuffer()
      .then((bytes) => filePart(new Uint8Array(bytes), content.type || mediaType, (content as Partial<File>).name));
  const nameField = name === undefined ? {} : { name };
  return content instanceof URL
    ? { type: 'file', mediaType, url: content.href, ...nameField }
    : { type: 'file', mediaType, data: base64(content), ...nameField };
}

const SLICE_LENGTH = 0x8000;

/** Without Node's Buffer, and in slices: spreading millions of arguments would overflow the stack. */
export function base64(bytes: Uint8Array): string {
  let binary = '';
  for (let start = 0; start < bytes.length; start += SLICE_LENGTH)
    binary += String.fromCharCode(...bytes.subarray(start, start + SLICE_LENGTH));
  return btoa(binary);
}

/** In a loop: `Uint8Array.from` with a function takes 20 times as long. Undefined if the text is not Base64. */
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** All text parts of a message, joined without a separator. */
export function messageText({ parts }: Pick<Message, 'parts'>): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The text of the last message if the model wrote it: the answer of a run. Otherwise empty. */
export function answerOf(messages: readonly Message[]): string {
  const last = messages.at(-1);
  return last?.role === 'model' ? messageText(last) : '';
}

/** The tool calls of a message, in order. */
/** The same message if no part has changed. */
export function mapParts(message: Message, map: (part: Part) => Part): Message {
  const parts = mapChanged(message.parts, map);
  return parts === message.parts ? message : { ...message, parts };
}

export function toolCallsOf({ parts }: Pick<Message, 'parts'>): readonly OfType<Part, 'toolCall'>[] {
  return parts.filter((part) => part.type === 'toolCall');
}

/** The result that a message reports if it joined the run for a call in the background (`backgroundTool`). */
export function joinedResult({ metadata }: Pick<Message, 'metadata'>): ToolResultPart | undefined {
  const joined = objectOrEmpty(metadata?.['background']);
  return joined['type'] === 'toolResult' ? (joined as unknown as ToolResultPart) : undefined;
}

export function resultsIn(message: Message): readonly ToolResultPart[] {
  const joined = joinedResult(message);
  return joined ? [joined] : message.parts.filter((part) => part.type === 'toolResult');
}

/** Whether the result of a call is the handle of its work in the background. */
export function isHandle({ id, result }: ToolResultPart): boolean {
  const { handle, status } = objectOrEmpty(result);
  return handle === id && status === 'running';
}

/** Whether a message contains tool results. */
export function hasToolResults(message: Message | undefined): boolean {
  return message?.parts.some((part) => part.type === 'toolResult') ?? false;
}
