import { describe, expect, it } from '@jest/globals';
import { NEVER, Subject, asyncScheduler, ignoreElements, merge, take, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { TimeoutError } from '../../lib/core/timeoutError.js';
import { createSseReader } from '../../lib/protocol/sse.js';
import { declareUnlimited, idleTimeout, limitsFor } from '../../lib/protocol/idleTimeout.js';
import { observe } from '../support/observe.js';
import { framed, utf8 } from './wires.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);

/** Headers that arrive when an Observable emits. */
const arriving = (headers: Observable<boolean>) => (listener: (isStream: boolean) => void) => {
  headers.subscribe(listener);
};

describe('idleTimeout', () => {
  it('idleTimeout errors when nothing follows a value for 120 s, and has no limit for the first one', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('10m a 119999ms b 119999ms c 10m |');
      expectObservable(source.pipe(idleTimeout())).toBe(
        '10m a 119999ms b 119999ms c 119999ms #',
        undefined,
        new TimeoutError('each', 120_000),
      );
      expectSubscriptions(source.subscriptions).toBe('^ 959999ms !');
    });
  });

  it('idleTimeout errors when the first value is late, by a limit of its own', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(cold('6ms a').pipe(idleTimeout({ first: 5, each: 3 }))).toBe(
        '-----#',
        undefined,
        new TimeoutError('first', 5),
      );
      expectObservable(cold('4ms a 2ms b 4ms c').pipe(idleTimeout({ first: 5, each: 3 }))).toBe(
        '4ms a 2ms b--#',
        undefined,
        new TimeoutError('each', 3),
      );
    });
  });

  it('idleTimeout applies first until a value begins the response: earlier values extend no limit', () => {
    run(({ cold, expectObservable }) => {
      const begins = (value: string) => value !== 'o';
      const limited = (source: string) => cold(source).pipe(idleTimeout({ first: 5, each: 3 }, begins));
      expectObservable(limited('-o--o-----a')).toBe('-o--o#', undefined, new TimeoutError('first', 5));
      expectObservable(limited('-o--a-o-----')).toBe('-o--a-o--#', undefined, new TimeoutError('each', 3));
      expectObservable(cold('o 300s a 119s |').pipe(idleTimeout({}, begins))).toBe('o 300s a 119s |');
    });
  });

  it('idleTimeout limits the wait for the headers, and not for what follows them', () => {
    run(({ cold, expectObservable }) => {
      const limited = (headers: string, source: string, options = {}) =>
        cold(source).pipe(
          idleTimeout({ connect: 5, ...options }, undefined, arriving(cold(headers, { y: true, n: false }))),
        );
      expectObservable(limited('-', '60m |')).toBe('-----#', undefined, new TimeoutError('connect', 5));
      expectObservable(limited('----y', '----- 9s a|', { body: false })).toBe('----- 9s a|');
      expectObservable(limited('----n', '---- 60m |')).toBe('---- 60m |');
      expectObservable(limited('----y', '--------', { first: 6 })).toBe(
        '------#',
        undefined,
        new TimeoutError('first', 6),
      );
    });
  });

  it('idleTimeout limits the silence of a body from its headers to its first content, by bytes of any kind', () => {
    run(({ cold, expectObservable }) => {
      const limited = (headers: string, source: string, options = {}) =>
        cold(source).pipe(
          idleTimeout(
            { body: 5, each: 3, ...options },
            (value) => value === 'a',
            arriving(cold(headers, { y: true, n: false })),
          ),
        );
      expectObservable(limited('9s y', '60m |')).toBe('9005ms #', undefined, new TimeoutError('body', 5));
      expectObservable(limited('-y', '----o----o-----|')).toBe(
        '----o----o----#',
        undefined,
        new TimeoutError('body', 5),
      );
      expectObservable(limited('-y', '60m |', { body: false })).toBe('60m |');
      expectObservable(limited('-n', '60m |', { first: 9 })).toBe('60m |');
      expectObservable(limited('-y', '---o---o---|', { first: 9 })).toBe(
        '---o---o-#',
        undefined,
        new TimeoutError('first', 9),
      );
    });
    run(({ cold, expectObservable }) => {
      const headers = cold('-y', { y: true });
      expectObservable(cold('-- 9s a 4ms |').pipe(idleTimeout({}, undefined, arriving(headers)))).toBe('-- 9s a 4ms |');
      expectObservable(cold('--a---').pipe(idleTimeout({ body: 5, each: 3 }, undefined, arriving(headers)))).toBe(
        '--a--#',
        undefined,
        new TimeoutError('each', 3),
      );
      expectObservable(cold('-').pipe(idleTimeout({}, undefined, arriving(headers)))).toBe(
        '300001ms #',
        undefined,
        new TimeoutError('body', 300_000),
      );
    });
  });

  it('idleTimeout has no limit for false and Infinity, and does not fire early beyond the longest timer', () => {
    run(({ cold, expectObservable }) => {
      for (const each of [false, Infinity, 2 ** 40] as const)
        expectObservable(cold('-a 2592000s |').pipe(idleTimeout({ each }))).toBe('-a 2592000s |');
    });
  });

  it('idleTimeout measures from the last value, although one timer serves many values', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(cold('a-a-a-a-a-a-a------a').pipe(idleTimeout({ each: 5 }))).toBe(
        'a-a-a-a-a-a-a----#',
        undefined,
        new TimeoutError('each', 5),
      );
    });
  });

  it("idleTimeout does not count the time that a subscriber takes to handle a value as the source's silence", () => {
    run(({ cold, expectObservable, flush }) => {
      // The second value is handled for 20 ms, in which no timer can fire.
      let handled = 0;
      const now = asyncScheduler.now.bind(asyncScheduler);
      asyncScheduler.now = () => now() + handled;
      try {
        const source = cold('a--b-------c---------');
        const slow = source.pipe(
          idleTimeout({ each: 10 }),
          tap((value) => (handled += value === 'b' ? 20 : 0)),
        );
        expectObservable(slow).toBe('a--b-------c---------#', undefined, new TimeoutError('each', 10));
        flush();
      } finally {
        asyncScheduler.now = now;
      }
    });
  });

  it.each(['connect', 'first', 'body', 'each'] as const)(
    'idleTimeout ignores for %s the time in which the process was blocked: what has arrived is read first',
    (phase) => {
      run(({ cold, expectObservable, flush }) => {
        let blocked = 0;
        const now = asyncScheduler.now.bind(asyncScheduler);
        asyncScheduler.now = () => now() + blocked;
        try {
          const limits = { connect: Infinity, first: Infinity, body: Infinity, each: Infinity, [phase]: 10 };
          const headers = phase === 'connect' ? cold('-------------y', { y: true }) : cold('y', { y: true });
          const block = cold('-----(b|)').pipe(
            tap(() => (blocked = 30)),
            ignoreElements(),
          );
          const begin = phase === 'each' ? 'a' : '-';
          const limited = cold(`${begin}------------b---(c|)`).pipe(idleTimeout(limits, undefined, arriving(headers)));
          expectObservable(merge(block, limited)).toBe(`${begin}------------b---(c|)`);
          flush();
        } finally {
          asyncScheduler.now = now;
        }
      });
    },
  );

  it('idleTimeout measures again after a clock that was set back', () => {
    run(({ cold, expectObservable, flush }) => {
      let back = 0;
      const now = asyncScheduler.now.bind(asyncScheduler);
      asyncScheduler.now = () => now() - back;
      try {
        const source = cold('a---').pipe(idleTimeout({ each: 10 }));
        const setBack = cold('-----(b|)').pipe(
          tap(() => (back = 3_600_000)),
          ignoreElements(),
        );
        expectObservable(merge(setBack, source)).toBe('a-------------------#', undefined, new TimeoutError('each', 10));
        flush();
      } finally {
        asyncScheduler.now = now;
      }
    });
  });

  it('idleTimeout counts a keep-alive comment as a sign of life, when it is applied to the bytes', () => {
    run(({ cold, expectObservable }) => {
      const bytes = cold('a---k---k---k---e---k-------', {
        a: utf8('data: a\n\n'),
        k: utf8(': alive\n\n'),
        e: utf8('data: e\n\n'),
      });
      const frames = bytes.pipe(
        idleTimeout({ each: 5 }),
        framed((emit) => createSseReader({ provider: 'toy' }, emit)),
      );
      expectObservable(frames).toBe(
        'a---------------e--------#',
        { a: { data: 'a' }, e: { data: 'e' } },
        new TimeoutError('each', 5),
      );
    });
  });

  it('idleTimeout schedules one timer for all limits and values', () => {
    run(({ flush }) => {
      const source = new Subject<number>();
      let scheduled = 0;
      const schedule = asyncScheduler.schedule.bind(asyncScheduler);
      asyncScheduler.schedule = ((...args: Parameters<typeof schedule>) => (
        scheduled++,
        schedule(...args)
      )) as typeof schedule;
      try {
        const headers = new Subject<boolean>();
        const { subscription } = observe(
          source.pipe(idleTimeout({ connect: 10, first: 10 }, undefined, arriving(headers))),
        );
        headers.next(true);
        for (let n = 0; n < 1000; n++) source.next(n);
        subscription.unsubscribe();
      } finally {
        Reflect.deleteProperty(asyncScheduler, 'schedule');
      }
      flush();
      expect(scheduled).toBe(1);
    });
  });

  it('idleTimeout unsubscribes its source and its timer with its subscriber', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-b-c');
      expectObservable(source.pipe(idleTimeout({ each: 10 }), take(2))).toBe('-a-(b|)');
      expectSubscriptions(source.subscriptions).toBe('^--!');
      expectObservable(NEVER.pipe(idleTimeout({ first: 10 })), '^--!').toBe('---');
    });
  });

  it.each([['connect'], ['first'], ['each'], ['body']])('idleTimeout names %s when it is not a number', (phase) => {
    expect(() => idleTimeout({ [phase]: NaN })).toThrow(`timeout.${phase}`);
    expect(() => idleTimeout({ [phase]: -1 })).toThrow(`timeout.${phase}`);
  });

  it('idleTimeout does not ask whether a later value begins the response', () => {
    const asked: string[] = [];
    run(({ cold, expectObservable }) => {
      expectObservable(cold('a-b-c|').pipe(idleTimeout({}, (value) => asked.push(value) > 0))).toBe('a-b-c|');
    });
    expect(asked).toEqual(['a']);
  });

  it('idleTimeout does not ask about a value with which the subscriber has left', () => {
    const asked: string[] = [];
    run(({ cold, expectObservable }) => {
      const limited = idleTimeout({}, (value: string) => asked.push(value) > 0);
      expectObservable(cold('a-b-c|').pipe(limited, take(1))).toBe('(a|)');
    });
    expect(asked).toEqual([]);
  });
});

describe('limitsFor', () => {
  const [limited, unlimited] = [fetch, declareUnlimited(async () => new Response())];

  it.each([
    ['a fetch that is declared unlimited', unlimited, {}, { connect: 300_000 }],
    ['one with its own limit', unlimited, { connect: 5, each: 3 }, { connect: 5, each: 3 }],
    ['one with a limit for the first content', unlimited, { first: 5 }, { first: 5 }],
    ['another fetch', limited, { each: 3 }, { each: 3 }],
    ['no fetch', undefined, { each: 3 }, { each: 3 }],
  ])('limitsFor of %s', (_, send, timeout, limits) => {
    expect(limitsFor(send, timeout)).toEqual(limits);
  });

  it('limitsFor has no limits of its own without options, but for a fetch that nobody ends', () => {
    expect([limitsFor(undefined), limitsFor(unlimited)]).toEqual([{}, { connect: 300_000 }]);
  });
});
