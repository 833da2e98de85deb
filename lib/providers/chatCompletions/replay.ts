import {
  omitUndefined,
  nonEmptyArray,
  isJsonObject,
  asArray,
  objectOrEmpty,
  contentParts,
  nonEmptyString,
} from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { textIn } from './delta.js';

/**
 * Collects, over the deltas of one answer, the fields that its provider wants to see again in the history, as they were:
 *
 * - `reasoning_content` with tool calls: DeepSeek and Moonshot refuse the request after the tools ran (400, "Missing reasoning_content field")
 *   when it is not there. Without calls it is of no use to them, so that it is not stored.
 * - `reasoning_details`: OpenRouter's signed or encrypted reasoning ("Preserving reasoning": the sequence must match what the model produced).
 * - `annotations` of type `file`: OpenRouter's parsed documents, which it else parses, and charges for, once more ("PDF inputs").
 */
export interface Echo {
  /**
   * @param delta What came.
   * @param at How many characters of text had come before it.
   */
  take(delta: JsonObject, at: number): void;
  readonly empty: boolean;
  /** What to store with the message; undefined when there is nothing. */
  data(withCalls: boolean): JsonObject | undefined;
}

/** A fresh, empty echo. */
export function createEcho(): Echo {
  let content = '';
  const details: JsonObject[] = [];
  const thoughts: JsonObject[] = [];
  const files: JsonObject[] = [];
  return {
    take(delta, at) {
      content += textIn(delta['reasoning_content']);
      for (const detail of asArray(delta['reasoning_details'])) if (isJsonObject(detail)) joinDetail(details, detail);
      for (const annotation of asArray(delta['annotations'])) {
        if (isJsonObject(annotation) && annotation['type'] === 'file') files.push(annotation);
      }
      takeThoughts(thoughts, contentParts(delta['content']), at);
    },
    get empty() {
      return content === '' && details.length + thoughts.length === 0;
    },
    data(withCalls) {
      const data = omitUndefined({
        reasoning_content: withCalls ? nonEmptyString(content) : undefined,
        reasoning_details: nonEmptyArray(details),
        annotations: nonEmptyArray(files),
        thoughts: nonEmptyArray(thoughts),
      });
      return Object.keys(data).length > 0 ? data : undefined;
    },
  };
}

/**
 * Thinking within `content` (Mistral's `{ type: 'thinking', thinking: [...] }`) is kept with its place in the text: what streams in pieces is one
 * part there, and the text itself stands in the message.
 */
function takeThoughts(thoughts: JsonObject[], content: readonly unknown[], start: number): void {
  let at = start;
  for (const part of content) {
    if (!isJsonObject(part) || part['type'] !== 'thinking') at += textIn(part).length;
    else {
      const previous = thoughts.at(-1);
      if (previous?.['at'] !== at) thoughts.push({ at, part });
      else thoughts[thoughts.length - 1] = { at, part: joined(objectOrEmpty(previous['part']), part) };
    }
  }
}

function joined(previous: JsonObject, next: JsonObject): JsonObject {
  const text = textIn(previous['thinking']) + textIn(next['thinking']);
  return { ...previous, ...next, thinking: [{ type: 'text', text }] };
}

/** The fields of an assistant message: its text, and with it what this provider gave with the message to have it back. */
export function replayed(text: string, own: unknown): JsonObject {
  const plain = text === '' ? null : text;
  if (!isJsonObject(own)) return { content: plain };
  const thoughts = asArray(own['thoughts']).filter(isThought);
  const content = thoughts.length > 0 ? withThoughts(text, thoughts) : plain;
  const { reasoning_content, reasoning_details, annotations } = own;
  return omitUndefined({ content, reasoning_content, reasoning_details, annotations });
}

type Thought = JsonObject & { readonly at: number; readonly part: JsonObject };
const isThought = (value: unknown): value is Thought =>
  isJsonObject(value) && typeof value['at'] === 'number' && isJsonObject(value['part']);

function withThoughts(text: string, thoughts: readonly Thought[]): readonly JsonObject[] {
  const content: JsonObject[] = [];
  let done = 0;
  const say = (until: number) => {
    const piece = nonEmptyString(text.slice(done, until));
    if (piece !== undefined) content.push({ type: 'text', text: piece });
    done = Math.max(done, until);
  };
  for (const { at, part } of thoughts) {
    say(at);
    content.push(part);
  }
  say(text.length);
  return content;
}

/** The fields of a detail that stream in pieces. */
const streamed = ['text', 'summary', 'data'] as const;

/**
 * Adds a chunk of OpenRouter's `reasoning_details` to the detail it belongs to (its guide "Reasoning tokens": `reasoning.text`,
 * `reasoning.summary`, `reasoning.encrypted`, each with an `index`). Chunks of one type and index are one detail, in the place of the first; its
 * signature comes with the last. Two ids are two details, and so is what follows a signature. Without an index, a chunk continues the detail right
 * before it. Encrypted data comes whole, unless an id says that it goes on.
 */
export function joinDetail(details: JsonObject[], next: JsonObject): void {
  const indexed = typeof next['index'] === 'number';
  for (let at = details.length - 1; at >= (indexed ? 0 : details.length - 1); at -= 1) {
    const held = details[at];
    if (held === undefined || !continues(held, next)) continue;
    details[at] = joinedDetail(held, next);
    return;
  }
  details.push(next);
}

function continues(held: JsonObject, next: JsonObject): boolean {
  if (held['type'] !== next['type'] || held['index'] !== next['index']) return false;
  const [id, nextId] = [nonEmptyString(held['id']), nonEmptyString(next['id'])];
  if (next['data'] !== undefined) return id !== undefined && id === nextId;
  if (id !== undefined && nextId !== undefined && id !== nextId) return false;
  const signature = nonEmptyString(held['signature']);
  return (
    signature === undefined || signature === next['signature'] || streamed.every((field) => textIn(next[field]) === '')
  );
}

function joinedDetail(held: JsonObject, next: JsonObject): JsonObject {
  const whole: Record<string, JsonValue> = { ...held };
  for (const [field, value] of Object.entries(next)) if (value !== null && value !== '') whole[field] = value;
  for (const field of streamed) {
    const text = textIn(held[field]) + textIn(next[field]);
    if (text !== '') whole[field] = text;
  }
  return whole;
}
