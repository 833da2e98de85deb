import { optionsError } from '../../core/errors.js';
import { nonEmptyString, omitUndefined, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import { providerDataOf } from '../../core/providerPart.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { encodeSystem, encodeText, encodeUserContent, functionCall, resultText } from '../shared/encode.js';
import { encodeConversation } from '../../protocol/encodeOnce.js';
import type { ResultFilePlacement } from '../../protocol/wire.js';
import { dataUrl, inlineDataUrl, isImageFile, textOfFile } from '../shared/files.js';
import { withMessageOptions, withProviderOptions } from '../shared/providerOptions.js';
import { toolResultContent, unsupportedResultFileError, type ToolResultContent } from '../shared/toolResultContent.js';

/** docs.cohere.com, "Tool use - basic usage", on managing the state. */
export const encodeMessages = (messages: readonly Message[], replaysThinking: boolean): readonly JsonObject[] =>
  replaysThinking ? encodeWithThinking(messages) : encodeWithoutThinking(messages);

const encodeWithThinking = /* @__PURE__ */ encodeConversation((message) => encodeMessage(message, true));
const encodeWithoutThinking = /* @__PURE__ */ encodeConversation((message) => encodeMessage(message, false));

const encodeMessage = (message: Message, replaysThinking: boolean): readonly JsonObject[] =>
  withMessageOptions(encodeRole(message, replaysThinking), 'cohere', message);

function encodeRole(message: Message, replaysThinking: boolean): readonly JsonObject[] {
  if (message.role === 'system') return encodeSystem(message, 'cohere');
  return message.role === 'user' ? encodeUser(message) : encodeModel(message, replaysThinking);
}

function encodeUser({ parts }: Message): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map(encodeResult);
  return [...results, ...encodeUserContent(parts.flatMap(encodeContent))];
}

/** Texts and documents can be cited (`ToolContent`). A message without text would contain no result: it is `""`. */
function encodeResult(part: ToolResultPart): JsonObject {
  const content = toolResultContent(part);
  const hasFiles = content.some(({ type }) => type === 'file');
  return {
    role: 'tool',
    tool_call_id: part.id,
    content: hasFiles ? content.map((item) => encodeResultItem(item, part.name)) : resultText(part) || '""',
  };
}

/** A text file stays in the result; an image follows in a message of the user. The API accepts no other files. */
export function placeResultFile(file: FilePart): ResultFilePlacement {
  if (textOfFile(file) !== undefined) return 'result';
  return isImageFile(file) ? 'message' : 'none';
}

/** A text file of a result becomes a document. The API accepts no other files in results. */
function encodeResultItem(item: ToolResultContent, tool: string): JsonObject {
  if (item.type === 'text') return { type: 'text', text: item.text };
  const { name, ...file } = inlineDataUrl(item);
  const text = textOfFile(file);
  if (text === undefined) throw unsupportedResultFileError('cohere', tool, item);
  return withProviderOptions(
    { type: 'document', document: { data: omitUndefined({ title: name, text }) } },
    'cohere',
    item,
  );
}

function encodeContent(part: Part): readonly JsonObject[] {
  if (part.type === 'text') return part.text === '' ? [] : [encodeText(part, 'cohere')];
  return part.type === 'file' ? [withProviderOptions(encodeFile(part), 'cohere', part)] : [];
}

/** "Using Cohere's models to work with image inputs". The API accepts no other files. */
function encodeFile(part: FilePart): JsonObject {
  const file = inlineDataUrl(part);
  if (isImageFile(file)) return { type: 'image_url', image_url: { url: file.url ?? dataUrl(file) } };
  const text = textOfFile(file);
  if (text !== undefined) return { type: 'text', text };
  throw optionsError(
    `cohere accepts images and text files, but not ${file.mediaType} files${file.url === undefined ? '' : ' by URL'}.`,
    'Pass the text of the document, as a text part or as documents in providerOptions.cohere.',
  );
}

/** "text content is not allowed when tool_calls are provided": it is the `tool_plan`. */
function encodeModel(message: Message, replaysThinking: boolean): readonly JsonObject[] {
  const text = messageText(message);
  const calls = toolCallsOf(message).map((call) => functionCall(call.id, call.name, call.arguments));
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: encodeModelText(message, text) }];
  const stored = providerDataOf(message, 'cohere').at(-1) ?? {};
  const thinking = replaysThinking ? nonEmptyString(stored['thinking']) : undefined;
  const toolPlan = [stored['tool_plan'], text]
    .map(nonEmptyString)
    .filter((part) => part !== undefined)
    .join('\n');
  return [
    {
      role: 'assistant',
      ...(thinking === undefined ? {} : { content: [{ type: 'thinking', thinking }] }),
      ...(toolPlan === '' ? {} : { tool_plan: toolPlan }),
      tool_calls: calls,
    },
  ];
}

function encodeModelText({ parts }: Message, text: string): JsonValue {
  const texts = parts.filter((part) => part.type === 'text');
  const hasOptions = texts.some(({ providerOptions }) => providerOptions?.['cohere']);
  return hasOptions ? texts.map((part) => encodeText(part, 'cohere')) : text;
}
