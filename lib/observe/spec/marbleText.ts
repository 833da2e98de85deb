import { recordingError } from '../../core/errors.js';

export interface Timed<T> {
  readonly at: number;
  readonly value: T;
}

/** Everything that happened in the same millisecond gets one letter. */
export interface MarbleText<T> {
  readonly marbles: string;
  readonly values: Readonly<Record<string, readonly T[]>>;
}

export interface MarbleEnd {
  readonly at: number;
  readonly mark: '|' | '#' | '';
}

/** Letters without a meaning in RxJS's marbles. */
const alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** Ranges without gaps, for longer diagrams: the first code points, and the sizes. */
const blocks = [
  [0x4e00, 0x5000],
  [0xac00, 0x2b00],
  [0x20000, 0xa000],
] as const;

/** The name of a value must be an identifier. 93,000 moments have letters of their own. */
function letterOf(index: number): string {
  let rest = index - alphabet.length;
  for (const [first, size] of blocks) {
    if (rest < size) return alphabet[index] ?? String.fromCodePoint(first + rest);
    rest -= size;
  }
  throw recordingError(
    `The diagram has more than ${index} moments, and there are no more letters.`,
    'Write the spec with a fixture, which has no diagrams.',
  );
}

/** `200ms a 11ms (b|)`: a letter takes a millisecond and stands for all values of it. */
export function toMarbles<T>(values: readonly Timed<T>[], end: MarbleEnd): MarbleText<T> {
  const groups: { readonly at: number; readonly values: T[] }[] = [];
  for (const { at, value } of values) {
    const last = groups.at(-1);
    if (last?.at === at) last.values.push(value);
    else groups.push({ at, values: [value] });
  }
  const parts: string[] = [];
  let time = 0;
  const wait = (until: number) => {
    if (until > time) parts.push(`${until - time}ms`);
    time = Math.max(time, until);
  };
  groups.forEach(({ at }, index) => {
    wait(at);
    const isLast = index === groups.length - 1 && at === end.at && end.mark !== '';
    parts.push(isLast ? `(${letterOf(index)}${end.mark})` : letterOf(index));
    time++;
  });
  if (end.mark !== '' && groups.at(-1)?.at !== end.at) {
    wait(end.at);
    parts.push(end.mark);
  }
  return {
    marbles: parts.join(' '),
    values: Object.fromEntries(groups.map((group, index) => [letterOf(index), group.values])),
  };
}
