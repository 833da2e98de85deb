import { identity } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk, TextChunk } from '../../core/chunk.js';
import { createOperator } from '../../core/createOperator.js';
import { isJsonObject, nonEmptyString, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { closingEnd, isSpace } from '../../core/json/scan.js';
import type { Request } from '../../core/model.js';

/** Replaces tool calls that were written as text by fragments. */
export interface TextCalls {
  next(chunk: Chunk): void;
  /** Emits the text that is held back, as text. Call it before an error; a `finish` does it by itself. */
  flush(): void;
}

/** Llama 3 writes the first tag before its calls, Llama 4 the second. */
const tags = ['<|python_tag|>', '<|python_start|>'] as const;

/** Enough of the text, without white space, to recognise a tag and the character after it. */
const HEAD_LENGTH = 24;

/**
 * Replaces a text that consists of calls, `<|python_tag|>{"name": "f", "parameters": {...}}`, by fragments. Llama models
 * write calls like this; servers that do not parse them (Together with some models, vLLM without a tool parser, llama.cpp)
 * pass them on as text.
 *
 * Calls in a text may be a quotation: of the user, of a document, of a tool's result. So the text is replaced only if the
 * complete text of the response consists of calls, each of an offered tool, and the server sent no calls of its own. Any
 * other text is forwarded unchanged. Text is held back only while it begins as calls do.
 *
 * @param offered The names of the tools that the model may call.
 * @param emit Receives the chunks.
 */
export function createTextCalls(offered: ReadonlySet<string>, emit: (chunk: Chunk) => void): TextCalls {
  let held = ''; // a rope: it is flattened once
  let head = '';
  let isText = false; // the text is not calls: nothing is held back

  const flush = () => {
    const text = held;
    held = '';
    isText = true;
    if (text !== '') emit({ type: 'text', text });
  };
  const read = ({ text, providerData }: TextChunk) => {
    held += text;
    if (head.length < HEAD_LENGTH) head = (head + text.replace(/\s+/g, '')).slice(0, HEAD_LENGTH);
    if (!mayBeginCalls(head)) flush();
    if (providerData) emit({ type: 'text', text: '', providerData });
  };
  const finish = () => {
    const calls = isText ? undefined : parseCalls(held);
    if (!calls?.every(({ name }) => offered.has(name))) {
      flush();
      return;
    }
    held = '';
    for (const call of calls) emit({ type: 'toolCallFragment', ...call, done: true });
  };

  return {
    flush,
    next(chunk) {
      switch (chunk.type) {
        case 'text':
          if (isText) break;
          read(chunk);
          return;
        case 'toolCallFragment':
        case 'file':
          flush();
          break;
        case 'finish':
          finish();
          break;
        case 'retract':
          [held, head, isText] = ['', '', false];
          break;
        default:
      }
      emit(chunk);
    },
  };
}

/** Whether a text that begins like this may consist of calls: a tag, and then a bracket or another tag. */
function mayBeginCalls(head: string): boolean {
  return tags.some((tag) => {
    if (!head.startsWith(tag)) return tag.startsWith(head);
    return '{[<'.includes(head.charAt(tag.length));
  });
}

/**
 * The same as an operator. Text that is held back is emitted before an error or the completion.
 *
 * @param request The request: without tools, and with the tool choice `none`, no text is a call.
 */
export function extractTextCalls({ tools = [], toolChoice }: Request): MonoTypeOperatorFunction<Chunk> {
  if (tools.length === 0 || toolChoice === 'none') return identity;
  const offered = new Set(tools.map(({ name }) => name));
  return createOperator((out) => {
    const textCalls = createTextCalls(offered, (chunk) => out.next(chunk));
    return {
      next: (chunk) => textCalls.next(chunk),
      error(error) {
        textCalls.flush();
        out.error(error);
      },
      complete() {
        textCalls.flush();
        out.complete();
      },
    };
  });
}

/** A call that was written as text. */
interface TextCall {
  readonly name: string;
  readonly arguments: JsonObject | string;
}

/** The control tokens of Llama 3 and 4 that may stand around calls. */
const controlTokens = [...tags, '<|python_end|>', '<|eom_id|>', '<|eot_id|>', '<|eom|>', '<|eot|>'] as const;

/**
 * The calls in a text that consists of calls: objects `{ "name", "parameters" | "arguments" }`, or arrays of them, with
 * white space, `;`, `,` and control tokens in between. Linear in the text.
 *
 * @param text The text, with its tags.
 * @returns The calls; undefined if the text contains anything else, or no call.
 */
export function parseCalls(text: string): readonly TextCall[] | undefined {
  const calls: TextCall[] = [];
  let at = endOfSeparators(text, 0);
  while (at < text.length) {
    const end = closingEnd(text, at);
    const parsed = end < 0 ? undefined : toCalls(tryParseJson(text.slice(at, end)));
    if (!parsed) return undefined;
    for (const call of parsed) calls.push(call);
    at = endOfSeparators(text, end);
  }
  return calls.length > 0 ? calls : undefined;
}

/** A loop: a regular expression that repeats an alternation needs stack for each repetition. */
function endOfSeparators(text: string, from: number): number {
  for (let at = from; ;) {
    const code = text.charCodeAt(at);
    const token = code === 0x3c ? controlTokens.find((known) => text.startsWith(known, at)) : undefined;
    if (token !== undefined) at += token.length;
    else if (isSpace(code) || code === 0x3b || code === 0x2c) at += 1;
    else return at;
  }
}

function toCalls(value: JsonValue | undefined): readonly TextCall[] | undefined {
  const calls = (Array.isArray(value) ? value : [value]).map(toCall);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** Keys that a call without arguments may have: an object with other keys is not a call. */
const callKeys: ReadonlySet<string> = new Set(['name', 'type', 'id']);

function toCall(value: unknown): TextCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const called = isJsonObject(value['function']) ? value['function'] : value;
  const name = nonEmptyString(called['name']);
  if (name === undefined) return undefined;
  const args = called['parameters'] ?? called['arguments'] ?? undefined;
  if (isJsonObject(args) || typeof args === 'string') return { name, arguments: args };
  const hasOtherKeys = Object.keys(called).some((key) => !callKeys.has(key) && called[key] !== null);
  return args === undefined && !hasOtherKeys ? { name, arguments: {} } : undefined;
}
