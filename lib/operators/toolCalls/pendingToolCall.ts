import { isSameJson } from '../../core/json/equal.js';
import type { ToolCallFragment } from '../../core/chunk.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ProviderData } from '../../core/message.js';
import { isInvalidArguments } from '../../core/tool.js';
import { isBlank, jsonScanner, parseToolCallArguments } from './arguments.js';
import type { JsonScanner } from './arguments.js';

/** A tool call while its fragments come in. */
export interface PendingToolCall {
  /** The wire's id, `''` while there is none. */
  id: string;
  readonly index: number | string | undefined;
  /** Its place among the calls of the turn, from 0. */
  readonly place: number;
  /** The id it is emitted with, unique in the conversation; `''` while the wire's is not known. */
  finalId: string;
  name: string;
  /** The arguments' JSON text so far. Appended to: a rope, flattened once, when it is parsed. */
  text: string;
  /** The arguments, where the wire sends them as an object. */
  object: JsonObject | undefined;
  providerData: ProviderData | undefined;
  /** The wire marked the end of the call. */
  done: boolean;
  /** It has been emitted: what still comes for it is a repeat. */
  emitted: boolean;
  readonly scanner: JsonScanner;
  /** What of `text` the scanner has not read yet, in pieces: reading `text` itself would join it anew for each fragment that asks. */
  unread: string[];
  /** What the scanner found. */
  closed: boolean;
  /** The last piece, as long as each began with all of the one before: then the pieces are not pieces, but the arguments so far. */
  soFar: string | undefined;
  /** The first characters of `text` that are not white space: enough to tell a placeholder. */
  head: string;
  /** The call was announced once more after it had closed: what comes next may be another one of the same name. */
  announcedAgain: boolean;
  /** The call before it, where this one may turn out to be only that one once more. */
  readonly perhapsRepeats: PendingToolCall | undefined;
}

export function newToolCall(
  index: number | string | undefined,
  place: number,
  perhapsRepeats?: PendingToolCall,
): PendingToolCall {
  return {
    id: '',
    index,
    place,
    finalId: '',
    name: '',
    text: '',
    object: undefined,
    providerData: undefined,
    done: false,
    emitted: false,
    scanner: jsonScanner(),
    unread: [],
    closed: false,
    soFar: '',
    head: '',
    announcedAgain: false,
    perhapsRepeats,
  };
}

/** Longer than any placeholder. */
const headLength = 8;

/** Takes in what a fragment adds to the call it belongs to. */
export function append(call: PendingToolCall, id: string, fragment: ToolCallFragment): void {
  if (call.id === '') call.id = id;
  if (fragment.name) call.name = mergedName(call.name, fragment.name);
  const args = fragment.arguments;
  if (typeof args === 'string') {
    call.text += args;
    if (call.soFar !== undefined && args !== '') call.soFar = args.startsWith(call.soFar) ? args : undefined; // fails at the first characters of a true piece
    call.unread.push(args);
    if (call.head.length < headLength)
      call.head = (call.head + args.slice(0, 1000).replace(/\s+/g, '')).slice(0, headLength);
  } else if (args && Object.keys(args).length > 0) call.object = { ...call.object, ...args };
  else if (args) call.object ??= {};
  if (fragment.providerData) call.providerData = { ...call.providerData, ...fragment.providerData };
  if (fragment.done) call.done = true;
}

/** The same name again is no news, a longer one is the whole name (cumulative), anything else is its next piece. */
function mergedName(held: string, name: string): string {
  if (name === held) return held;
  return name.startsWith(held) ? name : held + name;
}

/** Whether nothing at all is known of the arguments yet. */
export const hasNoArguments = (call: PendingToolCall): boolean => call.text === '' && call.object === undefined;

/** Whether the arguments say nothing so far: absent, or a placeholder that gives way to what follows. */
export const isPlaceholder = (call: PendingToolCall): boolean =>
  isBlank(call.head) && (call.object === undefined || Object.keys(call.object).length === 0);

/** Whether the arguments are all there: marked so, an object, or a JSON text that has closed. Reads each character once over all calls of it. */
export function isWhole(call: PendingToolCall): boolean {
  if (call.done || call.object) return true;
  for (const piece of call.unread) call.closed = call.scanner.scan(piece, 0, piece.length);
  call.unread = [];
  return call.closed || call.head === 'null';
}

/** Whether the fragment's arguments are absent, empty, or the call's own whole ones once more. */
export function addsNothing(call: PendingToolCall, { arguments: args }: ToolCallFragment): boolean {
  if (args === undefined || args === null) return true;
  const given = typeof args === 'string' ? parseToolCallArguments(args) : args;
  return Object.keys(given).length === 0 || (isWhole(call) && isSameJson(given, argumentsOf(call)));
}

/** Whether a call says no more than the one that it may repeat. */
export const isRepeat = (call: PendingToolCall): boolean =>
  call.perhapsRepeats !== undefined && isSameJson(argumentsOf(call), argumentsOf(call.perhapsRepeats));

const asFarAsItIs = (soFar: JsonObject, joined: JsonObject): JsonObject => (isInvalidArguments(soFar) ? joined : soFar);

/** The arguments, parsed. */
export function argumentsOf({ text, object, soFar }: PendingToolCall): JsonObject {
  if (!object) {
    const parsed = parseToolCallArguments(text);
    return isInvalidArguments(parsed) && soFar ? asFarAsItIs(parseToolCallArguments(soFar), parsed) : parsed;
  }
  return isBlank(text) ? object : { ...object, ...parseToolCallArguments(text) };
}
