import { concat, concatMap, defer, EMPTY, from, NEVER, throwError, timer } from 'rxjs';
import type { Observable, ObservableNotification } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { toMarbles } from '../observe/spec/marbleText.js';
import { inVirtualTime } from './inVirtualTime.js';
import type { Plain } from '../core/typesOf.js';

/**
 * What a letter of a marble diagram stands for: a value, or the list of the values that are emitted together. A value
 * that is an array is in a list, too: `[[1, 2]]`.
 */
export type MarbleValues<T> = Readonly<Record<string, T | readonly T[]>>;

/** An array is a list, whatever the type of the values is. */
export const listsOf = <T>(values: MarbleValues<T>): Readonly<Record<string, readonly T[]>> =>
  Object.fromEntries(
    Object.entries(values).map(([letter, value]) => [letter, Array.isArray(value) ? value : [value as T]]),
  );

/**
 * Emits the values of a marble diagram with durations, in virtual or in real time.
 *
 * <span class="informal">`cold` of a TestScheduler, for models, tools, stops and prompts.</span>
 *
 * The diagram has RxJS's syntax: `200ms a 11ms (b|)`. A letter and a `-` last a millisecond, a group such as `(b|)` as
 * many milliseconds as it has characters, and blanks no time. Each letter stands for a value, or for a list of the
 * values of one millisecond. Without `|` or `#` at its end, it does not end.
 *
 * ```ts
 * const model = scriptedModel([
 *   playMarbles<Chunk>('200ms a 300ms (b|)', {
 *     a: { type: 'text', text: 'Hello' },
 *     b: { type: 'finish', reason: 'stop' },
 *   }),
 * ]);
 * ```
 *
 * @param marbles The diagram.
 * @param values The values of each letter.
 * @param error The error of `#`. Default: the text `error`, as in RxJS.
 * @returns A cold Observable.
 */
export function playMarbles<T>(marbles: string, values: MarbleValues<T>, error?: unknown): Observable<T> {
  const moments = parse(marbles, error);
  const lists = listsOf(values);
  for (const { notification } of moments)
    if (notification.kind === 'N' && !Object.hasOwn(lists, notification.value))
      throw new Error(`The diagram ${marbles} has the letter ${notification.value}, and no values for it.`);
  const isEnded = moments.some(({ notification }) => notification.kind !== 'N');
  return defer(() => {
    let time = 0;
    const played = moments.map(({ frame, notification }) => {
      const wait = frame - time;
      time = frame;
      const play = defer(() => notificationOf(notification, lists));
      return wait === 0 ? play : timer(wait).pipe(concatMap(() => play));
    });
    return concat(concat(...played), isEnded ? EMPTY : NEVER);
  });
}

function parse(marbles: string, error: unknown): readonly DrawnLetter[] {
  let start = 0;
  return partsOf(marbles).flatMap((part, index, parts) => {
    if (index === parts.length - 1) return parsePart(part, error).map(later(start));
    // A completion at its end shows how long the part lasts.
    const notifications = parsePart(`${part}|`, error).map(later(start));
    start = notifications.pop()?.frame ?? start;
    return notifications;
  });
}

const later =
  (start: number) =>
  <T extends { readonly frame: number }>(message: T): T => ({ ...message, frame: start + message.frame });

const PART_LENGTH = 64;

/** RxJS copies the rest at each duration: 10,000 letters would take a minute. */
function partsOf(marbles: string): readonly string[] {
  const words = marbles.split(/(?<= )(?=[^ ])/);
  if (words.length <= PART_LENGTH || marbles.includes('^')) return [marbles];
  const parts: string[] = [];
  let part: string[] = [];
  let isInGroup = false;
  for (const word of words) {
    part.push(word);
    const [open, close] = [word.lastIndexOf('('), word.lastIndexOf(')')];
    if (open !== close) isInGroup = open > close;
    if (isInGroup || part.length < PART_LENGTH) continue;
    parts.push(part.join(''));
    part = [];
  }
  return [...parts, part.join('')];
}

/* eslint-disable @typescript-eslint/no-deprecated -- parseMarbles has no other parameter for it */

/** Outside of `run`, a letter would last 10 ms. */
function parsePart(marbles: string, error: unknown): DrawnLetter[] {
  const { frameTimeFactor } = TestScheduler;
  TestScheduler.frameTimeFactor = 1;
  try {
    return TestScheduler.parseMarbles(marbles, undefined, error, false, true);
  } finally {
    TestScheduler.frameTimeFactor = frameTimeFactor;
  }
}

/* eslint-enable @typescript-eslint/no-deprecated */

interface DrawnLetter {
  readonly frame: number;
  readonly notification: ObservableNotification<string>;
}

export const parseLetters = (marbles: string): readonly DrawnLetter[] => parse(marbles, undefined);

function notificationOf<T>(
  notification: ObservableNotification<string>,
  lists: Readonly<Record<string, readonly T[]>>,
): Observable<T> {
  switch (notification.kind) {
    case 'N':
      return from(lists[notification.value] ?? []);
    case 'E':
      return throwError(() => notification.error as Error);
    case 'C':
      return EMPTY;
  }
}

export interface DrawnRun<T> {
  readonly marbles: string;
  readonly values: Readonly<Record<string, readonly T[]>>;
  readonly error?: unknown;
}

/**
 * Subscribes to an Observable in virtual time, and returns what it emitted as a marble diagram.
 *
 * ```ts
 * expect(drawInVirtualTime(() => agent.stream('Hello').pipe(toText()))).toEqual({
 *   marbles: '200ms a 300ms (b|)',
 *   values: { a: ['Hello'], b: [' World'] },
 * });
 * ```
 *
 * @param create Creates the Observable. It is called in virtual time, at 0.
 * @returns The diagram, which `playMarbles` reads, and the values of its letters.
 */
export function drawInVirtualTime<T>(create: () => Observable<T>): Plain<DrawnRun<T>> {
  const { values, end, at, error } = inVirtualTime(create);
  const mark = end === 'completed' ? '|' : end === 'failed' ? '#' : '';
  const drawn = toMarbles(values, { at, mark });
  return end === 'failed' ? { ...drawn, error } : drawn;
}
