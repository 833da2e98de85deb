import { ConfigurationError } from '../core/errors.js';
import { isRecord, omitNull, tryParseJson, type JsonObject } from '../core/json/json.js';
import { emptyView } from '../operators/view/view.js';
import type { QueuedPrompt } from './commandQueue.js';
import type { Exchange } from './exchanges.js';
import { unpackFiles } from './savedFiles.js';
import { isListOf, isMessage, isText, isView } from '../transport/eventForm.js';

/** A conversation as plain JSON: it shows again what was seen, in this page or another one. */
export interface SavedConversation {
  readonly version: 1;
  /** All branches, oldest exchange first. */
  readonly exchanges: readonly Exchange[];
  /** The last exchange of the branch that is shown. Absent if there are none. */
  readonly selected?: string | undefined;
  /** The prompts that wait for the end of a run. Absent if there are none. */
  readonly queued?: readonly QueuedPrompt[] | undefined;
}

export const savedConversation = (
  exchanges: readonly Exchange[],
  selected?: string,
  queued: readonly QueuedPrompt[] = [],
): SavedConversation => ({
  version: 1,
  exchanges,
  ...(selected === undefined ? {} : { selected }),
  ...(queued.length === 0 ? {} : { queued }),
});

/** If the option cannot be read, the conversation is empty, and has the error. */
export function readSaved(
  saved: SavedConversation | string | null | undefined,
): SavedConversation & { readonly savedError?: JsonObject } {
  const empty = savedConversation([]);
  const stored = typeof saved === 'string' ? tryParseJson(saved) : (saved ?? empty);
  return isSavedConversation(stored)
    ? { ...stored, exchanges: stored.exchanges.map((exchange) => unpackFiles(omitNull(exchange))) }
    : { ...empty, savedError: unreadableConversation().toJSON() };
}

/** An exchange comes after the one that it continues, so there is no cycle. */
export function isSavedConversation(value: unknown): value is SavedConversation {
  if (!isRecord(value) || value['version'] !== 1) return false;
  const { exchanges, selected, queued = [] } = value;
  if (!Array.isArray(exchanges) || !exchanges.every(isExchange)) return false;
  const known = new Set<unknown>([undefined]); // the first exchange has no parent
  for (const { id, parent } of exchanges) {
    if (known.has(id) || !known.has(parent)) return false;
    known.add(id);
  }
  return known.has(selected) && isListOf(queued, isQueuedPrompt);
}

export const unreadableConversation = () =>
  new ConfigurationError(
    'options',
    'The saved conversation cannot be read: it was changed, or another version has saved it.',
    'Pass what `save()` returned. The conversation starts without it.',
  );

const isExchange = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isRecord(value) &&
  isText(value['id']) &&
  isText(value['run']) &&
  isListOf(value['input'], isMessage) &&
  isListOf(value['messages'], isMessage) &&
  isView(value['view']) &&
  isView(value['base'] ?? emptyView) &&
  isLost(value['lost'] ?? { run: '', base: emptyView });

const isLost = (value: unknown): boolean => isRecord(value) && isText(value['run']) && isView(value['base']);

const isQueuedPrompt = (value: unknown): boolean =>
  isRecord(value) && isText(value['id']) && (isText(value['input']) || isListOf([value['input']].flat(), isMessage));
