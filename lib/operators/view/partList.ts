import type { MessageView, PartView } from './view.js';

const CHUNK_SIZE = 64;

/** An immutable list whose copies share chunks: with plain arrays, 40,000 parts that arrive singly took 33 seconds. */
export class PartList {
  constructor(
    readonly chunks: readonly (readonly PartView[])[] = [],
    readonly length = 0,
  ) {}

  at(position: number): PartView | undefined {
    return this.chunks[Math.floor(position / CHUNK_SIZE)]?.[position % CHUNK_SIZE];
  }

  /** A copy with another part at a position, or at the end. */
  with(part: PartView, position = this.length): PartList {
    const chunks = [...this.chunks];
    const index = Math.floor(position / CHUNK_SIZE);
    const chunk = [...(chunks[index] ?? [])];
    chunk[position % CHUNK_SIZE] = part;
    chunks[index] = chunk;
    return new PartList(chunks, Math.max(this.length, position + 1));
  }

  /** A copy of some of the parts from a position on; the others stay. */
  filter(from: number, isKept: (part: PartView) => boolean): PartList {
    const index = Math.floor(from / CHUNK_SIZE);
    const start = new PartList(this.chunks.slice(0, index), index * CHUNK_SIZE);
    return this.chunks.slice(index).flat().filter(isKept).reduce(add, start);
  }
}

const add = (list: PartList, part: PartView): PartList => list.with(part);

export type MessageFields = Omit<MessageView, 'parts'>;

/** Where a long message has its list. A WeakMap took a third of the time of a view. */
const LIST = /* @__PURE__ */ Symbol('list');

type LongMessage = MessageView & { readonly [LIST]?: PartList };

/** The array of a long message is made when it is read: most views are replaced before a screen shows them. */
export function messageOf({ id, role }: MessageFields, list: PartList): MessageView {
  const { chunks } = list;
  if (chunks.length < 2) return { id, role, parts: chunks[0] ?? [] };
  let parts: readonly PartView[] | undefined;
  const message = {
    ...{ id, role },
    get parts() {
      return (parts ??= chunks.flat());
    },
  };
  return Object.defineProperty(message, LIST, { value: list }); // copies and JSON do not have it
}

export const listOf = (message: LongMessage): PartList => message[LIST] ?? message.parts.reduce(add, new PartList());

/** The parts in arrays that keep their identity while their parts do. */
export const chunksOf = (message: LongMessage): readonly (readonly PartView[])[] =>
  message[LIST]?.chunks ?? [message.parts];
