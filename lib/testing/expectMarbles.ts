import type { Observable } from 'rxjs';
import { listsOf, parseLetters, type MarbleValues } from './playMarbles.js';
import { runVirtually, type VirtualRun } from './inVirtualTime.js';

/**
 * Fails unless an Observable emits what a marble diagram shows, in virtual time.
 *
 * <span class="informal">`expectObservable` without a TestScheduler of your own, and with a failure that can be
 * read.</span>
 *
 * The failure shows both diagrams, one above the other, with a mark below the first difference, and the values there:
 *
 *     expected  200ms a 10ms (b|)
 *     actual    200ms a 10ms b 299ms |
 *                              ^
 *
 * The diagram has the syntax of `playMarbles`: a letter and a `-` last a millisecond, and each letter stands for a
 * value, as in RxJS, or for a list of values that are emitted in one millisecond. Values may be anything: dates, maps,
 * sets and instances of classes are compared by their content, errors by their name and message, as in jest;
 * instances without visible fields by the `toString` of their class. A stream that emits much more than is drawn is
 * left, so that an endless one fails. It works with any test runner. For a matcher of jest or vitest, see
 * `marbleMatchers`.
 *
 * ```ts
 * expectMarbles(() => playMarbles('a 9ms (b|)', { a: 1, b: 2 }).pipe(delay(5)), '5ms a 9ms (b|)', {
 *   a: 1,
 *   b: 2,
 * });
 * ```
 *
 * @param create Creates the Observable. It is called in virtual time, at 0.
 * @param marbles The diagram. Without `|` or `#`, the Observable must not end within an hour.
 * @param values The value of each letter, or the list of its values. Default: the letter itself.
 * @param error The error of `#`. Default: any.
 * @throws Error if the Observable emits something else.
 */
export function expectMarbles<T>(
  create: () => Observable<T>,
  marbles: string,
  values: MarbleValues<T> = {},
  error?: unknown,
): void {
  const difference = differenceOf(create, marbles, values, error);
  if (difference !== undefined) throw new Error(difference);
}

/** What a matcher of jest and of vitest returns. */
export interface MarbleMatch {
  readonly pass: boolean;
  readonly message: () => string;
}

/**
 * Matchers for `expect.extend` of jest and of vitest: `expect(() => stream$).toEmitMarbles(marbles, values, error)`
 * fails as `expectMarbles` does.
 *
 * ```ts
 * expect.extend(marbleMatchers);
 * expect(() => source$.pipe(mask())).toEmitMarbles('a 9ms (b|)', { a: ['Write to '], b: ['•••'] });
 * ```
 *
 * In TypeScript, declare the matcher once, as
 * https://github.com/rivulet-rx/rivulet/blob/main/docs/testing.md#the-matcher-in-typescript shows for each runner.
 */
export const marbleMatchers = {
  toEmitMarbles: <T>(
    create: () => Observable<T>,
    marbles: string,
    values: MarbleValues<T> = {},
    error?: unknown,
  ): MarbleMatch => {
    const difference = differenceOf(create, marbles, values, error);
    return {
      pass: difference === undefined,
      message: () => difference ?? `The stream emits what ${marbles} shows, and should not.`,
    };
  },
};

type Lists<T> = Readonly<Record<string, readonly T[]>>;

interface Moment {
  readonly at: number;
  letters: string;
  readonly values: unknown[];
}

interface Timeline {
  readonly moments: readonly Moment[];
  readonly end: '|' | '#' | '';
  readonly endAt: number;
  readonly error?: unknown;
  readonly leftAfter?: number;
}

/** More values than are drawn, and milliseconds later, at which an endless stream is left. */
const EXTRA_VALUES = 20;
const EXTRA_TIME = 3_600_000;

const alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

function differenceOf<T>(
  create: () => Observable<T>,
  marbles: string,
  valuesOfLetters: MarbleValues<T>,
  error: unknown,
): string | undefined {
  const values = listsOf(valuesOfLetters);
  const expected = expectedTimeline(marbles, values, error);
  const run = runVirtually(create, lastTimeOf(expected) + EXTRA_TIME, countOf(expected) + EXTRA_VALUES);
  const actual = actualTimeline(run, expected, values);
  const [wanted, got] = [tokensOf(expected), tokensOf(actual)];
  const index = wanted.findIndex((token, at) => token !== got[at]);
  const first = index < 0 && got.length > wanted.length ? wanted.length : index;
  if (first >= 0) return describe(expected, actual, first);
  const isOtherError = expected.end === '#' && error !== undefined && !sameValue(run.error, error);
  if (!isOtherError) return undefined;
  return `The stream fails with another error:\n\nexpected  ${showValue(error)}\nactual    ${showValue(run.error)}`;
}

const countOf = ({ moments }: Timeline): number => moments.reduce((sum, { values }) => sum + values.length, 0);
const lastTimeOf = ({ moments, endAt }: Timeline): number => Math.max(endAt, moments.at(-1)?.at ?? 0);

function expectedTimeline<T>(marbles: string, values: Lists<T>, error: unknown): Timeline {
  const moments: Moment[] = [];
  let [end, endAt]: [Timeline['end'], number] = ['', 0];
  for (const { frame, notification } of parseLetters(marbles)) {
    if (notification.kind !== 'N') [end, endAt] = [notification.kind === 'C' ? '|' : '#', frame];
    else addTo(moments, frame, values[notification.value] ?? [notification.value], notification.value);
  }
  return { moments, end, endAt, error };
}

function actualTimeline<T>(run: VirtualRun<T>, expected: Timeline, values: Lists<T>): Timeline {
  const moments: Moment[] = [];
  for (const { at, value } of run.values) addTo(moments, at, [value], '');
  const unused = Array.from(alphabet).filter((letter) => !(letter in values));
  moments.forEach((moment, index) => {
    const same = expected.moments[index];
    moment.letters =
      same && sameValue(same.values, moment.values)
        ? same.letters
        : (letterOf(values, moment) ?? unused.shift() ?? '?');
  });
  const end = { completed: '|', failed: '#', open: '' } as const;
  const isLeft = run.values.length > countOf(expected) + EXTRA_VALUES;
  return {
    moments,
    end: end[run.end],
    endAt: run.at,
    error: run.error,
    ...(isLeft && { leftAfter: run.values.length }),
  };
}

function addTo(moments: Moment[], at: number, values: readonly unknown[], letters: string): void {
  const last = moments.at(-1);
  if (last?.at !== at) moments.push({ at, letters, values: [...values] });
  else {
    last.values.push(...values);
    last.letters += letters;
  }
}

const letterOf = (values: Lists<unknown>, { values: list }: Moment): string | undefined =>
  Object.entries(values).find(([, each]) => sameValue(each, list))?.[0];

/** A diagram in one form: a pause, or what is emitted in a millisecond. */
function tokensOf({ moments, end, endAt }: Timeline): readonly string[] {
  const tokens: string[] = [];
  let time = 0;
  const wait = (until: number) => {
    if (until > time) tokens.push(`${until - time}ms`);
    time = until;
  };
  moments.forEach(({ at, letters }, index) => {
    wait(at);
    const mark = index === moments.length - 1 && end !== '' && endAt === at ? end : '';
    const group = letters + mark;
    tokens.push(group.length > 1 ? `(${group})` : group);
    time = at + 1;
  });
  if (end !== '' && moments.at(-1)?.at !== endAt) {
    wait(endAt);
    tokens.push(end);
  }
  return tokens;
}

function describe(expected: Timeline, actual: Timeline, first: number): string {
  const [wanted, got] = [tokensOf(expected), tokensOf(actual)];
  const column = wanted
    .slice(0, first)
    .map((token) => `${token} `)
    .join('').length;
  const lines = [
    `The stream differs from its diagram${timeOf(expected, actual)}:`,
    '',
    `expected  ${wanted.join(' ')}`,
    `actual    ${got.join(' ')}`,
    `          ${' '.repeat(column)}^`,
    ...valuesAt(expected, actual),
    ...(actual.leftAfter === undefined ? [] : ['', `The stream was left after ${actual.leftAfter} values.`]),
    ...(actual.end === '#' && expected.end !== '#' ? [`error     ${showValue(actual.error)}`] : []),
  ];
  return lines.join('\n');
}

function firstMoments(expected: Timeline, actual: Timeline) {
  const index = expected.moments.findIndex(
    ({ at, letters }, position) => actual.moments[position]?.at !== at || actual.moments[position].letters !== letters,
  );
  const at = index < 0 ? expected.moments.length : index;
  return { wanted: expected.moments[at], got: actual.moments[at] };
}

function timeOf(expected: Timeline, actual: Timeline): string {
  const { wanted, got } = firstMoments(expected, actual);
  const endOf = ({ end, endAt }: Timeline) => (end === '' ? Infinity : endAt);
  const times = [wanted?.at ?? endOf(expected), got?.at ?? endOf(actual)];
  return ` at ${Math.min(...times)} ms`;
}

function valuesAt(expected: Timeline, actual: Timeline): readonly string[] {
  const { wanted, got } = firstMoments(expected, actual);
  if (wanted?.letters === got?.letters) return [];
  const line = (name: string, moment: Moment | undefined) =>
    moment ? [`${name} ${moment.letters} = ${showValue(moment.values)}`] : [];
  const isArray = wanted !== undefined && got?.values.length === 1 && sameValue(wanted.values, got.values[0]);
  const hint = 'A list is the values of one millisecond. A value that is an array is in a list, too: [[1, 2]].';
  return ['', ...line('expected ', wanted), ...line('actual   ', got), ...(isArray ? ['', hint] : [])];
}

type Pairs = readonly (readonly [object, object])[];

function contentOf(value: object): unknown {
  if (value instanceof Date) return value.getTime();
  if (value instanceof Map || value instanceof Set) return [...value];
  if (value instanceof Error) return [value.name, value.message];
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return isOpaque(value) ? textOf(value) : undefined;
}

/** A value without fields that can be seen: an instance with private fields, a RegExp, a URL. */
function isOpaque(value: object): boolean {
  if (Object.keys(value).length > 0 || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}

function textOf(value: object): string | undefined {
  const toString: unknown = Reflect.get(value, 'toString');
  return toString === Object.prototype.toString || typeof toString !== 'function'
    ? undefined
    : String(Reflect.apply(toString, value, []));
}

/** By content; without visible fields by their own `toString`, or by identity. */
const sameValue = (a: unknown, b: unknown): boolean => isSame(a, b, []);

function isSame(a: unknown, b: unknown, within: Pairs): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (within.some(([outerA, outerB]) => outerA === a && outerB === b)) return true; // a cycle: no difference so far
  const pairs: Pairs = [...within, [a, b]];
  const [content, other] = [contentOf(a), contentOf(b)];
  if (content !== undefined) return isSame(content, other, pairs);
  if (isOpaque(a) || isOpaque(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(Reflect.get(a, key), Reflect.get(b, key), pairs))
  );
}

const showValue = (value: unknown): string => JSON.stringify(shown(value, []));

function shown(value: unknown, within: readonly object[]): unknown {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return `<${String(value)}>`;
  if (typeof value === 'bigint') return `<${value}n>`;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return `<${String(value)}>`;
  if (within.includes(value)) return '<the object around it>';
  const show = (inner: unknown) => shown(inner, [...within, value]);
  if (Array.isArray(value)) return value.map(show);
  if (value instanceof Map || value instanceof Set) return { [`<${value.constructor.name}>`]: [...value].map(show) };
  if ('toJSON' in value) return value; // by JSON.stringify
  if (isOpaque(value)) return `<${textOf(value) ?? value.constructor.name}>`;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, show(inner)]));
}
