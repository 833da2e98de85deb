import type { MessageView, PartView } from './view.js';

const CHUNK_SIZE = 256;

/** An immutable list whose copies share chunks: with plain arrays, 40,000 parts that arrive singly took 33 seconds. */
export class PartList {
  constructor(
    readonly chunks: readonly (readonly PartView[])[] = [],
    readonly length = 0,
  ) {}

  static from(parts: readonly PartView[]): PartList {
    const chunks: (readonly PartView[])[] = [];
    for (let at = 0; at < parts.length; at += CHUNK_SIZE) chunks.push(parts.slice(at, at + CHUNK_SIZE));
    return new PartList(chunks, parts.length);
  }

  at(position: number): PartView | undefined {
    return this.chunks[Math.floor(position / CHUNK_SIZE)]?.[position % CHUNK_SIZE];
  }

  /** A copy with another part at a position, or at the end. */
  with(position: number, part: PartView): PartList {
    const chunks = [...this.chunks];
    const index = Math.floor(position / CHUNK_SIZE);
    const chunk = [...(chunks[index] ?? [])];
    chunk[position % CHUNK_SIZE] = part;
    chunks[index] = chunk;
    return new PartList(chunks, Math.max(this.length, position + 1));
  }

  /** A copy without the parts from a position on. */
  take(length: number): PartList {
    const chunks = this.chunks.slice(0, Math.ceil(length / CHUNK_SIZE));
    const last = chunks.pop()?.slice(0, length - chunks.length * CHUNK_SIZE);
    return new PartList(last ? [...chunks, last] : chunks, length);
  }
}

/** The parts of an answer, found by the id of a call. With searches, 3,000 calls took 15 times as long. */
export class AnswerParts {
  private readonly positions = new Map<string, number>();

  constructor(public list = new PartList()) {
    this.notePositions(0);
  }

  set(position: number, part: PartView): void {
    this.list = this.list.with(position, part);
    this.notePosition(position, part);
  }

  /** Removes parts that are at a position or behind it. */
  remove(from: number, isRemoved: (part: PartView) => boolean): void {
    const { list } = this;
    this.list = list.take(from);
    for (let position = from; position < list.length; position++) {
      const part = list.at(position);
      if (part && !isRemoved(part)) this.list = this.list.with(this.list.length, part);
    }
    this.notePositions(from);
  }

  positionOf(type: PartView['type'], id: string): number | undefined {
    const position = this.positions.get(type + id);
    return position !== undefined && keyOf(this.list.at(position)) === type + id ? position : undefined;
  }

  private notePositions(from: number): void {
    for (let position = from; position < this.list.length; position++)
      this.notePosition(position, this.list.at(position));
  }

  private notePosition(position: number, part: PartView | undefined): void {
    const key = keyOf(part);
    if (key !== undefined) this.positions.set(key, position);
  }
}

function keyOf(part: PartView | undefined): string | undefined {
  if (part?.type === 'toolCall') return part.type + part.id;
  return part?.type === 'serverTool' ? part.type + part.tool.id : undefined;
}

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

export const listOf = (message: LongMessage): PartList => message[LIST] ?? PartList.from(message.parts);

/** The parts in arrays that keep their identity while their parts do. */
export const chunksOf = (message: LongMessage): readonly (readonly PartView[])[] =>
  message[LIST]?.chunks ?? [message.parts];
