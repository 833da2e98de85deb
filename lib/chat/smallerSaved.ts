import type { SavedConversation } from './savedConversation.js';
import { reportRejection } from '../core/reportUnhandled.js';

/** Called with the refusal of a service, too. */
export type ReportError = (thrown: unknown) => void;

/**
 * What to store: everything, else without the files, else the newest exchanges, marked so that they replace no complete
 * ones elsewhere.
 */
export function* smallerSaved(saved: SavedConversation): Generator<SavedConversation, undefined> {
  yield saved;
  const { exchanges } = JSON.parse(JSON.stringify(saved, withoutFiles)) as SavedConversation;
  for (let count = exchanges.length; count > 0; count = Math.floor(count / 2)) {
    const newest = exchanges.slice(-count);
    const ids = new Set(newest.map(({ id }) => id));
    const isKnown = (id: string | undefined) => id !== undefined && ids.has(id);
    yield {
      ...saved,
      exchanges: newest.map((exchange) => ({
        ...exchange,
        parent: isKnown(exchange.parent) ? exchange.parent : undefined,
        isReduced: true,
      })),
      selected: isKnown(saved.selected) ? saved.selected : newest.at(-1)?.id,
    };
  }
  return undefined;
}

const withoutFiles = (_: string, value: unknown): unknown =>
  Array.isArray(value)
    ? value.filter((element: unknown) => (element as { type?: unknown } | null)?.type !== 'file')
    : value;

/** Returns what there was room for; undefined if there was none. What the storage throws is reported. */
export function storeSaved(
  storage: Pick<Storage, 'setItem'>,
  key: string,
  saved: SavedConversation,
  onError?: ReportError,
): SavedConversation | undefined {
  for (const version of smallerSaved(saved)) {
    try {
      storage.setItem(key, JSON.stringify(version));
      return version;
    } catch (thrown) {
      if (version === saved) reportRejection(onError?.(thrown)); // the next versions are smaller
    }
  }
  return undefined;
}
