import {
  asArray,
  contentParts,
  isJsonObject,
  nonEmptyArray,
  nonEmptyString,
  objectOrEmpty,
  omitUndefined,
} from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { readText } from './content.js';
import type { Replay, ReplayCollector } from './dialect.js';

/**
 * Collects the fields of one response that must be sent back, unchanged, in the history of the next request:
 *
 * - `reasoning_content` with tool calls: DeepSeek and Moonshot reject the request with the tool results if this field
 *   is missing (400, "Missing reasoning_content field"). Without calls they do not use it, so it is not stored.
 * - `reasoning_details`: OpenRouter's signed or encrypted reasoning ("Preserving reasoning": the sequence must match
 *   what the model produced).
 * - `annotations` of type `file`: the documents that OpenRouter has parsed. Without this field, it parses them again
 *   and charges for it ("PDF inputs").
 * - `thoughts`: thinking parts within `content` (Mistral's `{ type: 'thinking', thinking: [...] }`), each with its
 *   offset in the text of the message.
 */
class OpenReplayCollector implements ReplayCollector {
  private reasoningContent = '';
  private readonly details: JsonObject[] = [];
  private readonly thoughts: Thought[] = [];
  /** The files by their JSON, so that a repeated one is found at once. */
  private readonly files = new Map<string, JsonObject>();

  get hasNoReasoning(): boolean {
    return this.reasoningContent === '' && this.details.length + this.thoughts.length === 0;
  }

  add(delta: JsonObject, offset: number): void {
    this.reasoningContent += readText(delta['reasoning_content']);
    for (const detail of asArray(delta['reasoning_details'])) if (isJsonObject(detail)) addDetail(this.details, detail);
    for (const annotation of asArray(delta['annotations']))
      if (isJsonObject(annotation) && annotation['type'] === 'file') this.addFile(annotation);
    addThoughts(this.thoughts, contentParts(delta['content']), offset);
  }

  /** Adds a file, unless a delta had it: a message repeats what the deltas contained. */
  private addFile(annotation: JsonObject): void {
    this.files.set(JSON.stringify(annotation), annotation);
  }

  data(hasCalls: boolean): JsonObject | undefined {
    const data = omitUndefined({
      reasoning_content: hasCalls ? nonEmptyString(this.reasoningContent) : undefined,
      reasoning_details: nonEmptyArray(this.details),
      annotations: nonEmptyArray([...this.files.values()]),
      thoughts: nonEmptyArray(this.thoughts),
    });
    return Object.keys(data).length > 0 ? data : undefined;
  }
}

/** What the servers other than OpenAI's expect back. */
export const replay: Replay = { createCollector: () => new OpenReplayCollector(), fields: replayFields };

function replayFields(text: string, providerData: unknown): JsonObject {
  const content = text === '' ? null : text;
  if (!isJsonObject(providerData)) return { content };
  const thoughts = asArray(providerData['thoughts']).filter(isThought);
  const { reasoning_content, reasoning_details, annotations } = providerData;
  return omitUndefined({
    content: thoughts.length > 0 ? contentWithThoughts(text, thoughts) : content,
    reasoning_content,
    reasoning_details,
    annotations,
  });
}

/** A thinking part and its offset in the text of the message, as stored in the message. */
type Thought = JsonObject & { readonly at: number; readonly part: JsonObject };

const isThought = (value: unknown): value is Thought =>
  isJsonObject(value) && typeof value['at'] === 'number' && isJsonObject(value['part']);

/**
 * Adds the thinking parts among the parts of `content`. Thinking parts at the same offset are fragments of one part and
 * are joined.
 */
function addThoughts(thoughts: Thought[], parts: readonly unknown[], startOffset: number): void {
  let offset = startOffset;
  for (const part of parts) {
    if (!isJsonObject(part) || part['type'] !== 'thinking') {
      offset += readText(part).length;
      continue;
    }
    const previous = thoughts.at(-1);
    if (previous?.at === offset)
      thoughts[thoughts.length - 1] = { at: offset, part: joinThinking(previous.part, part) };
    else thoughts.push({ at: offset, part });
  }
}

function joinThinking(previous: JsonObject, next: JsonObject): JsonObject {
  const text = readText(previous['thinking']) + readText(next['thinking']);
  return { ...previous, ...next, thinking: [{ type: 'text', text }] };
}

/** The content parts of a message: its text, split at the offsets of the thoughts, with the thoughts in between. */
function contentWithThoughts(text: string, thoughts: readonly Thought[]): readonly JsonObject[] {
  const parts: JsonObject[] = [];
  let start = 0;
  const addTextUntil = (end: number) => {
    const segment = text.slice(start, end);
    if (segment !== '') parts.push({ type: 'text', text: segment });
    start = Math.max(start, end);
  };
  for (const { at, part } of thoughts) {
    addTextUntil(at);
    parts.push(part);
  }
  addTextUntil(text.length);
  return parts;
}

/** How many details may be open at a time. To search all of them for each fragment would be quadratic. */
const MAX_OPEN_DETAILS = 64;

/** The fields of a detail whose text arrives in fragments. */
const streamedFields = ['text', 'summary', 'data'] as const;

/**
 * Adds a fragment of OpenRouter's `reasoning_details` to the detail that it continues, or as a new detail (its guide
 * "Reasoning tokens": `reasoning.text`, `reasoning.summary`, `reasoning.encrypted`, each with an `index`). A fragment
 * with an index may continue any of the last details; a fragment without an index may continue only the last.
 */
function addDetail(details: JsonObject[], fragment: JsonObject): void {
  const first = Math.max(0, details.length - (typeof fragment['index'] === 'number' ? MAX_OPEN_DETAILS : 1));
  let position = details.length - 1;
  while (position >= first && !continuesDetail(objectOrEmpty(details[position]), fragment)) position--;
  if (position < first) details.push(fragment);
  else details[position] = joinDetail(objectOrEmpty(details[position]), fragment);
}

/**
 * Whether a fragment continues a detail. Fragments with the same type and index belong to one detail, whose signature
 * arrives with the last fragment. Fragments with different ids belong to different details, and text after a signature
 * begins a new detail. Encrypted data is complete in one fragment, unless both fragments have the same id.
 */
function continuesDetail(detail: JsonObject, fragment: JsonObject): boolean {
  if (detail['type'] !== fragment['type'] || detail['index'] !== fragment['index']) return false;
  const [id, nextId] = [nonEmptyString(detail['id']), nonEmptyString(fragment['id'])];
  if (fragment['data'] !== undefined) return id !== undefined && id === nextId;
  if (id !== undefined && nextId !== undefined && id !== nextId) return false;
  const signature = nonEmptyString(detail['signature']);
  if (signature === undefined || signature === fragment['signature']) return true;
  return streamedFields.every((field) => readText(fragment[field]) === '');
}

function joinDetail(detail: JsonObject, fragment: JsonObject): JsonObject {
  const joined: Record<string, JsonValue> = { ...detail };
  for (const [field, value] of Object.entries(fragment)) if (value !== null && value !== '') joined[field] = value;
  for (const field of streamedFields) {
    const text = readText(detail[field]) + readText(fragment[field]);
    if (text !== '') joined[field] = text;
  }
  return joined;
}
