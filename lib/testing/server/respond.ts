import type { ServerResponse } from 'node:http';
import { concat, concatMap, defer, EMPTY, from, NEVER, Observable } from 'rxjs';
import type { Answer, Piece } from './answer.js';
import { joined } from './framing.js';

/** What a spec can wait for while an answer is written. */
export interface Progress {
  /** A frame was handed to the socket. */
  frame(): void;
  /** The socket is about to be destroyed. */
  reset(): void;
}

/**
 * Writes an answer, one write at a time: the next follows when the kernel has taken the one before.
 *
 * @returns Emits nothing. It completes when the answer is written, and does not when the client has left or the answer falls silent: the caller
 * unsubscribes when the response closes.
 */
export function respond(response: ServerResponse, answer: Answer, progress: Progress): Observable<never> {
  const cuts = cutter(answer.cut);
  const head = () => {
    if (!response.headersSent) response.writeHead(answer.status, answer.headers).flushHeaders();
  };

  const finish = (then: NonNullable<Piece['then']>, last: Uint8Array | undefined): Observable<never> => {
    if (then === 'silence') return NEVER;
    if (then === 'end') response.end(last);
    else {
      progress.reset();
      response.destroy();
    }
    return EMPTY;
  };

  return answer.body.pipe(
    concatMap(({ bytes, frame, then }) => {
      const writes = [...cuts.next(bytes), ...(then ? cuts.flush() : [])];
      if (frame || then === 'end') head();
      // The last bytes go out with the end: a client that leaves when it has seen them does not leave before the end.
      const last = then === 'end' ? writes.pop() : undefined;
      return concat(
        from(writes).pipe(concatMap((some) => write(response, some))),
        defer(() => {
          if (frame) progress.frame();
          return then ? finish(then, last) : EMPTY;
        }),
      );
    }),
  );
}

function write(response: ServerResponse, bytes: Uint8Array): Observable<never> {
  return new Observable((out) => {
    response.write(bytes, (error) => {
      // An error says that the client is gone, which the response's own `close` tells the caller.
      if (!error) out.complete();
    });
  });
}

/** Cuts the bytes of a body into writes. */
export interface Cutter {
  /** Takes more of the body, and gives the writes that are full. */
  next(bytes: Uint8Array): Uint8Array[];
  /** What is left. */
  flush(): Uint8Array[];
}

/**
 * Makes a cutter: pure, state of one body.
 *
 * @param cut Bytes a write, or offsets in the body at which it is cut. Undefined: every piece is a write of its own.
 */
export function cutter(cut: number | readonly number[] | undefined): Cutter {
  if (cut === undefined) return { next: (bytes) => (bytes.length > 0 ? [bytes] : []), flush: () => [] };
  const boundary = boundaries(cut);
  let held: Uint8Array[] = [];
  let written = 0;
  let length = 0;
  const flush = () => {
    const rest = length > 0 ? [joined(held)] : [];
    written += length;
    [held, length] = [[], 0];
    return rest;
  };
  return {
    next(bytes) {
      const writes: Uint8Array[] = [];
      let rest = bytes;
      for (let room = boundary(written) - written - length; rest.length >= room; room = boundary(written) - written) {
        held.push(rest.subarray(0, room));
        length += room;
        writes.push(...flush());
        rest = rest.subarray(room);
      }
      if (rest.length > 0) held.push(rest);
      length += rest.length;
      return writes;
    },
    flush,
  };
}

/** The first cut behind an offset. */
function boundaries(cut: number | readonly number[]): (offset: number) => number {
  if (typeof cut === 'number') {
    const size = cut >= 1 ? Math.floor(cut) : 1;
    return (offset) => offset + size;
  }
  const points = [...cut].sort((a, b) => a - b);
  return (offset) => points.find((point) => point > offset) ?? Infinity;
}
