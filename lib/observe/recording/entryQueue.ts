import { mergeRanges, type Range } from '../../protocol/secrets.js';
import type { RecordingEntry } from './entries.js';
import { openTail, redactTexts, secretsIn } from './redactTexts.js';

export interface QueuedEntry {
  /** One text for each delta. No texts are added once the entry waits. */
  readonly texts: readonly string[];
  /** A chunk that is also an event is in the streams of its request and of the run. */
  readonly streams: readonly string[];
  readonly entryOf: (texts: readonly string[], from: number) => RecordingEntry;
}

/** `written` texts, and the positions of secrets in the joined texts. */
class Waiting {
  private joined: string | undefined;
  private written = 0;
  private base = 0;
  private readonly found: Range[] = [];

  constructor(readonly queued: QueuedEntry) {}

  get text(): string {
    return (this.joined ??= this.queued.texts.join(''));
  }

  addSecret(range: Range): void {
    this.found.push(range);
  }

  take(limit: number): RecordingEntry | undefined {
    const { queued, base, written } = this;
    const rest = written > 0 ? queued.texts.slice(written) : queued.texts;
    const texts = limit === Infinity ? rest : rest.slice(0, textsBefore(rest, limit - base));
    if (limit !== Infinity && texts.length === 0) return undefined;
    const ranges = mergeRanges(this.found.map(([from, to]): Range => [from - base, to - base]));
    this.written += texts.length;
    if (limit !== Infinity) this.base += texts.reduce((sum, text) => sum + text.length, 0);
    return queued.entryOf(redactTexts(texts, ranges), written);
  }
}

function textsBefore(texts: readonly string[], position: number): number {
  let end = 0;
  const first = texts.findIndex((text) => (end += text.length) > position);
  return first < 0 ? texts.length : first;
}

interface Piece {
  readonly item: Waiting;
  readonly from: number;
}

/** The end of a stream in which a secret may begin. Other entries may be between the pieces. */
interface TextStream {
  pieces: Piece[];
  /** The text before the pieces shows whether a word begins there. */
  context: string;
  /** `counted` pieces; `added` characters since the search. */
  counted: number;
  added: number;
  searched: number;
}

/** The context is longer than the beginnings and names by which keys are found. */
const CONTEXT_LENGTH = 32;

/** By this part of its open text a stream grows before it is searched again. */
const SEARCH_PART = 8;

const MAX_WAITING = 16_384;

/** Entries wait as long as a secret may begin at the end of a text: what follows decides. */
export class EntryQueue {
  private items: Waiting[] = [];
  private size = 0;
  private isWriting = false;
  private readonly streams = new Map<string, TextStream>();
  /** Those with pieces since the last search: there may be thousands of others, which only wait. */
  private readonly grown = new Map<string, TextStream>();
  private readonly ended: string[] = [];
  private last: Search | undefined;

  constructor(
    private readonly secrets: readonly string[],
    private readonly write: (entry: RecordingEntry) => void,
  ) {}

  push(queued: QueuedEntry): void {
    const item = new Waiting(queued);
    this.items.push(item);
    this.size += 1;
    for (const name of queued.streams) {
      const stream = this.streams.get(name) ?? { pieces: [], context: '', counted: 0, added: 0, searched: 0 };
      stream.pieces.push({ item, from: 0 });
      this.streams.set(name, stream);
      this.grown.set(name, stream);
    }
  }

  /** The sink may add entries and end the run: they are written after those. */
  flush(ended: readonly string[] = []): void {
    this.ended.push(...ended);
    if (this.isWriting) return;
    this.isWriting = true;
    do {
      if (this.size > MAX_WAITING) this.ended.push('');
      this.search(this.ended.splice(0));
      this.writeSearched();
    } while (this.ended.length > 0);
    this.isWriting = false;
  }

  private search(ended: readonly string[]): void {
    for (const [name, stream] of ended.length > 0 ? this.streams : this.grown) {
      const isEnded = ended.some((prefix) => name.startsWith(prefix));
      // A text that stays open is searched again when it has grown by a part, so that the cost is linear.
      const isNew = stream.counted < stream.pieces.length;
      for (const { item } of stream.pieces.slice(stream.counted)) stream.added += item.text.length;
      stream.counted = stream.pieces.length;
      if (isEnded || (isNew && stream.added >= stream.searched / SEARCH_PART)) this.searchStream(stream, isEnded);
      if (isEnded) this.streams.delete(name);
    }
    this.grown.clear();
    this.last = undefined;
  }

  private searchStream(stream: TextStream, isEnded: boolean): void {
    const { context, pieces } = stream;
    const text = context + pieces.map(({ item, from }) => item.text.slice(from)).join('');
    const { ranges, tail } = this.searchText(text);
    const end = isEnded ? text.length : Math.max(context.length, tail);
    const rest: Piece[] = [];
    let start = context.length;
    for (const { item, from } of pieces) {
      const length = item.text.length - from;
      for (const [first, last] of ranges) {
        const isInside = first < start + length && last > start && last <= end;
        if (isInside) item.addSecret([first - start + from, last - start + from]);
      }
      start += length;
      if (start > end) rest.push({ item, from: Math.max(from, from + length - (start - end)) });
    }
    stream.pieces = rest;
    stream.context = text.slice(Math.max(0, end - CONTEXT_LENGTH), end);
    stream.counted = rest.length;
    stream.added = 0;
    stream.searched = text.length - end;
  }

  /** Most chunks are events too, so that two streams have the same text. */
  private searchText(text: string): Search {
    if (this.last?.text === text) return this.last;
    const ranges = secretsIn(text, this.secrets);
    let tail = openTail(text, this.secrets);
    for (const [from, to] of [...ranges].reverse()) if (from < tail && tail < to) tail = from;
    return (this.last = { text, ranges, tail });
  }

  private writeSearched(): void {
    for (let item = this.items[0]; item; item = this.items[0]) {
      const limit = this.openFrom(item);
      const entry = item.take(limit);
      if (limit === Infinity) this.items.shift();
      if (entry) this.write(entry);
      if (limit !== Infinity) break;
    }
    if (this.items.length === 0) this.size = 0;
  }

  /** What follows the first piece of a stream waits anyway. */
  private openFrom(item: Waiting): number {
    const first = item.queued.streams.map((name) => this.streams.get(name)?.pieces[0]);
    return Math.min(...first.map((piece) => (piece?.item === item ? piece.from : Infinity)));
  }
}

interface Search {
  readonly text: string;
  readonly ranges: readonly Range[];
  readonly tail: number;
}
