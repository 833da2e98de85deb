import { expect, it } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { of, timer } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createRuns } from '../../../lib/service/runs/createRuns.js';
import { observe } from '../../support/observe.js';

it('createRuns holds nothing of a run that it has forgotten', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  new TestScheduler(() => undefined).run(({ flush }) => {
    const runs = createRuns({ keep: 10 });
    const heapAfterRuns = () => {
      for (let i = 0; i < 5000; i++) {
        runs.start(() => of({ type: 'a' }));
        if (i % 50 !== 0) continue;
        observe(timer(700_000));
        flush();
      }
      flush();
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    heapAfterRuns();
    expect(heapAfterRuns() - heapAfterRuns()).toBeGreaterThan(-600_000);
  });
});
