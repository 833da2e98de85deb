import { joined } from './framing.js';

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
