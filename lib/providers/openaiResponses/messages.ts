import { ConfigurationError } from '../../core/errors.js';
import { nonEmptyArray } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { shortCallId } from '../shared/callIds.js';
import { nonEmptyTexts, resultText } from '../shared/encode.js';
import { baseMediaType, dataUrl, fileName, inlineDataUrl } from '../shared/files.js';
import { containerOf, encodeModelMessage } from './replay.js';
import type { MapCallId } from './replay.js';
import { replyItems } from './serverTools.js';

/** Encodes the system prompt. Several instructions are separated by an empty line. */
export function encodeInstructions(messages: readonly Message[]): string | undefined {
  const texts = messages.filter(({ role }) => role === 'system').flatMap(nonEmptyTexts);
  return nonEmptyArray(texts)?.join('\n\n');
}

/** How a history is encoded. */
export interface InputOptions {
  /** Whether the API may look items up by their ids. */
  readonly stored: boolean;
  /** The ids that the API knows the calls by, where the history has other ids. Default: the history's. */
  readonly callIds?: ReadonlyMap<string, string> | undefined;
  /** A container that the API no longer has: what ran in it is omitted. Default: none. */
  readonly lostContainer?: string | undefined;
}

/**
 * Encodes a conversation as input items. One message may become several items, or none.
 *
 * @param messages A valid history, or its end.
 * @param options How to encode it.
 */
export function encodeInput(
  messages: readonly Message[],
  { stored, callIds, lostContainer }: InputOptions,
): readonly JsonObject[] {
  const mapCallId = (id: string) => callIds?.get(id) ?? shortCallId(id, maxCallIdLength);
  const items = messages.flatMap((message) => {
    switch (message.role) {
      case 'system':
        return [];
      case 'user':
        return encodeUserMessage(message, mapCallId);
      case 'model':
        return encodeModelMessage(message, mapCallId, stored);
    }
  });
  return withoutDangling(lostContainer === undefined ? items : withoutContainer(items, lostContainer));
}

/** The longest `call_id` that the API accepts. Other providers' ids are longer: some carry a signature. */
const maxCallIdLength = 64;

/** Results come first: the API requires them after the calls. */
function encodeUserMessage({ parts }: Message, mapCallId: MapCallId): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, mapCallId));
  const content = parts.flatMap(encodeContent);
  const message = content.length === 0 ? [] : [{ type: 'message', role: 'user', content }];
  return [...results, ...parts.flatMap(replyItems), ...message];
}

/** The API has no mark for a tool that failed. */
function encodeResult(part: ToolResultPart, mapCallId: MapCallId): JsonObject {
  return { type: 'function_call_output', call_id: mapCallId(part.id), output: resultText(part) };
}

function encodeContent(part: Part): readonly JsonObject[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'input_text', text: part.text }];
  return part.type === 'file' ? [encodeFile(inlineDataUrl(part))] : [];
}

/**
 * Encodes an image, or any other file that the API reads (its guide "File inputs" lists PDFs, documents, spreadsheets and
 * texts), as bytes or by URL.
 */
function encodeFile(file: FilePart): JsonObject {
  const mediaType = baseMediaType(file.mediaType);
  if (mediaType.startsWith('image/'))
    return { type: 'input_image', image_url: file.url ?? dataUrl(file), detail: 'auto' };
  if (/^(audio|video)\//.test(mediaType)) {
    throw new ConfigurationError(
      'options',
      `The Responses API does not accept ${mediaType} files.`,
      'Use openai() with a model for sound, or send a transcript as text.',
    );
  }
  if (file.url !== undefined) return { type: 'input_file', file_url: file.url };
  return { type: 'input_file', filename: fileName(file), file_data: dataUrl(file) };
}

/**
 * Omits what the API refuses: calls for the client that have no output (400, "No tool output found for ..."), and
 * reasoning without a following item of the model (400, "was provided without its required following item"), which a
 * truncated response leaves.
 */
function withoutDangling(items: readonly JsonObject[]): readonly JsonObject[] {
  const answeredIds = new Set(items.filter(isOutput).map((item) => item['call_id']));
  const accepted: JsonObject[] = [];
  let isFollowed = false;
  for (const item of [...items].reverse()) {
    const isDangling: boolean =
      item['type'] === 'reasoning' ? !isFollowed : isClientCall(item) && !answeredIds.has(item['call_id']);
    if (!isDangling) accepted.push(item);
    isFollowed = !isDangling && item['role'] !== 'user' && !isOutput(item);
  }
  return accepted.reverse();
}

/**
 * Omits the calls that ran in a container that has expired, which the API refuses ("Expected container_id: ..."), and the
 * reasoning before each, which it refuses without the call.
 */
function withoutContainer(items: readonly JsonObject[], container: string): readonly JsonObject[] {
  const ranInContainer = (item: JsonObject | undefined) => item !== undefined && containerOf(item) === container;
  return items.filter(
    (item, at) => !ranInContainer(item) && !(item['type'] === 'reasoning' && ranInContainer(items[at + 1])),
  );
}

/** Whether an item is the output of a call, which the client or a server-side tool ran. */
export const isOutput = (item: JsonObject): boolean => typeOf(item).endsWith('_output');

/** Whether an item is a call that the client has to run. */
export const isClientCall = (item: JsonObject): boolean =>
  typeOf(item).endsWith('_call') && typeof item['call_id'] === 'string';

const typeOf = ({ type }: JsonObject): string => (typeof type === 'string' ? type : '');
