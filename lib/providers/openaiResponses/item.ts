import { nonEmptyString, tryParseJson } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { isClientCallType, isWholeCall, readWholeCall } from './clientCalls.js';
import { isEmptyArguments, ItemTexts, snapshotTexts } from './texts.js';
import type { TextEvent, TextKind } from './texts.js';

export class Item {
  /** The complete item, from `output_item.done` or from the final response; undefined until it arrives. */
  done: JsonObject | undefined;
  callId: string | undefined;
  /** Whether an event has found the item by its id. An event with a different id then belongs to a different item. */
  foundById = false;
  readonly texts = new ItemTexts();
  /** The deltas of a text whose beginning is missing. They are emitted only if its complete text never arrives. */
  held: TextEvent[] | undefined;
  /** Whether a text of the item was emitted as text of the message. */
  hasText = false;
  /** Whether the call, as far as it arrived, is not complete. */
  isCut = false;
  hasName = false;
  hasBegunInput = false;
  /** Whether the call was emitted completely, for the client to answer, or the item as a provider part. */
  isEmitted = false;
  /** The reports of a server item so far, so that nothing is reported twice; undefined before the first one. */
  reported: Set<string> | undefined;
  /** The last event of a server item with a final status; undefined if there is none. */
  ended: { readonly status: string; readonly event: JsonObject } | undefined;

  constructor(
    readonly type: string,
    readonly key: string,
    readonly id: string | undefined,
    readonly added: JsonObject | undefined,
  ) {
    this.callId = nonEmptyString(added?.['call_id']);
  }
}

export function mayBeSameCall(item: Item, snapshot: JsonObject): boolean {
  const callId = nonEmptyString(snapshot['call_id']);
  return callId === undefined || item.callId === undefined || callId === item.callId;
}

/** Whether a snapshot has the item's type and call id, and its texts begin with the texts that have been emitted. */
export function continuesTexts(item: Item, snapshot: JsonObject): boolean {
  if (item.type !== snapshot['type'] || !mayBeSameCall(item, snapshot)) return false;
  const texts = snapshotTexts(snapshot);
  return item.texts.kinds().every((kind) => (texts.get(kind) ?? []).join('').startsWith(item.texts.join(kind)));
}

/**
 * Whether a snapshot completes an open call: it has the same name, and its arguments continue the call's arguments so
 * far. Ids are not compared.
 */
export function completesCall(item: Item, snapshot: JsonObject): boolean {
  if (item.done || !haveSameFunction(item, snapshot)) return false;
  const received = readReceivedArguments(item);
  const complete = readArguments(snapshot);
  return isPlaceholder(received) || complete.startsWith(received) || compactJson(received) === compactJson(complete);
}

/**
 * Whether an item and a snapshot are calls of the same type with the same name. A missing name is equal to any name:
 * only function calls and calls with a free-form input have one.
 */
export function haveSameFunction(item: Item, snapshot: JsonObject): boolean {
  if (item.type !== snapshot['type'] || !isClientCallType(item.type)) return false;
  const name = nonEmptyString((item.done ?? item.added)?.['name']);
  const snapshotName = nonEmptyString(snapshot['name']);
  return name === undefined || snapshotName === undefined || name === snapshotName;
}

/** The arguments of a call: their text, its free-form input, or the JSON text of what a call of another type has. */
export function readArguments(snapshot: JsonObject): string {
  const { type } = snapshot;
  if (isWholeCall(type)) return JSON.stringify(readWholeCall(snapshot).arguments);
  return (snapshotTexts(snapshot).get(toTextKind(type)) ?? []).join('');
}

const toTextKind = (type: unknown): TextKind => (type === 'custom_tool_call' ? 'input' : 'arguments');

function readReceivedArguments({ type, done, texts, added }: Item): string {
  if (done) return readArguments(done);
  return texts.join(toTextKind(type)) || readArguments(added ?? {});
}

export const compactArguments = (item: Item): string => compactJson(readReceivedArguments(item));

/** Whether the text of the arguments is a placeholder: blank, `{}` or `null`. */
function isPlaceholder(text: string): boolean {
  const trimmed = text.trim();
  return trimmed === '' || isEmptyArguments(trimmed);
}

/** Removes the whitespace between the tokens of a JSON text, for comparison. Returns any other text unchanged. */
export function compactJson(text: string): string {
  if (isPlaceholder(text)) return '{}';
  const value = tryParseJson(text);
  return value === undefined ? text : JSON.stringify(value);
}
