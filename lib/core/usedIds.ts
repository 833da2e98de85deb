import { growing } from './growing.js';
import { toolCallsOf, type Message } from './message.js';

export interface UsedIds {
  has(id: string): boolean;
}

interface SharedIds {
  /** For each id, the number of calls before the first call with it. */
  readonly positions: Map<string, number>;
  calls: number;
}

/** Continuations share the map and see only earlier positions; a second continuation copies it. */
class IdIndex implements UsedIds {
  constructor(
    private readonly shared: SharedIds = { positions: new Map(), calls: 0 },
    private readonly calls = 0,
  ) {}

  has(id: string): boolean {
    const position = this.shared.positions.get(id);
    return position !== undefined && position < this.calls;
  }

  continueWith(message: Message): IdIndex {
    const calls = message.role === 'model' ? toolCallsOf(message) : [];
    if (calls.length === 0) return this;
    const isNewest = this.calls > 0 && this.calls === this.shared.calls;
    const shared = isNewest ? this.shared : this.copy();
    for (const { id } of calls) use(shared, id);
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

export const usedToolCallIds: (messages: readonly Message[]) => UsedIds = /* @__PURE__ */ growing<Message, IdIndex>(
  /* @__PURE__ */ new IdIndex(),
  (ids, message) => ids.continueWith(message),
);
