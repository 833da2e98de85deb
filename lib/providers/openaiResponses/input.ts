import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { dataUrl, essence, fileName, inlined } from '../shared/files.js';
import { encodeModel } from './modelItems.js';

/** The system prompt. Several instructions are set apart by an empty line. */
export function encodeInstructions(messages: readonly Message[]): string | undefined {
  const texts = messages
    .filter(({ role }) => role === 'system')
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : [])));
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

/**
 * The conversation as input items. One message of ours may be several items, or none.
 *
 * @param messages A valid history.
 * @param stored Whether the API may look items up by their ids.
 */
export function encodeInput(messages: readonly Message[], stored: boolean): readonly JsonObject[] {
  const callId = validCallIds(messages);
  const items = messages.flatMap((message) => {
    if (message.role === 'system') return [];
    return message.role === 'user' ? encodeUser(message, callId) : encodeModel(message, callId, stored);
  });
  return withoutDangling(items);
}

/** Results come first: the API wants them behind the calls. */
function encodeUser({ parts }: Message, callId: (id: string) => string): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, callId));
  const content = parts.flatMap(encodeContent);
  return content.length === 0 ? results : [...results, { type: 'message', role: 'user', content }];
}

/** The API has no mark for a tool that failed. */
function encodeResult(part: ToolResultPart, callId: (id: string) => string): JsonObject {
  const output = part.error === undefined ? part.result : { error: part.error };
  return { type: 'function_call_output', call_id: callId(part.id), output: typeof output === 'string' ? output : JSON.stringify(output) };
}

function encodeContent(part: Part): readonly JsonObject[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'input_text', text: part.text }];
  return part.type === 'file' ? [encodeFile(inlined(part))] : [];
}

/** Images, and any other file that the API reads (its guide "File inputs" lists PDF, documents, spreadsheets, texts), as bytes or by address. */
function encodeFile(file: FilePart): JsonObject {
  const mediaType = essence(file.mediaType);
  if (mediaType.startsWith('image/')) return { type: 'input_image', image_url: file.url ?? dataUrl(file), detail: 'auto' };
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

/** Gives each call an id that the API takes: its own, where it does. */
function validCallIds(messages: readonly Message[]): (id: string) => string {
  const ids = new Set(messages.flatMap(toolCallsOf).map(({ id }) => id));
  const valid = new Map<string, string>();
  for (const id of ids) {
    if (id.length <= longest) continue;
    let short = `call_${valid.size + 1}`;
    while (ids.has(short)) short = `${short}_`;
    valid.set(id, short);
  }
  return (id) => valid.get(id) ?? id;
}

/**
 * Leaves out what the API refuses: calls to run on the client's side that nobody answered (400, "No tool output found for ..."), and reasoning that
 * nothing of the model's follows (400, "was provided without its required following item": an answer that was cut).
 */
function withoutDangling(items: readonly JsonObject[]): readonly JsonObject[] {
  const answered = new Set(items.filter(isOutput).map((item) => item['call_id']));
  const kept: JsonObject[] = [];
  let followed = false;
  for (const item of [...items].reverse()) {
    const dangles: boolean = item['type'] === 'reasoning' ? !followed : isClientCall(item) && !answered.has(item['call_id']);
    if (!dangles) kept.push(item);
    followed = !dangles && item['role'] !== 'user' && !isOutput(item);
  }
  return kept.reverse();
}

const typeOf = ({ type }: JsonObject): string => (typeof type === 'string' ? type : '');
const isOutput = (item: JsonObject): boolean => typeOf(item).endsWith('_output');
const isClientCall = (item: JsonObject): boolean => typeOf(item).endsWith('_call') && typeof item['call_id'] === 'string';
