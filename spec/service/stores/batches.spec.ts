import { describe, expect, it } from '@jest/globals';
import { asyncScheduler, concatMap, map, of, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createBatches } from '../../../lib/service/stores/batches.js';
import { createWakeUps } from '../../../lib/service/stores/wakeUps.js';
import { observe } from '../../support/observe.js';

const inVirtualTime = (work: (helpers: { readonly flush: () => void }) => void) =>
  new TestScheduler(() => undefined).run(work);

/** A database that answers after 10 ms, and what it was asked. */
function createDatabase(answer: (items: readonly string[]) => Observable<readonly string[]> = (items) => of(items)) {
  const asked: (readonly string[])[] = [];
  const together = (items: readonly string[]) => {
    asked.push(items);
    return timer(10).pipe(concatMap(() => answer(items)));
  };
  const alone = (item: string) => {
    asked.push([`alone: ${item}`]);
    return timer(10).pipe(map(() => `alone: ${item}`));
  };
  return { asked, together, alone };
}

describe('createBatches', () => {
  it.each([
    [0, [0, 10, 40]],
    [20, [0, 20, 40]],
  ])('asks at once, and together what arrives meanwhile, with a pause of %i ms between', (pause, times) => {
    inVirtualTime(({ flush }) => {
      const { asked, together, alone } = createDatabase();
      const start = asyncScheduler.now();
      const starts: number[] = [];
      const noting = (items: readonly string[]) => {
        starts.push(asyncScheduler.now() - start);
        return together(items);
      };
      const ask = createBatches(noting, alone, { pause });
      const calls = { a: 0, b: 0, c: 3, d: 5, e: 40 };
      const answers = Object.entries(calls).map(([item, at]) =>
        observe(at === 0 ? ask(item) : timer(at).pipe(concatMap(() => ask(item)))),
      );
      flush();
      expect(asked).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
      expect(starts).toEqual(times);
      expect(answers.map(({ values }) => values)).toEqual([['a'], ['b'], ['c'], ['d'], ['e']]);
    });
  });

  it('answers calls with the same key one after the other, in their order', () => {
    inVirtualTime(({ flush }) => {
      const { asked, together, alone } = createDatabase();
      const ask = createBatches(together, alone, { keyOf: (item) => item[0] });
      for (const item of ['x', 'a1', 'a2', 'b1', 'a3', 'b2']) observe(ask(item));
      flush();
      expect(asked).toEqual([['x', 'a1', 'b1'], ['a2', 'b2'], ['a3']]);
    });
  });

  it('asks for at most 100 together', () => {
    inVirtualTime(({ flush }) => {
      const { asked, together, alone } = createDatabase();
      const ask = createBatches(together, alone);
      for (let n = 0; n < 251; n++) observe(ask(String(n)));
      flush();
      expect(asked.map(({ length }) => length)).toEqual([100, 100, 51]);
    });
  });

  it('answers calls one by one if they cannot be answered together', () => {
    inVirtualTime(({ flush }) => {
      const failure = () => throwError(() => new Error('one of them is too long'));
      const { asked, together, alone } = createDatabase((items) => (items.includes('bad') ? failure() : of(items)));
      const refusing = (item: string) => (item === 'bad' ? failure() : alone(item));
      const ask = createBatches(together, refusing);
      const answers = ['a', 'b', 'bad', 'c'].map((item) => observe(ask(item)));
      flush();
      expect(answers.map(({ values }) => values)).toEqual([['alone: a'], ['alone: b'], [], ['alone: c']]);
      expect(answers[2]?.error).toMatchObject({ message: 'one of them is too long' });
      expect(asked).toHaveLength(4);
    });
  });

  it('does not ask for what nobody waits for any more', () => {
    inVirtualTime(({ flush }) => {
      const { asked, together, alone } = createDatabase();
      const ask = createBatches(together, alone);
      observe(ask('a'));
      ask('b').subscribe().unsubscribe();
      observe(ask('c'));
      flush();
      expect(asked).toEqual([['a', 'c']]);
      ask('d').subscribe().unsubscribe();
      flush();
      observe(ask('e'));
      flush();
      expect(asked).toEqual([['a', 'c'], ['e']]);
    });
  });

  it('asks for the next ones after a second, if a connection hangs', () => {
    inVirtualTime(({ flush }) => {
      const { asked, together, alone } = createDatabase((items) =>
        items.includes('hangs') ? timer(60_000).pipe(map(() => items)) : of(items),
      );
      const ask = createBatches(together, alone);
      const times: number[] = [];
      const start = asyncScheduler.now();
      for (const [item, at] of [
        ['hangs', 0],
        ['a', 1],
        ['b', 1],
      ] as const)
        timer(at)
          .pipe(concatMap(() => ask(item)))
          .subscribe(() => times.push(asyncScheduler.now() - start));
      flush();
      expect(asked).toEqual([['hangs'], ['a', 'b']]);
      expect(times).toEqual([1010, 1010, 60_010]);
    });
  });

  it('does the work at each subscription, and none before', () => {
    inVirtualTime(({ flush }) => {
      const { asked, together, alone } = createDatabase();
      const answer = createBatches(together, alone)('a');
      expect(asked).toEqual([]);
      observe(answer);
      flush();
      observe(answer);
      flush();
      expect(asked).toEqual([['a'], ['a']]);
    });
  });
});

describe('createWakeUps', () => {
  it.each([
    ['a', ['events of a', 'messages of a']],
    [' a b', ['events of a', 'events of b']],
    [' other', []],
    ['', ['events of a', 'messages of a', 'events of b', 'messages of b']],
  ])('wakes after %j', (payload, expected) => {
    const wakeUps = createWakeUps(undefined, 60_000);
    const woken: string[] = [];
    const readers = ['a', 'b'].flatMap((run) =>
      (['events', 'messages'] as const).map((what) =>
        wakeUps.of(run, what).subscribe(() => woken.push(`${what} of ${run}`)),
      ),
    );
    wakeUps.wake(payload);
    for (const reader of readers) reader.unsubscribe();
    expect(woken.sort()).toEqual([...expected].sort());
  });
});
