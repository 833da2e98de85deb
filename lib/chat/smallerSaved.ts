import type { SavedConversation } from './savedConversation.js';

/** Called with what a storage has thrown, or with the refusal of a service. */
export type ReportError = (thrown: unknown) => void;

/**
 * Returns ever smaller versions of a conversation that is too large for its storage: all of it without the files, then
 * the newest exchanges. Their exchanges are marked, so that they do not replace complete ones that are kept elsewhere.
 */
export function* smallerSaved(saved: SavedConversation): Generator<SavedConversation, undefined> {
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

/**
 * Stores a conversation, or what there is room for. What the storage throws is reported.
 *
 * @returns What is stored; undefined if nothing could be.
 */
export function storeSaved(
  storage: Pick<Storage, 'setItem'>,
  key: string,
  saved: SavedConversation,
  onError?: ReportError,
): SavedConversation | undefined {
  const store = (version: SavedConversation): SavedConversation => {
    storage.setItem(key, JSON.stringify(version));
    return version;
  };
  try {
    return store(saved);
  } catch (thrown) {
    onError?.(thrown);
  }
  for (const version of smallerSaved(saved)) {
    try {
      return store(version);
    } catch {
      // The next version is smaller; the error is reported.
    }
  }
  return undefined;
}
