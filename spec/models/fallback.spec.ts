import { describe, expect, it } from '@jest/globals';
import { defer, finalize, throwError } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { ConfigurationError, errorToJson, HttpError, StreamInterruptedError } from '../../lib/core/errors.js';
import { objectOrEmpty } from '../../lib/core/json/json.js';
import { filePart } from '../../lib/core/message.js';
import type { Model, ModelRequest } from '../../lib/core/model.js';
import { GuardError } from '../../lib/core/runErrors.js';
import type { AllModelsFailedError } from '../../lib/core/runErrors.js';
import { tool, toolDefinition } from '../../lib/core/tool.js';
import { setUsageOfError, usageOfError } from '../../lib/core/usageOfError.js';
import { fallback } from '../../lib/models/fallback.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { toView } from '../../lib/operators/toView.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { answeredBy, broken, chunks, failingModel, inVirtualTime, lost, modelOf, request, retrying } from './models.js';

const f = tool({ name: 'f', description: '', execute: () => 1 });
/** The notice that the next model is asked. */
const notice = (error: unknown, attempt = 1, name = 'b') => ({
  type: 'retry',
  attempt,
  delay: 0,
  error: errorToJson(error),
  next: { provider: 'p', name },
});
const withTools: ModelRequest = { ...request, tools: [toolDefinition(f)] };

describe('fallback', () => {
  it('fallback asks the second model when the first one fails, and voids what the first one emitted', () =>
    diagram('fallback', ({ first, second }: Streams<'first' | 'second', Chunk>) =>
      fallback([modelOf('first', [first]), modelOf('second', [second])]).stream(request),
    ));

  it('fallback retracts nothing if the model that fails has emitted nothing', () => {
    expect(observe(fallback([failingModel('a', broken), modelOf('b', ['b'])]).stream(request)).values).toEqual([
      notice(broken),
      answeredBy('b'),
      chunks.b,
      { type: 'finish', reason: 'stop' },
    ]);
  });

  it('fallback retracts the metadata of a model that fails before its first content', () => {
    const first = modelOf('a', [[chunks.i, { error: lost }]]);
    expect(observe(fallback([first, modelOf('b', ['b'])]).stream(request)).values.slice(0, 5)).toEqual([
      answeredBy('a'),
      chunks.i,
      chunks.x,
      notice(lost),
      answeredBy('b'),
    ]);
  });

  it('fallback announces each model that it asks, for a view', () => {
    const models = [failingModel('a', broken), modelOf('b', [['Half', { error: lost }]]), modelOf('c', ['c'])];
    const agent = createAgent({ model: fallback(models) });
    const views = observe(agent.stream('Hi').pipe(toView())).values;
    expect(views.map(({ retry }) => retry && [retry.attempt, retry.error['message']])).toEqual([
      undefined,
      [1, 'broken'],
      undefined, // the text of b
      undefined, // its retract
      [2, 'lost'],
      undefined,
      undefined,
    ]);
  });

  it('fallback says again which model answers when that model has started over', () => {
    const restarting = modelOf('a', [[chunks.a, chunks.x, chunks.b]]);
    expect(observe(fallback([restarting]).stream(request)).values.map(({ type }) => type)).toEqual([
      ...['metadata', 'text', 'retract', 'metadata', 'text', 'finish'],
    ]);
  });

  it('fallback asks the next model when the resources of the one that failed are gone', () => {
    const order: string[] = [];
    const model = (name: string) =>
      scriptedModel(() =>
        defer(() => {
          order.push(name);
          return throwError(() => lost);
        }).pipe(finalize(() => order.push(`${name} is gone`))),
      );
    observe(fallback([model('a'), model('b')]).stream(request));
    expect(order).toEqual(['a', 'a is gone', 'b', 'b is gone']);
  });

  it('fallback errors with the errors of all models', () => {
    const busy = new HttpError('Busy.', { provider: 'p', status: 503, retryable: true, body: 'raw' });
    const { error } = observe(fallback([failingModel('a', busy), failingModel('b', broken)]).stream(request));
    expect(error).toMatchObject({
      code: 'all_models_failed',
      message: 'All 2 models failed. p:a: Busy. p:b: broken The errors are in `error.errors`.',
      errors: [busy, broken],
      retryable: true,
    });
    expect((error as AllModelsFailedError).toJSON()).toMatchObject({
      errors: [busy.toJSON(), { name: 'Error', message: 'broken' }],
    });
    expect(
      observe(fallback([failingModel('a', broken), failingModel('b', broken)]).stream(request)).error,
    ).toMatchObject({ retryable: false });
  });

  it('fallback says which model answers when that model has waited for a retry of its own', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const retried = retryModel(modelOf('a', [cold('-#', {}, lost), cold('-a---(f|)', chunks)]), { delay: 2 });
      const values = { ...chunks, r: retrying(1, 2), m: answeredBy('a') };
      expectObservable(fallback([retried]).stream(request)).toBe('-r--(ma)(f|)', values);
    });
  });

  it('fallback errors with the usage of the last model, as those before it are retracted', () => {
    const last = new StreamInterruptedError('p', 'last');
    setUsageOfError(last, { total: 3 });
    const model = fallback([failingModel('a', lost), failingModel('b', broken), failingModel('c', last)]);
    expect(usageOfError(observe(model.stream(request)).error)).toEqual({ total: 3 });
  });

  it('fallback keeps the text of the last model when it fails', () => {
    const last = modelOf('b', [['Half', { error: lost }]]);
    const { values, error } = observe(fallback([failingModel('a'), last]).stream(request));
    expect(values).toEqual([notice(lost), answeredBy('b'), { type: 'text', text: 'Half' }]);
    expect(error).toMatchObject({ errors: [lost, lost] });
  });

  it('fallback errors with the error of its only model', () => {
    expect(observe(fallback([failingModel('a', broken)]).stream(request)).error).toBe(broken);
  });

  it('fallback emits an error for which `when` returns false', () => {
    const second = modelOf('b', ['b']);
    const model = fallback([failingModel('a', broken), second], { when: (error) => error !== broken });
    expect(observe(model.stream(request)).error).toBe(broken);
    expect(second.requests).toEqual([]);
  });

  it('fallback skips a model that cannot serve the request', () => {
    const first = modelOf('a', ['a'], { tools: false });
    const second = modelOf('b', ['b', 'b'], { vision: false });
    const model = fallback([first, second]);
    expect(observe(model.stream(withTools)).values[0]).toEqual(answeredBy('b'));
    expect(first.requests).toEqual([]);
    expect(observe(model.stream(request)).values[0]).toEqual(answeredBy('a'));
  });

  it('fallback says for each model why it cannot serve a request', () => {
    const image = filePart(new Uint8Array([1, 2, 3]), 'image/png');
    const seeing: ModelRequest = { ...withTools, messages: [{ role: 'user', parts: [image] }] };
    const model = fallback([modelOf('a', [], { tools: false }), modelOf('b', [], { vision: false })]);
    const { error, values } = observe(model.stream(seeing));
    expect(values).toEqual([]);
    expect(error).toMatchObject({
      code: 'all_models_failed',
      message: expect.stringMatching(/p:a cannot call tools.*p:b cannot read images/) as unknown,
      errors: [{ subject: 'capability' }, { subject: 'capability' }],
      retryable: false,
    });
  });

  it('fallback looks like its first model, with the capabilities that all models have', () => {
    const [a, b] = [
      modelOf('a', [], { tools: true, vision: true, files: false, thinking: true }),
      modelOf('b', [], { tools: true, vision: false, typedOutput: true }),
    ];
    expect(fallback([a, b])).toEqual({
      stream: expect.any(Function) as unknown,
      provider: 'p',
      name: 'a',
      capabilities: { tools: true, vision: false, files: false },
    });
  });

  it('fallback leaves the check of a request to a composite model, also when that is derived', () => {
    const inner = fallback([modelOf('a', ['a', 'a'], { vision: false }), modelOf('b', ['b', 'b'], { tools: false })]);
    for (const nested of [inner, retryModel(pipeModel(inner))]) {
      expect(nested.capabilities).toEqual({ vision: false, tools: false });
      const { values } = observe(fallback([nested, modelOf('c', ['c', 'c'])]).stream(withTools));
      expect(values.slice(0, 2)).toEqual([answeredBy('a'), chunks.a]);
    }
  });

  it('fallback nests, and retryModel around it starts with the first model again', () => {
    inVirtualTime(({ flush }) => {
      const first = modelOf('a', [['Half', { error: lost }], 'Full']);
      const model = retryModel(fallback([first, failingModel('b', lost)]), { delay: 5, count: 1 });
      const seen = observe(model.stream(request));
      flush();
      expect(seen.values.map(({ type }) => type)).toEqual([
        ...['metadata', 'text', 'retract', 'retry', 'retry', 'metadata', 'text', 'finish'],
      ]);
      expect(seen.completed).toBe(true);
    });
  });

  it('fallback begins each turn of a run with the first model, and turn.metadata says which one has answered', () => {
    const first = modelOf('a', [[toolCall('f')], ['Half', { error: lost }]]);
    const model = fallback([first, modelOf('b', ['Done.'])]);
    const { values } = observe(createAgent({ model, tools: [f] }).stream('Go.'));
    expect(values.flatMap((event) => (event.type === 'turn' ? [event.metadata] : []))).toEqual([
      { answeredBy: { provider: 'p', name: 'a' } },
      { answeredBy: { provider: 'p', name: 'b' } },
    ]);
    expect(values.at(-1)).toMatchObject({ result: { text: 'Done.', turns: 2 } });
  });

  it('fallback without a model is an error at once', () => {
    expect(() => fallback([])).toThrow(
      "fallback has no models. Pass at least one: fallback([openai('gpt-6.1-terra')]).",
    );
    expect(() => fallback([])).toThrow(expect.objectContaining({ code: 'configuration', subject: 'model' }));
  });

  it('fallback counts the models that it asked, and not those that it skipped', () => {
    const skipped = modelOf('a', [], { tools: false });
    const model = fallback([skipped, failingModel('b', broken), modelOf('c', ['c'])]);
    expect(observe(model.stream(withTools)).values).toEqual([
      notice(broken, 1, 'c'),
      answeredBy('c'),
      { type: 'text', text: 'c' },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  describe('with a cooldown', () => {
    const answered = (model: Model) =>
      observe(model.stream(request)).values.flatMap((chunk) =>
        chunk.type === 'metadata' ? [objectOrEmpty(chunk.metadata['answeredBy'])['name']] : [],
      );
    const clock = (now = 0) => ({ now: () => now, set: (time: number) => (now = time) });

    it('fallback does not ask a model that is down again before the time has passed', () => {
      const scheduler = clock();
      const a = modelOf('a', [[{ error: lost }], 'a']);
      const model = fallback([a, modelOf('b', ['b', 'b'])], { cooldown: 1000, scheduler });
      expect(answered(model)).toEqual(['b']);
      scheduler.set(999);
      expect(answered(model)).toEqual(['b']);
      expect(a.requests).toHaveLength(1);
      scheduler.set(1000);
      expect(answered(model)).toEqual(['a']);
    });

    it('fallback asks a dead model once in a run of several turns', () => {
      inVirtualTime(() => {
        const a = failingModel('a');
        const b = modelOf('b', [[toolCall('f')], [toolCall('f', {}, 'c2')], 'Done.']);
        const { values } = observe(
          createAgent({ model: fallback([a, b], { cooldown: 60_000 }), tools: [f] }).run('Go.'),
        );
        expect(values).toMatchObject([{ text: 'Done.', turns: 3 }]);
        expect(a.requests).toHaveLength(1);
      });
    });

    it('fallback waits as long as the server of the model asks for', () => {
      const scheduler = clock();
      const busy = new HttpError('Busy.', { provider: 'p', status: 429, retryable: true, retryAfter: 5000 });
      const model = fallback([failingModel('a', busy), modelOf('b', ['b', 'b', 'b'])], { cooldown: 1000, scheduler });
      answered(model);
      scheduler.set(4999);
      expect(observe(model.stream(request)).values[0]).toEqual(answeredBy('b'));
      scheduler.set(5000);
      expect(observe(model.stream(request)).values[0]).toEqual(notice(busy));
    });

    it('fallback asks a model that rests after all others, and if all rest, in their order', () => {
      const a = modelOf('a', [[{ error: lost }], [{ error: lost }], 'a']);
      const b = modelOf('b', [[{ error: broken }], [{ error: broken }]]);
      const model = fallback([a, b], { cooldown: 1000, scheduler: clock() });
      expect(observe(model.stream(request)).error).toMatchObject({ errors: [lost, broken] });
      expect(observe(model.stream(request)).error).toMatchObject({ errors: [lost, broken] });
      expect(answered(model)).toEqual(['a']);
    });

    it.each([
      new ConfigurationError('history', 'No.', 'Yes.'),
      ...[400, 413, 422].map((status) => new HttpError('Bad.', { provider: 'p', status, retryable: false })),
      Object.assign(new Error('Too long.'), { code: 'context_length' }),
      new GuardError(undefined),
    ])('fallback asks a model again whose request was wrong: %s', (error) => {
      const a = modelOf('a', [[{ error }], 'a']);
      const model = fallback([a, modelOf('b', ['b', 'b'])], { cooldown: 1000, scheduler: clock() });
      expect([answered(model), answered(model)]).toEqual([['b'], ['a']]);
    });

    it.each([
      new HttpError('Down.', { provider: 'p', status: 500, retryable: true }),
      new HttpError('No key.', { provider: 'p', status: 401, retryable: false }),
      Object.assign(new Error('A status of another protocol.'), { code: 'other', status: 400 }),
    ])('fallback lets a model rest that is down: %s', (error) => {
      const a = modelOf('a', [[{ error }], 'a']);
      const model = fallback([a, modelOf('b', ['b', 'b'])], { cooldown: 1000, scheduler: clock() });
      expect([answered(model), answered(model)]).toEqual([['b'], ['b']]);
    });

    it('fallback lets no model rest by default, even if its server asks for it', () => {
      const busy = new HttpError('Busy.', { provider: 'p', status: 429, retryable: true, retryAfter: 5000 });
      const a = modelOf('a', [[{ error: busy }], 'a']);
      const model = fallback([a, modelOf('b', ['b', 'b'])], { scheduler: clock() });
      expect([answered(model), answered(model)]).toEqual([['b'], ['a']]);
    });

    it('fallback rejects a cooldown that is not a number', () => {
      expect(() => fallback([modelOf('a', [])], { cooldown: NaN })).toThrow('cooldown is NaN.');
    });
  });
});
