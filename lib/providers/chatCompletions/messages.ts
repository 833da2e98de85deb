import { ConfigurationError } from '../../core/errors.js';
import { objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { encodeUserContent, encodeSystem, functionCall, resultText } from '../shared/encode.js';
import { dataUrl, baseMediaType, fileName, inlineDataUrl, textOfFile } from '../shared/files.js';
import type { Dialect } from './dialect.js';
import { replayed } from './replay.js';

/** A message as the API's messages. One of ours may be several of theirs, or none: what cannot be sent is left out. */
export function encodeMessage(message: Message, dialect: Dialect): readonly JsonObject[] {
  if (message.role === 'system') return encodeSystem(message);
  return message.role === 'user' ? encodeUser(message, dialect) : encodeModel(message, dialect);
}

/** Results come first: the API wants them right behind the calls. */
function encodeUser({ parts }: Message, dialect: Dialect): readonly JsonObject[] {
  const encoded: JsonObject[] = [];
  const content: JsonObject[] = [];
  for (const part of parts) {
    if (part.type === 'toolResult') encoded.push(encodeResult(part, dialect));
    else if (part.type === 'text') content.push({ type: 'text', text: part.text });
    else if (part.type === 'file') content.push(encodeFile(part, dialect));
  }
  return content.length === 0 ? encoded : [...encoded, ...encodeUserContent(content)];
}

function encodeResult(part: ToolResultPart, { callId = asItIs }: Dialect): JsonObject {
  return { role: 'tool', tool_call_id: callId(part.id), content: resultText(part) };
}

/** Sources and files that the model made have no place in this API's history. */
function encodeModel(message: Message, dialect: Dialect): readonly JsonObject[] {
  const text = messageText(message);
  const calls = toolCallsOf(message).map((call) => encodeCall(call, dialect));
  if (text === '' && calls.length === 0) return [];
  const own = replayed(text, message.metadata?.[dialect.provider]);
  return [calls.length > 0 ? { role: 'assistant', ...own, tool_calls: calls } : { role: 'assistant', ...own }];
}

function encodeCall(
  { id, name, arguments: args, providerData }: ToolCallPart,
  { provider, callId = asItIs }: Dialect,
): JsonObject {
  const { extra_content } = objectOrEmpty(providerData?.[provider]);
  const call = functionCall(callId(id), name, args);
  return extra_content === undefined ? call : { ...call, extra_content };
}

const asItIs = (id: string): string => id;

/** The format of a sound, by its media type: the API documents two. */
function audioFormat(mediaType: string): string | undefined {
  if (/^audio\/(wav|wave|x-wav|vnd\.wave)$/.test(mediaType)) return 'wav';
  return /^audio\/(mp3|mpeg)$/.test(mediaType) ? 'mp3' : undefined;
}

/**
 * The content part for a file. Images go as `image_url`, by address or as bytes; WAV and MP3 as `input_audio`; texts as text, since the API takes
 * no text files (OpenAI's guide to file inputs: read the file and send its contents as a text part); all else, PDF above all, as `file`.
 *
 * @throws ConfigurationError `options` for an address where the API takes bytes only.
 */
export function encodeFile(part: FilePart, dialect: Dialect): JsonObject {
  const file = inlineDataUrl(part);
  const own = dialect.file?.(file);
  if (own !== undefined) return own;
  const mediaType = baseMediaType(file.mediaType);
  if (mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url: file.url ?? dataUrl(file) } };
  const whole = (file_data: string): JsonObject => ({ type: 'file', file: { filename: fileName(file), file_data } });
  if (file.url !== undefined) return whole(takenByAddress(file.url, mediaType, dialect));
  const format = audioFormat(mediaType);
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: file.data, format } };
  const text = textOfFile(file);
  return text === undefined ? whole(dataUrl(file)) : { type: 'text', text };
}

function takenByAddress(url: string, mediaType: string, { provider, fileUrls = false }: Dialect): string {
  if (fileUrls) return url;
  throw new ConfigurationError(
    'options',
    `${provider} takes images by address, but no other files: ${url} (${mediaType}).`,
    'Fetch it and pass its bytes: filePart(bytes, mediaType).',
  );
}
