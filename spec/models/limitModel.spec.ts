import { describe, expect, it, jest } from '@jest/globals';
import {
  asyncScheduler,
  combineLatest,
  concat,
  defer,
  EMPTY,
  finalize,
  forkJoin,
  from,
  map,
  merge,
  mergeMap,
  NEVER,
  of,
  range,
  tap,
  throwError,
  timer,
  toArray,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model, ModelRequest } from '../../lib/core/model.js';
import { tool, toolDefinition } from '../../lib/core/tool.js';
import type { Usage } from '../../lib/core/usage.js';
import { createLimiter, limitModel } from '../../lib/models/limitModel.js';
import type { LimiterOptions } from '../../lib/models/limitModel.js';
import { scriptedModel } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { virtual } from '../support/toolCalls.js';

const finish = (usage?: Usage): Chunk => ({ type: 'finish', reason: 'stop', ...(usage ? { usage } : {}) });
const text = (value: string): Chunk => ({ type: 'text', text: value });
const request: ModelRequest = { messages: [userMessage('12345678')] }; // 2 tokens

const modelOf = (stream: (request: ModelRequest) => Observable<Chunk>): Model => ({
  provider: 'test',
  name: 'test',
  capabilities: { tools: true },
  stream,
});

const look = tool({ name: 'look', description: 'Looks.', execute: () => 1 });
const definitionTokens = Math.ceil(JSON.stringify([toolDefinition(look)]).length / 4);

/** A model that emits its `finish` after 10 ms. */
const slow = (usage?: Usage) => modelOf(() => timer(10).pipe(map(() => finish(usage))));

/** The times at which requests of a limited model are sent. */
const sentAt = (options: LimiterOptions, requests: number, usage?: Usage) => {
  const model = limitModel(slow(usage), createLimiter(options));
  return range(1, requests).pipe(
    mergeMap((n) => model.stream(request).pipe(map(() => n))),
    toArray(),
  );
};

describe('limitModel', () => {
  it('limitModel sends a request when there is room, as in its diagram', () =>
    diagram('limitModel', ({ first, second }: Streams<'first' | 'second', Chunk>) => {
      const streams = [first, second];
      const limited = limitModel(
        modelOf(() => streams.shift() ?? EMPTY),
        createLimiter({ concurrency: 1 }),
      );
      return merge(limited.stream(request), limited.stream(request));
    }));

  it('limitModel keeps the name and the capabilities of the model', () => {
    const model = slow();
    expect(limitModel(model, createLimiter())).toEqual({ ...model, stream: expect.any(Function) });
  });

  it('limitModel passes the request on, and sends nothing before it is subscribed', () => {
    const model = scriptedModel(['Hello']);
    const stream = limitModel(model, createLimiter({ concurrency: 1 })).stream(request);
    expect(model.requests).toEqual([]);
    expect(observe(stream).values).toEqual([text('Hello'), finish()]);
    expect(model.requests).toEqual([request]);
  });

  it.each<[string, LimiterOptions, string]>([
    ['no limit', {}, '10ms (a|)'],
    ['a concurrency of 2', { concurrency: 2 }, '30ms (a|)'],
    ['2 requests a minute', { requestsPerMinute: 2 }, '2m 10ms (a|)'],
    ['5 requests a minute', { requestsPerMinute: 5 }, '10ms (a|)'],
    ['4 tokens a minute', { tokensPerMinute: 4 }, '2m 10ms (a|)'],
    ['1 token a minute, less than a request needs', { tokensPerMinute: 1 }, '4m 10ms (a|)'],
    ['both limits', { requestsPerMinute: 3, tokensPerMinute: 4, concurrency: 1 }, '2m 10ms (a|)'],
    ['an estimate of its own', { tokensPerMinute: 100, estimate: () => 50 }, '2m 10ms (a|)'],
  ])('limitModel sends 5 requests with %s in time', (_, options, marbles) =>
    virtual(({ expectObservable }) => {
      expectObservable(sentAt(options, 5)).toBe(marbles, { a: [1, 2, 3, 4, 5] });
    }),
  );

  it('limitModel waits for a minute at most after a clock that was set back', () =>
    virtual(({ expectObservable, flush }) => {
      let back = 0;
      const now = asyncScheduler.now.bind(asyncScheduler);
      asyncScheduler.now = () => now() - back;
      try {
        const model = limitModel(
          modelOf(() => of(finish())),
          createLimiter({ requestsPerMinute: 1 }),
        );
        const second = timer(10).pipe(
          tap(() => (back = 3_600_000)),
          mergeMap(() => model.stream(request)),
        );
        expectObservable(merge(model.stream(request), second)).toBe('a 60009ms (b|)', { a: finish(), b: finish() });
        flush();
      } finally {
        asyncScheduler.now = now;
      }
    }));

  it('limitModel allows no more requests in any minute: the window slides', () =>
    virtual(({ expectObservable }) => {
      const model = limitModel(
        modelOf(() => of(finish())),
        createLimiter({ requestsPerMinute: 2 }),
      );
      const requests = [0, 50_000, 61_000, 62_000].map((time) =>
        timer(time).pipe(mergeMap(() => model.stream(request))),
      );
      expectObservable(merge(...requests)).toBe('a 49999ms b 10999ms c 48999ms (d|)', {
        a: finish(),
        b: finish(),
        c: finish(),
        d: finish(),
      });
    }));

  it('limitModel replaces the estimate by the usage: fewer tokens let the next request start', () =>
    virtual(({ expectObservable }) => {
      const options = { tokensPerMinute: 100, estimate: () => 100 };
      expectObservable(sentAt(options, 3, { input: 5, output: 5, total: 10 })).toBe('2m 10ms (a|)', { a: [1, 2, 3] });
      const rough = { tokensPerMinute: 100, estimate: () => 80 };
      expectObservable(sentAt(rough, 2, { total: 10 })).toBe('20ms (a|)', { a: [1, 2] });
    }));

  it('limitModel replaces the estimate by the usage: more tokens delay the next request', () =>
    virtual(({ expectObservable }) => {
      const model = limitModel(slow({ total: 99 }), createLimiter({ tokensPerMinute: 100, estimate: () => 2 }));
      const both = concat(model.stream(request), model.stream(request)).pipe(map(() => 0));
      expectObservable(both).toBe('10ms 0 59999ms (0|)', { 0: 0 });
    }));

  it('limitModel counts the usage of retracted attempts', () =>
    virtual(({ expectObservable }) => {
      const retracting = modelOf(() => of<Chunk[]>({ type: 'retract', usage: { total: 60 } }, finish({ total: 40 })));
      const model = limitModel(retracting, createLimiter({ tokensPerMinute: 100, estimate: () => 1 }));
      const both = concat(model.stream(request), model.stream(request)).pipe(map(({ type }) => type));
      expectObservable(both).toBe('(rf) 59996ms (rf|)', { r: 'retract', f: 'finish' });
    }));

  it.each<[string, Partial<ModelRequest>, number]>([
    ['its messages', {}, 2],
    ['the maximum of its output', { maxOutputTokens: 5 }, 7],
    ['the definitions of its tools', { tools: [toolDefinition(look)] }, 2 + definitionTokens],
  ])('limitModel estimates a request by %s', (_, fields, tokens) => {
    virtual(() => {
      const admitted = (tokensPerMinute: number) => {
        const limiter = createLimiter({ tokensPerMinute, whenFull: 'fail', concurrency: 2 });
        const model = limitModel(
          modelOf(() => of(finish())),
          limiter,
        );
        observe(model.stream(request)); // 2 tokens
        return observe(model.stream({ ...request, ...fields })).error === undefined;
      };
      expect([admitted(tokens + 1), admitted(tokens + 2)]).toEqual([false, true]);
    });
  });

  it('limitModel counts a usage without a total by the estimate', () =>
    virtual(({ expectObservable }) => {
      const options = { tokensPerMinute: 100, estimate: () => 100 };
      expectObservable(sentAt(options, 2, { input: 1 })).toBe('1m 10ms (a|)', { a: [1, 2] });
    }));

  it('limitModel ignores a usage that is reported after its minute', () =>
    virtual(({ expectObservable }) => {
      const model = limitModel(
        modelOf(() => timer(70_000).pipe(map(() => finish({ total: 1000 })))),
        createLimiter({ tokensPerMinute: 100, estimate: () => 100 }),
      );
      const three = concat(model.stream(request), model.stream(request)).pipe(map(() => 0));
      expectObservable(three).toBe('70s 0 69999ms (0|)', { 0: 0 });
    }));

  it('limitModel has room for the requests after a usage that is reported after its minute', () =>
    virtual(({ expectObservable }) => {
      const limiter = createLimiter({ tokensPerMinute: 100, estimate: () => 40 });
      const late = limitModel(
        modelOf(() => timer(70_000).pipe(map(() => finish({ total: 1000 })))),
        limiter,
      );
      const quick = limitModel(slow(), limiter);
      const two = merge(quick.stream(request), quick.stream(request));
      expectObservable(concat(late.stream(request), two).pipe(map(() => 0))).toBe('70s 0 9ms (00|)', { 0: 0 });
    }));

  it('limitModel keeps the order: a small request does not overtake a large one', () =>
    virtual(({ expectObservable }) => {
      const limiter = createLimiter({ tokensPerMinute: 100, estimate: ({ maxOutputTokens = 0 }) => maxOutputTokens });
      const model = limitModel(
        modelOf(({ maxOutputTokens }) => of(text(String(maxOutputTokens)))),
        limiter,
      );
      const runs = [60, 90, 10].map((maxOutputTokens) => model.stream({ ...request, maxOutputTokens }));
      expectObservable(merge(...runs).pipe(map((chunk) => (chunk as { text: string }).text))).toBe('a 59999ms (bc|)', {
        a: '60',
        b: '90',
        c: '10',
      });
    }));

  it('limitModel gives up the place of a request that is unsubscribed, whether it waits or runs', () =>
    virtual(({ expectObservable, flush }) => {
      const stream = jest.fn(() => timer(10).pipe(map(() => finish())));
      const model = limitModel(modelOf(stream), createLimiter({ concurrency: 1, requestsPerMinute: 2 }));
      expectObservable(model.stream(request), '^----!').toBe('');
      expectObservable(model.stream(request), '^--!').toBe('');
      expectObservable(model.stream(request)).toBe('15ms (f|)', { f: finish() });
      flush();
      expect(stream).toHaveBeenCalledTimes(2);
    }));

  it('limitModel leaves no timer when the last waiting request is unsubscribed', () => {
    const setTimer = jest.spyOn(globalThis, 'setInterval');
    const clearTimer = jest.spyOn(globalThis, 'clearInterval');
    const model = limitModel(
      modelOf(() => of(finish())),
      createLimiter({ requestsPerMinute: 1 }),
    );
    observe(model.stream(request));
    const [first, second] = [observe(model.stream(request)), observe(model.stream(request))];
    first.subscription.unsubscribe();
    second.subscription.unsubscribe();
    expect(setTimer).toHaveBeenCalled();
    const cleared = clearTimer.mock.calls.map(([id]) => id);
    expect(cleared).toEqual(expect.arrayContaining(setTimer.mock.results.map(({ value }) => value)));
    jest.restoreAllMocks();
  });

  const failed = throwError(() => new Error('broken'));
  it.each<[string, (stream: Observable<unknown>) => Observable<unknown>]>([
    ['forkJoin, after an error', (stream) => forkJoin([failed, stream])],
    ['forkJoin, after an empty source', (stream) => forkJoin([EMPTY, stream])],
    ['combineLatest, after an error', (stream) => combineLatest([failed, stream])],
  ])('limitModel keeps no place and counts nothing for a request whose subscriber is closed: %s', (_, join) => {
    for (const limits of [{ concurrency: 1 }, { requestsPerMinute: 1 }, { tokensPerMinute: 2 }]) {
      const model = scriptedModel(['Hello', 'Hello']);
      const limited = limitModel(model, createLimiter({ ...limits, whenFull: 'fail' }));
      observe(join(limited.stream(request)));
      observe(join(createAgent({ model: limited }).run('Hi')));
      expect(model.requests).toEqual([]);
      expect(observe(limited.stream(request)).values).toEqual([text('Hello'), finish()]);
    }
  });

  it('limitModel frees the place of a request that fails', () => {
    const model = limitModel(
      modelOf(() => throwError(() => new Error('broken'))),
      createLimiter({ concurrency: 1 }),
    );
    expect(observe(model.stream(request)).error).toEqual(new Error('broken'));
    expect(observe(model.stream(request)).error).toEqual(new Error('broken'));
  });

  describe("with whenFull: 'fail'", () => {
    const failing = (options: LimiterOptions, stream: () => Observable<Chunk> = () => of(finish())) =>
      limitModel(modelOf(stream), createLimiter({ ...options, whenFull: 'fail' }));

    it('limitModel fails without sending the request, and says when there will be room', () =>
      virtual(() => {
        const stream = jest.fn(() => of(finish()));
        const model = failing({ requestsPerMinute: 2 }, stream);
        observe(concat(model.stream(request), model.stream(request)));
        const { error } = observe(model.stream(request));
        expect(stream).toHaveBeenCalledTimes(2);
        expect(error).toMatchObject({
          name: 'RateLimitError',
          code: 'rate_limit',
          limit: 'requests',
          max: 2,
          retryAfter: 60_000,
          retryable: true,
          message:
            'The limiter allows 2 requests per minute. The request was not sent. Send it again in 60000 ms, raise the ' +
            "limit, or let the limiter wait (whenFull: 'wait').",
        });
      }));

    it('limitModel names the limit of tokens, and that of concurrency without a time', () => {
      const tokens = failing({ tokensPerMinute: 3 });
      observe(tokens.stream(request));
      expect(observe(tokens.stream(request)).error).toMatchObject({ limit: 'tokens', max: 3 });
      const concurrent = failing({ concurrency: 1 }, () => NEVER);
      observe(concurrent.stream(request));
      const { error } = observe(concurrent.stream(request));
      expect(error).toMatchObject({ limit: 'concurrency', max: 1 });
      expect(JSON.parse(JSON.stringify(error))).toEqual({
        name: 'RateLimitError',
        code: 'rate_limit',
        message:
          'The limiter allows 1 concurrent requests. The request was not sent. Send it again when another request has ' +
          "ended, raise the limit, or let the limiter wait (whenFull: 'wait').",
        retryable: true,
        limit: 'concurrency',
        max: 1,
      });
    });

    it('limitModel sends a request after the time that its error names', () =>
      virtual(({ expectObservable }) => {
        const model = failing({ requestsPerMinute: 1 });
        const attempt = defer(() => model.stream(request)).pipe(map(({ type }) => type));
        const attempts = merge(attempt, timer(60_000).pipe(mergeMap(() => attempt)));
        expectObservable(attempts).toBe('a 59999ms (a|)', { a: 'finish' });
      }));
  });

  it('limitModel is shared by the runs of several agents and by their turns', () =>
    virtual(({ expectObservable }) => {
      const limiter = createLimiter({ requestsPerMinute: 3 });
      const agentOf = () =>
        createAgent({
          model: limitModel(
            scriptedModel([[{ type: 'toolCallFragment', name: 'look', arguments: {}, done: true }], 'Done.']),
            limiter,
          ),
          tools: [look],
        });
      const runs = from([agentOf(), agentOf()]).pipe(mergeMap((agent) => agent.run('Hi')));
      expectObservable(runs.pipe(map(({ text: answer }) => answer))).toBe('a 59999ms (b|)', {
        a: 'Done.',
        b: 'Done.',
      });
    }));

  it('limitModel runs 10,000 waiting synchronous requests without nesting them', () =>
    virtual(({ flush }) => {
      const limiter = createLimiter({ concurrency: 1, requestsPerMinute: 20_000 });
      const first = limitModel(slow(), limiter);
      const sync = limitModel(
        modelOf(() => of(finish())),
        limiter,
      );
      observe(first.stream(request));
      let ended = 0;
      for (let n = 0; n < 10_000; n++) sync.stream(request).subscribe({ complete: () => ended++ });
      expect(ended).toBe(0);
      flush();
      expect(ended).toBe(10_000);
    }));

  it.each([
    [{ requestsPerMinute: 0 }, 'requestsPerMinute is 0.'],
    [{ tokensPerMinute: NaN }, 'tokensPerMinute is NaN.'],
    [{ concurrency: 0 }, 'concurrency is 0.'],
  ])('createLimiter rejects %j', (options, message) => {
    expect(() => createLimiter(options)).toThrow(message);
  });

  it('createLimiter fails a request whose estimate is not a number', () => {
    const limiter = createLimiter({ tokensPerMinute: 1, estimate: () => NaN });
    expect(observe(limitModel(slow(), limiter).stream(request)).error).toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('The estimate of tokens is NaN.'),
    });
  });

  it.each([{}, { requestsPerMinute: 2 }, { tokensPerMinute: 5 }])(
    'limitModel frees a place when the resources of its request are gone, also after it has waited (%j)',
    (limits) =>
      virtual(({ flush }) => {
        const limiter = createLimiter({ ...limits, concurrency: 1 });
        let [open, most] = [0, 0];
        const model = modelOf(() =>
          defer(() => {
            most = Math.max(most, ++open);
            const failing = timer(20_000).pipe(mergeMap(() => throwError(() => new Error('down'))));
            return failing.pipe(finalize(() => open--));
          }),
        );
        for (const at of [0, 0, 1, 61_000, 61_000])
          timer(at).subscribe(() => observe(limitModel(model, limiter).stream(request)));
        flush();
        expect([open, most]).toEqual([0, 1]);
      }),
  );
});
