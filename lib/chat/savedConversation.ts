import { optionsError, type ConfigurationError } from '../core/errors.js';
import { isRecord, omitNull, tryParseFinite, type JsonObject } from '../core/json/json.js';
import { emptyView } from '../operators/view/view.js';
import type { QueuedPrompt } from './commandQueue.js';
import type { Exchange } from './exchange.js';
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
  /** The writes of `persist` that are in it. Absent if it was not stored by `persist`. */
  readonly writes?: Writes | undefined;
}

export interface Writes {
  /** The id of the value, until it is removed. */
  readonly of: string;
  /** The number of the last write of each tab. */
  readonly tabs: Readonly<Record<string, number>>;
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

/** Those of the prompts that neither have an exchange nor have joined the run of one. */
export function unsent(queued: readonly QueuedPrompt[] = [], exchanges: readonly Exchange[]): readonly QueuedPrompt[] {
  const sent = new Set(exchanges.flatMap(({ id, joined = [] }) => [id, ...joined]));
  return queued.filter(({ id }) => !sent.has(id));
}

/** If the option cannot be read, the conversation is empty, and has the error. */
export function readSaved(
  saved: SavedConversation | string | null | undefined,
): SavedConversation & { readonly savedError?: JsonObject } {
  const empty = savedConversation([]);
  const stored = typeof saved === 'string' ? tryParseFinite(saved) : (saved ?? empty);
  return isSavedConversation(stored)
    ? {
        ...stored,
        exchanges: stored.exchanges.map((exchange) => unpackFiles(omitNull(exchange))),
        queued: unsent(stored.queued, stored.exchanges),
      }
    : { ...empty, savedError: unreadableConversation(stored).toJSON() };
}

export function isSavedConversation(value: unknown): value is SavedConversation {
  if (!isRecord(value) || value['version'] !== 1) return false;
  const { exchanges, selected, queued = [], writes = { of: '', tabs: {} } } = value;
  if (!isRecord(writes) || !isText(writes['of']) || !isRecord(writes['tabs'])) return false;
  if (!Array.isArray(exchanges) || !exchanges.every(isExchange) || !areParentsFirst(exchanges)) return false;
  return (selected === undefined || exchanges.some(({ id }) => id === selected)) && isListOf(queued, isQueuedPrompt);
}

/** Whether each exchange, with an id of its own, comes after the one that it continues: so there is no cycle. */
export function areParentsFirst(exchanges: readonly { readonly id?: unknown; readonly parent?: unknown }[]): boolean {
  const known = new Set<unknown>([undefined]); // the first exchange has no parent
  return exchanges.every(({ id, parent }) => !known.has(id) && known.has(parent) && known.add(id));
}

/** Whether a later release has saved a value. It is not to be overwritten: that release can read it. */
export const isOfLaterRelease = (value: unknown): boolean => isRecord(value) && Number(value['version']) > 1;

export function unreadableConversation(value: unknown): ConfigurationError {
  const [reason, nextStep] = isOfLaterRelease(value)
    ? ['a later release has saved it. It stays as it is.', 'Reload the page, so that it has that release, too.']
    : ['it was changed.', 'Pass what `save()` returned. The conversation starts without it.'];
  return optionsError(`The saved conversation cannot be read: ${reason}`, nextStep);
}

const isExchange = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isRecord(value) &&
  isText(value['id']) &&
  isText(value['run']) &&
  isListOf(value['input'], isMessage) &&
  isListOf(value['messages'], isMessage) &&
  isView(value['view']) &&
  isView(value['base'] ?? emptyView) &&
  isListOf(value['joined'] ?? [], isText) &&
  isLost(value['lost'] ?? { run: '', base: emptyView });

const isLost = (value: unknown): boolean => isRecord(value) && isText(value['run']) && isView(value['base']);

const isQueuedPrompt = (value: unknown): boolean =>
  isRecord(value) &&
  isText(value['id']) &&
  isText(value['beside'] ?? '') &&
  (isText(value['input']) || isListOf([value['input']].flat(), isMessage));
