import { describe, expect, it } from '@jest/globals';
import { concat, delay, filter, interval, map, NEVER, of, range, repeat, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { expectMarbles, marbleMatchers, playMarbles } from 'rivulet/testing';
import type { MarbleValues } from 'rivulet/testing';

const values = { a: [1], b: [2], c: [3, 4] };
const source = (marbles: string) => () => playMarbles<number>(marbles, values);

/** The message of the failure. */
function failureOf<T>(
  create: () => Observable<T>,
  marbles: string,
  expected: MarbleValues<T>,
  error?: unknown,
): string {
  try {
    expectMarbles(create, marbles, expected, error);
  } catch (thrown) {
    return (thrown as Error).message;
  }
  throw new Error('It did not fail.');
}

describe('expectMarbles', () => {
  it.each([
    ['20ms a 4ms (b|)', '20ms a 4ms (b|)'],
    ['-a--b|', '1ms a 2ms b |'],
    ['a 1s c 3m |', 'a 1000ms c 180000ms |'],
    ['(ab|)', '(ab|)'],
    ['5ms #', '5ms #'],
    ['|', '|'],
  ])('expectMarbles accepts %s as %s', (played, expected) => {
    expect(() => expectMarbles(source(played), expected, values)).not.toThrow();
  });

  it.each<[string, MarbleValues<unknown>, unknown]>([
    ['a number', { a: 1 }, 1],
    ['an object', { a: { text: 'x' } }, { text: 'x' }],
    ['a text of several letters', { a: 'text' }, 'text'],
    ['undefined', { a: undefined }, undefined],
    ['null', { a: null }, null],
    ['an array in a list', { a: [[1, 2]] }, [1, 2]],
  ])('a letter stands for a plain value: %s', (_, plain, value) => {
    expect(() => expectMarbles(() => of(value), '(a|)', plain)).not.toThrow();
    expect(() => expectMarbles(() => playMarbles('(a|)', plain), '(x|)', { x: [value] })).not.toThrow();
    expect(() => expectMarbles(() => of('other'), '(a|)', plain)).toThrow('differs');
  });

  it('the failure says how a value that is an array is written', () => {
    expect(failureOf<unknown>(() => of([1, 2]), '(a|)', { a: [1, 2] })).toContain('[[1, 2]]');
    expect(failureOf<unknown>(() => of(1, 3), '(a|)', { a: [1, 2] })).not.toContain('[[1, 2]]');
  });

  it.each([
    ['an Observable', of(1)],
    ['a function that returns an array', () => [1]],
    ['a function that returns nothing', () => undefined],
  ])('expectMarbles says what it requires instead of %s', (_, create) => {
    expect(() => expectMarbles(create as never, '(a|)', { a: 1 })).toThrow(
      'Pass a function that returns an Observable',
    );
  });

  it('expectMarbles shows both diagrams, the first difference and its time', () => {
    expect(failureOf(source('20ms a 4ms b 5ms |'), '20ms a 6ms (b|)', values)).toBe(
      [
        'The stream differs from its diagram at 25 ms:',
        '',
        'expected  20ms a 6ms (b|)',
        'actual    20ms a 4ms b 5ms |',
        '                 ^',
      ].join('\n'),
    );
  });

  it('expectMarbles shows the values of the letters that differ', () => {
    expect(failureOf(source('a 4ms c |'), 'a 4ms b |', { a: [1], b: [2] })).toBe(
      [
        'The stream differs from its diagram at 5 ms:',
        '',
        'expected  a 4ms b |',
        'actual    a 4ms c |',
        '                ^',
        '',
        'expected  b = [2]',
        'actual    c = [3,4]',
      ].join('\n'),
    );
  });

  it('expectMarbles shows what is missing, and what is too much', () => {
    expect(failureOf(source('a|'), 'a 4ms (b|)', values)).toContain('actual    a |\n            ^');
    expect(failureOf(source('a-b|'), 'a', values)).toContain('expected  a\nactual    a 1ms b |\n            ^');
    expect(failureOf(source('a'), 'a|', values)).toContain('at 1 ms:\n\nexpected  a |\nactual    a\n            ^');
  });

  it('expectMarbles shows an error that was not expected, and one that is another', () => {
    const failing = () =>
      concat(
        of(1),
        throwError(() => new RangeError('too far')),
      );
    expect(failureOf(failing, '(a|)', values)).toContain('error     "<RangeError: too far>"');
    expect(() => expectMarbles(failing, '(a#)', values)).not.toThrow();
    expect(() => expectMarbles(failing, '(a#)', values, new RangeError('too far'))).not.toThrow();
    expect(failureOf(failing, '(a#)', values, new RangeError('too near'))).toBe(
      'The stream fails with another error:\n\nexpected  "<RangeError: too near>"\nactual    "<RangeError: too far>"',
    );
  });

  it('expectMarbles compares values that are not JSON by their content', () => {
    class Point {
      constructor(readonly x: number) {}
    }
    const all = (): readonly unknown[] => [
      new Map([['a', new Set([1])]]),
      new Date(5),
      7n,
      undefined,
      new Point(1),
      NaN,
      new Error('no'),
    ];
    const emit = () => of(...all());
    expect(() => expectMarbles(emit, '(a|)', { a: all() })).not.toThrow();
    for (const [index, other] of [new Map(), new Date(6), 8n, null, { x: 1 }, 0, new Error('yes')].entries())
      expect(failureOf<unknown>(emit, '(a|)', { a: all().with(index, other) })).toContain('expected  a = ');
    const message = failureOf<unknown>(() => of(...all()), '|', {});
    expect(message).toContain('[{"<Map>":[["a",{"<Set>":[1]}]]},"1970-01-01T00:00:00.005Z","<7n>","<undefined>"');
  });

  it.each([
    ['RegExp', /a/, /b/, /a/],
    ['URL', new URL('https://a.example'), new URL('https://b.example'), new URL('https://a.example')],
    ['buffer of bytes', new Uint8Array([1]).buffer, new Uint8Array([2]).buffer, new Uint8Array([1]).buffer],
  ])('expectMarbles compares a %s by its content', (_name, value: object, other: object, same: object) => {
    expect(() => expectMarbles(() => of(value), '(a|)', { a: [same] })).not.toThrow();
    expect(() => expectMarbles(() => of(value), '(a|)', { a: [other] })).toThrow('expected  a = ');
  });

  it('expectMarbles takes instances without visible fields as the same only if they are identical', () => {
    class Secret {
      readonly #text: string;
      constructor(text: string) {
        this.#text = text;
      }
      get length() {
        return this.#text.length;
      }
    }
    const secret = new Secret('a');
    expect(() => expectMarbles(() => of(secret), '(a|)', { a: [secret] })).not.toThrow();
    expect(failureOf<unknown>(() => of(secret), '(a|)', { a: [new Secret('b')] })).toContain(
      'actual    b = ["<Secret>"]',
    );
  });

  it('expectMarbles compares objects that contain themselves', () => {
    const cycle = (name: string): object => {
      const node: { name: string; self?: object } = { name };
      node.self = node;
      return node;
    };
    expect(() => expectMarbles(() => of(cycle('a')), '(a|)', { a: [cycle('a')] })).not.toThrow();
    expect(failureOf(() => of(cycle('a')), '(a|)', { a: [cycle('b')] })).toContain(
      'expected  a = [{"name":"b","self":"<the object around it>"}]',
    );
  });

  it.each([
    ['in virtual time', () => of(1).pipe(repeat({ delay: 1 }))],
    ['in no time', () => range(0, Infinity)],
  ])('expectMarbles leaves a stream that is endless %s', (_name, endless) => {
    const message = failureOf(endless, 'a 1ms (b|)', { a: [1], b: [2] });
    expect(message).toContain('The stream was left after 23 values.');
  });

  it('expectMarbles leaves a stream that emits nothing for an hour', () => {
    expect(() => expectMarbles(() => interval(1000).pipe(filter(() => false)), '3ms |', {})).toThrow('actual    \n');
  });

  it('expectMarbles takes the letters themselves as values by default', () => {
    expect(() => expectMarbles(() => of('a').pipe(delay(3)), '3ms (a|)')).not.toThrow();
  });
});

describe('marbleMatchers', () => {
  expect.extend(marbleMatchers);
  const expecting = (create: () => Observable<unknown>) =>
    expect(create) as unknown as Record<'toEmitMarbles', (marbles: string, expected: object) => void> & {
      readonly not: Record<'toEmitMarbles', (marbles: string, expected: object) => void>;
    };

  it('toEmitMarbles fails with both diagrams', () => {
    expecting(source('a-b|')).toEmitMarbles('a 1ms b |', values);
    expecting(() => source('a-b|')().pipe(map((value) => value + 1))).not.toEmitMarbles('a 1ms b |', values);
    expect(() => expecting(() => NEVER).toEmitMarbles('3ms |', {})).toThrow('expected  3ms |\nactual    \n          ^');
    expect(() => expecting(source('a|')).not.toEmitMarbles('a|', values)).toThrow('emits what a| shows');
  });
});
