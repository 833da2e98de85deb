import type { Exchange } from './exchange.js';
import type { SavedConversation } from './savedConversation.js';
import { withoutFiles } from './savedFiles.js';
import { reportRejection } from '../core/reportUnhandled.js';

/** Called with the refusal of a service, too. */
export type ReportError = (thrown: unknown) => void;

/**
 * What to store: everything, else without the files, else the newest exchanges, marked so that they replace no complete
 * ones elsewhere. If not even the newest one fits with its checkpoint, the same with waits that have ended: what a call
 * is executed with is never changed.
 */
export function* smallerSaved(saved: SavedConversation): Generator<SavedConversation, undefined> {
  yield saved;
  const all = saved.exchanges.map(withoutFiles);
  for (const exchanges of [all, all.map(withoutCheckpoint)])
    for (let count = exchanges.length; count > 0; count = Math.floor(count / 2)) {
      const newest = exchanges.slice(-count);
      const ids = new Set(newest.map(({ id }) => id));
      const isKnown = (id: string | undefined) => id !== undefined && ids.has(id);
      yield {
        ...saved,
        exchanges: newest.map((exchange) => {
          const { parent } = exchange;
          const isLost = parent !== undefined && !isKnown(parent);
          return { ...exchange, isReduced: true, ...(isLost && { parent: undefined, leftOut: parent }) };
        }),
        selected: isKnown(saved.selected) ? saved.selected : newest.at(-1)?.id,
      };
    }
  return undefined;
}

/** As a run that ends with its page. */
const withoutCheckpoint = ({ checkpoint, ...exchange }: Exchange): Exchange =>
  checkpoint && ['waiting', 'runningTools'].includes(exchange.view.status)
    ? { ...exchange, base: exchange.view, hasBegun: true, answers: undefined }
    : exchange;

/** The values that are not stored as they are, but smaller or not at all. */
const unstored = /* @__PURE__ */ new WeakSet<SavedConversation>();

export const isUnstored = (saved: SavedConversation): boolean => unstored.has(saved);

/**
 * Returns what there was room for; undefined if there was none. What the storage throws is reported. If `before` is
 * stored and has the same content, nothing is written, and no other tab is told.
 */
export function storeSaved(
  storage: Pick<Storage, 'setItem'>,
  key: string,
  saved: SavedConversation,
  onError?: ReportError,
  before?: SavedConversation,
): SavedConversation | undefined {
  const stored = before && contentOf(before);
  for (const version of smallerSaved(saved)) {
    try {
      if (stored !== undefined && contentOf(version) === stored) return before;
      storage.setItem(key, JSON.stringify(version));
      return version;
    } catch (thrown) {
      if (version !== saved) continue; // the next versions are smaller
      unstored.add(saved);
      reportRejection(onError?.(thrown));
    }
  }
  return undefined;
}

const contentOf = (saved: SavedConversation): string => JSON.stringify({ ...saved, writes: undefined });
