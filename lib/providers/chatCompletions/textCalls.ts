import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString, tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { partialTagLength } from '../shared/thinkTags.js';

/** Takes chunks and passes them on with the tool calls told from the text. */
export interface TaggedCalls {
  next(chunk: Chunk): void;
  /**
   * Releases what is held back, as calls where it is nothing else, or as the text that it was.
   *
   * @param whole Whether the answer came to its end: one that was cut exposes no call.
   */
  flush(whole: boolean): void;
}

/** Llama 3 marks its calls with the first, Llama 4 with the second. */
const tags = ['<|python_tag|>', '<|python_start|>'] as const;
const firstTag = /<\|python_(tag|start)\|>/;

/**
 * Turns calls that were written as text, `<|python_tag|>{"name": "f", "parameters": {...}}`, into calls. Llama models write them so; servers that do
 * not read them again (Together with some models, vLLM without a tool parser, llama.cpp) let them through as text.
 *
 * The rule is by what came: only where the tag is followed by calls and by nothing else, to the end of the answer, they are calls. An answer that
 * speaks of the tag, or quotes a call, remains text to the letter; so does all of it when the server sent calls of its own beside. Text is held
 * back from a tag on that a JSON value follows, otherwise no more than the beginning of a tag.
 *
 * @param emit Takes the chunks.
 */
export function taggedCalls(emit: (chunk: Chunk) => void): TaggedCalls {
  let held = '';
  let holding = false;
  let native = false;

  const say = (text: string) => {
    if (text !== '') emit({ type: 'text', text });
  };
  const scan = (text: string) => {
    const [tag] = firstTag.exec(text) ?? [];
    if (tag === undefined) {
      const shown = text.length - partialTagLength(text, ...tags);
      say(text.slice(0, shown));
      held = text.slice(shown);
      return;
    }
    const at = text.indexOf(tag);
    say(text.slice(0, at));
    const rest = text.slice(at + tag.length);
    if (/^\s*([[{<]|$)/.test(rest)) {
      held = text.slice(at);
      holding = /\S/.test(rest);
    } else {
      say(tag);
      scan(rest);
    }
  };

  return {
    next(chunk) {
      if (chunk.type === 'text') {
        if (held === '' && !chunk.text.includes('<')) {
          emit(chunk);
          return;
        }
        const text = held + chunk.text;
        held = '';
        if (holding) held = text;
        else scan(text);
        return;
      }
      if (chunk.type === 'toolCallFragment') native = true;
      emit(chunk);
    },
    flush(whole) {
      const calls = whole && !native && holding ? callsIn(held) : undefined;
      if (calls)
        for (const { name, args } of calls) emit({ type: 'toolCallFragment', name, arguments: args, done: true });
      else say(held);
      [held, holding] = ['', false];
    },
  };
}

/** A call as it was written in a text. */
export interface WrittenCall {
  readonly name: string;
  readonly args: JsonObject | string;
}

/** What may stand between calls and around them: separators, and the control tokens of Llama 3 and 4. */
const between = /(?:\s|[;,]|<\|(?:python_tag|python_start|python_end|eom_id|eot_id|eom|eot)\|>)*/y;

/**
 * The calls of a text that holds calls and nothing else: objects `{ "name", "parameters" | "arguments" }` one after the other, or lists of them,
 * with Llama's control tokens between them. Linear in the text.
 *
 * @param text The text, tags included.
 * @returns The calls, or undefined when anything else is in it.
 */
export function callsIn(text: string): readonly WrittenCall[] | undefined {
  const calls: WrittenCall[] = [];
  let at = 0;
  for (;;) {
    between.lastIndex = at;
    between.test(text);
    at = between.lastIndex;
    if (at >= text.length) return calls.length > 0 ? calls : undefined;
    const end = endOfValue(text, at);
    const found = end === undefined ? undefined : written(text.slice(at, end));
    if (end === undefined || found === undefined) return undefined;
    calls.push(...found);
    at = end;
  }
}

/** Where the JSON object or list that begins at `start` ends, strings told from structure; undefined when it does not. */
function endOfValue(text: string, start: number): number | undefined {
  if (text[start] !== '{' && text[start] !== '[') return undefined;
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (inString && char === '\\') at += 1;
    else if (char === '"') inString = !inString;
    else if (!inString && (char === '{' || char === '[')) depth += 1;
    else if (!inString && (char === '}' || char === ']')) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return undefined;
}

function written(json: string): readonly WrittenCall[] | undefined {
  const value = tryParseJson(json);
  const calls = (Array.isArray(value) ? value : [value]).map(callOf);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** Keys that may stand beside a name where a call has no arguments: an object with others is something else. */
const bare: ReadonlySet<string> = new Set(['name', 'type', 'id']);
function callOf(value: unknown): WrittenCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const called = isJsonObject(value['function']) ? value['function'] : value;
  const name = nonEmptyString(called['name']);
  const args = called['parameters'] ?? called['arguments'];
  if (name === undefined) return undefined;
  if (isJsonObject(args) || typeof args === 'string') return { name, args };
  return (args === undefined || args === null) &&
    Object.keys(called).every((key) => bare.has(key) || called[key] === null)
    ? { name, args: {} }
    : undefined;
}
