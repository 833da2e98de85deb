import type { ToolCallFragment } from '../core/chunk.js';
import type { JsonObject } from '../core/json.js';
import type { ProviderData } from '../core/message.js';
import { isBlank, jsonScanner, parseToolCallArguments } from './toolCallArguments.js';
import type { JsonScanner } from './toolCallArguments.js';

/** A tool call while its fragments come in. */
export interface OpenToolCall {
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
  /** How much of `text` the scanner has read, and what it found. */
  scanned: number;
  closed: boolean;
}

export function newToolCall(index: number | string | undefined, place: number): OpenToolCall {
  return { id: '', index, place, finalId: '', name: '', text: '', object: undefined, providerData: undefined, done: false, emitted: false, scanner: jsonScanner(), scanned: 0, closed: false };
}

/** Takes in what a fragment adds to the call it belongs to. */
export function append(call: OpenToolCall, id: string, fragment: ToolCallFragment): void {
  if (call.id === '') call.id = id;
  if (fragment.name) call.name = mergedName(call.name, fragment.name);
  const args = fragment.arguments;
  if (typeof args === 'string') call.text += args;
  else if (args && Object.keys(args).length > 0) call.object = { ...call.object, ...args };
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
export const hasNoArguments = (call: OpenToolCall): boolean => call.text === '' && call.object === undefined;

/** Whether the arguments say nothing so far: absent, or a placeholder that gives way to what follows. */
export const isPlaceholder = (call: OpenToolCall): boolean =>
  isBlank(call.text) && (call.object === undefined || Object.keys(call.object).length === 0);

/** Whether the arguments are all there: marked so, an object, or a JSON text that has closed. Reads each character once over all calls of it. */
export function isWhole(call: OpenToolCall): boolean {
  if (call.done || call.object) return true;
  call.closed = call.scanner.scan(call.text, call.scanned, call.text.length);
  call.scanned = call.text.length;
  return call.closed || call.text.trim() === 'null';
}

/** Whether the fragment's arguments are absent, empty, or the call's own whole ones once more. */
export function addsNothing(call: OpenToolCall, { arguments: args }: ToolCallFragment): boolean {
  if (args === undefined || args === null) return true;
  const given = typeof args === 'string' ? parseToolCallArguments(args) : args;
  return Object.keys(given).length === 0 || (isWhole(call) && same(given, argumentsOf(call)));
}

const same = (a: JsonObject, b: JsonObject): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The arguments, parsed. */
export function argumentsOf({ text, object }: OpenToolCall): JsonObject {
  if (!object) return parseToolCallArguments(text);
  return isBlank(text) ? object : { ...object, ...parseToolCallArguments(text) };
}
