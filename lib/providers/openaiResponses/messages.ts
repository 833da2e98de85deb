import { ConfigurationError } from '../../core/errors.js';
import { nonEmptyArray } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { shortCallId } from '../shared/callIds.js';
import { resultText, nonEmptyTexts } from '../shared/encode.js';
import { dataUrl, baseMediaType, fileName, inlineDataUrl } from '../shared/files.js';
import { containerOf, encodeModel } from './replay.js';
import { repliesIn } from './serverTools.js';

/** The system prompt. Several instructions are set apart by an empty line. */
export function encodeInstructions(messages: readonly Message[]): string | undefined {
  const texts = messages.filter(({ role }) => role === 'system').flatMap(nonEmptyTexts);
  return nonEmptyArray(texts)?.join('\n\n');
}

/**
 * The conversation as input items. One message of ours may be several items, or none.
 *
 * @param messages A valid history, or its end.
 * @param options What is known of it.
 */
export function encodeInput(
  messages: readonly Message[],
  { stored, callIds, gone }: InputOptions,
): readonly JsonObject[] {
  const callId = (id: string) => callIds?.get(id) ?? shortCallId(id, longest);
  const items = messages.flatMap((message) => {
    if (message.role === 'system') return [];
    return message.role === 'user' ? encodeUser(message, callId) : encodeModel(message, callId, stored);
  });
  return withoutDangling(gone === undefined ? items : withoutContainer(items, gone));
}

/** What is known of a history. */
export interface InputOptions {
  /** Whether the API may look items up by their ids. */
  readonly stored: boolean;
  /** The ids that calls go by at the API, where the history has others. Default: their own. */
  readonly callIds?: ReadonlyMap<string, string> | undefined;
  /** A container that the API no longer has: what ran in it is left out. Default: none. */
  readonly gone?: string | undefined;
}

/** Results come first: the API wants them behind the calls. */
function encodeUser({ parts }: Message, callId: (id: string) => string): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, callId));
  const answers = parts.flatMap(repliesIn);
  const content = parts.flatMap(encodeContent);
  return [...results, ...answers, ...(content.length === 0 ? [] : [{ type: 'message', role: 'user', content }])];
}

/** The API has no mark for a tool that failed. */
function encodeResult(part: ToolResultPart, callId: (id: string) => string): JsonObject {
  return { type: 'function_call_output', call_id: callId(part.id), output: resultText(part) };
}

function encodeContent(part: Part): readonly JsonObject[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'input_text', text: part.text }];
  return part.type === 'file' ? [encodeFile(inlineDataUrl(part))] : [];
}

/** Images, and any other file that the API reads (its guide "File inputs" lists PDF, documents, spreadsheets, texts), as bytes or by address. */
function encodeFile(file: FilePart): JsonObject {
  const mediaType = baseMediaType(file.mediaType);
  if (mediaType.startsWith('image/'))
    return { type: 'input_image', image_url: file.url ?? dataUrl(file), detail: 'auto' };
  if (/^(audio|video)\//.test(mediaType)) {
    throw new ConfigurationError(
      'options',
      `The Responses API takes no ${mediaType} file.`,
      'Use openai() with a model for sound, or send a transcript as text.',
    );
  }
  if (file.url !== undefined) return { type: 'input_file', file_url: file.url };
  return { type: 'input_file', filename: fileName(file), file_data: dataUrl(file) };
}

/** The longest `call_id` that the API takes. Other providers' are longer: some carry a signature in it. */
const longest = 64;

/**
 * Leaves out what the API refuses: calls to run on the client's side that nobody answered (400, "No tool output found for ..."), and reasoning that
 * nothing of the model's follows (400, "was provided without its required following item": an answer that was cut).
 */
function withoutDangling(items: readonly JsonObject[]): readonly JsonObject[] {
  const answered = new Set(items.filter(isOutput).map((item) => item['call_id']));
  const kept: JsonObject[] = [];
  let followed = false;
  for (const item of [...items].reverse()) {
    const dangles: boolean =
      item['type'] === 'reasoning' ? !followed : isClientCall(item) && !answered.has(item['call_id']);
    if (!dangles) kept.push(item);
    followed = !dangles && item['role'] !== 'user' && !isOutput(item);
  }
  return kept.reverse();
}

/** The API refuses a call whose container has expired ("Expected container_id: ..."), and the reasoning before it without it. */
function withoutContainer(items: readonly JsonObject[], container: string): readonly JsonObject[] {
  const ran = (item: JsonObject | undefined) => item !== undefined && containerOf(item) === container;
  return items.filter((item, at) => !ran(item) && !(item['type'] === 'reasoning' && ran(items[at + 1])));
}

const typeOf = ({ type }: JsonObject): string => (typeof type === 'string' ? type : '');

/** Whether it is what came of a call that the client, or a tool of its own, ran. */
export const isOutput = (item: JsonObject): boolean => typeOf(item).endsWith('_output');

/** Whether it is a call that the client is to run. */
export const isClientCall = (item: JsonObject): boolean =>
  typeOf(item).endsWith('_call') && typeof item['call_id'] === 'string';
