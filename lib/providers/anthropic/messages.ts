import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined, isJsonObject, asArray, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, Message, Part, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { createCallIdMapper } from '../shared/callIds.js';
import { baseMediaType, inlineDataUrl, textOfFile } from '../shared/files.js';

type ValidId = (id: string) => string;

/** A message of the API: a role and its content blocks. */
interface WireMessage extends JsonObject {
  readonly role: 'user' | 'assistant';
  readonly content: readonly JsonObject[];
}

/**
 * Encodes a conversation: the system prompt, and messages of content blocks. Omits blank texts, which the API refuses
 * ("text content blocks must contain non-whitespace text"), and messages that become empty.
 */
export function encodeMessages(messages: readonly Message[]): {
  readonly system: string | undefined;
  readonly messages: readonly JsonObject[];
} {
  const validId = createCallIdMapper(messages);
  const system = messages
    .flatMap(({ role, parts }) => (role === 'system' ? parts : []))
    .flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : []))
    .join('\n\n');
  const turns = messages.flatMap((message) => encodeMessage(message, validId));
  return { system: nonEmptyString(system), messages: withoutTrailingSpace(turns) };
}

function encodeMessage({ role, parts }: Message, validId: ValidId): readonly WireMessage[] {
  if (role === 'system') return [];
  const content = role === 'user' ? userBlocks(parts, validId) : modelBlocks(parts, validId);
  return content.length === 0 ? [] : [{ role: role === 'user' ? 'user' : 'assistant', content }];
}

/** Results come first: the API requires them right after the calls, before any text ("Handle tool calls"). */
function userBlocks(parts: readonly Part[], validId: ValidId): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, validId));
  const content = parts.flatMap((part) => {
    if (part.type === 'text') return textBlock(part.text);
    return part.type === 'file' ? [encodeFile(part)] : [];
  });
  return [...results, ...content];
}

/** An error must not be empty: the API refuses that ("content cannot be empty if `is_error` is true"). */
function encodeResult({ id, result, error }: ToolResultPart, validId: ValidId): JsonObject {
  const value = error ?? result ?? null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const block = { type: 'tool_result', tool_use_id: validId(id) };
  if (error !== undefined) return { ...block, content: text.trim() === '' ? 'The tool failed.' : text, is_error: true };
  return text === '' ? block : { ...block, content: text };
}

/**
 * The blocks of a model's message in order of arrival. Text is joined up to the next tool call or mark. A mark is what
 * the decoder stored with a text: the blocks `after` it, and the `citations` of the block that ends there. Sources and
 * files that the model made are not sent back.
 */
function modelBlocks(parts: readonly Part[], validId: ValidId): readonly JsonObject[] {
  const blocks: JsonObject[] = [];
  let text = '';
  const endText = (citations: JsonObject = {}) => {
    blocks.push(...textBlock(text).map((block) => ({ ...block, ...citations })));
    text = '';
  };
  for (const part of parts) {
    if (part.type === 'toolCall') {
      endText();
      blocks.push(encodeCall(part, validId));
    } else if (part.type === 'text') {
      text += part.text;
      const mark = part.providerData?.['anthropic'];
      if (!isJsonObject(mark)) continue;
      endText(omitUndefined({ citations: mark['citations'] }));
      blocks.push(...asArray(mark['after']).filter(isJsonObject));
    }
  }
  endText();
  return blocks;
}

const textBlock = (text: string): readonly JsonObject[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

function encodeCall({ id, name, arguments: input, providerData }: ToolCallPart, validId: ValidId): JsonObject {
  return { type: 'tool_use', id: validId(id), name, input, ...objectOrEmpty(providerData?.['anthropic']) };
}

/** The API refuses a last message of the model that ends with white space ("cannot end with trailing whitespace"). */
function withoutTrailingSpace(messages: readonly WireMessage[]): readonly JsonObject[] {
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
 * bytes, text files as text. The fields of the part's `providerData.anthropic` are copied to the block:
 * `{ citations: { enabled: true } }`, `{ context: '...' }`.
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
    const next = 'Fetch it and pass its bytes: filePart(bytes, mediaType).';
    throw unsupportedFile(`accepts only images and PDFs by URL: ${url} (${mediaType})`, next);
  }
  if (isPdf || imageTypes.has(mediaType)) return { type: 'base64', media_type: mediaType, data };
  const text = textOfFile({ type: 'file', mediaType, data });
  if (text !== undefined) return { type: 'text', media_type: 'text/plain', data: text };
  throw unsupportedFile(`does not accept files of type ${mediaType}`, 'Pass JPEG, PNG, GIF, WebP, PDF or text.');
}

const unsupportedFile = (problem: string, next: string) =>
  new ConfigurationError('options', `anthropic ${problem}.`, next);
