import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NEVER, Subject, asyncScheduler, concat, concatMap, delay, from, map, of, throwError, timestamp } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Chunk } from '../../lib/core/chunk.js';
import { smooth } from '../../lib/operators/smooth.js';
import type { SmoothOptions } from '../../lib/operators/smooth.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { stopResponse } from '../../lib/core/response.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';

const text = (value: string): Chunk => ({ type: 'text', text: value });
const thinking = (value: string): Chunk => ({ type: 'thinking', text: value });
const finish: Chunk = { type: 'finish', reason: 'stop' };

interface Timed {
  readonly at: number;
  readonly chunk: Chunk;
}

/** Emits each chunk after its delay, in virtual time, and records when the output emits. */
function run(
  source: readonly (readonly [delay: number, chunk: Chunk])[],
  options?: SmoothOptions,
  end: Observable<Chunk> = of(),
) {
  let log: readonly Timed[] = [];
  let error: unknown;
  new TestScheduler(() => undefined).run(({ flush }) => {
    const chunks = from(source).pipe(concatMap(([wait, chunk]) => of(chunk).pipe(delay(wait))));
    const observed = observe(concat(chunks, end).pipe(smooth<Chunk>(options), timestamp()));
    flush();
    log = observed.values.map(({ value, timestamp: at }) => ({ at, chunk: value }));
    error = observed.error;
  });
  return { log, error, chunks: log.map(({ chunk }) => chunk) };
}

const textOf = (chunks: readonly Chunk[]) => chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('');
const texts = (chunks: readonly Chunk[]) => chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.text] : []));

describe('smooth', () => {
  it('smooth emits text at a steady pace', () =>
    diagram('smooth', ({ source }) => source.pipe(smooth({ maxDelay: 4, interval: 2 }))));

  it.each(operatorContract(smooth<Chunk>(), { source: [text('ab'), text('cd'), finish] }))('smooth $title', ({ run }) =>
    run(),
  );

  it('smooth emits bursts at the pace of their average', () => {
    const bursts = Array.from({ length: 20 }, () => [200, text('x'.repeat(100))] as const);
    const { log } = run([...bursts, [10_000, finish]]);
    const sizes = texts(log.filter(({ at }) => at > 1000 && at < 4000).map(({ chunk }) => chunk)).map((t) => t.length);
    expect(sizes.length).toBeGreaterThan(90); // one delta each 30 ms
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(10); // 100 characters in 200 ms are 15 in 30 ms
    expect(Math.max(...sizes)).toBeLessThanOrEqual(20);
  });

  it('smooth loses nothing, keeps the order, and delays no text longer than maxDelay and nothing else', () => {
    const chunk = fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }).map(text) },
      { weight: 1, arbitrary: fc.constantFrom<Chunk>({ type: 'toolCallFragment', index: 0, arguments: '{' }) },
    );
    const options = fc.record({
      maxDelay: fc.integer({ min: 1, max: 400 }),
      interval: fc.integer({ min: 1, max: 100 }),
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 200 }), chunk)), options, (source, given) => {
        const { log } = run(source, given);
        let at = 0;
        const sent = source.map(([wait, sentChunk]): Timed => ({ at: (at += wait), chunk: sentChunk }));
        const sentCharacters = charactersOf(sent);
        const received = charactersOf(log);
        expect(received.map(({ character }) => character)).toEqual(sentCharacters.map(({ character }) => character));
        received.forEach((one, index) => {
          const wait = one.at - (sentCharacters[index]?.at ?? NaN);
          expect(wait).toBeGreaterThanOrEqual(0);
          expect(wait).toBeLessThanOrEqual(one.character === fragmentMark ? 0 : given.maxDelay);
        });
      }),
    );
  });

  it('smooth emits the first characters after a pause at once', () => {
    const { log } = run([
      [100, text('0123456789')],
      [1000, text('abcdefghij')],
      [1000, finish],
    ]);
    expect(log[0]).toEqual({ at: 100, chunk: text('0') });
    expect(log.find(({ chunk }) => chunk.type === 'text' && chunk.text === 'a')?.at).toBe(1100);
  });

  it('smooth emits no two deltas within an interval', () => {
    const { log } = run(Array.from({ length: 50 }, () => [7, text('ab')] as const));
    const gaps = log.slice(1, -1).map(({ at }, index) => at - (log[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBe(30);
  });

  it.each<[string, Chunk]>([
    ['a tool call', { type: 'toolCallFragment', name: 'f' }],
    ['a file', { type: 'file', file: { type: 'file', mediaType: 'image/png', data: '' } }],
    ['the finish', finish],
    ['a provider part', { type: 'provider', provider: 'p', data: {} }],
  ])('smooth emits the rest of the text before %s', (_, chunk) => {
    const { log } = run([
      [0, text('0123456789012345678901')],
      [1, chunk],
    ]);
    expect(log.map(({ at }) => at)).toEqual([0, 1, 1]);
    expect(log.map(({ chunk: emitted }) => emitted)).toEqual([text('01'), text('23456789012345678901'), chunk]);
  });

  it.each<Chunk>([
    { type: 'metadata', metadata: {} },
    { type: 'retry', attempt: 1, delay: 0, error: { name: 'BusyError' } },
  ])('smooth keeps the pace while $type passes', (chunk) => {
    const { chunks } = run([
      [0, text('abc')],
      [1, chunk],
      [1000, finish],
    ]);
    expect(chunks).toEqual([text('a'), chunk, text('b'), text('c'), finish]);
  });

  it.each<[string, [number, string][], string]>([
    [
      'within an interval are due together',
      [
        [0, 'abcd'],
        [7, 'efghijk'],
        [3, 'lmn'],
      ],
      '0:a 10:b 20:cd 30:ef 40:g 50:h 60:i 70:j 80:k 90:l 100:m 110:n',
    ],
    [
      'an interval apart are due one after the other',
      [
        [0, 'abcdefghij'],
        [10, 'klmn'],
      ],
      '0:a 10:b 20:cd 30:ef 40:g 50:h 60:i 70:j 80:k 90:l 100:m 110:n',
    ],
    [
      'after those that were emitted are due later',
      [
        [0, 'a'],
        [9, 'bcde'],
        [4, 'fghijklmno'],
      ],
      '0:a 10:b 20:cd 30:ef 40:gh 50:ij 60:k 70:l 80:m 90:n 100:o',
    ],
  ])('deltas that arrive %s', (_, deltas, expected) => {
    const source = deltas.map(([wait, value]) => [wait, text(value)] as const);
    const { log } = run([...source, [1000, finish]], { maxDelay: 100, interval: 10 });
    expect(log.slice(0, -1).map(({ at, chunk }) => `${at}:${textOf([chunk])}`)).toEqual(expected.split(' '));
  });

  it('smooth smooths thinking as well, and does not mix it with text', () => {
    const { chunks } = run([
      [0, thinking('hm')],
      [0, text('ab')],
      [1000, finish],
    ]);
    expect(chunks).toEqual([thinking('h'), thinking('m'), text('a'), text('b'), finish]);
  });

  it('smooth keeps the prefix of a text, which a view leaves out', () => {
    const prefixed: Chunk = { type: 'text', text: '\n5 degrees', prefix: '\n' };
    const { chunks } = run([
      [0, text('Hi')],
      [0, prefixed],
      [1000, finish],
    ]);
    expect(chunks.slice(0, 4)).toEqual([text('H'), text('i'), { type: 'text', text: '\n', prefix: '\n' }, text('5')]);
    expect(textOf(chunks)).toBe('Hi\n5 degrees');
  });

  it('smooth drops the text that a retract voids', () => {
    const { chunks } = run([
      [0, text('void')],
      [1, { type: 'retract' }],
      [0, text('a')],
    ]);
    expect(chunks).toEqual([text('v'), { type: 'retract' }, text('a')]);
  });

  it('smooth emits the rest of the text before an error', () => {
    const lost = new Error('lost');
    const { chunks, error } = run(
      [[0, text('abc')]],
      {},
      throwError(() => lost),
    );
    expect([chunks, error]).toEqual([[text('a'), text('bc')], lost]);
  });

  it.each([
    ['an emoji with a skin tone', '👍🏽'],
    ['a family', '👩‍👩‍👧'],
    ['a flag', '🇳🇴'],
    ['a combining accent', 'e\u0301'],
  ])('smooth does not split %s', (_, character) => {
    const { chunks } = run(
      [
        [0, text(character.repeat(30))],
        [2000, finish],
      ],
      { maxDelay: 1000, interval: 1 },
    );
    const emitted = texts(chunks);
    expect(textOf(chunks)).toBe(character.repeat(30));
    expect(emitted.length).toBeGreaterThan(10);
    expect(emitted.every((delta) => delta.length % character.length === 0)).toBe(true);
  });

  it('smooth splits no code point where Intl has no Segmenter', () => {
    const { Segmenter } = Intl;
    Reflect.deleteProperty(Intl, 'Segmenter');
    try {
      const { log } = run(
        [
          [0, text(`${'😀'.repeat(30)}abc`)],
          [2000, finish],
        ],
        { maxDelay: 1000, interval: 1 },
      );
      expect(log[0]).toEqual({ at: 0, chunk: text('😀') });
      expect(texts(log.map(({ chunk }) => chunk))).toEqual([...Array<string>(30).fill('😀'), 'a', 'b', 'c']);
    } finally {
      Object.assign(Intl, { Segmenter });
    }
  });

  it('smooth emits the rest of the text when the response is stopped', () => {
    const source = new Subject<Chunk>();
    const stop = new Subject<void>();
    const { values } = observe(stopResponse(pipeModel(scriptedModel([source]), smooth()), { messages: [] }, stop));
    source.next(text('abc'));
    stop.next();
    expect(values).toEqual([text('a'), text('bc'), { type: 'finish', reason: 'stopped' }]);
  });

  it('smooth emits nothing more, and leaves no timer, once it is unsubscribed', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const { values, subscription } = observe(concat(of(text('abc')), NEVER).pipe(smooth<Chunk>()));
      subscription.unsubscribe();
      flush(); // would not return if a timer went on for ever
      expect(asyncScheduler.now()).toBe(0); // no timer was left
      expect(values).toEqual([text('a')]);
    });
  });

  it('smooth ends when its receiver unsubscribes while it receives a text of the timer', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const emitted: string[] = [];
      const subscription = concat(of(text('abc')), NEVER)
        .pipe(
          smooth<Chunk>(),
          map((chunk) => textOf([chunk])),
        )
        .subscribe((value) => {
          emitted.push(value);
          if (value === 'b') subscription.unsubscribe();
        });
      flush();
      expect(emitted).toEqual(['a', 'b']);
    });
  });

  it.each<[SmoothOptions, string]>([
    [{ maxDelay: 0 }, 'maxDelay is 0.'],
    [{ maxDelay: NaN }, 'maxDelay is NaN.'],
    [{ interval: 0 }, 'interval is 0.'],
  ])('smooth rejects %j: %s', (options, message) => {
    expect(() => smooth(options)).toThrow(expect.objectContaining({ code: 'configuration' }));
    expect(() => smooth(options)).toThrow(message);
  });

  it('smooth takes Infinity for one character in each interval', () => {
    const { log } = run(
      [
        [0, text('abc')],
        [1000, finish],
      ],
      { maxDelay: Infinity },
    );
    expect(log.map(({ at }) => at)).toEqual([0, 30, 60, 1000]);
  });
});

const fragmentMark = '\u0000fragment';

/** Each character with the time at which it was emitted; a fragment of a call counts as one. */
const charactersOf = (log: readonly Timed[]) =>
  log.flatMap(({ at, chunk }) =>
    chunk.type === 'text'
      ? chunk.text.split('').map((character) => ({ at, character }))
      : [{ at, character: fragmentMark }],
  );
