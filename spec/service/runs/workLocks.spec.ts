import { describe, expect, it } from '@jest/globals';
import { concat, NEVER, of, Subject } from 'rxjs';
import type { Observable } from 'rxjs';
import { WorkLocks } from '../../../lib/service/runs/workLocks.js';
import { observe } from '../../support/observe.js';

describe('WorkLocks', () => {
  /** Work for an id of Ann that ends when told. */
  const begin = (locks: WorkLocks, id: string, place?: number) => {
    const work = new Subject<never>();
    const seen = { hasBegun: false };
    const running = locks
      .locked<never>(
        id,
        'ann',
        place,
      )(work)
      .subscribe({ error: () => undefined });
    seen.hasBegun = work.observed;
    return { work, running };
  };
  const ways: readonly (readonly [string, (locks: WorkLocks) => Observable<never>])[] = [
    ['idle', (locks) => locks.idle],
    ['the end of an owner', (locks) => locks.end('ann')],
    ['the end of an id', (locks) => locks.end('ann', 'a')],
  ];
  const endings: readonly (readonly [string, (work: ReturnType<typeof begin>) => void])[] = [
    ['completes', ({ work }) => work.complete()],
    ['fails', ({ work }) => work.error(new Error('x'))],
    ['is unsubscribed', ({ running }) => running.unsubscribe()],
  ];

  it.each(ways.flatMap(([way, of]) => endings.map(([ending, end]) => [way, ending, of, end] as const)))(
    '%s waits for the work that is there, which %s, and not for what comes later',
    (_, __, waitFor, end) => {
      const locks = new WorkLocks();
      const there = [begin(locks, 'a'), begin(locks, 'a')];
      const seen = { isOver: false };
      waitFor(locks).subscribe({ complete: () => (seen.isOver = true) });
      begin(locks, 'a'); // waits for the others, and goes on after them
      for (const work of there) {
        expect(seen.isOver).toBe(false);
        end(work);
      }
      expect(seen.isOver).toBe(true);
      expect(locks.has('a', 'ann')).toBe(true);
    },
  );

  it.each(ways)('%s does not wait for a request that has begun no work', (_, waitFor) => {
    const locks = new WorkLocks();
    locks.arrived(() => NEVER).subscribe();
    const seen = { isOver: false };
    waitFor(locks).subscribe({ complete: () => (seen.isOver = true) });
    expect(seen.isOver).toBe(true);
  });

  it.each(ways)('%s does not wait for the answer of a request whose work has ended', (_, waitFor) => {
    const locks = new WorkLocks();
    const [work, answer] = [new Subject<never>(), new Subject<never>()];
    locks.arrived((place) => concat(work.pipe(locks.locked('a', 'ann', place)), answer)).subscribe();
    const seen = { isOver: false };
    waitFor(locks).subscribe({ complete: () => (seen.isOver = true) });
    expect(seen.isOver).toBe(false);
    work.complete();
    expect([seen.isOver, answer.observed, locks.has('a', 'ann')]).toEqual([true, true, false]);
    answer.complete();
    expect(begin(locks, 'a').work.observed).toBe(true);
  });

  it.each<[string, (locks: WorkLocks) => unknown]>([
    ['stop', (locks) => locks.stop('a', 'ann')],
    ['the end of its owner', (locks) => locks.end('ann').subscribe()],
    ['the end of its id', (locks) => locks.end('ann', 'a').subscribe()],
  ])('%s stops the work that is there, and none that comes later', (_, stop) => {
    const locks = new WorkLocks();
    const [first, second] = [begin(locks, 'a'), begin(locks, 'a')];
    expect(locks.isStopped('a', 'ann')).toBe(false);
    stop(locks);
    const third = begin(locks, 'a');
    begin(locks, 'b');
    expect([locks.isStopped('a', 'ann'), locks.isStopped('b', 'ann'), locks.isStopped('a', 'eve')]).toEqual([
      true,
      false,
      false,
    ]);
    first.work.complete();
    expect([second.work.observed, locks.isStopped('a', 'ann')]).toEqual([true, true]);
    second.work.complete();
    expect([third.work.observed, locks.isStopped('a', 'ann')]).toEqual([true, false]);
  });

  it('the end of an owner refuses a request that has arrived and knows its id later, and none that comes then', () => {
    const locks = new WorkLocks();
    let place = 0;
    const arrived = locks.arrived((own) => ((place = own), NEVER)).subscribe();
    locks.end('ann').subscribe();
    locks.end('ann', 'other').subscribe();
    const late = observe(locks.locked('a', 'ann', place)(NEVER));
    expect(late.error).toMatchObject({ status: 409, message: expect.stringContaining('deleted') as unknown });
    expect(locks.has('a', 'ann')).toBe(false);
    expect(observe(locks.locked('a', 'ann')(of(1))).values).toEqual([1]);
    expect(observe(locks.locked('a', 'eve', place)(of(2))).values).toEqual([2]);
    arrived.unsubscribe();
  });

  it('a stop that is repeated while requests are open keeps no others', () => {
    const locks = new WorkLocks();
    const arrive = () => locks.arrived(() => NEVER).subscribe();
    const stops = () => (Reflect.get(locks, 'stops') as ReadonlyMap<string, number>).size;
    let open = arrive();
    for (let n = 0; n < 10; n++) {
      locks.stop('a', 'ann');
      locks.stop(`b${n}`, 'ann');
      const next = arrive();
      locks.stop('a', 'ann');
      open.unsubscribe();
      open = next;
    }
    expect(stops()).toBe(1);
    open.unsubscribe();
    expect(stops()).toBe(0);
  });

  it('a stop holds for a request that has arrived, until it is answered, and a later one takes nothing back', () => {
    const locks = new WorkLocks();
    const places: number[] = [];
    const arrive = () =>
      locks
        .arrived((place) => {
          places.push(place);
          return NEVER;
        })
        .subscribe();
    const early = [arrive(), arrive()];
    locks.stop('a', 'ann');
    locks.stop('a', 'ann', places[0]); // of a request that was identified late
    expect(locks.stop('b', 'eve')).toBe(false);
    arrive();
    const [, stopped, later] = places;
    const work = begin(locks, 'a', stopped);
    expect(locks.isStopped('a', 'ann')).toBe(true);
    work.running.unsubscribe();
    early[1]?.unsubscribe();
    begin(locks, 'a', later);
    expect(locks.isStopped('a', 'ann')).toBe(false);
  });
});
