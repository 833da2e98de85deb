import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, ProviderData, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { resultText } from '../shared/encode.js';
import { baseMediaType, inlineDataUrl, textOfFile } from '../shared/files.js';

/** The provider's name: the key of its data. */
export const provider = 'ollama';

/** This provider's data of a call or a message; empty where there is none. */
function ownIn(data: ProviderData | undefined): JsonObject {
  return objectOrEmpty(data?.[provider]);
}

/** The conversation as the API's messages. One of ours may be several of theirs, or none: what cannot be sent is left out. */
export function encodeMessages(messages: readonly Message[]): readonly JsonObject[] {
  let calls: readonly ToolCallPart[] = [];
  return messages.flatMap((message) => {
    if (message.role === 'model') {
      calls = toolCallsOf(message);
      return encodeModel(message, calls);
    }
    const results = message.parts
      .filter((part) => part.type === 'toolResult')
      .map((result) => encodeResult(result, calls));
    return [...results, ...encodeSaid(message)];
  });
}

/** What the system or the user says: the texts, text files among them, set apart by empty lines; images beside them. */
function encodeSaid({ role, parts }: Message): readonly JsonObject[] {
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of parts) {
    if (part.type === 'text' && part.text !== '') texts.push(part.text);
    else if (part.type === 'file') {
      const text = textOfFile(inlineDataUrl(part));
      if (text === undefined) images.push(encodeImage(inlineDataUrl(part)));
      else texts.push(text);
    }
  }
  if (texts.length + images.length === 0) return [];
  return [omitUndefined({ role, content: texts.join('\n\n'), images: images.length > 0 ? images : undefined })];
}

/** The API takes the bytes of images, and nothing else that is no text. */
function encodeImage({ mediaType, data, url }: FilePart): string {
  if (data !== undefined && baseMediaType(mediaType).startsWith('image/')) return data;
  const [what, next] =
    data === undefined
      ? [`files by address: ${url}`, 'Fetch it and pass its bytes: filePart(bytes, mediaType).']
      : [`${mediaType} files`, 'Pass images, or the text that is in the file.'];
  throw new ConfigurationError('options', `ollama takes no ${what}.`, next);
}

/** Results are told apart by the tool's name, and by their order; by id where the API gave one with the call. */
function encodeResult(result: ToolResultPart, calls: readonly ToolCallPart[]): JsonObject {
  const call = calls.find(({ id }) => id === result.id);
  return omitUndefined({
    role: 'tool',
    tool_name: result.name,
    tool_call_id: ownIn(call?.providerData)['id'],
    content: resultText(result),
  });
}

/** What was thought before a call goes back with it, as the guide "Tool calling" does by sending the whole message back. */
function encodeModel(message: Message, calls: readonly ToolCallPart[]): readonly JsonObject[] {
  const content = messageText(message);
  if (content === '' && calls.length === 0) return [];
  const { thinking } = ownIn(message.metadata);
  const tool_calls = calls.map(({ name, arguments: args, providerData }) =>
    omitUndefined({ id: ownIn(providerData)['id'], function: { name, arguments: args } }),
  );
  return [
    omitUndefined({ role: 'assistant', content, thinking, tool_calls: calls.length > 0 ? tool_calls : undefined }),
  ];
}
