import { describe, expect, it } from '@jest/globals';
import { NEVER, concat, defer, finalize, of, throwError, timer } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { HttpError } from '../../lib/core/errors.js';
import { TimeoutError } from '../../lib/core/timeoutError.js';
import { tool } from '../../lib/core/tool.js';
import { retryModel } from '../../lib/models/retryModel.js';
import type { RetryModelOptions } from '../../lib/models/retryModel.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { broken, chunks, failingModel, inVirtualTime, lost, modelOf, request, retrying } from './models.js';

const breaking = (text: string): readonly [string, { readonly error: Error }] => [text, { error: lost }];

describe('retryModel', () => {
  it('retryModel starts a turn over that fails in the middle of its response', () =>
    diagram('retryModel', ({ attempt1, attempt2 }: Streams<'attempt1' | 'attempt2', Chunk>) =>
      retryModel(modelOf('m', [attempt1, attempt2]), { delay: 4 }).stream(request),
    ));

  it('retryModel retracts nothing if the attempt has emitted nothing that is valid', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const [r, s] = [retrying(1, 3), retrying(2, 3)];
      const model = modelOf('m', [cold('-#', {}, lost), cold('a-x#', chunks, lost), cold('b(f|)', chunks)]);
      expectObservable(retryModel(model, { delay: 3 }).stream(request)).toBe('-r--a-xs--b(f|)', { ...chunks, r, s });
    });
  });

  it('retryModel emits the error of the last attempt, whose text stays valid', () => {
    inVirtualTime(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-#', chunks, lost);
      const retried = retryModel(
        scriptedModel(() => source),
        { count: 1, delay: 4 },
      );
      expectObservable(retried.stream(request)).toBe('-a-(xr)-a-#', { ...chunks, r: retrying(1, 4) }, lost);
      expectSubscriptions(source.subscriptions).toBe(['^--!', '-------^--!']);
    });
  });

  it('retryModel retries three times by default, after 1, 2 and 4 s with jitter', () => {
    inVirtualTime(({ flush }) => {
      const seen = observe(retryModel(failingModel('m')).stream(request));
      flush();
      const delays = seen.values.map((chunk) => (chunk.type === 'retry' ? chunk.delay : NaN));
      expect(delays).toHaveLength(3);
      for (const [at, longest] of [1000, 2000, 4000].entries()) {
        expect(delays[at]).toBeGreaterThanOrEqual(longest / 2);
        expect(delays[at]).toBeLessThanOrEqual(longest);
      }
      expect(seen.error).toBe(lost);
    });
  });

  it('retryModel obeys the delay that the server asks for, unless it has a delay of its own', () => {
    const busy = new HttpError('busy', { provider: 'p', status: 429, retryable: true, retryAfter: 7 });
    inVirtualTime(({ expectObservable }) => {
      const delayed = (options: RetryModelOptions) =>
        retryModel(failingModel('m', busy), { count: 1, ...options }).stream(request);
      expectObservable(delayed({})).toBe('r------#', { r: retrying(1, 7, busy) }, busy);
      expectObservable(delayed({ delay: 2 })).toBe('r-#', { r: retrying(1, 2, busy) }, busy);
    });
  });

  it('retryModel fails at once if the server asks for more than 60 s, unless `delay` says when to retry', () => {
    const busy = new HttpError('busy', { provider: 'p', status: 429, retryable: true, retryAfter: 60_001 });
    inVirtualTime(({ expectObservable }) => {
      const model = (options?: RetryModelOptions) => retryModel(failingModel('m', busy), options).stream(request);
      expectObservable(model()).toBe('#', undefined, busy);
      expectObservable(model({ count: 1, delay: 2 })).toBe('r-#', { r: retrying(1, 2, busy) }, busy);
    });
  });

  it('retryModel passes the error and the number of the retry to a function that returns the delay', () => {
    inVirtualTime(({ expectObservable, flush }) => {
      const calls: unknown[] = [];
      const delay = (error: unknown, attempt: number) => {
        calls.push([error, attempt]);
        return attempt * 2;
      };
      const values = { r: retrying(1, 2), s: retrying(2, 4) };
      const retried = retryModel(failingModel('m'), { count: 2, delay });
      expectObservable(retried.stream(request)).toBe('r-s---#', values, lost);
      flush();
      expect(calls).toEqual([
        [lost, 1],
        [lost, 2],
      ]);
    });
    const never = retryModel(failingModel('m'), { delay: () => NaN });
    expect(observe(never.stream(request)).error).toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('delay is NaN.'),
    });
  });

  it('retryModel does not retry after an error that is not retryable, except a silence, unless `when` says so', () => {
    const outcome = (error: Error, when?: (error: unknown) => boolean) =>
      inVirtualTime(({ flush }) => {
        const seen = observe(retryModel(failingModel('m', error), { count: 1, delay: 1, when }).stream(request));
        flush();
        return seen.values.length;
      });
    expect(outcome(broken)).toBe(0);
    expect(outcome(new TimeoutError('turn', 5))).toBe(0);
    expect(outcome(new TimeoutError('each', 5))).toBe(1);
    expect(outcome(broken, (error) => error === broken)).toBe(1);
    expect(outcome(lost, () => false)).toBe(0);
    expect(outcome(Object.assign(new Error('of another library'), { code: 'other', phase: 'each' }))).toBe(0);
    // eslint-disable-next-line rxjs-x/throw-error -- another library may throw anything
    const thrown = scriptedModel(() => throwError(() => null));
    expect(observe(retryModel(thrown).stream(request))).toMatchObject({ values: [], error: null });
  });

  it('retryModel describes an error of another library by its name and its message', () => {
    inVirtualTime(({ expectObservable }) => {
      const r = { type: 'retry', attempt: 1, delay: 1, error: { name: 'Error', message: 'broken' } };
      const retried = retryModel(failingModel('m', broken), { count: 1, delay: 1, when: () => true });
      expectObservable(retried.stream(request)).toBe('r#', { r }, broken);
    });
  });

  it('retryModel ends its wait when it is unsubscribed, and sends no further request', () => {
    inVirtualTime(({ expectObservable, flush }) => {
      const model = failingModel('m');
      const retried = retryModel(model, { delay: 600_000 });
      expectObservable(retried.stream(request), '^ 599s !').toBe('r', { r: retrying(1, 600_000) });
      flush();
      expect(model.requests).toHaveLength(1);
    });
  });

  it('retryModel waits ten minutes in virtual time', () => {
    inVirtualTime(({ cold, expectObservable }) => {
      const model = modelOf('m', [cold('#', {}, lost), cold('a(f|)', chunks)]);
      expectObservable(retryModel(model, { delay: 600_000 }).stream(request)).toBe('r 599999ms a(f|)', {
        ...chunks,
        r: retrying(1, 600_000),
      });
    });
  });

  it('retryModel counts the retries of each subscriber', () => {
    inVirtualTime(({ expectObservable }) => {
      const stream = retryModel(failingModel('m'), { count: 1, delay: 2 }).stream(request);
      expectObservable(stream).toBe('r-#', { r: retrying(1, 2) }, lost);
      expectObservable(stream, '-^').toBe('-r-#', { r: retrying(1, 2) }, lost);
    });
  });

  it('retryModel sends the next request when the resources of the failed one are gone', () => {
    inVirtualTime(({ flush }) => {
      const order: string[] = [];
      const model = scriptedModel(() =>
        defer(() => {
          order.push('request');
          return throwError(() => lost);
        }).pipe(finalize(() => order.push('gone'))),
      );
      observe(retryModel(model, { count: 1, delay: 0 }).stream(request));
      flush();
      expect(order).toEqual(['request', 'gone', 'request', 'gone']);
    });
  });

  it('retryModel repeats the turn that failed, and not an earlier turn or its tools', () => {
    let executions = 0;
    const f = tool({ name: 'f', description: '', execute: () => ++executions });
    const model = modelOf('m', [[toolCall('f')], breaking('It is'), 'It is 1.']);
    inVirtualTime(({ flush }) => {
      const seen = observe(createAgent({ model: retryModel(model, { delay: 5 }), tools: [f] }).stream('Go.'));
      flush();
      expect(seen.values.map(({ type }) => type)).toEqual([
        ...['toolCall', 'message', 'toolStart', 'toolResult', 'message', 'turn'],
        ...['text', 'retract', 'retry', 'text', 'message', 'turn', 'result'],
      ]);
      const result = { text: 'It is 1.', turns: 2 };
      expect(seen.values.at(-1)).toMatchObject({ result });
    });
    expect(executions).toBe(1);
    expect(model.requests).toHaveLength(3);
    expect(model.requests[2]).toEqual(model.requests[1]);
  });

  it('retryModel voids the calls of the failed attempt, and a tool that eagerTools has started', () => {
    let torndown = 0;
    const f = tool({
      name: 'f',
      description: '',
      execute: () => concat(of(1), NEVER).pipe(finalize(() => torndown++)),
    });
    const model = modelOf('m', [[toolCall('f'), { delay: 3 }, { error: lost }], 'Done.']);
    inVirtualTime(({ flush }) => {
      const options = { model: retryModel(model, { delay: 5 }), tools: [f], eagerTools: true };
      const seen = observe(createAgent(options).run('Go.'));
      flush();
      expect(seen.values).toMatchObject([{ text: 'Done.', turns: 1, messages: [{ role: 'model' }] }]);
    });
    expect(torndown).toBe(1);
  });

  it('retryModel is stopped during its wait, with a result', () => {
    inVirtualTime(({ flush }) => {
      const model = modelOf('m', [breaking('Half'), 'never']);
      const agent = createAgent({ model: retryModel(model, { delay: 600_000 }) });
      const seen = observe(agent.stream('Go.', { stop: timer(1000) }));
      flush();
      expect(seen.values.map(({ type }) => type)).toEqual(['text', 'retract', 'retry', 'turn', 'result']);
      expect(seen.values.at(-1)).toMatchObject({ result: { finishReason: 'stopped', text: '' } });
      expect(model.requests).toHaveLength(1);
    });
  });

  it('retryModel has the description of the model', () => {
    expect(retryModel(modelOf('m', [], { vision: false }))).toMatchObject({
      provider: 'p',
      name: 'm',
      capabilities: { vision: false },
    });
  });
});
