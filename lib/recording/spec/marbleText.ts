/** Something and its time, in whole milliseconds. */
export interface Timed<T> {
  readonly at: number;
  readonly value: T;
}

/** Everything that happened in the same millisecond gets one letter. */
export interface MarbleText<T> {
  readonly marbles: string;
  readonly values: Readonly<Record<string, readonly T[]>>;
}

/** How a drawn stream ends, and when. */
export interface MarbleEnd {
  readonly at: number;
  readonly mark: '|' | '#' | '';
}

/** Letters without a meaning in RxJS's marbles, then the letters of Unicode from a block without gaps. */
const alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const letterOf = (index: number): string => alphabet[index] ?? String.fromCodePoint(0x4e00 + index - alphabet.length);

/**
 * Writes values as a marble diagram of RxJS with durations: `200ms a 11ms (b|)`. A letter takes a millisecond and
 * stands for all values of it.
 */
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
