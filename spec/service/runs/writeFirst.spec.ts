import { describe, expect, it } from '@jest/globals';
import { defer, Observable, Subject } from 'rxjs';
import type { Subscriber } from 'rxjs';
import { writeFirst, WrittenEvents } from '../../../lib/service/runs/writeFirst.js';
import { observe } from '../../support/observe.js';

const ends: readonly (readonly [string, (out: Subscriber<string>) => void])[] = [
  ['completes', (out) => out.complete()],
  ['fails', (out) => out.error('failed')],
];
/** The numbers of the events whose writes are not done at once. */
const slow = [[0], [1], [0, 1], [0, 2], [1, 2], [0, 1, 2]];
const table = ends.flatMap(([how, end]) =>
  slow.flatMap((late) => [0, 1, 2].map((after) => [how, after, late, end] as const)),
);

describe('writeFirst', () => {
  it.each([true, false])(
    'passes an event that `write` makes the run emit after the one before it (late: %s)',
    (isLate) => {
      const source = new Subject<string>();
      const write = (event: string) => {
        if (event !== 'first') return undefined;
        source.next('second');
        source.complete();
        return isLate ? written : undefined;
      };
      const written = new Subject<never>();
      const seen = observe(source.pipe(writeFirst(write)));
      source.next('first');
      expect(seen.values).toEqual(isLate ? [] : ['first', 'second']);
      written.complete();
      expect([seen.values, seen.completed]).toEqual([['first', 'second'], true]);
    },
  );

  it.each(table)(
    'passes all events of a source that %s when event %d is written; late: %j',
    (how, after, late, end) => {
      const writes = [0, 1, 2].map(() => new Subject<never>());
      const counted = new WrittenEvents();
      const source = new Observable<string>((out) => {
        for (const number of [0, 1, 2]) {
          out.next(String(number));
          if (number !== after) continue;
          counted.all.subscribe({
            complete() {
              out.next('last'); // the other events may wait for their writes
              end(out);
            },
          });
        }
      });
      const write = (event: string) => (late.includes(Number(event)) ? writes[Number(event)] : undefined);
      const seen = observe(source.pipe(writeFirst(write, counted)));
      for (const each of writes) each.complete();
      const isEarly = !late.some((number) => number <= after); // the source has ended before it emits the others
      expect(seen.values).toEqual([...['0', '1', '2'].slice(0, isEarly ? after + 1 : 3), 'last']);
      expect([seen.completed, seen.error]).toEqual(how === 'completes' ? [true, undefined] : [false, 'failed']);
    },
  );

  it.each([1, 2, 1000])(
    'writes the last of %d events that arrive during a write, and emits each in its order',
    (count) => {
      const source = new Subject<number>();
      const writes: (readonly [number, Subject<never>])[] = [];
      const write = (event: number) =>
        event < 0
          ? undefined
          : defer(() => {
              const written = new Subject<never>();
              writes.push([event, written]);
              return written;
            });
      const seen = observe(source.pipe(writeFirst(write)));
      source.next(0);
      const during = Array.from({ length: count }, (_, index) => index + 1);
      for (const event of [...during, -1]) source.next(event); // the last one need not be written
      expect([seen.values, writes.map(([event]) => event)]).toEqual([[], [0]]);
      writes[0]?.[1].complete();
      expect([seen.values, writes.map(([event]) => event)]).toEqual([[0], [0, count]]);
      source.complete();
      writes[1]?.[1].complete();
      expect([seen.values, seen.completed]).toEqual([[0, ...during, -1], true]);
    },
  );
});
