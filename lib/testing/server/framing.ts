import type { Dialect, DialectFrame } from './dialects/dialect.js';
import type { Behaviour } from './options.js';

export interface Framing {
  frame(frame: DialectFrame): Uint8Array;
  readonly tail: Uint8Array;
}

const encoder = new TextEncoder();

export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? encoder.encode(content) : content;

/** Real servers differ in line ends, comments and event names, which WHATWG HTML allows ("Server-sent events"). */
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

function nameOf({ event }: DialectFrame, option: boolean | string | undefined): string | undefined {
  if (typeof option === 'string') return option;
  if (option === undefined) return event;
  return option ? (event ?? 'message') : undefined;
}

export function concatBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
