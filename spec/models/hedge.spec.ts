import { describe, expect, it } from '@jest/globals';
import { concat, finalize, map, of, timer } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { hedge } from '../../lib/models/hedge.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { scriptedModel } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { answeredBy, broken, chunks, failingModel, inVirtualTime, lost, modelOf, request } from './models.js';

const values = { ...chunks, m: answeredBy('m'), n: answeredBy('n') };

describe('hedge', () => {
  it('hedge asks the second model as well when the first one is slow to begin', () =>
    diagram('hedge', ({ first, second }: Streams<'first' | 'second', Chunk>) =>
      hedge([modelOf('first', [first]), modelOf('second', [second])], { after: 4 }).stream(request),
    ));

  it('hedge does not ask the second model if the first one begins in time, however long it takes then', () => {
    inVirtualTime(({ cold, expectObservable, flush }) => {
      const second = modelOf('n', []);
      const model = hedge([modelOf('m', [cold('---a 9s f', chunks)]), second], { after: 4 });
      expectObservable(model.stream(request), '^ 20s !').toBe('---(ma) 8997ms f', values);
      flush();
      expect(second.requests).toEqual([]);
    });
  });

  it('hedge continues with the first model if it answers before the second one', () => {
    inVirtualTime(({ cold, expectObservable, expectSubscriptions }) => {
      const [first, second] = [cold('-----a-----f', chunks), cold('-----b', chunks)];
      const model = hedge([modelOf('m', [first]), modelOf('n', [second])], { after: 2 });
      expectObservable(model.stream(request), '^ 20ms !').toBe('-----(ma)--f', values);
      expectSubscriptions(second.subscriptions).toBe('--^--!');
    });
  });

  it('hedge decides by the first content: metadata is held until then, and empty text is none', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const e = { type: 'text', text: '' } as const;
      const first = cold('ie-----a---f', { ...chunks, e });
      const second = cold('i--b----(f|)', chunks);
      const model = hedge([modelOf('m', [first]), modelOf('n', [second])], { after: 2 });
      expectObservable(model.stream(request)).toBe('-----(nib)(f|)', values);
    });
  });

  it('hedge replaces a model that fails at once, and asks a third one after the delay', () => {
    inVirtualTime(({ cold, expectObservable, expectSubscriptions }) => {
      const [second, third] = [cold('------', chunks), cold('-b---(f|)', chunks)];
      const model = hedge([modelOf('l', [cold('-#', {}, lost)]), modelOf('m', [second]), modelOf('n', [third])], {
        after: 4,
      });
      expectObservable(model.stream(request)).toBe('------(nb)(f|)', values);
      expectSubscriptions(second.subscriptions).toBe('-^----!');
      expectSubscriptions(third.subscriptions).toBe('-----^----!');
    });
  });

  it('hedge waits again for the model that replaces one that fails synchronously', () => {
    inVirtualTime(({ cold, flush }) => {
      const [second, third, fourth] = ['m', 'n', 'o'].map((name) => modelOf(name, [cold('-')]));
      const models = [failingModel('l'), second, third, fourth].flatMap((model) => model ?? []);
      const { subscription } = observe(hedge(models, { after: 4 }).stream(request));
      const asked = () => [second, third, fourth].map((model) => model?.requests.length);
      const log: unknown[] = [];
      for (const at of [0, 3, 5, 9]) timer(at).subscribe(() => log.push(asked()));
      timer(10).subscribe(() => subscription.unsubscribe());
      flush();
      expect(log).toEqual([
        [1, 0, 0],
        [1, 0, 0],
        [1, 1, 0],
        [1, 1, 1],
      ]);
    });
  });

  it('hedge continues with a model that answers at once, after one that fails at once', () => {
    const model = hedge([failingModel('m'), modelOf('n', ['b'])], { after: 4 });
    expect(observe(model.stream(request)).values).toEqual([
      answeredBy('n'),
      chunks.b,
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('hedge emits the retries of all models until the decision', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const retrying = retryModel(modelOf('m', [cold('-#', {}, lost), cold('--a---(f|)', chunks)]), { delay: 3 });
      const r = { type: 'retry', attempt: 1, delay: 3, error: lost.toJSON() };
      const model = hedge([retrying, modelOf('n', [cold('-------b', chunks)])], { after: 2 });
      expectObservable(model.stream(request)).toBe('-r----(ma)(f|)', { ...values, r });
    });
  });

  it('hedge drops what a model has retracted before its first content', () => {
    const model = hedge([modelOf('m', [[chunks.i, chunks.x, chunks.a]])], { after: 1 });
    expect(observe(model.stream(request)).values).toEqual([
      answeredBy('m'),
      chunks.a,
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('hedge starts over with the other models when the one that answers fails in the middle of its response', () => {
    inVirtualTime(({ cold, expectObservable, expectSubscriptions }) => {
      const [first, waiting, second] = [
        cold('---a------#', chunks, lost),
        cold('-', chunks),
        cold('-b---(f|)', chunks),
      ];
      const model = hedge([modelOf('m', [first]), modelOf('n', [waiting, second])], { after: 2 });
      expectObservable(model.stream(request)).toBe('---(ma)---x(nb)(f|)', values);
      expectSubscriptions(waiting.subscriptions).toBe('--^!');
      expectSubscriptions(second.subscriptions).toBe('----------^----!');
    });
  });

  it('hedge errors with the errors of all models, also of one that has failed in the middle of its response', () => {
    const models = [modelOf('m', [['Half', { error: lost }]]), failingModel('n', broken)];
    const { values: emitted, error } = observe(hedge(models, { after: 5 }).stream(request));
    expect(emitted).toEqual([answeredBy('m'), { type: 'text', text: 'Half' }, chunks.x]);
    expect(error).toMatchObject({ code: 'all_models_failed', errors: [lost, broken] });
  });

  it('hedge errors with the errors of all models, in their order', () => {
    inVirtualTime(({ cold, flush }) => {
      const slow = modelOf('m', [cold('-----#', {}, lost)]);
      const seen = observe(hedge([slow, failingModel('n', broken)], { after: 2 }).stream(request));
      flush();
      expect(seen.error).toMatchObject({ code: 'all_models_failed', errors: [lost, broken] });
    });
  });

  it('hedge unsubscribes the other models before it emits the content that decides', () => {
    inVirtualTime(({ flush }) => {
      const order: string[] = [];
      const slow = scriptedModel(() =>
        timer(9).pipe(
          map(() => chunks.a),
          finalize(() => order.push('slow is gone')),
        ),
      );
      const quick = modelOf('n', [concat(timer(2).pipe(map(() => chunks.b)), of(chunks.f))]);
      hedge([slow, quick], { after: 1 })
        .stream(request)
        .subscribe(({ type }) => order.push(type));
      flush();
      expect(order).toEqual(['slow is gone', 'metadata', 'text', 'finish']);
    });
  });

  it('hedge leaves nothing when it is unsubscribed before the decision', () => {
    inVirtualTime(({ cold, expectObservable, expectSubscriptions, flush }) => {
      const [first, second] = [cold('-', chunks), cold('-', chunks)];
      const third = modelOf('o', []);
      const model = hedge([modelOf('m', [first]), modelOf('n', [second]), third], { after: 2 });
      expectObservable(model.stream(request), '^--!').toBe('----');
      expectSubscriptions(first.subscriptions).toBe('^--!');
      expectSubscriptions(second.subscriptions).toBe('--^!');
      flush();
      expect(third.requests).toEqual([]);
    });
  });

  it('hedge completes a run, and turn.metadata says which model has answered', () => {
    inVirtualTime(({ cold, flush }) => {
      const model = hedge([modelOf('m', [cold('-')]), modelOf('n', ['Hello'])], { after: 2000 });
      const seen = observe(createAgent({ model }).run('Hi'));
      flush();
      expect(seen.values).toMatchObject([
        { text: 'Hello', metadata: { answeredBy: { provider: 'p', name: 'n' } }, usage: {} },
      ]);
    });
  });

  it('hedge checks its arguments at once', () => {
    expect(() => hedge([], { after: 1 })).toThrow('hedge has no models.');
    expect(() => hedge([modelOf('m', [])], { after: NaN })).toThrow('after is NaN.');
  });
});
