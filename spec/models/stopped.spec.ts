import { describe, expect, it } from '@jest/globals';
import { concat, defer, filter, map, merge, NEVER, of, ReplaySubject, Subject } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { Model } from '../../lib/core/model.js';
import { fallback } from '../../lib/models/fallback.js';
import { guardModel } from '../../lib/models/guardModel.js';
import { hedge } from '../../lib/models/hedge.js';
import { createLimiter, limitModel } from '../../lib/models/limitModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { holdBack } from '../../lib/operators/holdBack.js';
import { stopOn } from '../../lib/operators/stopOn.js';
import { openaiCompatible } from '../../lib/providers/openaiCompatible.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { failingModel, inVirtualTime, modelOf, request } from './models.js';
import { casesOf, problemsOf, wrappers } from './stopTable.js';

const text = (value: string): Chunk => ({ type: 'text', text: value });
const stopped: Chunk = { type: 'finish', reason: 'stopped' };

/** A model that emits chunks and then waits; at a stop, it reports a usage. */
const reporting = (input: number, ...chunks: readonly Chunk[]): Model => ({
  provider: 'p',
  name: 'm',
  stream: ({ stop = NEVER }) =>
    concat(
      of(...chunks),
      merge(NEVER, stop.pipe(map((): Chunk => ({ type: 'finish', reason: 'stopped', usage: { input } })))),
    ),
});
const lastWord = () => holdBack<Chunk>((value) => value.lastIndexOf(' ') + 1);

// `stopped.slow.spec.ts` has the other ends of a run.
describe('a stop of a model that is made of models and operators', () => {
  it.each(Object.keys(wrappers))('%s around any operator ends its response, with its text and its usage', (wrapper) => {
    const rows = casesOf(wrapper).filter(({ end }) => end === 'is stopped');
    expect(rows.flatMap(problemsOf)).toEqual([]);
  });

  it('hedge sums the usages of all models that a stop ends before one of them has answered', () => {
    const [stop, metadata] = [new Subject<void>(), { type: 'metadata', metadata: { responseId: 'r' } } as const];
    const model = hedge([reporting(1, metadata), modelOf('silent', [NEVER]), reporting(2)], { after: 0 });
    const { values } = observe(createAgent({ model }).run('Hi', { stop }));
    stop.next();
    expect(values).toMatchObject([{ finishReason: 'stopped', usage: { input: 3 } }]);
  });

  it('hedge counts only the model that has answered, and asks no other one after a stop', () => {
    const [stop, spare] = [new Subject<void>(), modelOf('n', ['never'])];
    inVirtualTime(({ flush }) => {
      const { values } = observe(hedge([reporting(1, text('a')), spare], { after: 5 }).stream({ ...request, stop }));
      stop.next();
      flush();
      expect(values.slice(1)).toEqual([text('a'), { ...stopped, usage: { input: 1 } }]);
      expect(spare.requests).toEqual([]);
      const asked = observe(hedge([reporting(1), spare], { after: 5 }).stream({ ...request, stop: of(1) }));
      expect(asked.values).toEqual([stopped]);
    });
  });

  it.each(['end', 'retract', 'fail'] as const)(
    'guardModel keeps the usage of a response whose held text it rejects at the finish (%s)',
    (whenRejected) => {
      const finish: Chunk = { type: 'finish', reason: 'stop', usage: { input: 900 } };
      const held = pipeModel(modelOf('m', [[text('secret'), finish]]), lastWord());
      const guarded = guardModel(held, ({ type }) => type !== 'text', { whenRejected });
      const spare = modelOf('n', [[{ ...finish, usage: { input: 50 } }]]);
      const model = whenRejected === 'fail' ? fallback([guarded, spare]) : guarded;
      const { values } = observe(createAgent({ model }).run('Hi'));
      expect(values).toMatchObject([{ text: '', usage: { input: whenRejected === 'fail' ? 950 : 900 } }]);
    },
  );

  it('a stop in a handler of the text that a filter emits at the finish keeps the usage', () => {
    const finish: Chunk = { type: 'finish', reason: 'stop', usage: { input: 9 } };
    const model = pipeModel(modelOf('m', [[text('end'), finish]]), lastWord());
    const stop = new Subject<void>();
    const usages: unknown[] = [];
    createAgent({ model: hedge([model], { after: 1 }) })
      .stream('Hi', { stop })
      .subscribe((event) => {
        if (event.type === 'text') stop.next();
        if (event.type === 'result') usages.push(event.result.usage);
      });
    expect(usages).toEqual([{ input: 9 }]);
  });

  it('a stop of a run whose prompts interrupt is not reported as a prompt', () => {
    const stop = new Subject<void>();
    const agent = createAgent({ model: reporting(4, text('a')) });
    const { values } = observe(agent.run('Hi', { stop, prompts: NEVER, whenPrompted: 'interrupt' }));
    stop.next();
    expect(values).toMatchObject([{ finishReason: 'stopped', usage: { input: 4 }, text: 'a' }]);
    expect(values[0]?.rawReason).toBeUndefined();
  });
});

describe('a request with a stop, without a run', () => {
  const limiter = createLimiter({ concurrency: 1 });
  const server = openaiCompatible({ name: 'x', baseUrl: 'http://x' });
  const waiting: Readonly<Record<string, () => Model>> = {
    'a model that does not know it': () => scriptedModel([NEVER]),
    'a delay of retryModel': () => retryModel(failingModel('m'), { delay: 1000 }),
    'a delay of retryModel, inside fallback': () => fallback([retryModel(failingModel('m'), { delay: 1000 })]),
    'a queue of limitModel': () => limitModel(scriptedModel([NEVER]), limiter),
    'a response that has not begun': () => server('m', { fetch: () => new Promise(() => undefined) }),
  };

  it.each(Object.entries(waiting))('ends %s', (_, make) => {
    inVirtualTime(({ flush }) => {
      const place = limiter.admit(request, NEVER).subscribe();
      const stop = new Subject<void>();
      const { values, closed } = observe(make().stream({ ...request, stop }));
      stop.next();
      place.unsubscribe();
      flush();
      expect([values.at(-1), closed(), stop.observed]).toEqual([stopped, true, false]);
    });
  });

  it.each([new Subject<void>(), new ReplaySubject<void>(1)])(
    'frees the text that is held before stopOn, and keeps the usage, with one notifier for both',
    (stop) => {
      const model = pipeModel(reporting(7, text('one tw')), lastWord());
      const { values } = observe(model.stream({ ...request, stop }).pipe(stopOn(stop)));
      stop.next();
      expect(values).toEqual([text('one '), text('tw'), { ...stopped, usage: { input: 7 } }]);
      expect(stop.observed).toBe(false);
    },
  );
});

describe('an attempt that has emitted nothing', () => {
  const finish: Chunk = { type: 'finish', reason: 'stop', usage: { input: 900 } };
  const rejected = () =>
    guardModel(pipeModel(modelOf('m', [[text('no'), finish], 'yes']), lastWord()), ({ type }) => type !== 'text', {
      whenRejected: 'fail',
    });
  const spare = () => modelOf('n', ['yes']);
  const models: Readonly<Record<string, (failing: Model) => Model>> = {
    retryModel: (failing) => retryModel(fallbackTo(failing), { count: 1, delay: 0, when: () => true }),
    fallback: (failing) => fallback([failing, spare()]),
    hedge: (failing) => hedge([failing, spare()], { after: 5 }),
  };
  /** The first request goes to a model, all others to another one. */
  const fallbackTo = (first: Model): Model => {
    let requests = 0;
    return { ...first, stream: (asked) => defer(() => (requests++ === 0 ? first : spare()).stream(asked)) };
  };
  const answersOf = (model: Model) => {
    const answers = model.stream(request).pipe(filter(({ type }) => type !== 'retry' && type !== 'metadata'));
    return observe(answers).values;
  };

  it.each(Object.entries(models))('leaves its usage in %s, if it has one', (_, make) => {
    inVirtualTime(({ flush }) => {
      const [reported, silent] = [make(rejected()), make(failingModel('m'))].map(answersOf);
      flush();
      const answer = [
        { type: 'text', text: 'yes' },
        { type: 'finish', reason: 'stop' },
      ];
      expect(reported).toEqual([{ type: 'retract', usage: { input: 900 } }, ...answer]);
      expect(silent).toEqual(answer);
    });
  });
});
