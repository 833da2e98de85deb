import type { Dialect, DialectFrame } from './dialects/dialect.js';
import type { Behaviour } from './options.js';

/** How an answer's frames become bytes. */
export interface Framing {
  /** A frame, delimited, with the comments before it. */
  frame(frame: DialectFrame): Uint8Array;
  /** What follows the last frame. */
  readonly tail: Uint8Array;
}

const encoder = new TextEncoder();

/** Bytes of a text; bytes as they are. */
export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? encoder.encode(content) : content;

/** The framing of a dialect, with the wished deviations (WHATWG HTML, "Server-sent events"). */
export function framingOf({ framing }: Dialect, { lineEnds = '\n', comments, eventNames }: Behaviour): Framing {
  if (framing === 'ndjson') return { frame: ({ data }) => bytesOf(`${data}\n`), tail: bytesOf('') };
  const event = (lines: readonly string[]) => [...lines, '', ''].join(lineEnds);
  const comment = comments === undefined ? '' : event(comments.split('\n').map((line) => `: ${line}`));
  return {
    frame: (frame) => {
      const name = nameOf(frame, eventNames);
      const data = frame.data.split('\n').map((line) => `data: ${line}`);
      return bytesOf(comment + event(name === undefined ? data : [`event: ${name}`, ...data]));
    },
    tail: bytesOf(comment),
  };
}

function nameOf({ event }: DialectFrame, wish: boolean | string | undefined): string | undefined {
  if (typeof wish === 'string') return wish;
  if (wish === undefined) return event;
  return wish ? (event ?? 'message') : undefined;
}

/** Joins pieces of bytes. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
