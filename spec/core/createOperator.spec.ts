import { describe, expect, it } from '@jest/globals';
import { NEVER, Subject, concat, finalize, of, range, take } from 'rxjs';
import { createOperator } from '../../lib/core/createOperator.js';
import { itKeepsTheOperatorContract, observe } from '../support/operatorContract.js';

describe('createOperator', () => {
  itKeepsTheOperatorContract(
    () =>
      createOperator((out) => ({ next: (event) => (typeof event.type === 'string' ? out.next(event) : undefined) })),
    [{ type: 'a' }, { type: 'b' }],
  );

  it('gives each subscription its own state', () => {
    const numbered = createOperator<string, string>((out) => {
      let n = 0;
      return { next: (value) => out.next(`${++n}${value}`) };
    });
    expect(observe(of('a', 'b').pipe(numbered)).values).toEqual(['1a', '2b']);
    expect(observe(of('a', 'b').pipe(numbered)).values).toEqual(['1a', '2b']);
  });

  it('turns a throw of the set-up into an error notification', () => {
    const broken = createOperator<string, string>(() => {
      throw new Error('no set-up');
    });
    expect(observe(of('a').pipe(broken)).error).toEqual(new Error('no set-up'));
  });

  it.each(['error', 'complete'] as const)('turns a throw of the %s handler into an error notification', (kind) => {
    const source = new Subject<string>();
    const thrown = new Error('from the handler');
    const broken = createOperator<string, string>((out) => ({
      next: (value) => out.next(value),
      [kind]: () => {
        throw thrown;
      },
    }));
    const seen = observe(source.pipe(broken));
    if (kind === 'error') source.error(new Error('first'));
    else source.complete();
    expect(seen.error).toBe(thrown);
  });

  it('leaves the source when a handler completes the output', () => {
    let left = false;
    const firstOnly = createOperator<number, number>((out) => ({
      next(value) {
        out.next(value);
        out.complete();
      },
    }));
    const { values, completed } = observe(
      concat(range(0, 3), NEVER).pipe(
        finalize(() => (left = true)),
        firstOnly,
      ),
    );
    expect({ values, completed, left }).toEqual({ values: [0], completed: true, left: true });
  });

  it('composes: three of them under take(2) pull two', () => {
    let pulled = 0;
    const pass = createOperator<number, number>((out) => ({ next: (value) => out.next(value) }));
    const count = createOperator<number, number>((out) => ({
      next: (value) => {
        pulled++;
        out.next(value);
      },
    }));
    const source = range(0, 1000).pipe(count);
    expect(observe(source.pipe(pass, pass, pass, take(2))).values).toEqual([0, 1]);
    expect(pulled).toBe(2);
  });
});
