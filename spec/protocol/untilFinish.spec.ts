import { describe, expect, it } from '@jest/globals';
import { of, take } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Chunk } from '../../lib/core/chunk.js';
import { StreamInterruptedError } from '../../lib/core/errors.js';
import { interrupted, untilFinish } from '../../lib/protocol/untilFinish.js';
import { observe } from '../support/observe.js';
import { finish, text } from './wires.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);
const chunks: Record<string, Chunk> = { a: text('a'), b: text('b'), h: text('held'), f: finish };
/** Emits each chunk as it is, throws for `x`, and holds a text back until the end or an error. */
const decode = () =>
  untilFinish<Chunk | 'x'>('toy', (output) => ({
    next(chunk) {
      if (chunk === 'x') throw new Error('broken');
      output.emit(chunk);
    },
    end: () => output.emit(text('held')),
    error(thrown) {
      output.emit(text('held'));
      return new Error('mapped', { cause: thrown });
    },
  }));
const plain = () => untilFinish<Chunk>('toy', (output) => ({ next: (chunk) => output.emit(chunk) }));
const marbles = { ...chunks, x: 'x' as const };

describe('untilFinish', () => {
  it('untilFinish emits the finish at once, and completes with the source', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-f--|', chunks);
      expectObservable(source.pipe(plain())).toBe('-a-f--|', chunks);
      expectSubscriptions(source.subscriptions).toBe('^-----!');
    });
  });

  it('untilFinish completes one second after the finish if the source does not', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-f---', chunks);
      expectObservable(source.pipe(plain())).toBe('-f 999ms |', chunks);
      expectSubscriptions(source.subscriptions).toBe('^ 1000ms !');
    });
  });

  it('untilFinish ignores chunks, decoder errors and source errors after the finish', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(cold('-f-a-f-x-#', marbles).pipe(decode())).toBe('-f-------|', chunks);
      expectObservable(
        of('all').pipe(
          untilFinish<string>('toy', (output) => ({
            next() {
              for (const chunk of [text('a'), finish, text('late'), finish]) output.emit(chunk);
              throw new Error('late');
            },
          })),
        ),
      ).toBe('(af|)', chunks);
    });
  });

  it('untilFinish errors with an interruption when the source completes without a finish', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(cold('-a|', chunks).pipe(plain())).toBe('-a#', chunks, interrupted('toy'));
      const mapped = new Error('mapped', { cause: interrupted('toy') });
      expectObservable(cold('-a|', marbles).pipe(decode())).toBe('-a(hh#)', chunks, mapped);
    });
  });

  it('untilFinish completes when the decoder emits the finish at the end', () => {
    run(({ cold, expectObservable }) => {
      const late = untilFinish<Chunk>('toy', (output) => ({
        next: (chunk) => output.emit(chunk),
        end: () => output.emit(finish),
      }));
      expectObservable(cold('-a|', chunks).pipe(late)).toBe('-a(f|)', chunks);
    });
  });

  it('untilFinish lets the decoder map an error, and emit before it what was held back', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const reset = new StreamInterruptedError('toy', 'reset');
      expectObservable(cold('-a-#', marbles, reset).pipe(decode())).toBe(
        '-a-(h#)',
        chunks,
        new Error('mapped', { cause: reset }),
      );
      const broken = cold('-a-x-a', marbles);
      expectObservable(broken.pipe(decode())).toBe(
        '-a-(h#)',
        chunks,
        new Error('mapped', { cause: new Error('broken') }),
      );
      expectSubscriptions(broken.subscriptions).toBe('^--!');
      expectObservable(cold('-a-#', chunks, reset).pipe(plain())).toBe('-a-#', chunks, reset);
    });
  });

  it("untilFinish closes the decoder's output after the finish, and after the unsubscription", () => {
    const closed: boolean[] = [];
    const watching = untilFinish<Chunk>('toy', (output) => ({
      next(chunk) {
        closed.push(output.closed);
        output.emit(chunk);
        closed.push(output.closed);
      },
    }));
    observe(of(text('a'), finish).pipe(watching));
    expect(closed).toEqual([false, false, false, true]);
    closed.length = 0;
    observe(of(text('a'), text('b')).pipe(watching, take(1)));
    expect(closed).toEqual([false, true]);
  });

  it('untilFinish creates a decoder for each subscriber', () => {
    const source = of(text('a'), finish).pipe(plain());
    for (let n = 0; n < 2; n++) expect(observe(source)).toMatchObject({ values: [text('a'), finish], completed: true });
  });
});

describe('interrupted', () => {
  it('interrupted makes a retryable error that says what happened and what to do next', () => {
    expect(interrupted('toy')).toMatchObject({
      code: 'stream_interrupted',
      provider: 'toy',
      retryable: true,
      message: 'The response of toy ended before the model had finished. Retry to get a complete response.',
    });
    const cause = new Error('reset');
    expect(interrupted('toy', 'It broke.', { cause })).toMatchObject({
      message: 'It broke. Retry to get a complete response.',
      cause,
    });
  });
});
