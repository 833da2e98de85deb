import { growing } from '../../core/growing.js';
import { isJsonObject, omitUndefined, type JsonObject } from '../../core/json/json.js';
import { storedData, type ProviderPart } from '../../core/providerPart.js';
import { resultText } from '../shared/encode.js';
import { hasToolResults, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, Part, TextPart, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { encodeConversation, encodeJson, joinEncoded } from '../../protocol/encodeOnce.js';
import { baseMediaType, inlineDataUrl } from '../shared/files.js';
import { encodeSystemMessages } from '../shared/encode.js';
import { withMessageOptions, withProviderOptions } from '../shared/providerOptions.js';
import { toolResultContent } from '../shared/toolResultContent.js';
import { isBeforeGemini3, isGemini3 } from '../shared/googleModels.js';
import { provider } from './providerData.js';

/** For calls of other models (guide "Thought signatures", "FAQs"): Gemini 3 rejects a first call without one (400). */
const placeholderSignature = 'skip_thought_signature_validator';

export const encodeInstructions = /* @__PURE__ */ encodeSystemMessages((system): JsonObject | undefined => {
  const parts = system.flatMap((message) => withMessageOptions(message.parts.flatMap(encodePart), provider, message));
  return parts.length === 0 ? undefined : { parts };
});

/** The API requires as many results as calls, directly after them: they are one content, the rest the next. */
export function encodeContents(model: string, messages: readonly Message[]): readonly JsonObject[] {
  if (!isGemini3(model)) return encodeUnsigned(messages);
  const { turnStart } = findTurnStart(messages);
  return joinEncoded(encodeUnsigned(messages.slice(0, turnStart)), encodeSigned(messages.slice(turnStart)));
}

const findTurnStart = /* @__PURE__ */ growing<Message, { readonly length: number; readonly turnStart: number }>(
  { length: 0, turnStart: 0 },
  ({ length, turnStart }, message) => {
    const beginsTurn = message.role === 'user' && !hasToolResults(message);
    return { length: length + 1, turnStart: beginsTurn ? length + 1 : turnStart };
  },
);

const encodeUnsigned = /* @__PURE__ */ encodeConversation((message, answered) =>
  encodeMessage(message, answered, encodeModelParts),
);

const encodeSigned = /* @__PURE__ */ encodeConversation((message, answered) =>
  encodeMessage(message, answered, (parts) => signFirstCall(encodeModelParts(parts))),
);

function encodeMessage(
  message: Message,
  answered: Message | undefined,
  encodeOfModel: (parts: readonly Part[]) => readonly JsonObject[],
): readonly JsonObject[] {
  if (message.role === 'system') return [];
  if (message.role === 'user') return encodeUser(message, answered);
  return toContents('model', withMessageOptions(encodeOfModel(message.parts), provider, message));
}

function encodeUser(message: Message, answered: Message | undefined): readonly JsonObject[] {
  const parts = message.parts.flatMap(encodePart);
  const results = encodeResults(message, answered ? toolCallsOf(answered) : []);
  return [
    ...toContents('user', parts.length > 0 ? results : withMessageOptions(results, provider, message)),
    ...toContents('user', withMessageOptions(parts, provider, message)),
  ];
}

const toContents = (role: 'user' | 'model', parts: readonly JsonObject[]): readonly JsonObject[] =>
  parts.length > 0 ? [{ role, parts }] : [];

function signFirstCall(parts: readonly JsonObject[]): readonly JsonObject[] {
  const firstCall = parts.find((part) => part['functionCall'] !== undefined);
  if (firstCall?.['thoughtSignature'] !== undefined) return parts;
  return parts.map((part) => (part === firstCall ? { ...part, thoughtSignature: placeholderSignature } : part));
}

/** A signature belongs to the text after it; without it, to an empty one. */
function encodeModelParts(parts: readonly Part[]): readonly JsonObject[] {
  const encoded: JsonObject[] = [];
  let signature: JsonObject | undefined;
  for (const part of parts) {
    const [first, ...others] = encodePart(part);
    if (signature && part.type === 'text' && first) encoded.push({ ...first, ...signature });
    else {
      if (signature) encoded.push({ text: '', ...signature });
      if (first) encoded.push(first, ...others);
    }
    signature = part.type === 'provider' ? readSignature(part) : undefined;
  }
  return signature ? [...encoded, { text: '', ...signature }] : encoded;
}

function readSignature({ provider: owner, data: { thoughtSignature } }: ProviderPart): JsonObject | undefined {
  return owner === provider && thoughtSignature !== undefined ? { thoughtSignature } : undefined;
}

function encodePart(part: Part): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : withOptions([{ text: part.text }], part);
    case 'toolCall':
      return [encodeCall(part)];
    case 'file':
      return withOptions([encodeFile(part)], part);
    case 'provider':
      return part.provider === provider && isJsonObject(part.data['part']) ? [part.data['part']] : [];
    default:
      return [];
  }
}

const withOptions = (parts: readonly JsonObject[], part: TextPart | FilePart): readonly JsonObject[] =>
  parts.map((encoded) => withProviderOptions(encoded, provider, part));

function encodeCall(call: ToolCallPart): JsonObject {
  const { id, thoughtSignature } = storedData(call, provider);
  const functionCall = omitUndefined({ id, name: call.name, args: call.arguments });
  return omitUndefined({ functionCall, thoughtSignature });
}

/** Bytes, or a URL of the Files API, YouTube, or a public one (guide "File input methods"). */
function encodeFile(file: FilePart): JsonObject {
  const { mediaType, data, url } = inlineDataUrl(file);
  const { thoughtSignature } = storedData(file, provider);
  if (data !== undefined) return omitUndefined({ inlineData: { mimeType: mediaType, data }, thoughtSignature });
  const mimeType = mediaType.includes('*') ? undefined : mediaType;
  return omitUndefined({ fileData: omitUndefined({ mimeType, fileUri: url }), thoughtSignature });
}

function encodeResults(message: Message, calls: readonly ToolCallPart[]): readonly JsonObject[] {
  const results = message.parts.filter((part) => part.type === 'toolResult');
  const positions = new Map(calls.map(({ id }, index) => [id, index]));
  const findPosition = ({ id }: ToolResultPart) => positions.get(id) ?? -1;
  return results
    .sort((a, b) => findPosition(a) - findPosition(b))
    .map((result) => {
      const call = calls[findPosition(result)];
      const id = call && storedData(call, provider)['id'];
      return { functionResponse: omitUndefined({ id, name: result.name, ...encodeResult(result) }) };
    });
}

/** Files are `parts` of the response since Gemini 3 (guide "Gemini 3", "Multimodal function responses"). */
function encodeResult(part: ToolResultPart): JsonObject {
  if (part.error !== undefined) return { response: { error: part.error } };
  const contents = toolResultContent(part);
  const files = contents.filter((content) => content.type === 'file');
  // `{ "$ref": name }` refers to one of the parts there (`FunctionResponse` of the SDK 3.1).
  if (files.length === 0) {
    const text = encodeJson(part.result ?? null);
    if (part.arguments) return { response: { result: resultText(part) } };
    return { response: { result: text.includes('"$ref":') ? text : part.result } };
  }
  const texts = contents.flatMap((content) => (content.type === 'text' ? [content.text] : []));
  return { response: texts.length > 0 ? { result: texts.join('\n') } : {}, parts: files.map(encodeFile) };
}

/** Since Gemini 3, bytes of images, PDFs and texts, but no URL (guide "Gemini 3", "Multimodal function responses"). */
export const acceptsInResult = (model: string, { mediaType, url }: FilePart): boolean =>
  !isBeforeGemini3(model) && url === undefined && /^(image\/|text\/|application\/pdf)/.test(baseMediaType(mediaType));
