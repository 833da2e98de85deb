import { isJsonObject, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { hasToolResults, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, Part, TextPart, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { nonEmptyTexts } from '../shared/encode.js';
import { inlineDataUrl } from '../shared/files.js';
import { isGemini3 } from './models.js';
import { readProviderData } from './providerData.js';

/**
 * The signature for calls of other models, which have no signature (guide "Thought signatures", under "FAQs"; Vertex AI
 * accepts no other placeholder). Gemini 3 rejects a request with status 400 if the first call of a step in the current
 * turn has no signature.
 */
const placeholderSignature = 'skip_thought_signature_validator';

/** Encodes the instructions of a conversation, one part for each; undefined if there are none. */
export function encodeInstructions(messages: readonly Message[]): JsonObject | undefined {
  const texts = messages.filter(({ role }) => role === 'system').flatMap(nonEmptyTexts);
  return texts.length === 0 ? undefined : { parts: texts.map((text) => ({ text })) };
}

/**
 * Encodes a conversation as the contents of a request. The tool results of a user message are one content, in the order
 * of their calls; the message's other parts are the next content. The API requires the same number of results as calls,
 * directly after the calls. Sources are omitted, because a request cannot contain them.
 */
export function encodeContents(model: string, messages: readonly Message[]): readonly JsonObject[] {
  const contents: JsonObject[] = [];
  const addContent = (role: 'user' | 'model', parts: readonly JsonObject[]) => {
    if (parts.length > 0) contents.push({ role, parts });
  };
  const conversation = messages.filter(({ role }) => role !== 'system');
  const turnStart = conversation.map(beginsTurn).lastIndexOf(true);
  let calls: readonly ToolCallPart[] = [];
  conversation.forEach((message, index) => {
    if (message.role === 'model') {
      const parts = message.parts.flatMap(encodePart);
      addContent('model', isGemini3(model) && index > turnStart ? signFirstCall(parts) : parts);
      calls = toolCallsOf(message);
      return;
    }
    addContent('user', encodeResults(message, calls));
    addContent('user', message.parts.flatMap(encodePart));
  });
  return contents;
}

/** Whether a message begins a turn as the API defines it: with content of the user, without tool results. */
const beginsTurn = (message: Message): boolean => message.role === 'user' && !hasToolResults(message);

/** Adds the placeholder signature to the first call of a step if that call has no signature. */
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
 * Encodes a text, followed by the API part that is stored in its provider data. If the text is signed, its last
 * `signed` characters become a separate part with the signature.
 */
function encodeText(textPart: TextPart): readonly JsonObject[] {
  const { text } = textPart;
  const { part, thoughtSignature, signed } = readProviderData(textPart);
  const unsigned = text === '' ? [] : [{ text }];
  if (isJsonObject(part)) return [...unsigned, part];
  if (thoughtSignature === undefined) return unsigned;
  const start = typeof signed === 'number' ? Math.max(0, text.length - signed) : 0;
  const signedPart = { text: text.slice(start), thoughtSignature };
  return start === 0 ? [signedPart] : [{ text: text.slice(0, start) }, signedPart];
}

/** Encodes a call. Its id is sent only if the API created it. */
function encodeCall(call: ToolCallPart): JsonObject {
  const { id, thoughtSignature } = readProviderData(call);
  const functionCall = omitUndefined({ id, name: call.name, args: call.arguments });
  return omitUndefined({ functionCall, thoughtSignature });
}

/**
 * Encodes a file as bytes or as a URL: a URL of the Files API, of YouTube, or a public URL (guide "File input
 * methods").
 */
function encodeFile(file: FilePart): JsonObject {
  const { mediaType, data, url } = inlineDataUrl(file);
  const { thoughtSignature } = readProviderData(file);
  if (data !== undefined) return omitUndefined({ inlineData: { mimeType: mediaType, data }, thoughtSignature });
  const mimeType = mediaType.includes('*') ? undefined : mediaType;
  return omitUndefined({ fileData: omitUndefined({ mimeType, fileUri: url }), thoughtSignature });
}

function encodeResults(message: Message, calls: readonly ToolCallPart[]): readonly JsonObject[] {
  const results = message.parts.filter((part) => part.type === 'toolResult');
  const positions = new Map(calls.map(({ id }, index) => [id, index]));
  const positionOf = ({ id }: ToolResultPart) => positions.get(id) ?? -1;
  return results
    .sort((a, b) => positionOf(a) - positionOf(b))
    .map((result) => encodeResult(result, calls[positionOf(result)]));
}

function encodeResult(result: ToolResultPart, call: ToolCallPart | undefined): JsonObject {
  const response = result.error === undefined ? { result: result.result } : { error: result.error };
  return { functionResponse: omitUndefined({ id: call && readProviderData(call)['id'], name: result.name, response }) };
}
