import type { ServerResponse } from 'node:http';
import { concat, concatMap, defer, EMPTY, from, NEVER, Observable } from 'rxjs';
import { concatBytes } from './framing.js';
import type { BodyChunk, ServedResponse } from './response.js';

export interface Progress {
  frame(): void;
  reset(): void;
}

/** One write after the other, as the kernel accepts them. Unsubscribe when the response closes: it may not complete. */
export function respond(response: ServerResponse, answer: ServedResponse, progress: Progress): Observable<never> {
  const splitter = createSplitter(answer.cut);
  const head = () => {
    if (!response.headersSent) response.writeHead(answer.status, answer.headers).flushHeaders();
  };

  const finish = (then: NonNullable<BodyChunk['then']>, last: Uint8Array | undefined): Observable<never> => {
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
      const writes = [...splitter.push(bytes), ...(then ? splitter.flush() : [])];
      if (frame || then === 'end') head();
      // The last bytes are sent together with the end: a client that disconnects after them does not disconnect before
      // the end.
      const last = then === 'end' ? writes.pop() : undefined;
      return concat(
        from(writes).pipe(concatMap((part) => write(response, part))),
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
      // An error means that the client has disconnected, which the response's `close` event reports to the caller.
      if (!error) out.complete();
    });
  });
}

export interface Splitter {
  push(bytes: Uint8Array): Uint8Array[];
  flush(): Uint8Array[];
}

/** Bytes of each write, or the offsets in the body at which it is split. */
export function createSplitter(cut: number | readonly number[] | undefined): Splitter {
  if (cut === undefined) return { push: (bytes) => (bytes.length > 0 ? [bytes] : []), flush: () => [] };
  const boundary = boundaries(cut);
  let held: Uint8Array[] = [];
  let written = 0;
  let length = 0;
  const flush = () => {
    const rest = length > 0 ? [concatBytes(held)] : [];
    written += length;
    [held, length] = [[], 0];
    return rest;
  };
  return {
    push(bytes) {
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

function boundaries(cut: number | readonly number[]): (offset: number) => number {
  if (typeof cut === 'number') {
    const size = cut >= 1 ? Math.floor(cut) : 1;
    return (offset) => offset + size;
  }
  const points = [...cut].sort((a, b) => a - b);
  return (offset) => points.find((point) => point > offset) ?? Infinity;
}
