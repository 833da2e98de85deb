import type { ToolCallFragment } from '../../core/chunk.js';
import { isSameJson } from '../../core/json/equal.js';
import type { JsonObject } from '../../core/json/json.js';
import { BracketScanner } from '../../core/json/scan.js';
import type { ProviderData } from '../../core/message.js';
import { isInvalidArguments } from '../../core/tool.js';
import { isBlank, parseToolCallArguments } from './arguments.js';

/** A tool call while its fragments arrive. */
export interface PendingToolCall {
  /** The wire's id; `''` while there is none. */
  id: string;
  /** The wire's index in the first fragment. */
  readonly index: number | string | undefined;
  /** The position among the calls of the turn, from 0. */
  readonly position: number;
  /** The id with which it is emitted, unique in the conversation; `''` until it is assigned. */
  uniqueId: string;
  name: string;
  /** The arguments' JSON text so far. A rope: it is flattened once, when it is parsed. */
  text: string;
  /** The arguments, from a wire that sends them as an object. */
  object: JsonObject | undefined;
  providerData: ProviderData | undefined;
  /** The wire marked the end of the call. */
  isDone: boolean;
  /** It has been emitted: a later fragment for it is a repeat. */
  isEmitted: boolean;
  readonly scanner: BracketScanner;
  /**
   * The fragments of `text` that the scanner has not read. To scan `text` itself would flatten the rope for each
   * fragment.
   */
  unscanned: string[];
  /**
   * The last fragment, as long as each fragment starts with the one before: then it is all arguments so far
   * (cumulative).
   */
  cumulative: string | undefined;
  /** The first characters of `text` without white space: enough to recognise a placeholder. */
  head: string;
  /** The indexes under which the call was announced by name, if more than one. */
  announcedAt: Set<number | string> | undefined;
  /** The index under which the arguments began, after any placeholder. */
  argumentsIndex: number | string | undefined;
  /** Its name arrived again after the arguments had closed: another object that follows belongs to another call. */
  isAnnouncedAgain: boolean;
  /** The call that this one repeats if its arguments turn out to be equal. */
  readonly original: PendingToolCall | undefined;
}

export function createPendingToolCall(
  index: number | string | undefined,
  position: number,
  original?: PendingToolCall,
): PendingToolCall {
  return {
    id: original ? original.id : '',
    index,
    position,
    uniqueId: '',
    name: original ? original.name : '',
    text: '',
    object: undefined,
    providerData: undefined,
    isDone: false,
    isEmitted: false,
    scanner: new BracketScanner(),
    unscanned: [],
    cumulative: '',
    head: '',
    announcedAt: undefined,
    argumentsIndex: undefined,
    isAnnouncedAgain: false,
    original,
  };
}

/** No placeholder is as long. */
const HEAD_LENGTH = 8;

/** Adds a fragment to its call. */
export function append(call: PendingToolCall, id: string, fragment: ToolCallFragment): void {
  if (call.id === '') call.id = id;
  if (fragment.name) call.name = mergeNames(call.name, fragment.name);
  const args = fragment.arguments;
  if (typeof args === 'string') appendText(call, args, fragment.index);
  else if (args && Object.keys(args).length > 0) {
    call.object = { ...call.object, ...args };
    call.argumentsIndex ??= fragment.index;
  } else if (args) call.object ??= {};
  if (fragment.providerData) call.providerData = { ...call.providerData, ...fragment.providerData };
  if (fragment.done) call.isDone = true;
}

function appendText(call: PendingToolCall, text: string, index: number | string | undefined): void {
  if (call.head.length < HEAD_LENGTH) {
    const isPlaceholderSoFar = isBlank(call.head);
    if (call.head !== '' && isPlaceholderSoFar && isBlank(text)) return; // the placeholder once more
    call.head = (call.head + text.slice(0, 1000).replace(/\s+/g, '')).slice(0, HEAD_LENGTH);
    if (isPlaceholderSoFar && !isBlank(call.head)) call.argumentsIndex = index;
  }
  call.text += text;
  call.unscanned.push(text);
  // `startsWith` fails at the first characters of an ordinary fragment.
  if (call.cumulative !== undefined && text !== '')
    call.cumulative = text.startsWith(call.cumulative) ? text : undefined;
}

/** Ignores a repeated name, takes a longer one as the complete name (cumulative), and appends any other. */
function mergeNames(name: string, next: string): string {
  if (next === name) return name;
  return next.startsWith(name) ? next : name + next;
}

/** Whether no arguments have arrived, not even a blank text. */
export const hasNoArguments = (call: PendingToolCall): boolean => call.text === '' && call.object === undefined;

/** Whether the call is only announced so far: no arguments, or those that stand for none (`""`, `null`). */
export const isOnlyAnnounced = (call: PendingToolCall): boolean =>
  !call.isDone && call.object === undefined && (call.head === '' || call.head === 'null');

/** Whether the arguments are blank or a placeholder, which gives way to arguments that follow. */
export const isPlaceholder = (call: PendingToolCall): boolean =>
  isBlank(call.head) && (call.object === undefined || Object.keys(call.object).length === 0);

/**
 * Whether the arguments are complete: marked as done, an object, or a JSON text that has closed. Over all calls of this
 * function each character is read once. (A `JSON.parse` per fragment would be quadratic: 64 KB in 4-character fragments
 * took seconds.)
 */
export function isComplete(call: PendingToolCall): boolean {
  if (call.isDone || call.object) return true;
  const { scanner, unscanned } = call;
  for (const text of unscanned) for (let at = 0; at >= 0 && at < text.length;) at = scanner.scan(text, at);
  if (unscanned.length > 0) call.unscanned = [];
  return scanner.isClosed || call.head === 'null';
}

/** Whether the fragment's arguments are absent, empty, or the call's complete arguments once more. */
export function addsNothing(call: PendingToolCall, { arguments: args }: ToolCallFragment): boolean {
  if (args === undefined || args === null) return true;
  const added = typeof args === 'string' ? parseToolCallArguments(args) : args;
  return Object.keys(added).length === 0 || (isComplete(call) && isSameJson(added, argumentsOf(call)));
}

/** Whether the call turned out to be a repeat of its original: equal arguments, or none at another index. */
export function isRepeat(call: PendingToolCall): boolean {
  const { original } = call;
  if (original === undefined) return false;
  if (isPlaceholder(call) && call.index !== original.argumentsIndex) return true;
  return isSameJson(argumentsOf(call), argumentsOf(original));
}

/** The parsed arguments. */
export function argumentsOf({ text, object, cumulative }: PendingToolCall): JsonObject {
  if (object) return isBlank(text) ? object : { ...object, ...parseToolCallArguments(text) };
  const joined = parseToolCallArguments(text);
  if (!isInvalidArguments(joined) || !cumulative) return joined;
  const last = parseToolCallArguments(cumulative);
  return isInvalidArguments(last) ? joined : last;
}
