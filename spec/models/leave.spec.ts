import { describe, expect, it } from '@jest/globals';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Chunk } from '../../lib/core/chunk.js';
import type { Model } from '../../lib/core/model.js';
import { fallback } from '../../lib/models/fallback.js';
import { guardModel } from '../../lib/models/guardModel.js';
import { hedge } from '../../lib/models/hedge.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { holdBack } from '../../lib/operators/holdBack.js';
import { observe } from '../support/observe.js';
import { chunks, lost, modelOf, request } from './models.js';

type Cold = (marbles: string) => Observable<Chunk>;
type ColdObservable<T> = Observable<T> & { readonly subscriptions: readonly { readonly unsubscribedFrame: number }[] };

/** Models whose streams end after 30 ms at most. */
const models: Readonly<Record<string, (cold: Cold) => Model>> = {
  retryModel: (cold) => retryModel(modelOf('m', [cold('-a-#'), cold('#'), cold('-b-(f|)')]), { delay: 4 }),
  fallback: (cold) => fallback([modelOf('m', [cold('-a-#')]), modelOf('n', [cold('--b-(f|)')])]),
  hedge: (cold) => hedge([modelOf('m', [cold('-----a')]), modelOf('n', [cold('--b-(f|)')])], { after: 2 }),
  'hedge with after: 0': (cold) =>
    hedge([modelOf('m', [cold('-i---a')]), modelOf('n', [cold('--b-(f|)')])], { after: 0 }),
  guard: (cold) => guardModel(modelOf('m', [cold('-a-b-(f|)')]), ({ type }) => type === 'text'),
  'pipeModel, with holdBack': (cold) =>
    pipeModel(
      modelOf('m', [cold('-a-b-(f|)')]),
      holdBack(() => 0),
    ),
  'all of them': (cold) =>
    retryModel(
      fallback([
        hedge([modelOf('l', [cold('-#'), cold('-#')]), modelOf('m', [cold('--a-#'), cold('--#')])], { after: 1 }),
        guardModel(hedge([modelOf('n', [cold('--b--#'), cold('--b--(f|)')])], { after: 0 }), () => true),
      ]),
      { delay: 3 },
    ),
};

const isOpen = ({ subscriptions }: Pick<ColdObservable<Chunk>, 'subscriptions'>) =>
  subscriptions.some(({ unsubscribedFrame }) => unsubscribedFrame === Infinity);

describe('leaving a model that is made of models', () => {
  const cases = Object.entries(models).flatMap(([name, make]) =>
    Array.from({ length: 30 }, (_, at) => ({ name, make, at })),
  );

  it.each(cases)('$name emits nothing more, and leaves no subscription and no timer, after $at ms', ({ make, at }) => {
    const scheduler = new TestScheduler(() => undefined);
    scheduler.run(({ cold }) => {
      const sources: ColdObservable<Chunk>[] = [];
      const model = make((marbles) => {
        const source = cold<Chunk>(marbles, chunks, lost);
        sources.push(source);
        return source;
      });
      const seen = observe(model.stream(request));
      let left: unknown;
      let emitted = NaN;
      scheduler.schedule(() => {
        seen.subscription.unsubscribe();
        left = { subscriptions: sources.filter(isOpen).length, timers: scheduler.actions.length };
        emitted = seen.values.length;
      }, at);
      scheduler.flush();
      expect(left).toEqual({ subscriptions: 0, timers: 0 });
      expect(seen.values).toHaveLength(emitted);
    });
  });

  it('the models above do emit, and end in time', () => {
    for (const make of Object.values(models)) {
      const scheduler = new TestScheduler(() => undefined);
      scheduler.run(({ cold }) => {
        const seen = observe(make((marbles) => cold<Chunk>(marbles, chunks, lost)).stream(request));
        scheduler.flush();
        expect(seen.values.length).toBeGreaterThan(1);
        expect(seen.completed).toBe(true);
        expect(scheduler.now()).toBeLessThan(30);
      });
    }
  });
});
