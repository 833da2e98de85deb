import type { SavedConversation } from './savedConversation.js';

/**
 * Applies the changes of a page, a tab or a device, to what is stored.
 *
 * @param stored What is stored, by any page.
 * @param before What this page knew before its last change.
 * @param after What it knows after it.
 */
export function mergeSaved(
  stored: SavedConversation,
  before: SavedConversation,
  after: SavedConversation,
): SavedConversation {
  const exchanges = mergeById(stored.exchanges, before.exchanges, after.exchanges);
  const queued = mergeById(stored.queued ?? [], before.queued ?? [], after.queued ?? []).filter(
    ({ id }) => !exchanges.some((exchange) => exchange.id === id),
  );
  const selected = after.selected === before.selected ? stored.selected : after.selected;
  return {
    version: 1,
    exchanges,
    ...(selected === undefined ? {} : { selected }),
    ...(queued.length === 0 ? {} : { queued }),
  };
}

/** Elements that this page has added, changed or removed are as it knows them, and all others as they are stored. */
function mergeById<T extends { readonly id: string }>(
  stored: readonly T[],
  before: readonly T[],
  after: readonly T[],
): readonly T[] {
  const byId = (elements: readonly T[]) => new Map(elements.map((element) => [element.id, element]));
  const [known, mine, theirs] = [byId(before), byId(after), byId(stored)];
  const isChanged = ({ id }: T) => JSON.stringify(known.get(id)) !== JSON.stringify(mine.get(id));
  const kept = stored.flatMap((element) => (isChanged(element) ? (mine.get(element.id) ?? []) : element));
  return [...kept, ...after.filter((element) => !theirs.has(element.id) && isChanged(element))];
}
