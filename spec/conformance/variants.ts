import { concatBytes } from '../../lib/testing/server/framing.js';
import type { Body } from './case.js';
import { framingsOf } from './framings.js';

/** One way to send a body. */
export interface Variant {
  readonly name: string;
  /** Over a socket, or handed to the model by its `fetch` option: a kernel joins writes, so that only there a cut is sure to be where it was made. */
  readonly over: 'http' | 'fetch';
  /** The writes, or the pieces that are read. */
  readonly pieces: readonly Uint8Array[];
  readonly reset: boolean;
}

/** How many bytes of single-split variants a case may cost: a body of up to this many bytes squared is split at each of its points. */
const splitBudget = 2_500_000;
/** The longest body that is written byte by byte to a socket. */
const smallBody = 4_096;

/** Every way to send a body: all framings, each whole and byte by byte, and the own one cut at every point (of a long body, at the telling ones). */
export function variantsOf(body: Body): readonly Variant[] {
  const encoder = new TextEncoder();
  const { reset } = body;
  return framingsOf(body).flatMap(({ name, writes }, at): Variant[] => {
    const written = writes.map((write) => encoder.encode(write));
    const bytes = concatBytes(written);
    const variant = (over: 'http' | 'fetch', how: string, pieces: readonly Uint8Array[]): Variant => ({
      name: `${name}, ${over === 'http' ? 'HTTP' : 'fetch'}, ${how}`,
      over,
      pieces,
      reset,
    });
    const all: Variant[] = [
      variant('http', 'one write a frame', written),
      variant('http', 'one write', [bytes]),
      variant('fetch', 'whole', [bytes]),
      variant('fetch', 'byte by byte', cutAt(bytes, range(1, bytes.length))),
      variant('fetch', 'one piece a frame', written),
    ];
    if (at > 0)
      return [
        ...all,
        ...betweenReturnAndFeed(bytes)
          .slice(0, 4)
          .map((point) => variant('fetch', `split between CR and LF at ${point}`, cutAt(bytes, [point]))),
      ];
    return [
      ...all,
      ...(bytes.length <= smallBody ? [variant('http', 'one byte a write', cutAt(bytes, range(1, bytes.length)))] : []),
      ...[2, 3, 7, 64].map((size) =>
        variant('fetch', `${size} bytes a piece`, cutAt(bytes, range(size, bytes.length, size))),
      ),
      ...splits(bytes).map((point) =>
        variant('fetch', `split ${placeOf(bytes, point)}at ${point}`, cutAt(bytes, [point])),
      ),
    ];
  });
}

/** The points at which a body is split in two: all, or of a long body those inside characters and line ends, and others evenly. */
function splits(bytes: Uint8Array): readonly number[] {
  const all = range(1, bytes.length);
  const room = Math.max(60, Math.floor(splitBudget / Math.max(bytes.length, 1)));
  if (all.length <= room) return all;
  const telling = [
    ...some(
      all.filter((point) => isContinuation(bytes[point])),
      room / 4,
    ),
    ...some(betweenReturnAndFeed(bytes), room / 8),
    ...some(
      all.filter((point) => bytes[point - 1] === LF || bytes[point] === LF),
      room / 4,
    ),
  ];
  return [...new Set([...telling, ...some(all, room - telling.length)])].sort((a, b) => a - b);
}

const [LF, CR] = [10, 13];
/** Whether a byte continues a character of UTF-8: a cut before it is a cut inside one. */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
const betweenReturnAndFeed = (bytes: Uint8Array) =>
  range(1, bytes.length).filter((point) => bytes[point - 1] === CR && bytes[point] === LF);

function placeOf(bytes: Uint8Array, point: number): string {
  if (isContinuation(bytes[point])) return 'inside a character ';
  return bytes[point - 1] === CR && bytes[point] === LF ? 'between CR and LF ' : '';
}

const range = (from: number, to: number, step = 1): readonly number[] =>
  Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, at) => from + at * step);

/** At most so many of the values, evenly. */
function some<T>(values: readonly T[], most: number): readonly T[] {
  const count = Math.floor(most);
  return values.length <= count
    ? values
    : range(0, count).map((at) => values[Math.floor((at * values.length) / count)] as T);
}

function cutAt(bytes: Uint8Array, points: readonly number[]): readonly Uint8Array[] {
  return [0, ...points].map((point, at) => bytes.subarray(point, points[at])).filter((piece) => piece.length > 0);
}
