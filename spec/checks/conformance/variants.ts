import { concatBytes } from '../../../lib/testing/server/framing.js';
import type { Body } from './case.js';
import { framingsOf } from './framings.js';

/** One way to send a body. */
export interface Variant {
  readonly name: string;
  /** A socket, or the model's `fetch` option. The kernel may join writes: only `fetch` keeps every cut. */
  readonly over: 'http' | 'fetch';
  /** The bytes of each write (`http`) or read (`fetch`). */
  readonly chunks: readonly Uint8Array[];
  readonly reset: boolean;
}

/**
 * The most bytes that are sent in variants with one split. A body of `n` bytes has `n` such variants of `n` bytes: up
 * to the square root of this, it is split at every byte.
 */
const splitBudget = 2_500_000;
/** The largest body that is written byte by byte to a socket. */
const smallBody = 4_096;

/**
 * Returns all variants of a body: every framing in one chunk and byte by byte, and the original framing split at every
 * byte (a long body at selected bytes).
 */
export function variantsOf(body: Body): readonly Variant[] {
  const encoder = new TextEncoder();
  const { reset } = body;
  return framingsOf(body).flatMap(({ name, writes }, at): Variant[] => {
    const written = writes.map((write) => encoder.encode(write));
    const bytes = concatBytes(written);
    const variant = (over: 'http' | 'fetch', how: string, chunks: readonly Uint8Array[]): Variant => ({
      name: `${name}, ${over === 'http' ? 'HTTP' : 'fetch'}, ${how}`,
      over,
      chunks,
      reset,
    });
    const all: Variant[] = [
      variant('http', 'one write per frame', written),
      variant('http', 'one write', [bytes]),
      variant('fetch', 'one chunk', [bytes]),
      variant('fetch', 'byte by byte', cutAt(bytes, range(1, bytes.length))),
      variant('fetch', 'one chunk per frame', written),
    ];
    if (at > 0)
      return [
        ...all,
        ...betweenReturnAndFeed(bytes)
          .slice(0, 4)
          .map((offset) => variant('fetch', `split between CR and LF at ${offset}`, cutAt(bytes, [offset]))),
      ];
    return [
      ...all,
      ...(bytes.length <= smallBody
        ? [variant('http', 'one byte per write', cutAt(bytes, range(1, bytes.length)))]
        : []),
      ...[2, 3, 7, 64].map((size) =>
        variant('fetch', `${size} bytes per chunk`, cutAt(bytes, range(size, bytes.length, size))),
      ),
      ...splits(bytes).map((offset) =>
        variant('fetch', `split ${placeOf(bytes, offset)}at ${offset}`, cutAt(bytes, [offset])),
      ),
    ];
  });
}

/**
 * Returns the offsets of splits: all of them, or for a long body some inside characters, some in line ends, and others
 * at even distances.
 */
function splits(bytes: Uint8Array): readonly number[] {
  const all = range(1, bytes.length);
  const room = Math.max(60, Math.floor(splitBudget / Math.max(bytes.length, 1)));
  if (all.length <= room) return all;
  const selected = [
    ...sample(
      all.filter((offset) => isContinuation(bytes[offset])),
      room / 4,
    ),
    ...sample(betweenReturnAndFeed(bytes), room / 8),
    ...sample(
      all.filter((offset) => bytes[offset - 1] === LF || bytes[offset] === LF),
      room / 4,
    ),
  ];
  return [...new Set([...selected, ...sample(all, room - selected.length)])].sort((a, b) => a - b);
}

const [LF, CR] = [10, 13];
/** Whether a byte continues a UTF-8 character: a split before it is inside the character. */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
const betweenReturnAndFeed = (bytes: Uint8Array) =>
  range(1, bytes.length).filter((offset) => bytes[offset - 1] === CR && bytes[offset] === LF);

function placeOf(bytes: Uint8Array, offset: number): string {
  if (isContinuation(bytes[offset])) return 'inside a character ';
  return bytes[offset - 1] === CR && bytes[offset] === LF ? 'between CR and LF ' : '';
}

const range = (from: number, to: number, step = 1): readonly number[] =>
  Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, at) => from + at * step);

/** Returns at most `limitModel` of the values, at even distances. */
function sample<T>(values: readonly T[], limit: number): readonly T[] {
  const count = Math.floor(limit);
  return values.length <= count
    ? values
    : range(0, count).map((at) => values[Math.floor((at * values.length) / count)] as T);
}

function cutAt(bytes: Uint8Array, offsets: readonly number[]): readonly Uint8Array[] {
  return [0, ...offsets].map((offset, at) => bytes.subarray(offset, offsets[at])).filter((chunk) => chunk.length > 0);
}
