import { nonEmptyString, tryParseJson, type JsonObject } from '../../core/json/json.js';
import { isClientCallType, isWholeCall, readWholeCall } from './clientCalls.js';
import { isEmptyArguments, ItemTexts, snapshotTexts, type TextEvent, type TextKind } from './texts.js';

export class Item {
  done: JsonObject | undefined;
  callId: string | undefined;
  /** An event with a different id belongs to a different item, once an event has found this one by its id. */
  foundById = false;
  readonly texts = new ItemTexts();
  /** Deltas whose beginning is missing. They are emitted only if the complete text never arrives. */
  held: TextEvent[] | undefined;
  hasText = false;
  isCut = false;
  hasName = false;
  hasBegunInput = false;
  isEmitted = false;
  reported: Set<string> | undefined;
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

export function continuesTexts(item: Item, snapshot: JsonObject): boolean {
  if (item.type !== snapshot['type'] || !mayBeSameCall(item, snapshot)) return false;
  const texts = snapshotTexts(snapshot);
  return item.texts.kinds().every((kind) => (texts.get(kind) ?? []).join('').startsWith(item.texts.join(kind)));
}

/** The same name, and arguments that continue those of the open call. Ids are not compared. */
export function completesCall(item: Item, snapshot: JsonObject): boolean {
  if (item.done || !haveSameFunction(item, snapshot)) return false;
  const received = readReceivedArguments(item);
  const complete = readArguments(snapshot);
  return isPlaceholder(received) || complete.startsWith(received) || compactJson(received) === compactJson(complete);
}

/** A missing name is equal to any: only function calls and free-form calls have one. */
export function haveSameFunction(item: Item, snapshot: JsonObject): boolean {
  if (item.type !== snapshot['type'] || !isClientCallType(item.type)) return false;
  const name = nonEmptyString((item.done ?? item.added)?.['name']);
  const snapshotName = nonEmptyString(snapshot['name']);
  return name === undefined || snapshotName === undefined || name === snapshotName;
}

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

function isPlaceholder(text: string): boolean {
  const trimmed = text.trim();
  return trimmed === '' || isEmptyArguments(trimmed);
}

export function compactJson(text: string): string {
  if (isPlaceholder(text)) return '{}';
  const value = tryParseJson(text);
  return value === undefined ? text : JSON.stringify(value);
}
