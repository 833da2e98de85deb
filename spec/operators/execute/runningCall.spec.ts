import { describe, expect, it, jest } from '@jest/globals';
import {
  BehaviorSubject,
  EMPTY,
  NEVER,
  Observable,
  Subject,
  asyncScheduler,
  concat,
  config,
  finalize,
  interval,
  map,
  of,
  takeWhile,
  throwError,
} from 'rxjs';
import type { Subscriber } from 'rxjs';
import * as z from 'zod';
import type { StreamEvent } from '../../../lib/core/event.js';
import { isToolProgress, isToolResult } from '../../../lib/core/eventGuards.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { progress } from '../../../lib/core/progress.js';
import { TimeoutError } from '../../../lib/core/timeoutError.js';
import { tool } from '../../../lib/core/tool.js';
import type { ToolContext } from '../../../lib/core/tool.js';
import { executeTools } from '../../../lib/operators/executeTools.js';
import { observe } from '../../support/observe.js';
import { anyTool, callOf, finishOf, runCalls, turnOf, virtual } from '../../support/toolCalls.js';

/** The events of one call, as `type value`. */
const summaryOf = (events: readonly StreamEvent[]) =>
  events.flatMap((event) => {
    if (isToolProgress(event)) return [`progress ${JSON.stringify(event.value)}`];
    if (!isToolResult(event)) return event.type === 'toolStart' ? ['start'] : [];
    return [event.error === undefined ? `result ${JSON.stringify(event.result)}` : `error ${event.error}`];
  });

const runOne = async (execute: Parameters<typeof anyTool>[1]) =>
  summaryOf((await runCalls([anyTool('f', execute)], [callOf('f')])).events);

const throwing = (message: string) => throwError(() => new Error(message));

/** Another library's Observable, or that of another version of RxJS, which has the method under one of two names. */
const interop = (key: PropertyKey) => ({ [key]: () => of(1, 2) });

// eslint-disable-next-line @typescript-eslint/no-empty-function -- it yields nothing
function* emptyGenerator() {}

describe('RunningCall', () => {
  it('RunningCall answers a call whose tool throws a Proxy that cannot be examined', async () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    const throwProxy = () => {
      throw proxy;
    };
    expect((await runCalls([anyTool('f', throwProxy)], [callOf('f')])).answers).toEqual([
      { error: 'an unreadable value was thrown', code: 'failed' },
    ]);
  });

  describe('results', () => {
    it.each<[string, unknown, unknown]>([
      ['undefined', undefined, null],
      ['null', null, null],
      ['a string', 'text', 'text'],
      ['an empty string', '', ''],
      ['an array', [1, [2]], [1, [2]]],
      ['an object', { a: { b: 1 } }, { a: { b: 1 } }],
      ['a Promise', Promise.resolve(5), 5],
      ['a Promise of a thenable', { then: (done: (value: unknown) => void) => done(Promise.resolve(6)) }, 6],
      ['a thenable', { then: (done: (value: number) => void) => done(7) }, 7],
      ['a Promise of an Observable', Promise.resolve(of(1, 8)), 8],
      ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
      ['bytes', new Uint8Array([1, 2, 3]), 'AQID'],
      ['a Buffer', Buffer.from('hi'), 'aGk='],
      ['bytes in an object', { file: new Uint8Array([1]).buffer }, { file: 'AQ==' }],
      ['an Error in an object', { failed: [new Error('no disk')] }, { failed: ['no disk'] }],
      ['an Observable', of(1, 2, 3), 3],
      ['an empty Observable', EMPTY, null],
      ['an interop Observable under @@observable', interop('@@observable'), 2],
      ['a generator without values', emptyGenerator(), null],
    ])('RunningCall returns the result of %s', async (_, output, result) => {
      expect((await runCalls([anyTool('f', () => output)], [callOf('f')])).answers).toEqual([{ result }]);
    });

    it('RunningCall follows an interop Observable under a Symbol.observable that is defined after RxJS is loaded', async () => {
      const key = Symbol('observable');
      Object.defineProperty(Symbol, 'observable', { value: key, configurable: true });
      try {
        const tools = [anyTool('f', () => interop(key)), anyTool('g', () => ({ a: 1 }))];
        const { answers } = await runCalls(tools, [callOf('f'), callOf('g')]);
        expect(answers).toEqual([{ result: 2 }, { result: { a: 1 } }]);
      } finally {
        Reflect.deleteProperty(Symbol, 'observable');
      }
    });

    it.each<[string, unknown, unknown]>([
      ['whose then is not a function', { then: 'later' }, { then: 'later' }],
      ['whose next and throw are not functions', { next: 1, throw: 2 }, { next: 1, throw: 2 }],
      ['with a method throw, and no next', { throw: () => 1, toJSON: () => 'a ball' }, 'a ball'],
      ['with a next, and no throw', { next: () => 1, toJSON: () => 'a list' }, 'a list'],
    ])('RunningCall takes an object %s as the result', async (_, output, result) => {
      expect((await runCalls([anyTool('f', () => output)], [callOf('f')])).answers).toEqual([{ result }]);
    });

    it('RunningCall follows an Observable of another library that has a method then too', () => {
      const output = new Subject<number>();
      const both = { '@@observable': () => output, then: () => undefined };
      const { values } = observe(turnOf(callOf('f')).pipe(executeTools([anyTool('f', () => both)])));
      for (const value of [1, 2]) output.next(value);
      output.complete();
      expect(summaryOf(values)).toEqual(['start', 'progress 1', 'result 2']);
    });

    it('RunningCall emits the result when the resources of a synchronous tool are gone', () => {
      const log: string[] = [];
      const f = anyTool('f', () => of(1).pipe(finalize(() => log.push('torn down'))));
      const g = anyTool(
        'g',
        () =>
          new Observable((out) => {
            out.next(1);
            out.complete();
            return () => log.push('torn down');
          }),
      );
      for (const each of [f, g])
        turnOf(callOf(each.name))
          .pipe(executeTools([each]))
          .subscribe(({ type }) => log.push(type));
      const events = ['message', 'toolStart', 'torn down', 'toolResult', 'message', 'finish'];
      expect(log).toEqual([...events, ...events]);
    });

    it('RunningCall copies the result, so that later changes to it do not reach the history', () => {
      const list = [1];
      const { values } = observe(turnOf(callOf('f')).pipe(executeTools([anyTool('f', () => list)])));
      list.push(2);
      expect(values.find(isToolResult)).toMatchObject({ result: [1] });
    });
  });

  describe('failures', () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    const throwAny = (thrown: unknown) => () => {
      throw thrown;
    };

    it.each<[string, () => unknown, string]>([
      ['a thrown Error', throwAny(new Error('boom')), 'boom'],
      ['a thrown string', throwAny('boom'), 'boom'],
      ['a thrown object', throwAny({ code: 7 }), '{"code":7}'],
      ['a thrown undefined', throwAny(undefined), 'undefined'],
      ['a rejection', () => Promise.reject(new TypeError('rejected')), 'rejected'],
      ['an error notification', () => throwing('errored'), 'errored'],
      ['an error after progress', () => concat(of(1, 2), throwing('late')), 'late'],
      ['a circular structure', () => circular, 'circular'],
      ['a bigint', () => 1n, 'bigint'],
      ['a Map', () => ({ found: new Map([['a', 1]]) }), 'Object.fromEntries'],
      ['a Set', () => new Set([1]), '[...set]'],
      ['a Response', () => new Response('{}'), 'class Response. Return await response.json()'],
      ['Headers', () => new Headers(), 'class Headers'],
      ['URLSearchParams', () => new URLSearchParams('a=1'), 'class URLSearchParams'],
      ['a Promise in an object', () => ({ later: Promise.resolve(1) }), 'class Promise'],
      ['a function', () => () => 1, 'a function'],
      ['a function in an object', () => ({ a: () => 1 }), 'a function'],
      ['NaN', () => NaN, 'NaN'],
      ['Infinity', () => [Infinity], 'Infinity'],
      ['an invalid Date', () => new Date(NaN), 'invalid Date'],
      ['progress that JSON cannot represent', () => of(progress(NaN), 1), 'NaN'],
      ['a very long error', throwAny(new Error('x'.repeat(1000))), 'x'.repeat(1000)],
    ])('RunningCall reports %s as an error result, and the other calls are not affected', async (_, execute, text) => {
      const { answers, events } = await runCalls(
        [anyTool('bad', execute), anyTool('good', () => 1)],
        [callOf('bad'), callOf('good')],
      );
      expect(answers).toEqual([{ error: expect.stringContaining(text), code: 'failed' }, { result: 1 }]);
      expect(events.at(-1)).toEqual(finishOf());
    });
  });

  it.each<[string, Error]>([
    ['the TimeoutError of a request', new TimeoutError('first', 10)],
    ['an error with a phase of its own', Object.assign(new Error('no'), { phase: 'tool' })],
  ])('RunningCall answers %s as failed, not as a missed deadline', async (_, thrown) => {
    const { answers } = await runCalls([anyTool('f', () => throwError(() => thrown))], [callOf('f')]);
    expect(answers).toMatchObject([{ code: 'failed' }]);
  });

  describe('calls that are not executed', () => {
    it('RunningCall names the available tools when the model calls another, and emits no toolStart', async () => {
      const { answers, events } = await runCalls([anyTool('add', () => 1)], [callOf('sub')]);
      expect(answers).toEqual([{ error: 'There is no tool "sub". Available: add.', code: 'unknown_tool' }]);
      expect(summaryOf(events)).toEqual(['error There is no tool "sub". Available: add.']);
    });

    it('RunningCall says so if there are several tools or none', async () => {
      const tools = [anyTool('add', () => 1), anyTool('mul', () => 1)];
      expect((await runCalls(tools, [callOf('sub')])).answers).toMatchObject([
        { error: 'There is no tool "sub". Available: add, mul.' },
      ]);
      expect((await runCalls([], [callOf('sub')])).answers).toMatchObject([
        { error: 'There is no tool "sub". No tools are available.' },
      ]);
    });

    it('RunningCall names the first 50 of many tools', async () => {
      const tools = Array.from({ length: 52 }, (_, at) => anyTool(`f${at}`, () => 1));
      const [answer] = (await runCalls(tools, [callOf('sub')])).answers;
      expect(answer).toMatchObject({
        error: expect.stringMatching(/Available: f0, .*, f49, and 2 more\.$/) as unknown,
      });
    });

    it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
      'RunningCall accepts %s as a name like any other',
      async (name) => {
        expect((await runCalls([anyTool('add', () => 1)], [callOf(name)])).answers).toMatchObject([
          { error: expect.stringContaining(`no tool "${name}"`) },
        ]);
        expect((await runCalls([anyTool(name, () => 1)], [callOf(name)])).answers).toEqual([{ result: 1 }]);
      },
    );

    it.each([
      ['invalid_json', 'not valid JSON'],
      ['too_deep', 'more than 500 levels'],
      ['inexact_integer', 'Send it as a string'],
      ['infinite_number', 'beyond 1.8e308'],
    ])('RunningCall does not execute a call whose arguments could not be read (%s)', async (_error, text) => {
      const execute = jest.fn(() => 1);
      const invalid = callOf('f', { _raw: '{"a', _error });
      const { answers, events } = await runCalls([anyTool('f', execute)], [invalid]);
      expect(answers).toEqual([{ error: expect.stringContaining(text), code: 'invalid_arguments' }]);
      expect(events.map(({ type }) => type)).toEqual(['message', 'toolResult', 'message', 'finish']);
      expect(execute).not.toHaveBeenCalled();
    });

    it('RunningCall does not execute a call with a number that others see as null, wherever it is from', async () => {
      const execute = jest.fn(() => 1);
      const { answers } = await runCalls([anyTool('f', execute)], [callOf('f', { list: [{ amount: -Infinity }] })]);
      expect(answers).toEqual([{ error: expect.stringContaining('1.8e308'), code: 'invalid_arguments' }]);
      expect(execute).not.toHaveBeenCalled();
    });
  });

  describe('arguments', () => {
    it('RunningCall passes the validated and transformed arguments to the tool; toolStart has the original arguments', async () => {
      const received: unknown[] = [];
      const typed = tool({
        name: 'f',
        description: '',
        parameters: z.object({ city: z.string(), days: z.number().default(3) }),
        execute: (args) => void received.push(args),
      });
      const { answers, events } = await runCalls(
        [typed],
        [callOf('f', { city: 5 }, 'a'), callOf('f', { city: 'Oslo' }, 'b')],
      );
      expect(answers).toEqual([
        { error: expect.stringContaining('Invalid arguments: city:'), code: 'invalid_arguments' },
        { result: null },
      ]);
      expect(received).toEqual([{ city: 'Oslo', days: 3 }]);
      expect(events.filter(({ type }) => type === 'toolStart')).toEqual([
        { type: 'toolStart', id: 'b', name: 'f', arguments: { city: 'Oslo' } },
      ]);
    });

    it('RunningCall waits for a schema that validates asynchronously', async () => {
      const schema = z.object({ n: z.number() }).refine(async ({ n }) => n > 0, 'n must be positive');
      const typed = tool({ name: 'f', description: '', parameters: schema, execute: ({ n }) => n });
      const { answers } = await runCalls([typed], [callOf('f', { n: -1 }, 'a'), callOf('f', { n: 2 }, 'b')]);
      expect(answers).toMatchObject([{ error: expect.stringContaining('n must be positive') }, { result: 2 }]);
    });

    it('RunningCall requires the required keys of a plain JSON Schema, and calls its validate', async () => {
      const parameters = { type: 'object', required: ['a', 'toString'] };
      const needs = tool({ name: 'f', description: '', parameters, execute: () => 1 });
      expect((await runCalls([needs], [callOf('f', { a: 1 })])).answers).toMatchObject([
        { error: 'Invalid arguments: missing required "toString"' },
      ]);
      const validate = (value: JsonObject) => {
        if (value['n'] !== 1) throw new Error('n must be 1');
        return { n: 1 as const };
      };
      const checked = tool({
        name: 'f',
        description: '',
        parameters: { type: 'object', validate },
        execute: ({ n }) => n,
      });
      const { answers } = await runCalls([checked], [callOf('f', { n: 2 }, 'a'), callOf('f', { n: 1 }, 'b')]);
      expect(answers).toMatchObject([{ error: 'Invalid arguments: n must be 1' }, { result: 1 }]);
    });
  });

  describe('progress', () => {
    it('RunningCall emits toolStart, marked values at once, and the last unmarked value as the result', () => {
      const steps = new Subject<unknown>();
      const { values } = observe(turnOf(callOf('f')).pipe(executeTools([anyTool('f', () => steps)])));
      const summaryAfter = (value: unknown) => {
        steps.next(value);
        return summaryOf(values);
      };
      expect(values.at(-1)).toEqual({ type: 'toolStart', id: 'id-f', name: 'f', arguments: {} });
      expect(summaryAfter(progress({ percent: 10 }))).toEqual(['start', 'progress {"percent":10}']);
      expect(summaryAfter('a').slice(2)).toEqual([]);
      expect(summaryAfter(progress(2)).slice(2)).toEqual(['progress 2']);
      expect(summaryAfter('b').slice(3)).toEqual(['progress "a"']);
      steps.complete();
      expect(summaryOf(values).slice(4)).toEqual(['result "b"']);
    });

    it('RunningCall emits context.progress at once from any function, and nothing after the end', async () => {
      let report: ((value: unknown) => void) | undefined;
      const execute = jest.fn(async () => 'done');
      const reporting = anyTool('f', (_, context) => {
        report = context.progress;
        context.progress({ step: 1 });
        return execute();
      });
      const { values } = observe(turnOf(callOf('f')).pipe(executeTools([reporting])));
      expect(summaryOf(values)).toEqual(['start', 'progress {"step":1}']);
      report?.({ step: 2 });
      expect(summaryOf(values).at(-1)).toBe('progress {"step":2}');
      await execute.mock.results[0]?.value;
      await Promise.resolve();
      report?.({ step: 3 });
      expect(summaryOf(values).slice(3)).toEqual(['result "done"']);
    });

    it('RunningCall throws where context.progress is called with a value that JSON cannot represent', async () => {
      expect(await runOne((_, context) => context.progress(new Map()))).toEqual([
        'start',
        expect.stringContaining('error JSON cannot represent an object of class Map'),
      ]);
    });

    it.each<[string, () => unknown, string[]]>([
      [
        'with a return value',
        async function* () {
          yield 'a';
          yield progress('b');
          return 'c';
        },
        ['progress "a"', 'progress "b"', 'result "c"'],
      ],
      [
        'without a return value',
        async function* () {
          yield 'a';
          yield 'b';
        },
        ['progress "a"', 'result "b"'],
      ],
      [
        'that only marks',
        async function* () {
          yield progress('a');
        },
        ['progress "a"', 'result null'],
      ],
      [
        'that throws',
        async function* () {
          yield 'a';
          throw new Error('boom');
        },
        ['progress "a"', 'error boom'],
      ],
      [
        'in a Promise',
        async () =>
          (async function* () {
            yield 'a';
            return 'b';
          })(),
        ['progress "a"', 'result "b"'],
      ],
    ])('RunningCall follows an async generator %s', async (_, execute, expected) => {
      expect(await runOne(execute)).toEqual(['start', ...expected]);
    });

    it.each<[string, () => unknown, string[]]>([
      [
        'with a return value',
        function* () {
          yield 'a';
          yield progress('b');
          return 'c';
        },
        ['progress "a"', 'progress "b"', 'result "c"'],
      ],
      [
        'without a return value',
        function* () {
          yield 'a';
          yield 'b';
        },
        ['progress "a"', 'result "b"'],
      ],
      [
        'that throws',
        function* () {
          yield 'a';
          throw new Error('boom');
        },
        ['progress "a"', 'error boom'],
      ],
    ])('RunningCall follows a generator %s', async (_, execute, expected) => {
      expect(await runOne(execute)).toEqual(['start', ...expected]);
    });

    it('RunningCall emits the yield of an async generator while the generator still waits', async () => {
      const gate = new Subject<void>();
      const waiting = anyTool('f', async function* () {
        yield 'a';
        await new Promise<void>((resolve) => gate.subscribe(resolve));
        return 'b';
      });
      const { values } = observe(turnOf(callOf('f')).pipe(executeTools([waiting])));
      for (let hops = 0; hops < 10; hops++) await Promise.resolve();
      expect(summaryOf(values)).toEqual(['start', 'progress "a"']);
    });

    it('RunningCall treats an async iterable that is not a generator like an Observable', async () => {
      const chunks = () =>
        new ReadableStream({
          start: (controller) => {
            controller.enqueue('a');
            controller.enqueue('b');
            controller.close();
          },
        });
      expect(await runOne(chunks)).toEqual(['start', 'progress "a"', 'result "b"']);
    });

    it('RunningCall follows an async iterator whose next() returns plain objects, like for await', async () => {
      const steps = [{ value: 'a' }, { value: 'b' }, { done: true }];
      const plain = () => ({ [Symbol.asyncIterator]: () => ({ next: () => steps.shift() }) });
      expect(await runOne(plain)).toEqual(['start', 'progress "a"', 'result "b"']);
    });

    it('RunningCall emits held progress when the tool fails', async () => {
      expect(await runOne(() => concat(of('a', 'b'), throwing('late')))).toEqual([
        'start',
        'progress "a"',
        'progress "b"',
        'error late',
      ]);
    });

    it('RunningCall drops held progress on unsubscription', () => {
      const steps = new BehaviorSubject('a');
      const { values, subscription } = observe(turnOf(callOf('f')).pipe(executeTools([anyTool('f', () => steps)])));
      subscription.unsubscribe();
      expect(summaryOf(values)).toEqual(['start']);
    });

    it('RunningCall follows a tool whose stream is re-entered from the handler of its progress', () => {
      const steps = new Subject<number>();
      const progressed: unknown[] = [];
      turnOf(callOf('f'))
        .pipe(executeTools([anyTool('f', () => steps)]))
        .subscribe((event) => {
          if (!isToolProgress(event)) return;
          progressed.push(event.value);
          if (progressed.length < 3) steps.next(10 + progressed.length);
        });
      steps.next(1);
      steps.next(2);
      expect(progressed).toEqual([1, 2, 11]);
    });
  });

  describe('unsubscription', () => {
    it('RunningCall does not abort the signal of a tool that has failed by itself', async () => {
      let signal: AbortSignal | undefined;
      const failing = (_: unknown, context: ToolContext) => ((signal = context.signal), throwing('no'));
      expect(await runOne(failing)).toEqual(['start', 'error no']);
      expect(signal?.aborted).toBe(false);
    });

    it('RunningCall aborts the signal, also if it is read later, of a tool whose progress is its last value and ends the call', () => {
      let context: ToolContext | undefined;
      const f = anyTool('f', (_, given) => ((context = given), progress('half')));
      turnOf(callOf('f'))
        .pipe(
          executeTools([f]),
          takeWhile(({ type }) => type !== 'toolProgress'),
        )
        .subscribe();
      expect(context?.signal.aborted).toBe(true);
    });

    it('RunningCall does not close an async iterator that has ended', async () => {
      const closed: unknown[] = [];
      const steps = [{ value: 'a' }, { done: true }];
      const iterator = { next: () => steps.shift(), return: () => closed.push('closed') };
      expect(await runOne(() => ({ [Symbol.asyncIterator]: () => iterator }))).toEqual(['start', 'result "a"']);
      expect(closed).toEqual([]);
    });

    it('RunningCall answers a cancelled call once, whatever its tool does afterwards', async () => {
      const cancel = new Subject<string>();
      const [steps, other] = [new BehaviorSubject('a'), new Subject<string>()];
      let reject: (error: Error) => void = () => undefined;
      const tools = [
        anyTool('stream', () => steps),
        anyTool('promise', () => new Promise((_, fail) => (reject = fail))),
        anyTool('other', () => other),
      ];
      const events: StreamEvent[] = [];
      turnOf(...tools.map(({ name }) => callOf(name)))
        .pipe(executeTools(tools, { cancel, concurrency: Infinity }))
        .subscribe((event) => {
          events.push(event);
          if (event.type === 'toolProgress' && steps.value === 'a') steps.next('b');
        });
      cancel.next('id-stream');
      cancel.next('id-promise');
      reject(new Error('late'));
      await Promise.resolve();
      other.complete();
      const cancelled = 'error The call was cancelled.';
      const started = ['start', 'start', 'start'];
      expect(summaryOf(events)).toEqual([...started, 'progress "a"', cancelled, cancelled, 'result null']);
    });

    it('RunningCall does not abort the signal of a tool that has ended', async () => {
      const signals: AbortSignal[] = [];
      const f = anyTool('f', (_, { signal }) => (signals.push(signal), Promise.resolve(1)));
      await runCalls([f], [callOf('f')], { deadline: 1000 });
      expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    });

    it('RunningCall runs the finally block of an async generator that it unsubscribes', async () => {
      let cleaned = false;
      const f = anyTool('f', async function* () {
        try {
          for (;;) yield await Promise.resolve(1);
        } finally {
          cleaned = true;
        }
      });
      const { subscription } = observe(turnOf(callOf('f')).pipe(executeTools([f])));
      await Promise.resolve();
      subscription.unsubscribe();
      for (let hops = 0; hops < 10; hops++) await Promise.resolve();
      expect(cleaned).toBe(true);
    });

    it('RunningCall does not ask an async iterator that it has left for another value', async () => {
      let asked = 0;
      const next = () => (++asked < 3 ? Promise.resolve({ value: 1 }) : new Promise(() => undefined));
      const f = anyTool('f', () => ({ [Symbol.asyncIterator]: () => ({ next }) }));
      const { subscription } = observe(turnOf(callOf('f')).pipe(executeTools([f])));
      subscription.unsubscribe();
      for (let hops = 0; hops < 10; hops++) await Promise.resolve();
      expect(asked).toBe(1);
    });

    it('RunningCall does not execute a tool when the handler of its toolStart unsubscribes', () => {
      const execute = jest.fn(() => 1);
      const source = turnOf(callOf('f')).pipe(executeTools([anyTool('f', execute)]));
      observe(source.pipe(takeWhile(({ type }) => type !== 'toolStart')));
      expect(execute).not.toHaveBeenCalled();
    });

    it('RunningCall ignores the rejection of a Promise whose tool caused the unsubscription', async () => {
      const leave = new Subject<void>();
      const f = anyTool('f', () => (leave.next(), Promise.reject(new Error('too late'))));
      const values: StreamEvent[] = [];
      new Observable<StreamEvent>((out) => {
        leave.subscribe(() => out.unsubscribe());
        turnOf(callOf('f'))
          .pipe(executeTools([f]))
          .subscribe(out);
      }).subscribe((event) => values.push(event));
      await Promise.resolve();
      expect(summaryOf(values)).toEqual(['start']);
    });
  });

  describe('the deadline', () => {
    it('RunningCall ends a tool that reports progress endlessly and ignores its signal, and emits its held progress', () =>
      virtual(({ flush }) => {
        let signal: AbortSignal | undefined;
        let left = false;
        const endless = anyTool('endless', (_, context) => {
          signal = context.signal;
          return interval(10).pipe(finalize(() => (left = true)));
        });
        const { values, completed } = observe(
          turnOf(callOf('endless'), callOf('good')).pipe(
            executeTools([endless, anyTool('good', () => 1)], { deadline: 25 }),
          ),
        );
        expect(completed).toBe(false);
        flush();
        expect(values.slice(1)).toMatchObject([
          { type: 'toolStart', name: 'endless' },
          { type: 'toolProgress', value: 0 },
          { type: 'toolProgress', value: 1 },
          { type: 'toolResult', error: 'The tool did not finish within 25 ms.', code: 'timeout' },
          { type: 'toolStart', name: 'good' },
          { type: 'toolResult', name: 'good', result: 1 },
          { type: 'message' },
          { type: 'finish' },
        ]);
        expect({ left, aborted: signal?.aborted }).toEqual({ left: true, aborted: true });
      }));

    it('RunningCall ends a Promise that never settles, and a schema that never returns', () =>
      virtual(({ flush }) => {
        const never = new Promise<never>(() => undefined);
        const hangs = anyTool('hangs', () => never);
        const stuck = tool({
          name: 'stuck',
          description: '',
          parameters: z.object({}).refine(() => never),
          execute: () => 1,
        });
        const { values } = observe(
          turnOf(callOf('hangs'), callOf('stuck')).pipe(executeTools([hangs, stuck], { deadline: 5 })),
        );
        flush();
        expect(values.filter(isToolResult).map(({ code }) => code)).toEqual(['timeout', 'timeout']);
        expect(values.at(-1)).toEqual(finishOf());
      }));

    it('RunningCall starts no timer without a deadline', () =>
      virtual(({ flush }) => {
        const { completed } = observe(turnOf(callOf('f')).pipe(executeTools([anyTool('f', () => NEVER)])));
        flush();
        expect([asyncScheduler.now(), completed]).toEqual([0, false]);
      }));

    it.each([2 ** 31, Infinity])('RunningCall does not end a tool early when the deadline is %s', (deadline) => {
      jest.useFakeTimers();
      try {
        const steps = new Subject<string>();
        const { values } = observe(turnOf(callOf('f')).pipe(executeTools([anyTool('f', () => steps)], { deadline })));
        jest.advanceTimersByTime(60_000);
        steps.next('a');
        steps.complete();
        expect(summaryOf(values)).toEqual(['start', 'result "a"']);
      } finally {
        jest.useRealTimers();
      }
    });
  });

  /** Runs with a handler of unhandled errors, under fake timers, since RxJS reports in a timer. */
  const withHandler = (handler: (error: unknown) => void, test: () => void) => {
    jest.useFakeTimers();
    config.onUnhandledError = handler;
    try {
      test();
    } finally {
      config.onUnhandledError = null;
      jest.useRealTimers();
    }
  };

  describe('a tool whose teardown throws', () => {
    const failingTeardown = (act: (out: Subscriber<number>) => void) => () =>
      new Observable<number>((out) => {
        out.next(1);
        asyncScheduler.schedule(() => act(out), 1);
        return () => {
          throw new Error('from the teardown');
        };
      });

    it.each([
      ['at its end', { deadline: 1000 }, (out: Subscriber<number>) => out.complete()],
      ['at the deadline', { deadline: 5 }, () => undefined],
    ])('RunningCall continues with the next call when it throws %s, and reports the error', (_, options, act) => {
      const unhandled: unknown[] = [];
      withHandler(
        (error) => unhandled.push(error),
        () => {
          const tools = [anyTool('torn', failingTeardown(act)), anyTool('good', () => 2)];
          const { values, error } = observe(turnOf(callOf('torn'), callOf('good')).pipe(executeTools(tools, options)));
          jest.advanceTimersByTime(100);
          expect(error).toBeUndefined();
          expect(values.filter(isToolResult)).toHaveLength(2);
          expect(values.at(-1)).toEqual(finishOf());
        },
      );
      expect(unhandled).toMatchObject([{ errors: [{ message: 'from the teardown' }] }]);
    });

    it('RunningCall is not disturbed by a config.onUnhandledError that throws', () => {
      const handler = () => {
        throw new Error('from the handler');
      };
      withHandler(handler, () => {
        const tools = [
          anyTool(
            'torn',
            failingTeardown((out) => out.complete()),
          ),
          anyTool('good', () => 2),
        ];
        const { values } = observe(turnOf(callOf('torn'), callOf('good')).pipe(executeTools(tools)));
        expect(() => jest.advanceTimersByTime(100)).toThrow('from the handler');
        expect(values.at(-1)).toEqual(finishOf());
      });
    });

    it('RunningCall reports the error of a tool that ends synchronously, and the error of a tool that is unsubscribed', () => {
      const unhandled: unknown[] = [];
      withHandler(
        (error) => unhandled.push(error),
        () => {
          const synchronous = () =>
            new Observable<number>((out) => {
              out.complete();
              return () => {
                throw new Error('from the teardown');
              };
            });
          observe(turnOf(callOf('torn')).pipe(executeTools([anyTool('torn', synchronous)])));
          const left = anyTool(
            'torn',
            failingTeardown(() => undefined),
          );
          observe(turnOf(callOf('torn')).pipe(executeTools([left]))).subscription.unsubscribe();
          jest.advanceTimersByTime(100);
        },
      );
      expect(unhandled).toHaveLength(2);
    });
  });

  it('RunningCall reports nothing when the return() of an async iterator that it leaves returns a plain object', () => {
    const returned = jest.fn(() => ({ done: true }));
    const iterator = { next: () => new Promise(() => undefined), return: returned };
    const unhandled: unknown[] = [];
    withHandler(
      (error) => unhandled.push(error),
      () => {
        const f = anyTool('f', () => ({ [Symbol.asyncIterator]: () => iterator }));
        observe(turnOf(callOf('f')).pipe(executeTools([f]))).subscription.unsubscribe();
        jest.advanceTimersByTime(100);
      },
    );
    expect(returned).toHaveBeenCalledTimes(1);
    expect(unhandled).toEqual([]);
  });

  it('RunningCall reports nothing when it leaves an async iterator without return()', () => {
    const unhandled: unknown[] = [];
    withHandler(
      (error) => unhandled.push(error),
      () => {
        const iterator = { next: () => new Promise(() => undefined) };
        const f = anyTool('f', () => ({ [Symbol.asyncIterator]: () => iterator }));
        observe(turnOf(callOf('f')).pipe(executeTools([f]))).subscription.unsubscribe();
        jest.advanceTimersByTime(100);
      },
    );
    expect(unhandled).toEqual([]);
  });

  it('RunningCall maps the values of a tool only once', () => {
    const toJSON = jest.fn(() => 1);
    observe(turnOf(callOf('f')).pipe(executeTools([anyTool('f', () => of(0).pipe(map(() => ({ toJSON }))))])));
    expect(toJSON).toHaveBeenCalledTimes(1);
  });
});
