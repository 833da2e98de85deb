import { ConfigurationError } from '../../core/errors.js';
import { objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { messageText, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { encodeUserContent, encodeSystem, functionCall, resultText } from '../shared/encode.js';
import { dataUrl, baseMediaType, inlineDataUrl, textOfFile } from '../shared/files.js';

/** What of a history goes back. */
export interface Replay {
  /** Whether thinking may: the API takes it "with thinking enabled" only. */
  readonly thinking: boolean;
}

/** The conversation as the API's messages (docs.cohere.com, "Tool use - basic usage", on managing the state). One of ours may be several of theirs, or none. */
export function encodeMessages(messages: readonly Message[], replay: Replay): readonly JsonObject[] {
  return messages.flatMap((message) => {
    if (message.role === 'user') return encodeUser(message);
    return message.role === 'model' ? encodeModel(message, replay) : encodeSystem(message);
  });
}

/** Results are messages of their own, right behind the calls. */
function encodeUser({ parts }: Message): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map(encodeResult);
  const content = parts.flatMap(encodeContent);
  return content.length === 0 ? results : [...results, ...encodeUserContent(content)];
}

/** An empty text says nothing, as JSON it is a result. */
function encodeResult(part: ToolResultPart): JsonObject {
  return { role: 'tool', tool_call_id: part.id, content: resultText(part) || JSON.stringify('') };
}

function encodeContent(part: Part): readonly JsonObject[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'text', text: part.text }];
  return part.type === 'file' ? [encodeFile(part)] : [];
}

/** Images by address or as bytes ("Using Cohere's models to work with image inputs"), texts as text; other files have no place in the API. */
function encodeFile(part: FilePart): JsonObject {
  const file = inlineDataUrl(part);
  if (baseMediaType(file.mediaType).startsWith('image/'))
    return { type: 'image_url', image_url: { url: file.url ?? dataUrl(file) } };
  const text = textOfFile(file);
  if (text !== undefined) return { type: 'text', text };
  throw new ConfigurationError(
    'options',
    `cohere takes images and texts, no files of type ${file.mediaType}${file.url === undefined ? '' : ' by address'}.`,
    'Pass the text of the document, as a text part or as documents in providerOptions.cohere.',
  );
}

/**
 * Beside calls the API takes no text ("text content is not allowed when tool_calls are provided"): what the model said goes as its plan, as Cohere's
 * own models say it. Its thinking goes back with the calls that came of it.
 */
function encodeModel(message: Message, replay: Replay): readonly JsonObject[] {
  const text = messageText(message);
  const calls = toolCallsOf(message).map((call) => functionCall(call.id, call.name, call.arguments));
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
  const stored = objectOrEmpty(message.metadata?.['cohere']);
  const plan = [nonEmptyString(stored['tool_plan']), nonEmptyString(text)]
    .filter((said) => said !== undefined)
    .join('\n');
  const thinking = replay.thinking ? nonEmptyString(stored['thinking']) : undefined;
  const content = thinking === undefined ? {} : { content: [{ type: 'thinking', thinking }] };
  return [{ role: 'assistant', ...content, ...(plan === '' ? {} : { tool_plan: plan }), tool_calls: calls }];
}
