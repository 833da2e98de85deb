import { describe, expect, it } from '@jest/globals';
import { NEVER, concat, of } from 'rxjs';
import type { StreamEvent } from '../../../lib/core/event.js';
import { createRuns } from '../../../lib/service/runs/createRuns.js';
import { joinRun } from '../../../lib/service/runs/joinRun.js';
import { observe } from '../../support/observe.js';

const id = '0123456789abcdef0123456789abcdef';

/** A service whose runs count how often they are started. */
function service() {
  const runs = createRuns();
  let started = 0;
  const create = () => concat(of<StreamEvent>({ type: `run${++started}` }), NEVER);
  return {
    runs,
    join: (headers: Parameters<typeof joinRun>[1]) => joinRun(runs, headers, create),
    started: () => started,
  };
}

describe('joinRun', () => {
  it('joinRun starts a run once for an id, with the headers of node:http and of the web', () => {
    const { runs, join, started } = service();
    const first = join({ 'x-run-id': id });
    const second = join(new Headers({ 'x-run-id': id, 'last-event-id': '1' }));
    expect(second.run).toBe(first.run);
    expect([first.after, second.after, started()]).toEqual([undefined, '1', 1]);
    observe(runs.shutdown('abandon'));
  });

  it('joinRun accepts a UUID, and returns the id of the run', () => {
    const { runs, join, started } = service();
    const uuid = '01234567-89ab-cdef-0123-456789abcdef';
    expect([join({ 'x-run-id': uuid }).id, join({ 'x-run-id': uuid }).id, started()]).toEqual([uuid, uuid, 1]);
    observe(runs.shutdown('abandon'));
  });

  it.each([undefined, '1', '-'.repeat(36), 'undefined', '../../etc'])(
    'joinRun starts a run of its own for the id %j',
    (guessable) => {
      const { runs, join, started } = service();
      join({ 'x-run-id': guessable });
      join({ 'x-run-id': guessable });
      expect(started()).toBe(2);
      observe(runs.shutdown('abandon'));
    },
  );

  it('joinRun returns a run that fails if `create` throws, and a repeated request does not create another', () => {
    const runs = createRuns();
    const invalid = new Error('There is no such model.');
    let created = 0;
    const create = () => {
      created++;
      throw invalid;
    };
    for (const last of [undefined, '0']) {
      const { run, after } = joinRun(runs, { 'x-run-id': id, 'last-event-id': last }, create);
      expect(observe(run.envelopes(after)).error).toBe(invalid);
    }
    expect(created).toBe(1);
    observe(runs.shutdown('abandon'));
  });

  it('joinRun starts nothing for a client that continues a run which does not exist any more', () => {
    const { join, started } = service();
    const { run, after } = join({ 'x-run-id': id, 'last-event-id': '7.3' });
    expect(observe(run.envelopes(after)).error).toMatchObject({ code: 'run_not_found' });
    expect(started()).toBe(0);
  });

  it.each([{ 'last-event-id': '1' }, { 'x-run-id': '1', 'last-event-id': '1' }])(
    'joinRun starts nothing for a client that continues a run with the headers %j',
    (headers) => {
      const { join, started } = service();
      expect(observe(join(headers).run.events$).error).toMatchObject({ code: 'run_not_found' });
      expect(started()).toBe(0);
    },
  );

  it('joinRun ignores a header that occurs several times', () => {
    const { join, started, runs } = service();
    const { id: own, after } = join({ 'x-run-id': [id, id], 'last-event-id': ['1', '2'] });
    expect([own === id, after, started()]).toEqual([false, undefined, 1]);
    observe(runs.shutdown('abandon'));
  });
});
