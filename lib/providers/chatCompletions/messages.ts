import { optionsError } from '../../core/errors.js';
import { nonEmptyString, type JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { storedData } from '../../core/providerPart.js';
import { encodeSystem, encodeText, encodeUserContent, functionCall, resultText } from '../shared/encode.js';
import type { ResultFilePlacement } from '../../protocol/wire.js';
import { baseMediaType, dataUrl, fileName, inlineDataUrl, isImageFile, textOfFile } from '../shared/files.js';
import { withMessageOptions, withProviderOptions } from '../shared/providerOptions.js';
import { toolResultContent, unsupportedResultFileError, type ToolResultContent } from '../shared/toolResultContent.js';
import type { Dialect } from './dialect.js';

export function encodeMessage(message: Message, dialect: Dialect): readonly JsonObject[] {
  return withMessageOptions(encodeRole(message, dialect), dialect.provider, message);
}

function encodeRole(message: Message, dialect: Dialect): readonly JsonObject[] {
  if (message.role === 'system') return encodeSystem(message, dialect.provider);
  return message.role === 'user' ? encodeUser(message, dialect) : encodeModel(message, dialect);
}

/** The API requires tool results right after the calls. */
function encodeUser({ parts }: Message, dialect: Dialect): readonly JsonObject[] {
  const results: JsonObject[] = [];
  const content: JsonObject[] = [];
  for (const part of parts) {
    if (part.type === 'toolResult') results.push(encodeResult(part, dialect));
    else if (part.type === 'text') content.push(encodeText(part, dialect.provider));
    else if (part.type === 'file') content.push(withProviderOptions(encodeFile(part, dialect), dialect.provider, part));
  }
  return [...results, ...encodeUserContent(content)];
}

function encodeResult(part: ToolResultPart, dialect: Dialect): JsonObject {
  const { callId = unchanged } = dialect;
  const contents = toolResultContent(part);
  const hasFiles = contents.some(({ type }) => type === 'file');
  const content = hasFiles ? contents.map((item) => encodeResultItem(item, part.name, dialect)) : resultText(part);
  return { role: 'tool', tool_call_id: callId(part.id), content };
}

/** Only some servers accept files in results. Audio follows where the model's name says that it hears. */
export function placeResultFile(model: string, file: FilePart, dialect: Dialect): ResultFilePlacement {
  if (textOfFile(file) !== undefined) return 'result';
  const { url, mediaType } = file;
  const isAccepted = url === undefined || isImageFile(file) || dialect.fileUrls === true || dialect.file?.(file);
  if (!isAccepted) return 'none';
  if (dialect.resultFiles) return 'result';
  if (isImageFile(file) || /^application\/(pdf|msword|vnd\.)/.test(baseMediaType(mediaType))) return 'message';
  return audioFormats.has(baseMediaType(mediaType)) && /audio/i.test(model) ? 'message' : 'none';
}

/** The API accepts only texts in results (`ChatCompletionToolMessageParam`); some servers accept files. */
function encodeResultItem(item: ToolResultContent, tool: string, dialect: Dialect): JsonObject {
  if (item.type === 'text') return { type: 'text', text: item.text };
  const text = textOfFile(inlineDataUrl(item));
  if (!dialect.resultFiles && text === undefined) throw unsupportedResultFileError(dialect.provider, tool, item);
  const encoded = text === undefined ? encodeFile(item, dialect) : { type: 'text', text };
  return withProviderOptions(encoded, dialect.provider, item);
}

/** The API's history has no fields for sources and for files that the model generated. */
function encodeModel(message: Message, dialect: Dialect): readonly JsonObject[] {
  const text = messageText(message);
  const calls = toolCallsOf(message).map((call) => encodeCall(call, dialect));
  if (text === '' && calls.length === 0) return [];
  const fields = dialect.replay?.fields(message, dialect.provider) ?? { content: text === '' ? null : text };
  return [
    {
      role: 'assistant',
      ...fields,
      ...contentWithOptions(message, dialect.provider),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ];
}

/** As parts, if one of the texts has provider options (OpenRouter's `cache_control`). */
function contentWithOptions({ parts }: Message, provider: string): JsonObject {
  const texts = parts.filter((part) => part.type === 'text').filter(({ text }) => text !== '');
  const hasOptions = texts.some(({ providerOptions }) => providerOptions?.[provider]);
  return hasOptions ? { content: texts.map((part) => encodeText(part, provider)) } : {};
}

function encodeCall(call: ToolCallPart, { provider, callId = unchanged }: Dialect): JsonObject {
  const { extra_content, type } = storedData(call, provider);
  if (type === 'custom') return encodeCustomCall(call, callId(call.id));
  const encoded = functionCall(callId(call.id), call.name, call.arguments);
  return extra_content === undefined ? encoded : { ...encoded, extra_content };
}

/** `ChatCompletionMessageCustomToolCall` (SDK openai 7.57). */
function encodeCustomCall({ name, arguments: args }: ToolCallPart, id: string): JsonObject {
  return { id, type: 'custom', custom: { name, input: nonEmptyString(args['input']) ?? '' } };
}

const unchanged = (id: string): string => id;

/** OpenAI's guide to file inputs says to send the contents of text files as text. */
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
  throw optionsError(
    `${provider} accepts images by URL, but not other files: ${url} (${file.mediaType}).`,
    'Fetch it and pass its bytes: filePart(bytes, mediaType).',
  );
}

const documentPart = (file: FilePart, file_data: string): JsonObject => ({
  type: 'file',
  file: { filename: fileName(file), file_data },
});

/** The API documents WAV and MP3. */
const audioFormats: ReadonlyMap<string, 'wav' | 'mp3'> = new Map([
  ['audio/wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/vnd.wave', 'wav'],
  ['audio/mp3', 'mp3'],
  ['audio/mpeg', 'mp3'],
] as const);
