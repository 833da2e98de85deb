import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  NEVER,
  catchError,
  concatAll,
  concatMap,
  delay,
  filter,
  interval,
  map,
  merge,
  of,
  retry,
  switchMap,
  take,
  takeUntil,
  tap,
  throwError,
  timeout,
  timer,
} from 'rxjs';
import type { Observable, ObservableNotification } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { parseDiagram, runDiagram } from '../../../lib/testing/marbles/runDiagram.js';
import type { Streams } from '../../../lib/testing/marbles/runDiagram.js';

type Numbers = Streams<'source', number>;

/** Runs a diagram. Returns jest's message about the difference, or an empty string. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as in runDiagram
function run<S extends Readonly<Record<string, Observable<unknown>>> = Streams<'source'>>(
  text: string,
  build: (streams: S) => Observable<unknown>,
): string {
  try {
    runDiagram<S>(text, build, (actual, expected) => expect(actual).toEqual(expected));
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const double = `
% Every value is doubled.
%: a = 1
%: b = 2

-a-|

> map(double)

-b-|
`;
const doubled = ({ source }: Numbers) => source.pipe(map((n) => 2 * n));

describe('runDiagram', () => {
  it('runDiagram passes for an operator that does what is drawn', () => {
    expect(run(double, doubled)).toBe('');
  });

  it('runDiagram fails for an event that is one frame late, and shows both frames', () => {
    expect(run(double, (streams: Numbers) => doubled(streams).pipe(delay(1)))).toMatch(
      /-\s+"frame": 1,\n\+\s+"frame": 2,/,
    );
  });

  it('runDiagram fails for another value', () => {
    expect(run(double, ({ source }: Numbers) => source)).toMatch(/-\s+"value": 2,\n\+\s+"value": 1,/);
  });

  it('runDiagram fails for an event that is not drawn, for a missing event, and for a result that ends early', () => {
    expect(run(double, (streams: Numbers) => merge(doubled(streams), of(7)))).toMatch(/\+\s+"value": 7/);
    expect(run(double, () => NEVER)).toContain('"value": 2');
    expect(run(double, (streams: Numbers) => doubled(streams).pipe(take(1)))).toMatch(/\+\s+"frame": 1/);
  });

  it('runDiagram fails for a result that never ends', () => {
    expect(run(double, () => interval(1))).toContain('"value": 99');
  });

  it('runDiagram counts a frame as a millisecond of virtual time', () => {
    const waiting = '-a--------\nsubs = ^---!\n\n> timeout(3)\n\n-a--#\n%: # = {"name":"TimeoutError"}';
    expect(run(waiting, ({ source }) => source.pipe(timeout(3)))).toBe('');
    expect(run(waiting, ({ source }) => source.pipe(timeout(4)))).toMatch(/\+\s+"frame": 5/);
  });

  it('runDiagram uses a letter without a definition as its own value', () => {
    expect(
      run('-a-(b|)\n\n> same\n\n-a-(B|)', ({ source }) =>
        source.pipe(map((text: string) => (text === 'b' ? 'B' : text))),
      ),
    ).toBe('');
  });

  it('runDiagram names the streams of the diagram if the test uses another title', () => {
    expect(run(double, ({ tool }: Streams<'tool'>) => tool)).toBe(
      'The diagram has no stream "tool" above its box. Its streams: source.',
    );
  });

  it('runDiagram passes the diagram and its values to the test', () => {
    const withState = '%: state = {"turn":2}\n\n> of(state.turn)\n\n(t|)\n%: t = 2';
    runDiagram(
      withState,
      (_, { values }) => of((values['state'] as { turn: number }).turn),
      (actual, expected) => expect(actual).toEqual(expected),
    );
  });

  it('runDiagram calls assertEqual with the output, then with the subscriptions of each input', () => {
    const compared: unknown[] = [];
    runDiagram(
      double,
      ({ source }) => source,
      (...pair) => compared.push(pair),
    );
    const end = { frame: 3, complete: true };
    const life = { 'subscriptions of source': [{ subscribedFrame: 0, unsubscribedFrame: 3 }] };
    expect(compared).toEqual([
      [{ result: [{ frame: 1, value: 1 }, end] }, { result: [{ frame: 1, value: 2 }, end] }],
      [life, life],
    ]);
  });
});

describe('the subscription of a line', () => {
  const sequence = '-a-|\ntitle = first\n\n   --b-|\ntitle = second\n\n> concat\n\n-a---b-|';
  const concatenated = ({ first, second }: Streams<'first' | 'second'>) => of(first, second).pipe(concatAll());

  it('the subscription of a line begins where the line is drawn to begin', () => {
    expect(run(sequence, concatenated)).toBe('');
    expect(run(sequence.replace('   --b', ' ----b'), concatenated)).not.toBe('');
  });

  it('the subscription of a line fails the test if it ends earlier, even if the output is the same', () => {
    const early = ({ first, second }: Streams<'first' | 'second'>) =>
      merge(first.pipe(take(1)), timer(3).pipe(switchMap(() => second)));
    expect(run(sequence, early)).toMatch(
      /"subscriptions of first".*-\s+"unsubscribedFrame": 3,\n\+\s+"unsubscribedFrame": 1/s,
    );
  });

  it('the subscription of a line ends where the line ends, or not at all', () => {
    expect(run('-a---\n\n> same\n\n-a---', ({ source }) => source)).toBe('');
    expect(run('-a---\n\n> take(1)\n\n-(a|)', ({ source }) => source.pipe(take(1)))).toContain(
      '"unsubscribedFrame": 1',
    );
    expect(run('(a|)\n\n> same\n\n(a|)', ({ source }) => source)).toBe('');
  });

  it('the subscription of a line ends earlier if `subs` says so', () => {
    const cancelled = '-a-b-c-|\nsubs = ^---!\n\n> takeUntil(timer(4))\n\n-a-b|';
    expect(run(cancelled, ({ source }) => source.pipe(takeUntil(interval(4))))).toBe('');
    expect(run(cancelled.replace('^---!', '^--!'), ({ source }) => source.pipe(takeUntil(interval(4))))).toContain(
      'subscriptions of source',
    );
  });

  it('the subscription of a line is repeated for a line that is subscribed again', () => {
    const retried = '-a-#\nsubs = ^--!, ---^--!\n\n> retry(1)\n\n-a--a-#';
    expect(run(retried, ({ source }) => source.pipe(retry(1)))).toBe('');
    expect(run(retried.replace(', ---^--!', ''), ({ source }) => source.pipe(retry(1)))).toContain(
      'subscriptions of source',
    );
  });

  it('a line with `subs = none` is never subscribed', () => {
    const unused = '-a-|\n\n   -b-|\ntitle = next\nsubs = none\n\n> same\n\n-a-|';
    expect(run(unused, ({ source }) => source)).toBe('');
    expect(
      run(unused, ({ source, next }: Streams<'source' | 'next'>) =>
        merge(source, next.pipe(take(0)), next.pipe(filter(() => false))),
      ),
    ).toContain('subscriptions of next');
  });

  it('the subscription of the output is the consumer: it begins at the first drawn frame and ends at the "!"', () => {
    expect(run('-a-b-c-|\nsubs = ^---!\n\n> same\n\n-a-b---|\nsubs = ^---!', ({ source }) => source)).toContain(
      'complete',
    );
    expect(run('-a-b-c-|\nsubs = ^---!\n\n> same\n\n-a-b----\nsubs = ^---!', ({ source }) => source)).toBe('');
    expect(run('  -a-|\n\n> same\n\n  -a-|', ({ source }) => source)).toBe('');
  });
});

describe('a hot line', () => {
  const hot = '-a-b-c-\nkind = hot\nsubs = ---^\n\n> delayed\n\n   b-c-';

  it('a hot line runs from the first frame, subscribed or not', () => {
    expect(run(hot, ({ source }) => source)).toBe('');
    expect(run(hot.replace('kind = hot\n', 'kind = cold\n'), ({ source }) => source)).toContain('subscribed at 3');
  });

  it('a hot line has its subscriptions compared only if it has `subs`', () => {
    expect(run(hot.replace('---^', '--^'), ({ source }) => source)).toContain('subscriptions of source');
    expect(run(hot.replace('subs = ---^\n', ''), ({ source }) => source)).toBe('');
  });

  it('a hot line begins late after leading blanks', () => {
    expect(run('  -a-|\nkind = hot\n\n> same\n\n---a-|', ({ source }) => source)).toBe('');
  });
});

describe('an error', () => {
  const failing = '%: # = {"name":"HttpError","status":503,"message":"busy"}\n\n-a-#\n\n> same\n\n-a-#';
  const failWith = (error: unknown) => (streams: Streams<'source'>) =>
    streams.source.pipe(catchError(() => throwError(() => error as Error)));

  it('an error of an input is a real Error with the fields of the diagram', () => {
    const seen: unknown[] = [];
    expect(run(failing, ({ source }) => source.pipe(tap({ error: (error: unknown) => seen.push(error) })))).toBe('');
    expect(seen).toEqual([expect.any(Error)]);
    expect(seen[0]).toMatchObject({ name: 'HttpError', status: 503, message: 'busy' });
  });

  it('an error of the output is compared by these fields only', () => {
    expect(run(failing, ({ source }) => source)).toBe('');
    expect(run(failing, failWith({ name: 'HttpError', status: 503, message: 'busy', requestId: 'r1' }))).toBe('');
    expect(run(failing, failWith({ name: 'HttpError', status: 500, message: 'busy' }))).toMatch(
      /-\s+"status": 503,\n\+\s+"status": 500/,
    );
    expect(run(failing, failWith('busy'))).toContain('"error": "busy"');
  });

  it('an error that is not drawn is shown by name and message', () => {
    expect(run(double, () => throwError(() => new TypeError('oh')))).toMatch(
      /\+\s+"message": "oh",\n\+\s+"name": "TypeError"/,
    );
  });

  it('an error of one line may differ from the error of the diagram', () => {
    const other = '-#\nerror = {"message":"reset"}\n\n> rename\n\n-#\nerror = {"message":"interrupted"}';
    expect(run(other, ({ source }) => source)).toMatch(/"interrupted".*"reset"/s);
    expect(run(other, failWith(new Error('interrupted')))).toBe('');
  });
});

describe('an inner stream', () => {
  type Nested = Streams<'source', Observable<string>>;

  it('an inner stream is a cold value of the streams that emit it', () => {
    const inner = 'x = -1-2|\n\ny = (3|)\n\n-x---y-|\n\n> concatAll()\n\n--1-23-|';
    expect(run(inner, ({ source }: Nested) => source.pipe(concatAll()))).toBe('');
    const late = ({ source }: Nested) => source.pipe(concatMap((stream) => timer(1).pipe(switchMap(() => stream))));
    expect(run(inner, late)).toMatch(/-\s+"frame": 2,\n\+\s+"frame": 3,/);
  });

  it('an inner stream is compared with an Observable that the result emits', () => {
    const wrapped = 'x = -1-|\n\n--a|\n\n> map(inner)\n\n--x|';
    const ticks = interval(1).pipe(take(3));
    const only = (tick: number) =>
      ticks.pipe(
        filter((n) => n === tick),
        map(() => '1'),
      );
    expect(run(wrapped, ({ source }) => source.pipe(map(() => only(0))))).toBe('');
    expect(run(wrapped, ({ source }) => source.pipe(map(() => only(1))))).toMatch(/-\s+"frame": 1,\n\+\s+"frame": 2/);
  });
});

describe('values', () => {
  const valuesOf = (...definitions: string[]) =>
    parseDiagram(`${definitions.join('\n')}\n\n-a-b-|\n\n> same\n\n-a-b-|`).values;

  it('values refer to others, completely or by a path, in any order', () => {
    const values = valuesOf(
      '%: a = {"message":"$message"}',
      '%: b = ["$a.message.parts.0.text", "$$a.b", "5 $", "$"]',
      '%: message = {"parts":[{"text":"Hi"}]}',
    );
    expect(values).toEqual({
      a: { message: { parts: [{ text: 'Hi' }] } },
      b: ['Hi', '$a.b', '5 $', '$'],
      message: { parts: [{ text: 'Hi' }] },
    });
  });

  it.each([
    [
      'an unknown name',
      '%: a = "$zoo"',
      'there is no value "zoo". Define it ("%: zoo = ..."), or write "$$zoo" for the text.',
    ],
    ['a path that leads nowhere', '%: a = {"x":"$b.y.z"}\n%: b = {"y":[]}', 'the value "b" has no "y.z"'],
    ['a reference to itself', '%: a = ["$b"]\n%: b = ["$a"]', '"a" refers to itself (a > b > a)'],
    ['a value that is not JSON', "%: a = 'text'", 'not JSON'],
    [
      'a second definition',
      '%: a = 1\n%: a = 2',
      'Line 2 of the diagram, "%: a = 2": "a" is already defined in line 1',
    ],
    ['a definition without a value', '%: a', 'defines a value'],
    ['a value that is not drawn', '%: q = 1', '"q" is not drawn. Remove the definition.'],
    ['an error that is not drawn', '%: # = {"message":"x"}', '"#" is not drawn'],
    ['an error without fields', '%: # = "busy"', 'an error is written as its fields'],
  ])('values are rejected for %s', (_, definitions, says) => {
    expect(() => valuesOf(definitions)).toThrow(says);
  });
});

describe('parseDiagram', () => {
  it('parseDiagram reads prose, box, streams and their lines', () => {
    const diagram = parseDiagram(
      '% It passes all on.\r\n% Really.\r\n\r\n[styles]\r\nframe_width = 50\r\n\r\n  -a-(b|)\r\na := text\r\n\r\n[styles.a]\r\nfill_color = red\r\n\r\n>  same()\r\n\r\n-a-(b|)   ',
    );
    expect(diagram).toEqual({
      description: 'It passes all on.\nReally.',
      operator: 'same()',
      values: { a: 'a', b: 'b' },
      error: { message: 'error' },
      inputs: [
        {
          title: 'source',
          marbles: '-a-(b|)',
          start: 2,
          hot: false,
          events: [
            { frame: 1, mark: 'a' },
            { frame: 3, mark: 'b' },
            { frame: 3, mark: '|' },
          ],
        },
      ],
      inners: {},
      output: expect.objectContaining({ title: 'result', start: 0 }) as unknown,
    });
  });

  it('parseDiagram throws a ConfigurationError that names the line and the fix', () => {
    expect(() => parseDiagram('% x\n\n-a b|\n\n> y\n\n-a-|')).toThrow(
      expect.objectContaining({
        code: 'configuration',
        subject: 'diagram',
        message:
          'Line 3 of the diagram, "-a b|": Swirly reads a blank between marbles as a frame, the scheduler skips it. Draw a frame as "-".',
      }),
    );
  });

  const box = '\n\n> op\n\n-a-|';
  it.each([
    ['a blank in a group', `(a b|)${box}`, 'a blank between marbles'],
    ['a tab', `-\ta${box}`, 'a tab is not a frame'],
    ['a hot subscription point', `--^-a|${box}`, 'a drawn line has no subscription marks'],
    ['an unsubscription', `--a!${box}`, 'subscription marks'],
    ['a time progression', `10ms-a|${box}`, 'time progression'],
    ['a mark that Swirly draws empty', `-ä-|${box}`, 'a marble is one letter or digit'],
    ['an underscore', `-_-|${box}`, 'a marble is one letter or digit'],
    ['an open group', `-(ab${box}`, 'a group is not closed'],
    ['a group in a group', `-((ab))${box}`, 'a group is not closed, empty, nested'],
    ['a frame in a group', `-(a-b)${box}`, 'not made of events'],
    ['an empty group', `-()${box}`, 'empty'],
    ['a group closed twice', `-(ab))${box}`, 'a group is not closed'],
    ['events after the end', `-a|-b${box}`, 'there are marbles after the end'],
    ['two ends', `-(a|#)${box}`, 'a group is not closed, empty, nested'],
    ['an indented inner stream, which Swirly draws as marbles', ` x = -a|\n\n-x${box}`, 'a blank between marbles'],
    [
      'a style block of a longer name, which Swirly draws as marbles',
      `[styles.text]\nfill_color = red\n\n-a|${box}`,
      'a marble is one letter',
    ],
    ['an indented box', `-a|\n\n > op\n\n-a|`, 'a blank between marbles'],
    ['a second line of marbles in a block, which Swirly drops', `-a|\n-b|${box}`, 'Swirly ignores this line'],
    ['a misspelt setting', `-a|\ntitel = x${box}`, 'Swirly ignores this line'],
    ['a label of two letters', `-a|\nab := x${box}`, 'Swirly ignores this line'],
    ['a label of nothing', `-a|\nb := x${box}`, '"b" is not drawn on the line above'],
    ['a number as title', `-a|\ntitle = 2${box}`, 'Swirly does not draw a title that is a number'],
    ['an unknown kind', `-a|\nkind = warm${box}`, 'not a kind of stream'],
    ['an invalid subscription', `-a|\nsubs = -a-!${box}`, '"-a-!" is not a subscription'],
    [
      'a subscription at another frame than drawn',
      `  -a|\nsubs = ^-!${box}`,
      'the line is drawn from frame 2 and subscribed at 0',
    ],
    ['two inputs with the same name', `-a|\n\n-b|${box}`, 'a second stream named "source"'],
    ['an inner stream after its use', `-x-|\n\nx = -a|${box}`, '"x" is drawn above its definition'],
    ['an inner stream in an inner stream', `x = -a|\n\ny = -x|\n\n-y|${box}`, 'which Swirly cannot draw'],
    ['an inner stream twice', `x = -a|\n\nx = -b|\n\n-x|${box}`, '"x" is already a stream'],
    ['an inner stream that is a value too', `%: x = 1\nx = -a|\n\n-x|${box}`, '"x" is also an inner stream'],
    ['an inner stream that a label hides', `x = -a|\n\n-x|\nx := text${box}`, 'the label hides the inner stream'],
    ['an inner stream that is not drawn', `x = -a|\n\n-a|${box}`, 'the inner stream "x" is not drawn'],
    [
      'an inner stream with subscriptions',
      `x = -a|\nsubs = ^-!\n\n-x|${box}`,
      'an inner stream is subscribed as often as it is emitted',
    ],
    ['a second box', `-a|\n\n> op${box}`, 'a second operator'],
    ['no box', '-a|', 'no operator'],
    ['an empty text', '', 'no operator'],
    ['no result', '-a|\n\n> op', 'no stream below the box'],
    ['two results', `-a|${box}\n\n-b|`, 'a second stream below the box'],
    ['a hot result', `-a|${box}\nkind = hot`, 'whether the result is hot is up to the operator'],
    ['a result subscribed twice', `-a|${box}\nsubs = ^-!, --^-!`, 'the result is subscribed once'],
    [
      'a definition of several characters that is drawn as a marble',
      `%: text = {"type":"text"}\n\n-text-|${box}`,
      '"text" has 4 characters, and a marble is one character. Use one: define "%: t = <JSON>"',
    ],
    [
      'a definition of several characters in a group with others',
      `%: text = 1\n%: b = 2\n\n-(textb)-|${box}`,
      '"text" has 4 characters',
    ],
    ['such a definition in the result', `%: text = 1\n\n-a-|\n\n> op\n\n-text-|`, '"text" has 4 characters'],
    ['an inner stream whose name has several characters', `text = -a|\n\n-text-|${box}`, '"text" has 4 characters'],
    ['a label whose name has several characters', `text := x\n\n-a-|${box}`, '"text" has 4 characters'],
  ])('parseDiagram rejects %s', (_, text, says) => {
    expect(() => parseDiagram(text)).toThrow(says);
  });

  it('parseDiagram accepts a name of several characters for a reference, and its letters as marbles if each is defined', () => {
    const { values } = parseDiagram('%: ab = [1]\n%: a = "$ab"\n%: b = 2\n\n-(ab)|\n\n> op\n\n-a|');
    expect(values).toEqual({ ab: [1], a: [1], b: 2 });
  });

  it('parseDiagram reads every accepted line of marbles as the scheduler does', () => {
    const letters = fc.constantFrom('a', 'b', '1', 'Z');
    const group = fc.array(letters, { minLength: 1, maxLength: 4 }).map((all) => `(${all.join('')})`);
    const end = fc.constantFrom('', '|', '#', '(|)', '(a|)', '(1a#)');
    const marbles = fc
      .tuple(fc.array(fc.oneof(fc.constant('-'), letters, group), { maxLength: 12 }), end)
      .map(([all, last]) => all.join('') + last);
    fc.assert(
      fc.property(marbles.filter(Boolean), (drawn) => {
        const { events } = parseDiagram(`${drawn}\n\n> op\n\n-`).inputs[0]!;
        new TestScheduler(() => undefined).run(() => {
          const read = TestScheduler.parseMarbles(drawn, undefined, undefined, false, true);
          const markOf = (notification: ObservableNotification<string>) =>
            notification.kind === 'N' ? notification.value : notification.kind === 'C' ? '|' : '#';
          expect(events).toEqual(read.map(({ frame, notification }) => ({ frame, mark: markOf(notification) })));
        });
      }),
    );
  });
});
