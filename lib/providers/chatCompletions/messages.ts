import { ConfigurationError } from '../../core/errors.js';
import { objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { encodeSystem, encodeUserContent, functionCall, resultText } from '../shared/encode.js';
import { baseMediaType, dataUrl, fileName, inlineDataUrl, textOfFile } from '../shared/files.js';
import type { Dialect } from './dialect.js';
import { replayFields } from './replay.js';

/**
 * Encodes a message as zero or more messages of the API. Parts that the API does not support are omitted.
 *
 * @throws ConfigurationError `options` for a file that the API does not accept.
 */
export function encodeMessage(message: Message, dialect: Dialect): readonly JsonObject[] {
  switch (message.role) {
    case 'system':
      return encodeSystem(message);
    case 'user':
      return encodeUser(message, dialect);
    case 'model':
      return encodeModel(message, dialect);
  }
}

/** Puts tool results first: the API requires them right after the calls. */
function encodeUser({ parts }: Message, dialect: Dialect): readonly JsonObject[] {
  const results: JsonObject[] = [];
  const content: JsonObject[] = [];
  for (const part of parts) {
    if (part.type === 'toolResult') results.push(encodeResult(part, dialect));
    else if (part.type === 'text') content.push({ type: 'text', text: part.text });
    else if (part.type === 'file') content.push(encodeFile(part, dialect));
  }
  return [...results, ...encodeUserContent(content)];
}

function encodeResult(part: ToolResultPart, { callId = unchanged }: Dialect): JsonObject {
  return { role: 'tool', tool_call_id: callId(part.id), content: resultText(part) };
}

/** Omits sources and files that the model generated: the API's history has no fields for them. */
function encodeModel(message: Message, dialect: Dialect): readonly JsonObject[] {
  const text = messageText(message);
  const calls = toolCallsOf(message).map((call) => encodeCall(call, dialect));
  if (text === '' && calls.length === 0) return [];
  const fields = replayFields(text, message.metadata?.[dialect.provider]);
  return [{ role: 'assistant', ...fields, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
}

function encodeCall(call: ToolCallPart, { provider, callId = unchanged }: Dialect): JsonObject {
  const { extra_content } = objectOrEmpty(call.providerData?.[provider]);
  const encoded = functionCall(callId(call.id), call.name, call.arguments);
  return extra_content === undefined ? encoded : { ...encoded, extra_content };
}

const unchanged = (id: string): string => id;

/**
 * Encodes a file as a content part:
 *
 * - An image becomes `image_url`, with its URL or its bytes.
 * - WAV and MP3 audio becomes `input_audio`.
 * - A text file becomes text, since the API does not accept text files (OpenAI's guide to file inputs: read the file
 *   and send its contents as a text part).
 * - Any other file, usually a PDF, becomes `file`.
 */
function encodeFile(part: FilePart, dialect: Dialect): JsonObject {
  const file = inlineDataUrl(part);
  const encoded = dialect.file?.(file);
  if (encoded !== undefined) return encoded;
  const mediaType = baseMediaType(file.mediaType);
  if (mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url: file.url ?? dataUrl(file) } };
  if (file.url !== undefined) return encodeFileUrl(file, file.url, dialect);
  const format = audioFormats.get(mediaType);
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: file.data, format } };
  const text = textOfFile(file);
  return text === undefined ? documentPart(file, dataUrl(file)) : { type: 'text', text };
}

function encodeFileUrl(file: FilePart, url: string, { provider, fileUrls = false }: Dialect): JsonObject {
  if (fileUrls) return documentPart(file, url);
  throw new ConfigurationError(
    'options',
    `${provider} accepts images by URL, but not other files: ${url} (${file.mediaType}).`,
    'Fetch it and pass its bytes: filePart(bytes, mediaType).',
  );
}

const documentPart = (file: FilePart, file_data: string): JsonObject => ({
  type: 'file',
  file: { filename: fileName(file), file_data },
});

/** Audio formats by media type. The API documents WAV and MP3. */
const audioFormats: ReadonlyMap<string, 'wav' | 'mp3'> = new Map([
  ['audio/wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/vnd.wave', 'wav'],
  ['audio/mp3', 'mp3'],
  ['audio/mpeg', 'mp3'],
] as const);
