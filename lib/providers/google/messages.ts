import { isJsonObject, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { hasToolResults, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, Part, TextPart, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { nonEmptyTexts } from '../shared/encode.js';
import { inlineDataUrl } from '../shared/files.js';
import { isGemini3 } from './models.js';
import { providerDataOf } from './providerData.js';

/**
 * The signature for calls of another model, which have none (guide "Thought signatures", under "FAQs"; Vertex AI
 * accepts no other). Gemini 3 refuses a request with status 400 when the first call of a step of the current turn has
 * no signature.
 */
const placeholderSignature = 'skip_thought_signature_validator';

/** The instructions of a conversation, a part for each; undefined where there are none. */
export function encodeInstructions(messages: readonly Message[]): JsonObject | undefined {
  const texts = messages.filter(({ role }) => role === 'system').flatMap(nonEmptyTexts);
  return texts.length === 0 ? undefined : { parts: texts.map((text) => ({ text })) };
}

/**
 * The conversation as the contents of a request. The results of a turn are one content, in the order of their calls,
 * and the user's other parts are the next content: the API requires as many results as there were calls, directly after
 * them. Sources have no place in a request.
 */
export function encodeContents(model: string, messages: readonly Message[]): readonly JsonObject[] {
  const contents: JsonObject[] = [];
  const addContent = (role: 'user' | 'model', parts: readonly JsonObject[]) => {
    if (parts.length > 0) contents.push({ role, parts });
  };
  const conversation = messages.filter(({ role }) => role !== 'system');
  const currentTurn = conversation.map(beginsTurn).lastIndexOf(true);
  let calls: readonly ToolCallPart[] = [];
  conversation.forEach((message, index) => {
    if (message.role === 'model') {
      const parts = message.parts.flatMap(encodePart);
      addContent('model', isGemini3(model) && index > currentTurn ? signFirstCall(parts) : parts);
      calls = toolCallsOf(message);
      return;
    }
    addContent('user', encodeResults(message, calls));
    addContent('user', message.parts.flatMap(encodePart));
  });
  return contents;
}

/** Whether a message begins a turn in the API's sense: the user's own content, without results of calls. */
const beginsTurn = (message: Message): boolean => message.role === 'user' && !hasToolResults(message);

/** Adds the placeholder signature to the first call of a step if it has none. */
function signFirstCall(parts: readonly JsonObject[]): readonly JsonObject[] {
  const firstCall = parts.find((part) => part['functionCall'] !== undefined);
  if (firstCall?.['thoughtSignature'] !== undefined) return parts;
  return parts.map((part) => (part === firstCall ? { ...part, thoughtSignature: placeholderSignature } : part));
}

function encodePart(part: Part): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return encodeText(part);
    case 'toolCall':
      return [encodeCall(part)];
    case 'file':
      return [encodeFile(part)];
    default:
      return [];
  }
}

/**
 * A text, then the part that was stored with it. If the text is signed, its last `signed` characters are the signed
 * part.
 */
function encodeText(textPart: TextPart): readonly JsonObject[] {
  const { text } = textPart;
  const { part, thoughtSignature, signed } = providerDataOf(textPart);
  const unsigned = text === '' ? [] : [{ text }];
  if (isJsonObject(part)) return [...unsigned, part];
  if (thoughtSignature === undefined) return unsigned;
  const start = typeof signed === 'number' ? Math.max(0, text.length - signed) : 0;
  const signedPart = { text: text.slice(start), thoughtSignature };
  return start === 0 ? [signedPart] : [{ text: text.slice(0, start) }, signedPart];
}

/** An id is sent only if the API sent one. */
function encodeCall(call: ToolCallPart): JsonObject {
  const { id, thoughtSignature } = providerDataOf(call);
  const functionCall = omitUndefined({ id, name: call.name, args: call.arguments });
  return omitUndefined({ functionCall, thoughtSignature });
}

/** Bytes, or a URL: of the Files API, of YouTube, or public (guide "File input methods"). */
function encodeFile(file: FilePart): JsonObject {
  const { mediaType, data, url } = inlineDataUrl(file);
  const { thoughtSignature } = providerDataOf(file);
  if (data !== undefined) return omitUndefined({ inlineData: { mimeType: mediaType, data }, thoughtSignature });
  const mimeType = mediaType.includes('*') ? undefined : mediaType;
  return omitUndefined({ fileData: omitUndefined({ mimeType, fileUri: url }), thoughtSignature });
}

function encodeResults(message: Message, calls: readonly ToolCallPart[]): readonly JsonObject[] {
  const results = message.parts.filter((part) => part.type === 'toolResult');
  const callIndex = ({ id }: ToolResultPart) => calls.findIndex((call) => call.id === id);
  return results.sort((a, b) => callIndex(a) - callIndex(b)).map((result) => encodeResult(result, calls));
}

function encodeResult(result: ToolResultPart, calls: readonly ToolCallPart[]): JsonObject {
  const call = calls.find(({ id }) => id === result.id);
  const response = result.error === undefined ? { result: result.result } : { error: result.error };
  return { functionResponse: omitUndefined({ id: call && providerDataOf(call)['id'], name: result.name, response }) };
}
