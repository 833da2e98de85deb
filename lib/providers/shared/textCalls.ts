import { identity, type MonoTypeOperatorFunction } from 'rxjs';
import type { Chunk, TextChunk } from '../../core/chunk.js';
import type { StreamEvent } from '../../core/event.js';
import { isJsonObject, nonEmptyString, tryParseJson, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { closingEnd, isSpace } from '../../core/json/scan.js';
import type { ModelRequest } from '../../core/model.js';
import { textFilter, type TextReader } from '../../core/textFilter.js';

/** The option of models that may write their calls as text. */
export interface TextCallOptions {
  /** Converts a text of only calls of offered tools (`<|python_tag|>{...}`). Default: only for some of Together's. */
  readonly textCalls?: boolean | undefined;
}

/** Llama 3 writes the first tag before its calls, Llama 4 the second. */
const tags = ['<|python_tag|>', '<|python_start|>'] as const;

/** Characters that are not whitespace: enough for a tag and the next character. */
const HEAD_LENGTH = 24;

/** Llama's calls, forwarded as text (vLLM without a parser). They may be quoted: only a text of only calls counts. */
class TextCallReader implements TextReader {
  private heldText = ''; // V8 keeps appended strings as a rope; the rope is flattened once, when it is parsed
  private head = '';
  private isPlainText = false; // A text that does not consist of calls is not held back.

  constructor(
    private readonly offered: ReadonlySet<string>,
    private readonly emit: (event: StreamEvent) => void,
  ) {}

  read({ text }: TextChunk): boolean {
    if (this.isPlainText) return true;
    this.heldText += text;
    if (this.head.length < HEAD_LENGTH) this.head = (this.head + text.replace(/\s+/g, '')).slice(0, HEAD_LENGTH);
    if (!mayBeginCalls(this.head)) this.emitAsText();
    return false;
  }

  release(next?: StreamEvent): void {
    switch (next?.type) {
      case 'finish':
        this.finish();
        break;
      case 'toolCallFragment':
      case 'file':
      case undefined:
        this.emitAsText();
        break;
      default: // thinking and sources may stand between a tag and its calls
    }
  }

  private emitAsText(): void {
    const text = this.heldText;
    this.heldText = '';
    this.isPlainText = true;
    if (text !== '') this.emit({ type: 'text', text } as StreamEvent);
  }

  private finish(): void {
    const calls = this.isPlainText ? undefined : parseCalls(this.heldText);
    if (!calls?.every(({ name }) => this.offered.has(name))) {
      this.emitAsText();
      return;
    }
    this.heldText = '';
    for (const call of calls) this.emit({ type: 'toolCallFragment', ...call, done: true } as StreamEvent);
  }
}

function mayBeginCalls(head: string): boolean {
  return tags.some((tag) => {
    if (!head.startsWith(tag)) return tag.startsWith(head);
    return '{[<'.includes(head.charAt(tag.length));
  });
}

/**
 * Converts a text of only calls to calls. Held text is emitted before an error or the completion.
 *
 * @param request The request. Without tools, or with the tool choice `none`, no text is converted.
 */
export function extractTextCalls({ tools = [], toolChoice }: ModelRequest): MonoTypeOperatorFunction<Chunk> {
  if (tools.length === 0 || toolChoice === 'none') return identity;
  const offered = new Set(tools.map(({ name }) => name));
  return textFilter((emit) => new TextCallReader(offered, emit));
}

interface TextCall {
  readonly name: string;
  readonly arguments: JsonObject | string;
}

const controlToken = /<\|(?:python_(?:tag|start|end)|eo[mt](?:_id)?)\|>/y;

/** Separated by whitespace, `;`, `,` and control tokens. The time is linear in the text's length. */
export function parseCalls(text: string): readonly TextCall[] | undefined {
  const calls: TextCall[] = [];
  let offset = endOfSeparators(text, 0);
  while (offset < text.length) {
    const end = closingEnd(text, offset);
    const parsed = end < 0 ? undefined : toCalls(tryParseJson(text.slice(offset, end)));
    if (!parsed) return undefined;
    for (const call of parsed) calls.push(call);
    offset = endOfSeparators(text, end);
  }
  return calls.length > 0 ? calls : undefined;
}

/** A loop: a regular expression that repeats an alternation uses stack space for each repetition. */
function endOfSeparators(text: string, start: number): number {
  for (let offset = start; ;) {
    const code = text.charCodeAt(offset);
    controlToken.lastIndex = offset;
    if (code === 0x3c && controlToken.test(text)) offset = controlToken.lastIndex;
    else if (isSpace(code) || code === 0x3b || code === 0x2c) offset += 1;
    else return offset;
  }
}

function toCalls(value: JsonValue | undefined): readonly TextCall[] | undefined {
  const calls = (Array.isArray(value) ? value : [value]).map(toCall);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** An object with other keys is not a call. */
const callKeys: ReadonlySet<string> = new Set(['name', 'type', 'id']);

function toCall(value: unknown): TextCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const functionFields = isJsonObject(value['function']) ? value['function'] : value;
  const name = nonEmptyString(functionFields['name']);
  if (name === undefined) return undefined;
  const args = functionFields['parameters'] ?? functionFields['arguments'] ?? undefined;
  if (isJsonObject(args) || typeof args === 'string') return { name, arguments: args };
  const hasOtherKeys = Object.keys(functionFields).some((key) => !callKeys.has(key) && functionFields[key] !== null);
  return args === undefined && !hasOtherKeys ? { name, arguments: {} } : undefined;
}
