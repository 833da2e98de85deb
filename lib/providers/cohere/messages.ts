import { ConfigurationError } from '../../core/errors.js';
import { nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { encodeSystem, encodeUserContent, functionCall, resultText } from '../shared/encode.js';
import { baseMediaType, dataUrl, inlineDataUrl, textOfFile } from '../shared/files.js';

/**
 * Encodes the conversation as the API's messages (docs.cohere.com, "Tool use - basic usage", on managing the state). A
 * message becomes zero or more messages of the API.
 *
 * @param messages The conversation.
 * @param replaysThinking Whether thinking is sent back. The API accepts it only "with thinking enabled".
 * @throws ConfigurationError `options` for a file that the API does not accept.
 */
export function encodeMessages(messages: readonly Message[], replaysThinking: boolean): readonly JsonObject[] {
  return messages.flatMap((message) => {
    switch (message.role) {
      case 'system':
        return encodeSystem(message);
      case 'user':
        return encodeUser(message);
      case 'model':
        return encodeModel(message, replaysThinking);
    }
  });
}

/** Each tool result becomes a separate message, right after the calls. */
function encodeUser({ parts }: Message): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map(encodeResult);
  return [...results, ...encodeUserContent(parts.flatMap(encodeContent))];
}

/** An empty result is sent as its JSON text, `""`: a message without text would contain no result. */
function encodeResult(part: ToolResultPart): JsonObject {
  return { role: 'tool', tool_call_id: part.id, content: resultText(part) || '""' };
}

function encodeContent(part: Part): readonly JsonObject[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }];
  return part.type === 'file' ? [encodeFile(part)] : [];
}

/**
 * Encodes an image by URL or as bytes ("Using Cohere's models to work with image inputs"), and a text file as text. The
 * API accepts no other files.
 */
function encodeFile(part: FilePart): JsonObject {
  const file = inlineDataUrl(part);
  if (baseMediaType(file.mediaType).startsWith('image/'))
    return { type: 'image_url', image_url: { url: file.url ?? dataUrl(file) } };
  const text = textOfFile(file);
  if (text !== undefined) return { type: 'text', text };
  throw new ConfigurationError(
    'options',
    `cohere accepts images and text files, but not ${file.mediaType} files${file.url === undefined ? '' : ' by URL'}.`,
    'Pass the text of the document, as a text part or as documents in providerOptions.cohere.',
  );
}

/**
 * A message with calls cannot have text ("text content is not allowed when tool_calls are provided"). Its text is sent
 * as `tool_plan`, where Cohere's models write such text. Thinking is sent back only with calls.
 */
function encodeModel(message: Message, replaysThinking: boolean): readonly JsonObject[] {
  const text = messageText(message);
  const calls = toolCallsOf(message).map((call) => functionCall(call.id, call.name, call.arguments));
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
  const stored = objectOrEmpty(message.metadata?.['cohere']);
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
