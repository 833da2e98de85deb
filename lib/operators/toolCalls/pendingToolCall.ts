import type { ToolCallFragment } from '../../core/chunk.js';
import { isSameJson } from '../../core/json/equal.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { setField } from '../../core/json/merge.js';
import { BracketScanner } from '../../core/json/scan.js';
import type { ProviderData } from '../../core/message.js';
import { isInvalidArguments } from '../../core/invalidArguments.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { isBlank, parseToolCallArguments } from './arguments.js';

/** A tool call whose fragments are still arriving. */
export class PendingToolCall {
  /** The provider's id; `''` until it is known. */
  id = '';
  /** The id under which the call is emitted, unique in the conversation; `''` until it is assigned. */
  uniqueId = '';
  name = '';
  /** The arguments' JSON text so far. */
  readonly text = new StringBuilder();
  /** The arguments, if the provider sends them as an object. */
  object: Record<string, JsonValue> | undefined;
  /** The parsed `text`, as long as nothing is appended. */
  parsed: { readonly length: number; readonly value: JsonObject } | undefined;
  providerData: ProviderData | undefined;
  /** Whether the provider has marked the end of the call. */
  isDone = false;
  /** Whether the call has been emitted. A later fragment of it is a repeat. */
  isEmitted = false;
  /** Has read all of `text`. Created when `isComplete` is called, which is not necessary for most calls. */
  scanner: BracketScanner | undefined;
  /**
   * Some servers repeat all arguments so far in each fragment. This is the last fragment while all fragments fit that
   * pattern; undefined once they do not.
   */
  cumulative: string | undefined = '';
  /**
   * The first characters of `text` without whitespace: enough to recognise a placeholder (`""`, `null` or `{}`, sent
   * before the real arguments).
   */
  head = '';
  /** The indexes at which the call was announced by name; undefined unless there is more than one index. */
  announcedAt: Set<number | string> | undefined;
  /** The index at which the arguments began, after any placeholder. */
  argumentsIndex: number | string | undefined;
  /**
   * Whether the name arrived again after the arguments had closed. An object that follows then belongs to a different
   * call.
   */
  isAnnouncedAgain = false;

  /**
   * @param index The provider's index in the first fragment.
   * @param position The position among the calls of the turn, from 0.
   * @param original The call that this one repeats if its arguments turn out to be equal.
   */
  constructor(
    readonly index: number | string | undefined,
    readonly position: number,
    readonly original?: PendingToolCall,
  ) {
    if (!original) return;
    this.id = original.id;
    this.name = original.name;
  }
}

/** Longer than any placeholder. */
const HEAD_LENGTH = 8;

/** Enough of a fragment to fill the head, unless it begins with much whitespace. Bounds the cost of a long fragment. */
const HEAD_SOURCE_LENGTH = 1000;

/** Adds a fragment to its call. */
export function append(call: PendingToolCall, id: string, fragment: ToolCallFragment): void {
  if (call.id === '') call.id = id;
  if (fragment.name) call.name = mergeNames(call.name, fragment.name);
  const args = fragment.arguments;
  if (typeof args === 'string') appendText(call, args, fragment.index);
  else if (args) appendObject(call, args, fragment.index);
  if (fragment.providerData) call.providerData = { ...call.providerData, ...fragment.providerData };
  if (fragment.done) call.isDone = true;
}

/** The object is extended in place: a copy for each fragment would be quadratic. */
function appendObject(call: PendingToolCall, args: JsonObject, index: number | string | undefined): void {
  const object = (call.object ??= {});
  const fields = Object.entries(args);
  for (const [name, value] of fields) setField(object, name, value);
  if (fields.length > 0) call.argumentsIndex ??= index;
}

function appendText(call: PendingToolCall, text: string, index: number | string | undefined): void {
  if (repeatsParsed(call, text)) return;
  if (call.head.length < HEAD_LENGTH) {
    const isPlaceholderSoFar = isBlank(call.head);
    if (call.head !== '' && isPlaceholderSoFar && isBlank(text)) return; // a repeated placeholder
    call.head = (call.head + text.slice(0, HEAD_SOURCE_LENGTH).replace(/\s+/g, '')).slice(0, HEAD_LENGTH);
    if (isPlaceholderSoFar && !isBlank(call.head)) call.argumentsIndex = index;
  }
  call.text.add(text);
  if (call.scanner) scan(call.scanner, text);
  // Cheap: for an ordinary fragment, `startsWith` fails at the first characters.
  if (call.cumulative !== undefined && text !== '')
    call.cumulative = text.startsWith(call.cumulative) ? text : undefined;
}

/**
 * Whether a text repeats the arguments, where these were just parsed to compare them with it (`addsNothing`). Such a
 * repeat is not appended: otherwise all of them would be parsed again with each repeat.
 */
function repeatsParsed({ parsed, text: complete }: PendingToolCall, text: string): boolean {
  if (parsed?.length !== complete.length || isBlank(text)) return false;
  return isSameJson(parseToolCallArguments(text), parsed.value);
}

/**
 * Ignores a repeated name, replaces the name by a longer name that starts with it (cumulative), and appends any other
 * text.
 */
function mergeNames(name: string, next: string): string {
  if (next === name) return name;
  return next.startsWith(name) ? next : name + next;
}

/** Whether no arguments have arrived, not even a blank text. */
export const hasNoArguments = (call: PendingToolCall): boolean => call.text.length === 0 && call.object === undefined;

/** Whether the call is only announced so far: it has no arguments, or a placeholder `""` or `null`. */
export const isOnlyAnnounced = (call: PendingToolCall): boolean =>
  !call.isDone && call.object === undefined && (call.head === '' || call.head === 'null');

/** Whether the arguments are blank or a placeholder, which is replaced by any arguments that follow. */
export const isPlaceholder = (call: PendingToolCall): boolean =>
  isBlank(call.head) && (call.object === undefined || Object.keys(call.object).length === 0);

/**
 * Whether the arguments are complete: marked as done, an object, or a JSON text that has closed. Each character is
 * scanned only once, however often this function is called. (A `JSON.parse` per fragment would have quadratic cost: 64
 * KB in 4-character fragments took seconds.)
 */
export function isComplete(call: PendingToolCall): boolean {
  if (call.isDone || call.object) return true;
  if (!call.scanner) {
    call.scanner = new BracketScanner();
    scan(call.scanner, call.text.toString());
  }
  return call.scanner.isClosed || call.head === 'null';
}

/** Scans a complete text: the scanner itself stops after each value. */
function scan(scanner: BracketScanner, text: string): void {
  let offset = 0;
  while (offset >= 0 && offset < text.length) offset = scanner.scan(text, offset); // -1 at the end of the text
}

/** Whether the fragment's arguments are absent or empty, or repeat the call's complete arguments. */
export function addsNothing(call: PendingToolCall, { arguments: args }: ToolCallFragment): boolean {
  if (args === undefined || args === null) return true;
  const added = typeof args === 'string' ? parseToolCallArguments(args) : args;
  return Object.keys(added).length === 0 || (isComplete(call) && isSameJson(added, parseCallArguments(call)));
}

/** Whether the call is a repeat of its original: it has equal arguments, or no arguments at another index. */
export function isRepeat(call: PendingToolCall): boolean {
  const { original } = call;
  if (original === undefined) return false;
  if (isPlaceholder(call) && call.index !== original.argumentsIndex) return true;
  return isSameJson(parseCallArguments(call), parseCallArguments(original));
}

/** The parsed arguments: those of the joined text, or, if that is not JSON, those of the last cumulative fragment. */
export function parseCallArguments(call: PendingToolCall): JsonObject {
  const { object, cumulative } = call;
  if (object) return isBlank(call.text.toString()) ? object : { ...object, ...parsedText(call) };
  const joined = parsedText(call);
  if (!isInvalidArguments(joined) || !cumulative) return joined;
  const last = parseToolCallArguments(cumulative);
  return isInvalidArguments(last) ? joined : last;
}

function parsedText(call: PendingToolCall): JsonObject {
  const { length } = call.text;
  if (call.parsed?.length !== length) call.parsed = { length, value: parseToolCallArguments(call.text.toString()) };
  return call.parsed.value;
}
