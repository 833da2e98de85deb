import { hash } from '../core/hash.js';
import type { QueuedPrompt } from './commandQueue.js';
import { isResumed, type Exchange } from './exchange.js';
import { areParentsFirst, savedConversation, unsent, type SavedConversation } from './savedConversation.js';

/** Hashes of the exchanges by id, `QUEUED` for prompts that wait, the selected exchange under `SELECTED`. */
export type Marks = Readonly<Record<string, string>>;

const QUEUED = 'queued';
const SELECTED = 'selected';

/** Of the exchanges of a long chat, one has changed since they were saved. */
const marksByExchange = /* @__PURE__ */ new WeakMap<Exchange, string>();

function markOf(exchange: Exchange): string {
  const mark = marksByExchange.get(exchange) ?? hash(JSON.stringify(exchange));
  marksByExchange.set(exchange, mark);
  return mark;
}

export const marksOf = ({ exchanges, queued = [], selected }: SavedConversation): Marks => {
  const marks: Record<string, string> = selected === undefined ? {} : { [SELECTED]: selected };
  for (const { id } of queued) marks[id] = QUEUED;
  for (const exchange of exchanges) marks[exchange.id] = markOf(exchange);
  return marks;
};

/** The marks of what these ids have. Another exchange that is selected is a change. */
export const marksWithin = (saved: SavedConversation, ids: ReadonlySet<string>): Marks =>
  Object.fromEntries(Object.entries(marksOf(saved)).filter(([key, mark]) => ids.has(key === SELECTED ? mark : key)));

/** Marks that are equal in both, and otherwise those that both had in common before. */
export const commonMarks = (before: Marks, a: Marks, b: Marks): Marks =>
  Object.fromEntries(
    Object.keys({ ...before, ...a }).flatMap((key) => {
      const mark = a[key] === b[key] ? a[key] : before[key];
      return mark === undefined ? [] : [[key, mark]];
    }),
  );

/** Applies a change, from `before` to `after`. No exchange is lost: of two versions, the one further on wins. */
export function mergeSaved(stored: SavedConversation, before: Marks, after: SavedConversation): SavedConversation {
  const mine = new Map(after.exchanges.map((exchange) => [exchange.id, exchange]));
  const isChanged = (exchange: Exchange) => before[exchange.id] !== markOf(exchange);
  const newer = (theirs: Exchange, own: Exchange): Exchange => {
    if (isReduced(own) !== isReduced(theirs)) return isReduced(own) ? complete(theirs, own) : complete(own, theirs);
    if (!isChanged(own)) return theirs;
    return isChanged(theirs) && isFurther(theirs, own) ? theirs : own;
  };
  const merged = stored.exchanges.map((theirs) => {
    const own = mine.get(theirs.id);
    if (!own) return mine.has(theirs.leftOut ?? '') ? { ...theirs, parent: theirs.leftOut } : theirs;
    // Two devices may have sent one prompt after different exchanges. A full storage may have lost that one.
    const parent = isReduced(theirs) ? (own.parent ?? theirs.parent) : theirs.parent;
    const either = newer(theirs, own);
    const joined = [...new Set([theirs, own].flatMap((version) => version.joined ?? []))];
    const isSame = either.parent === parent && joined.length === (either.joined ?? []).length;
    return isSame ? either : { ...either, parent, ...(joined.length > 0 ? { joined } : {}) };
  });
  const exchanges = parentsFirst(union(merged, after.exchanges));
  const [theirQueue, ownQueue] = [stored.queued ?? [], after.queued ?? []];
  const isBoth = ({ id }: QueuedPrompt) =>
    [theirQueue, ownQueue].every((queue) => queue.some((other) => other.id === id));
  // One that was known and is missing was removed.
  const waiting = union(theirQueue, ownQueue).filter((prompt) => before[prompt.id] !== QUEUED || isBoth(prompt));
  const isOwn = after.selected !== before[SELECTED];
  const [chosen, other] = isOwn ? [after.selected, stored.selected] : [stored.selected, after.selected];
  const selected = follows(exchanges, other, chosen) ? other : chosen; // what follows was answered meanwhile
  const writes = after.writes ?? stored.writes;
  return { ...savedConversation(exchanges, selected, unsent(waiting, exchanges)), ...(writes && { writes }) };
}

export const isReduced = (exchange: Exchange): boolean => exchange.isReduced === true;

/** The complete exchange, unless what a full storage has kept of it is a later state. */
const complete = (whole: Exchange, reduced: Exchange): Exchange => (isFurther(reduced, whole) ? reduced : whole);

/** Elements that only `others` has come before what follows them there. With searches, 10,000 took a second. */
function union<T extends { readonly id: string }>(list: readonly T[], others: readonly T[]): readonly T[] {
  const known = new Set(list.map(({ id }) => id));
  const added = new Map<string | undefined, T[]>();
  let next: string | undefined;
  for (const other of others.toReversed()) {
    if (known.has(other.id)) next = other.id;
    else if (!added.get(next)?.push(other)) added.set(next, [other]);
  }
  const addedBefore = (id?: string) => (added.get(id) ?? []).toReversed();
  return [...list.flatMap((element) => [...addedBefore(element.id), element]), ...addedBefore()];
}

/** Whether an exchange is in a branch that goes on from another one. */
function follows(exchanges: readonly Exchange[], id: string | undefined, earlier: string | undefined): boolean {
  const parents = new Map(exchanges.map((exchange) => [exchange.id, exchange.parent]));
  let next = id;
  while (next !== undefined && next !== earlier) next = parents.get(next);
  return next !== undefined;
}

/** Each exchange after the one that it continues: two devices may have them in different orders. */
function parentsFirst(exchanges: readonly Exchange[]): readonly Exchange[] {
  if (areParentsFirst(exchanges)) return exchanges;
  const byId = new Map(exchanges.map((exchange) => [exchange.id, exchange]));
  const parentOf = ({ parent }: Exchange) => (parent === undefined ? undefined : byId.get(parent));
  const ordered = new Map<string, Exchange>();
  for (const exchange of exchanges) {
    const missing = new Set<Exchange>();
    for (let next: Exchange | undefined = exchange; next && !ordered.has(next.id); next = parentOf(next)) {
      if (missing.has(next)) break; // two devices have made a cycle: its last one has no parent
      missing.add(next);
    }
    for (const each of [...missing].toReversed())
      ordered.set(
        each.id,
        each.parent === undefined || ordered.has(each.parent) ? each : { ...each, parent: undefined },
      );
  }
  return [...ordered.values()];
}

function isFurther(a: Exchange, b: Exchange): boolean {
  const runs = (runNumber(a) - runNumber(b)) | 0; // as `followingId`: of 32 bits
  return runs === 0 ? stageOf(a) > stageOf(b) : runs > 0;
}

/** The end of the id, which `followingId` counts up. */
const runNumber = ({ run }: Exchange): number => Number.parseInt(run.slice(-8), 16);

/** A run that could not be reached is behind one that waits at the service. */
function stageOf(exchange: Exchange): number {
  const { base, answers, view } = exchange;
  if (base) return answers || isResumed(exchange) ? 3 : 0;
  return { failed: 1, waiting: 2, runningTools: 2 }[view.status as string] ?? 4;
}
