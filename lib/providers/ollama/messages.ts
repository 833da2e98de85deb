import { optionsError } from '../../core/errors.js';
import { nonEmptyArray, omitUndefined, type JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import { providerDataOf, storedData } from '../../core/providerPart.js';
import type { FilePart, Message, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { encodeConversation } from '../../protocol/encodeOnce.js';
import { inlineDataUrl, isImageFile, textOfFile } from '../shared/files.js';
import { withMessageOptions } from '../shared/providerOptions.js';
import { toolResultContent, unsupportedResultFileError } from '../shared/toolResultContent.js';

export const encodeMessages = /* @__PURE__ */ encodeConversation((message, answered) => {
  requireNoPartOptions(message);
  if (message.role === 'model') return withMessageOptions(encodeModel(message), 'ollama', message);
  const calls = new Map((answered ? toolCallsOf(answered) : []).map((call) => [call.id, call]));
  const results = message.parts
    .filter((part) => part.type === 'toolResult')
    .map((result) => encodeResult(result, calls));
  return withMessageOptions([...results, ...encodeContent(message)], 'ollama', message);
});

/** The API joins the texts of a message, and has no fields for a part. */
function requireNoPartOptions({ parts }: Message): void {
  if (!parts.some((part) => (part.type === 'text' || part.type === 'file') && part.providerOptions?.['ollama'])) return;
  throw unsupported('options of a part', 'Set providerOptions of the message instead.');
}

function encodeContent({ role, parts }: Message): readonly JsonObject[] {
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of parts) {
    if (part.type === 'text' && part.text !== '') texts.push(part.text);
    if (part.type !== 'file') continue;
    const file = inlineDataUrl(part);
    const text = textOfFile(file);
    if (text === undefined) images.push(encodeImage(file));
    else texts.push(text);
  }
  if (texts.length + images.length === 0) return [];
  return [omitUndefined({ role, content: texts.join('\n\n'), images: nonEmptyArray(images) })];
}

function encodeImage(file: FilePart): string {
  const { mediaType, data, url } = file;
  if (data === undefined)
    throw unsupported(`files by URL: ${url}`, 'Fetch it and pass its bytes: filePart(bytes, mediaType).');
  if (!isImageFile(file)) throw unsupported(`${mediaType} files`, 'Pass an image, or the text of the file.');
  return data;
}

export const isReadable = (file: FilePart): boolean =>
  file.data !== undefined && (isImageFile(file) || textOfFile(file) !== undefined);

const unsupported = (content: string, nextStep: string) => optionsError(`ollama does not accept ${content}.`, nextStep);

/** Results match calls by name and order, or by id if the call had one; they may have `images` (`ChatMessage`). */
function encodeResult(result: ToolResultPart, calls: ReadonlyMap<string, ToolCallPart>): JsonObject {
  const call = calls.get(result.id);
  const texts: string[] = [];
  const images: string[] = [];
  for (const item of toolResultContent(result)) {
    if (item.type === 'text') {
      texts.push(item.text);
      continue;
    }
    const file = inlineDataUrl(item);
    const text = textOfFile(file);
    if (text !== undefined) texts.push(text);
    else if (file.data !== undefined && isImageFile(file)) images.push(file.data);
    else throw unsupportedResultFileError('ollama', result.name, file);
  }
  return omitUndefined({
    role: 'tool',
    tool_name: result.name,
    tool_call_id: storedData(call, 'ollama')['id'],
    content: texts.join('\n\n'),
    images: nonEmptyArray(images),
  });
}

/** The guide "Tool calling" sends the complete message back, with its thinking. */
function encodeModel(message: Message): readonly JsonObject[] {
  const calls = toolCallsOf(message);
  const content = messageText(message);
  if (content === '' && calls.length === 0) return [];
  const { thinking } = providerDataOf(message, 'ollama').at(-1) ?? {};
  const tool_calls = nonEmptyArray(calls.map(encodeCall));
  return [omitUndefined({ role: 'assistant', content, thinking, tool_calls })];
}

function encodeCall(call: ToolCallPart): JsonObject {
  const { name, arguments: args } = call;
  return omitUndefined({ id: storedData(call, 'ollama')['id'], function: { name, arguments: args } });
}
