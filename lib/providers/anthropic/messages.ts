import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined, isJsonObject, asArray, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, Message, Part, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { createCallIdMapper } from '../shared/callIds.js';
import { baseMediaType, inlineDataUrl, textOfFile } from '../shared/files.js';

type MapCallId = (id: string) => string;

/** A message in the API's format. */
interface WireMessage extends JsonObject {
  readonly role: 'user' | 'assistant';
  readonly content: readonly JsonObject[];
}

/**
 * Encodes a conversation as a system prompt and messages of content blocks. Blank texts are omitted, because the API
 * rejects them ("text content blocks must contain non-whitespace text"); so are messages that become empty.
 */
export function encodeMessages(messages: readonly Message[]): {
  readonly system: string | undefined;
  readonly messages: readonly JsonObject[];
} {
  const toValidId = createCallIdMapper(messages);
  const system = messages
    .flatMap(({ role, parts }) => (role === 'system' ? parts : []))
    .flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : []))
    .join('\n\n');
  const turns = messages.flatMap((message) => encodeMessage(message, toValidId));
  return { system: nonEmptyString(system), messages: trimLastMessage(turns) };
}

function encodeMessage({ role, parts }: Message, toValidId: MapCallId): readonly WireMessage[] {
  if (role === 'system') return [];
  const content = role === 'user' ? encodeUserParts(parts, toValidId) : encodeModelParts(parts, toValidId);
  return content.length === 0 ? [] : [{ role: role === 'user' ? 'user' : 'assistant', content }];
}

/**
 * Encodes a user message. Tool results come first: the API requires them directly after the calls, before any text
 * ("Handle tool calls").
 */
function encodeUserParts(parts: readonly Part[], toValidId: MapCallId): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, toValidId));
  const content = parts.flatMap((part) => {
    if (part.type === 'text') return textBlock(part.text);
    return part.type === 'file' ? [encodeFile(part)] : [];
  });
  return [...results, ...content];
}

/**
 * Encodes a tool result. A blank error message is replaced by a text: the API rejects it ("content cannot be empty if
 * `is_error` is true").
 */
function encodeResult({ id, result, error }: ToolResultPart, toValidId: MapCallId): JsonObject {
  const value = error ?? result ?? null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const block = { type: 'tool_result', tool_use_id: toValidId(id) };
  if (error !== undefined) return { ...block, content: text.trim() === '' ? 'The tool failed.' : text, is_error: true };
  return text === '' ? block : { ...block, content: text };
}

/**
 * Encodes a model message as blocks, in order of arrival. Text is joined up to the next tool call or marker. A marker
 * is the provider data that the decoder stored on a text part: the blocks that come `after` it, and the `citations` of
 * the text block that ends there. Sources and files created by the model are not sent back.
 */
function encodeModelParts(parts: readonly Part[], toValidId: MapCallId): readonly JsonObject[] {
  const blocks: JsonObject[] = [];
  let text = '';
  const endText = (citations: JsonObject = {}) => {
    blocks.push(...textBlock(text).map((block) => ({ ...block, ...citations })));
    text = '';
  };
  for (const part of parts) {
    if (part.type === 'toolCall') {
      endText();
      blocks.push(encodeCall(part, toValidId));
    } else if (part.type === 'text') {
      text += part.text;
      const marker = part.providerData?.['anthropic'];
      if (!isJsonObject(marker)) continue;
      endText(omitUndefined({ citations: marker['citations'] }));
      blocks.push(...asArray(marker['after']).filter(isJsonObject));
    }
  }
  endText();
  return blocks;
}

const textBlock = (text: string): readonly JsonObject[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

function encodeCall({ id, name, arguments: input, providerData }: ToolCallPart, toValidId: MapCallId): JsonObject {
  return { type: 'tool_use', id: toValidId(id), name, input, ...objectOrEmpty(providerData?.['anthropic']) };
}

/**
 * Trims the end of the last message if it is a model message: the API rejects trailing whitespace there ("cannot
 * end with trailing whitespace").
 */
function trimLastMessage(messages: readonly WireMessage[]): readonly JsonObject[] {
  const lastMessage = messages.at(-1);
  const lastBlock = lastMessage?.content.at(-1);
  const text = lastBlock?.['text'];
  if (lastMessage?.role !== 'assistant' || typeof text !== 'string') return messages;
  const content = [...lastMessage.content.slice(0, -1), { ...lastBlock, text: text.trimEnd() }];
  return [...messages.slice(0, -1), { ...lastMessage, content }];
}

const imageTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/**
 * Encodes a file (Messages API reference, `ImageBlockParam` and `DocumentBlockParam`): images and PDFs by URL or as
 * bytes, text files as text. The fields of the part's `providerData.anthropic` are copied to the block, for example `{
 * context: '...' }`.
 *
 * @throws ConfigurationError `options` for a file that the API does not accept.
 */
function encodeFile(part: FilePart): JsonObject {
  const file = inlineDataUrl(part);
  const mediaType = baseMediaType(file.mediaType);
  const isImage = mediaType.startsWith('image/');
  return {
    type: isImage ? 'image' : 'document',
    source: encodeSource(file, mediaType, isImage),
    ...omitUndefined({ title: isImage ? undefined : file.name }),
    ...objectOrEmpty(part.providerData?.['anthropic']),
  };
}

function encodeSource({ data, url }: FilePart, mediaType: string, isImage: boolean): JsonObject {
  const isPdf = mediaType === 'application/pdf';
  if (url !== undefined) {
    if (isImage || isPdf) return { type: 'url', url };
    const problem = `accepts a URL only for images and PDFs, not for ${mediaType} files: ${url}`;
    throw unsupportedFile(problem, 'Fetch the file and pass its bytes: filePart(bytes, mediaType).');
  }
  if (isPdf || imageTypes.has(mediaType)) return { type: 'base64', media_type: mediaType, data };
  const text = textOfFile({ type: 'file', mediaType, data });
  if (text !== undefined) return { type: 'text', media_type: 'text/plain', data: text };
  throw unsupportedFile(`does not accept files of type ${mediaType}`, 'Pass JPEG, PNG, GIF, WebP, PDF or text.');
}

const unsupportedFile = (problem: string, nextStep: string) =>
  new ConfigurationError('options', `anthropic ${problem}.`, nextStep);
