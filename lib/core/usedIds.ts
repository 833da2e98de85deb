import type { Message } from './message.js';

export interface UsedIds {
  has(id: string): boolean;
}

/**
 * Collected once per conversation; `appendMessages` adds only the new ids, so that a turn of a long run does not read
 * the complete history again.
 */
export function usedToolCallIds(messages: readonly Message[]): UsedIds {
  const index = indexes.get(messages) ?? IdIndex.empty().continueWith(messages);
  indexes.set(messages, index);
  return index;
}

/** If the used ids have been collected, those of the new messages are added to them. */
export function appendMessages(messages: readonly Message[], added: readonly Message[]): readonly Message[] {
  const all = messages.concat(added);
  const index = indexes.get(messages)?.continueWith(added);
  if (index) indexes.set(all, index);
  return all;
}

const indexes = new WeakMap<readonly Message[], IdIndex>();

interface SharedIds {
  /** For each id, the number of calls before the first call with this id. */
  readonly positions: Map<string, number>;
  calls: number;
}

/**
 * A conversation and its continuation share one map; each sees only positions below its own number of calls. A second
 * continuation (a run repeated from a stored state) copies it: it would see the ids of the first.
 */
class IdIndex implements UsedIds {
  private constructor(
    private readonly shared: SharedIds,
    private readonly calls: number,
  ) {}

  static empty(): IdIndex {
    return new IdIndex({ positions: new Map(), calls: 0 }, 0);
  }

  has(id: string): boolean {
    const position = this.shared.positions.get(id);
    return position !== undefined && position < this.calls;
  }

  continueWith(messages: readonly Message[]): IdIndex {
    const shared = this.shared.calls === this.calls ? this.shared : this.copy();
    for (const { role, parts } of messages) {
      if (role !== 'model') continue;
      for (const part of parts) if (part.type === 'toolCall') use(shared, part.id);
    }
    return new IdIndex(shared, shared.calls);
  }

  private copy(): SharedIds {
    const positions = new Map([...this.shared.positions].filter(([, position]) => position < this.calls));
    return { positions, calls: this.calls };
  }
}

function use(shared: SharedIds, id: string): void {
  if (!shared.positions.has(id)) shared.positions.set(id, shared.calls);
  shared.calls++;
}
