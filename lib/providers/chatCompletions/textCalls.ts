import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { closingEnd } from '../../core/json/scan.js';
import { partialTagLength } from '../shared/thinkTags.js';

/** Replaces tool calls that were written as text by fragments. */
export interface TextCalls {
  next(chunk: Chunk): void;
  /**
   * Emits the text that is held back: as calls if it consists of calls, otherwise as text.
   *
   * @param complete Whether the response is complete: an incomplete response exposes no call.
   */
  flush(complete: boolean): void;
}

/** Llama 3 writes the first tag before its calls, Llama 4 the second. */
const tags = ['<|python_tag|>', '<|python_start|>'] as const;

/** A tag that calls may follow: the next character is a bracket or begins another tag, or has not arrived. */
const callTag = /<\|python_(?:tag|start)\|>(?=\s*(?:[[{<]|$))/;

/**
 * Replaces calls that were written as text, `<|python_tag|>{"name": "f", "parameters": {...}}`, by fragments. Llama models
 * write calls like this; servers that do not parse them (Together with some models, vLLM without a tool parser, llama.cpp)
 * pass them on as text.
 *
 * The text after a tag is replaced only if it consists of calls up to the end of the response. A response that mentions the
 * tag, or quotes a call, is forwarded unchanged, and so is any text if the server also sent calls of its own. Text is held
 * back from a tag that JSON follows; before that, at most the beginning of a tag is held back.
 *
 * @param emit Receives the chunks.
 */
export function createTextCalls(emit: (chunk: Chunk) => void): TextCalls {
  let held = '';
  let holdsAll = false; // JSON follows the tag: the rest of the response is held back
  let hasFragments = false;

  const emitText = (text: string) => {
    if (text !== '') emit({ type: 'text', text });
  };
  const scan = (text: string) => {
    const tag = callTag.exec(text);
    const end = tag ? tag.index : text.length - partialTagLength(text, ...tags);
    emitText(text.slice(0, end));
    held = text.slice(end);
    holdsAll = tag !== null && held.trimEnd() !== tag[0];
  };

  return {
    next(chunk) {
      if (chunk.type !== 'text') {
        hasFragments ||= chunk.type === 'toolCallFragment';
        emit(chunk);
      } else if (holdsAll) held += chunk.text;
      else if (held !== '' || chunk.text.includes('<')) scan(held + chunk.text);
      else emit(chunk);
    },
    flush(complete) {
      const calls = complete && holdsAll && !hasFragments ? callsIn(held) : undefined;
      if (!calls) emitText(held);
      else for (const call of calls) emit({ type: 'toolCallFragment', ...call, done: true });
      held = '';
      holdsAll = false;
    },
  };
}

/** A call that was written as text. */
interface TextCall {
  readonly name: string;
  readonly arguments: JsonObject | string;
}

/** What may stand around calls: separators, and the control tokens of Llama 3 and 4. */
const separators = /(?:\s|[;,]|<\|(?:python_tag|python_start|python_end|eom_id|eot_id|eom|eot)\|>)*/y;

/**
 * The calls in a text that consists of calls: objects `{ "name", "parameters" | "arguments" }`, or arrays of them, with
 * separators in between. Linear in the text.
 *
 * @param text The text, with its tags.
 * @returns The calls; undefined if the text contains anything else, or no call.
 */
export function callsIn(text: string): readonly TextCall[] | undefined {
  const calls: TextCall[] = [];
  let at = endOfSeparators(text, 0);
  while (at < text.length) {
    const end = closingEnd(text, at);
    const parsed = end < 0 ? undefined : callsOf(tryParseJson(text.slice(at, end)));
    if (!parsed) return undefined;
    calls.push(...parsed);
    at = endOfSeparators(text, end);
  }
  return calls.length > 0 ? calls : undefined;
}

function endOfSeparators(text: string, from: number): number {
  separators.lastIndex = from;
  separators.test(text);
  return separators.lastIndex;
}

function callsOf(value: JsonValue | undefined): readonly TextCall[] | undefined {
  const calls = (Array.isArray(value) ? value : [value]).map(callOf);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** Keys that a call without arguments may have: an object with other keys is not a call. */
const callKeys: ReadonlySet<string> = new Set(['name', 'type', 'id']);

function callOf(value: unknown): TextCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const called = isJsonObject(value['function']) ? value['function'] : value;
  const name = nonEmptyString(called['name']);
  if (name === undefined) return undefined;
  const args = called['parameters'] ?? called['arguments'] ?? undefined;
  if (isJsonObject(args) || typeof args === 'string') return { name, arguments: args };
  const hasOtherKeys = Object.keys(called).some((key) => !callKeys.has(key) && called[key] !== null);
  return args === undefined && !hasOtherKeys ? { name, arguments: {} } : undefined;
}
