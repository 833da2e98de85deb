import { omitUndefined, isJsonObject } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { hasToolResults, toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, Part, TextPart, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { nonEmptyTexts } from '../shared/encode.js';
import { inlineDataUrl } from '../shared/files.js';
import { generationOf, ownOf } from './providerData.js';

/**
 * The signature that stands for one that there is not: for calls that another model made (guide "Thought signatures", under "FAQs"; Vertex AI takes
 * no other). Gemini 3 refuses a request with status 400 when the first call of a step of the current turn has none.
 */
const noSignature = 'skip_thought_signature_validator';

/** The instructions of a conversation, a part for each; undefined where there are none. */
export function encodeInstructions(messages: readonly Message[]): JsonObject | undefined {
  const texts = messages.filter(({ role }) => role === 'system').flatMap(nonEmptyTexts);
  return texts.length === 0 ? undefined : { parts: texts.map((text) => ({ text })) };
}

/**
 * The conversation as the API's contents. The results of a turn are one content, in the order of their calls, and what the user says besides is the
 * next: the API wants as many results as there were calls, right behind them. Sources have no place there.
 */
export function encodeContents(model: string, messages: readonly Message[]): readonly JsonObject[] {
  const contents: JsonObject[] = [];
  const add = (role: 'user' | 'model', parts: readonly JsonObject[]) => {
    if (parts.length > 0) contents.push({ role, parts });
  };
  const rest = messages.filter(({ role }) => role !== 'system');
  const current = rest.map(asks).lastIndexOf(true);
  const strict = (generationOf(model) ?? 0) >= 3;
  let calls: readonly ToolCallPart[] = [];
  rest.forEach((message, at) => {
    if (message.role === 'model') {
      add('model', withSignature(message.parts.flatMap(encodePart), strict && at > current));
      calls = toolCallsOf(message);
      return;
    }
    add('user', encodeResults(message, calls));
    add('user', message.parts.flatMap(encodePart));
  });
  return contents;
}

/** Whether a message begins a turn, in the API's sense: the user says something, and does not answer calls. */
const asks = (message: Message): boolean => message.role === 'user' && !hasToolResults(message);

/** The first call of a step has a signature, its own or the one that stands for none. */
function withSignature(parts: readonly JsonObject[], wanted: boolean): readonly JsonObject[] {
  const first = parts.find((part) => part['functionCall'] !== undefined);
  if (!wanted || first?.['thoughtSignature'] !== undefined) return parts;
  return parts.map((part) => (part === first ? { ...part, thoughtSignature: noSignature } : part));
}

function encodePart(part: Part): readonly JsonObject[] {
  if (part.type === 'text') return encodeText(part);
  if (part.type === 'toolCall') return [encodeCall(part)];
  return part.type === 'file' ? [encodeFile(part)] : [];
}

/** A text, then what was kept with it. Of a signed text, the end is the part that was signed. */
function encodeText(text: TextPart): readonly JsonObject[] {
  const { part, thoughtSignature, signed } = ownOf(text);
  const plain = text.text === '' ? [] : [{ text: text.text }];
  if (isJsonObject(part)) return [...plain, part];
  if (thoughtSignature === undefined) return plain;
  const from = typeof signed === 'number' ? Math.max(0, text.text.length - signed) : 0;
  const unsigned = from === 0 ? [] : [{ text: text.text.slice(0, from) }];
  return [...unsigned, { text: text.text.slice(from), thoughtSignature }];
}

/** An id goes back only where the API gave one. */
function encodeCall(call: ToolCallPart): JsonObject {
  const { id, thoughtSignature } = ownOf(call);
  return omitUndefined({
    functionCall: omitUndefined({ id, name: call.name, args: call.arguments }),
    thoughtSignature,
  });
}

/** Bytes, or an address: of the Files API, of YouTube, or public (guide "File input methods"). */
function encodeFile(file: FilePart): JsonObject {
  const { mediaType, data, url } = inlineDataUrl(file);
  const { thoughtSignature } = ownOf(file);
  const mimeType = mediaType.includes('*') ? undefined : mediaType;
  if (data === undefined)
    return omitUndefined({ fileData: omitUndefined({ mimeType, fileUri: url }), thoughtSignature });
  return omitUndefined({ inlineData: { mimeType: mediaType, data }, thoughtSignature });
}

function encodeResults(message: Message, calls: readonly ToolCallPart[]): readonly JsonObject[] {
  const results = message.parts.filter((part) => part.type === 'toolResult');
  const place = ({ id }: ToolResultPart) => calls.findIndex((call) => call.id === id);
  const inOrder = results.sort((a, b) => place(a) - place(b));
  return inOrder.map((result) => {
    const call = calls.find(({ id }) => id === result.id);
    const response = result.error === undefined ? { result: result.result } : { error: result.error };
    return { functionResponse: omitUndefined({ id: call && ownOf(call)['id'], name: result.name, response }) };
  });
}
