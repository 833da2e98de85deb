import { describe, expect, it } from '@jest/globals';
import { TestScheduler } from 'rxjs/testing';
import type { StreamEvent } from '../../../../lib/core/event.js';
import type { MemoryOptions } from '../../../../lib/service/stores/memory/memoryStore.js';
import { memoryLog } from '../../../../lib/service/stores/memory/memoryLog.js';
import type { RunEnd, RunLog, RunMessage } from '../../../../lib/service/ports/runLog.js';
import { logContract } from '../../../../lib/testing/index.js';
import { observe } from '../../../support/observe.js';

const text = (value: string) => ({ type: 'text', text: value }) as StreamEvent;
const other = (type: string): StreamEvent => ({ type });
const sizeOf = (message: RunMessage) => JSON.stringify(message).length;

/** What the objects of a run need, and those of an entry or a message. */
const RUN_BYTES = 2048;
const ENTRY_BYTES = 256;

/** Opens a run of so many bytes: a text, and what its objects need. */
const open = (log: RunLog, id: string, bytes: number) =>
  observe(log.append(id, 1, [text('x'.repeat(bytes - RUN_BYTES - ENTRY_BYTES))]));
/** Opens runs of so many bytes each, and ends them. */
function endAll(log: RunLog, ids: readonly string[], bytes: number, end?: RunEnd) {
  for (const id of ids) {
    open(log, id, bytes);
    observe(log.end(id, 1, end));
  }
}
const kept = (log: RunLog, ...ids: readonly string[]) => ids.filter((id) => !observe(log.read(id)).error);
const idsOf = (log: RunLog, run: string, from?: string) => observe(log.read(run, from)).values.map(({ id }) => id);

/** Does the work with a log at a virtual time. */
const later = (options: MemoryOptions, steps: Readonly<Record<number, (log: RunLog) => void>>) =>
  new TestScheduler(() => undefined).run(({ cold, flush }) => {
    const log = memoryLog(options);
    for (const [at, step] of Object.entries(steps)) cold(`${at}ms (a|)`).subscribe(() => step(log));
    flush();
  });

describe('memoryLog', () => {
  it.each(logContract(() => memoryLog()))('memoryLog $title', ({ run }) => run());

  it.each([
    ['for 24 hours', {}, undefined, 86_400_000],
    ['for `maxAge`', { maxAge: 1000 }, undefined, 1000],
    ['until the time that its end names', { maxAge: 1000 }, { expires: 50 }, 50],
  ])('memoryLog keeps the events of a run after its end %s, and those of a run in progress', (_, options, end, age) => {
    const seen: unknown[] = [];
    later(options, {
      0(log) {
        endAll(log, ['a'], 5000, end);
        open(log, 'running', 5000);
      },
      [age - 1]: (log) => seen.push(kept(log, 'a', 'running')),
      [age](log) {
        seen.push(observe(log.send('a', { type: 'stop' })).values, kept(log, 'a', 'running'));
        open(log, 'a', 5000); // another run with this id
        seen.push(kept(log, 'a'));
      },
    });
    expect(seen).toEqual([['a', 'running'], [false], ['running'], ['a']]);
  });

  it('memoryLog uses `maxBytes` for the runs that have ended, and removes the one that ended first', () => {
    const log = memoryLog({ maxBytes: 30000 });
    open(log, 'running', 50000);
    endAll(log, ['a', 'b', 'c'], 10000);
    expect(kept(log, 'running', 'a', 'b', 'c')).toEqual(['running', 'a', 'b', 'c']);
    endAll(log, ['d'], 20000);
    expect(kept(log, 'running', 'a', 'b', 'c', 'd')).toEqual(['running', 'c', 'd']);
    endAll(log, ['e'], 10001);
    expect(kept(log, 'running', 'c', 'd', 'e')).toEqual(['running', 'e']);
  });

  it('memoryLog counts the messages to a run, and the events other than texts', () => {
    const message = { type: 'prompt', input: [] } as const;
    const log = memoryLog({ maxBytes: 2 * sizeOf(message) + 5000 + 12 + 3 * ENTRY_BYTES });
    open(log, 'a', 5000);
    observe(log.append('a', 1, [other('b')])); // {"type":"b"}
    observe(log.send('a', message));
    observe(log.send('a', message));
    observe(log.end('a', 1));
    expect(kept(log, 'a')).toEqual(['a']);
    endAll(log, ['c'], 2400);
    expect(kept(log, 'a', 'c')).toEqual(['c']);
  });

  it('memoryLog removes the runs whose time is over before the bytes of the others count', () => {
    let rest: unknown;
    later(
      { maxBytes: 30000 },
      {
        0(log) {
          endAll(log, ['old'], 20000, { expires: 10 });
          endAll(log, ['new'], 10000);
        },
        20(log) {
          expect(kept(log, 'old')).toEqual([]);
          endAll(log, ['newest'], 20000);
          rest = kept(log, 'new', 'newest');
        },
      },
    );
    expect(rest).toEqual(['new', 'newest']);
  });

  it.each([2, 12])('memoryLog that begins with attempt %i names it in the ids of its events', (attempt) => {
    const log = memoryLog();
    observe(log.append('r', attempt, [other('a'), other('b')]));
    expect(idsOf(log, 'r')).toEqual([`${attempt}:1`, `${attempt}:2`]);
    expect(idsOf(log, 'r', `${attempt}:1`)).toEqual([`${attempt}:2`]);
    for (const foreign of ['1', '1:1', '3:1'])
      expect(observe(log.read('r', foreign)).error).toMatchObject({ code: 'run_not_found' });
  });

  it('memoryLog keeps the order for a reader that causes an event before it handles one', () => {
    const log = memoryLog();
    observe(log.append('r', 1, []));
    const handled: string[] = [];
    log.read('r').subscribe(({ event: { type } }) => {
      if (type === 'a') observe(log.append('r', 1, [other('b')]));
      handled.push(type);
    });
    observe(log.append('r', 1, [other('a')]));
    observe(log.append('r', 1, [other('c')]));
    expect(handled).toEqual(['a', 'b', 'c']);
  });

  it.each(['maxBytes', 'maxAge'])('memoryLog rejects a `%s` below zero', (name) => {
    expect(() => memoryLog({ [name]: -1 })).toThrow(`${name} is -1.`);
  });

  it('memoryLog says in words for a browser that there is no such run, or that another process executes it', () => {
    const log = memoryLog();
    expect(observe(log.read('r')).error).toMatchObject({
      name: 'RunNotFoundError',
      message: 'The run is not known: it ended some time ago, or the service has restarted. Ask again.',
    });
    observe(log.append('r', 2, []));
    expect(observe(log.append('r', 1, [])).error).toMatchObject({
      name: 'RunTakenError',
      message: 'Another process executes this run. Join it there.',
      retryable: true,
      isPublic: true,
    });
  });
});
