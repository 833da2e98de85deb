import { describe, expect, it } from '@jest/globals';
import { Observable, Subject, finalize, of, range } from 'rxjs';
import { subscribeUntilClosed } from '../../lib/core/createOperator.js';
import { observe } from '../support/observe.js';

/** What became of a source that was subscribed so. */
function following<T>(source: Observable<T>, stopAt?: T) {
  const log: string[] = [];
  const outer = observe(
    new Observable<T>((out) =>
      subscribeUntilClosed(
        out,
        source,
        {
          next(value) {
            out.next(value);
            if (value === stopAt) out.complete();
          },
          error: (error: unknown) => log.push(`error ${String(error)}`),
          complete: () => log.push('complete'),
        },
        () => log.push('torn down'),
      ),
    ),
  );
  return { ...outer, log };
}

describe('subscribeWith', () => {
  it('passes notifications, and tells when all resources of the source are gone', () => {
    const source = new Subject<string>();
    const { values, log } = following(source.pipe(finalize(() => log.push('source gone'))));
    source.next('a');
    expect(log).toEqual([]);
    source.complete();
    expect(values).toEqual(['a']);
    expect(log).toEqual(['complete', 'source gone', 'torn down']);
  });

  it('tells so of a synchronous source and of a failed one too', () => {
    expect(following(of(1)).log).toEqual(['complete', 'torn down']);
    const failed = new Subject();
    const { log } = following(failed);
    failed.error(new Error('broken'));
    expect(log).toEqual(['error Error: broken', 'torn down']);
  });

  it('leaves the source when the output is left, and does not go on', () => {
    const source = new Subject();
    const { subscription, log } = following(source);
    subscription.unsubscribe();
    expect(source.observed).toBe(false);
    expect(log).toEqual([]);
  });

  it('leaves a synchronous source in the emission in which the output closes', () => {
    let pulled = 0;
    const counted = new Observable<number>((out) => {
      for (let n = 0; n < 100 && !out.closed; n++) {
        pulled++;
        out.next(n);
      }
    });
    expect(following(counted, 2)).toMatchObject({ values: [0, 1, 2], completed: true, log: [] });
    expect(pulled).toBe(3);
    expect(following(range(0, 1000), 5).values).toHaveLength(6);
  });
});
