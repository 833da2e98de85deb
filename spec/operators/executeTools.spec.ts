import { describe, expect, it, jest } from '@jest/globals';
import {
  EMPTY,
  NEVER,
  Observable,
  Subject,
  asyncScheduler,
  concat,
  config,
  finalize,
  from,
  interval,
  map,
  of,
  take,
  throwError,
} from 'rxjs';
import type { Subscriber } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import * as z from 'zod';
import type { Chunk } from '../../lib/core/chunk.js';
import type { MessageEvent, StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { modelMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool, ToolContext } from '../../lib/core/tool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import type { ExecuteToolsOptions } from '../../lib/operators/executeTools.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';

const plain = (name: string, execute: (args: JsonObject, context: ToolContext) => unknown) =>
  tool({ name, description: name, parameters: { type: 'object' }, execute });

const call = (name: string, args: JsonObject = {}, id = `id-${name}`): ToolCallEvent => ({
  type: 'toolCall',
  id,
  name,
  arguments: args,
});
const finish: Chunk = { type: 'finish', reason: 'toolCalls' };
const asking = (...calls: ToolCallEvent[]): MessageEvent => ({ type: 'message', message: modelMessage(calls) });
const turnOf = (...calls: ToolCallEvent[]) => of<(MessageEvent | Chunk)[]>(asking(...calls), finish);

/** Runs calls to their end, also asynchronous ones; what the tools answered, and the whole stream. */
async function answersOf(tools: readonly Tool[], calls: readonly ToolCallEvent[], options?: ExecuteToolsOptions) {
  const events: StreamEvent[] = [];
  await new Promise<void>((resolve, reject) =>
    turnOf(...calls)
      .pipe(executeTools(tools, options))
      .subscribe({ next: (event) => events.push(event), error: reject, complete: resolve }),
  );
  const answers = events
    .filter(({ type }) => type === 'toolResult')
    .map((event) => ('error' in event ? { error: event.error } : { result: (event as { result?: unknown }).result }));
  return { events, answers };
}

const virtual = (test: (scheduler: Parameters<Parameters<TestScheduler['run']>[0]>[0]) => void) =>
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test);

describe('executeTools', () => {
  it('runs the calls one after the other once the model is done', () =>
    diagram('executeTools', ({ source, load, save }) =>
      source.pipe(executeTools([plain('load', () => load), plain('save', () => save)])),
    ));
  it('runs them beside the model with eager', () =>
    diagram('executeTools.eager', ({ source, load }) =>
      source.pipe(executeTools([plain('load', () => load)], { eager: true })),
    ));

  describe.each([false, true])('with eager %s', (eager) => {
    it.each(operatorContract(executeTools([plain('f', () => 1)], { eager }), { source: [asking(call('f')), finish] }))(
      'executeTools $title',
      ({ run }) => run(),
    );

    it('runs each call once, also when it was announced by an event before the message', () => {
      const execute = jest.fn(() => 1);
      const f = call('f');
      const { values } = observe(
        of<StreamEvent[]>(f, asking(f), finish).pipe(executeTools([plain('f', execute)], { eager })),
      );
      expect(execute).toHaveBeenCalledTimes(1);
      expect(values.filter(({ type }) => type === 'toolResult')).toHaveLength(1);
      expect(values.map(({ type }) => type).slice(-2)).toEqual(['message', 'finish']);
    });

    it('unsubscribes the tool and aborts its signal when it is left, and emits nothing more', () => {
      const running = new Subject<number>();
      let signal: AbortSignal | undefined;
      const slow = plain('slow', (_, context) => {
        signal = context.signal;
        return running;
      });
      const { values, subscription } = observe(turnOf(call('slow')).pipe(executeTools([slow], { eager })));
      running.next(1);
      running.next(2);
      const before = values.length;
      expect(running.observed).toBe(true);
      subscription.unsubscribe();
      expect(running.observed).toBe(false);
      expect(signal?.aborted).toBe(true);
      running.next(3);
      expect(values).toHaveLength(before);
    });

    it('drops the pending calls on retract', () => {
      const seen: string[] = [];
      const tools = ['void', 'good'].map((name) => plain(name, () => (seen.push(name), 1)));
      const events: StreamEvent[] = [asking(call('void')), { type: 'retract' }, asking(call('good')), finish];
      const { values } = observe(from(events).pipe(executeTools(tools, { eager })));
      expect(seen.at(-1)).toBe('good');
      if (!eager) expect(seen).toEqual(['good']);
      expect(values.at(-2)).toMatchObject({ message: { parts: [{ name: 'good', result: 1 }] } });
    });

    it.each([
      ['a completion without finish', EMPTY, undefined],
      ['an error', throwError(() => new Error('reset')), new Error('reset')],
    ])('answers nothing on %s', (_, end, failure) => {
      const never = new Subject<number>();
      const seen = observe(
        concat(of(asking(call('slow'))), end).pipe(executeTools([plain('slow', () => never)], { eager })),
      );
      expect(seen.values).toEqual([asking(call('slow'))]);
      expect(seen.error).toEqual(failure);
      expect(never.observed).toBe(false);
    });

    it('passes an event of the tools with the results to one message, in the order of the calls', () =>
      virtual(({ cold, flush }) => {
        const tools = [plain('slow', () => cold('---(a|)')), plain('quick', () => cold('-(b|)'))];
        const { values } = observe(
          turnOf(call('slow'), call('quick')).pipe(executeTools(tools, { eager, concurrency: Infinity })),
        );
        flush();
        expect(
          values.filter(({ type }) => type === 'toolResult').map((event) => (event as { name: string }).name),
        ).toEqual(['quick', 'slow']);
        expect(values.at(-2)).toEqual({
          type: 'message',
          message: {
            role: 'user',
            parts: [
              { type: 'toolResult', id: 'id-slow', name: 'slow', result: 'a' },
              { type: 'toolResult', id: 'id-quick', name: 'quick', result: 'b' },
            ],
          },
        });
      }));
  });

  describe('what a tool gives', () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;

    it.each<[string, unknown, unknown]>([
      ['nothing', undefined, null],
      ['null', null, null],
      ['a string', 'text', 'text'],
      ['an empty string', '', ''],
      ['an array', [1, [2]], [1, [2]]],
      ['an object', { a: { b: 1 } }, { a: { b: 1 } }],
      ['a number, a Promise of it', Promise.resolve(5), 5],
      ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
      ['bytes', new Uint8Array([1, 2, 3]), 'AQID'],
      ['a Buffer', Buffer.from('hi'), 'aGk='],
      ['bytes within', { file: new Uint8Array([1]).buffer }, { file: 'AQ==' }],
      ['an Observable', of(1, 2, 3), 3],
      ['an empty Observable', EMPTY, null],
      ['a thenable', { then: (done: (value: number) => void) => done(7) }, 7],
    ])('%s is a value', async (_, given, result) => {
      expect((await answersOf([plain('f', () => given)], [call('f')])).answers).toEqual([{ result }]);
    });

    it.each<[string, () => unknown, string]>([
      [
        'a throw',
        () => {
          throw new Error('boom');
        },
        'boom',
      ],
      [
        'a thrown string',
        () => {
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- users' tools do
          throw 'boom';
        },
        'boom',
      ],
      [
        'a thrown object',
        () => {
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- users' tools do
          throw { code: 7 };
        },
        '{"code":7}',
      ],
      [
        'a thrown nothing',
        () => {
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- users' tools do
          throw undefined;
        },
        'undefined',
      ],
      ['a rejection', () => Promise.reject(new TypeError('rejected')), 'rejected'],
      ['an error notification', () => throwError(() => new Error('errored')), 'errored'],
      [
        'an error after progress',
        () =>
          concat(
            of(1, 2),
            throwError(() => new Error('late')),
          ),
        'late',
      ],
      ['a circular structure', () => circular, 'circular'],
      ['a bigint', () => 1n, 'BigInt'],
      ['a Map', () => ({ found: new Map([['a', 1]]) }), 'Object.fromEntries'],
      ['a Set', () => new Set([1]), '[...set]'],
      [
        'a very long error',
        () => {
          throw new Error('x'.repeat(1000));
        },
        'x'.repeat(1000),
      ],
    ])('%s is answered as an error, and the others of the turn are intact', async (_, execute, said) => {
      const { answers, events } = await answersOf(
        [plain('bad', execute), plain('good', () => 1)],
        [call('bad'), call('good')],
      );
      expect(answers).toEqual([{ error: expect.stringContaining(said) }, { result: 1 }]);
      expect(events.at(-1)).toBe(finish);
    });

    it('is copied: what the tool changes later does not reach the history', () => {
      const list = [1];
      const { values } = observe(turnOf(call('f')).pipe(executeTools([plain('f', () => list)])));
      list.push(2);
      expect(values.find(({ type }) => type === 'toolResult')).toMatchObject({ result: [1] });
    });

    it('may be an async generator: what it yields is progress, the last is the result', async () => {
      async function* steps() {
        yield 'a';
        yield 'b';
      }
      const { events } = await answersOf([plain('f', steps)], [call('f')]);
      expect(events.slice(1, 3)).toMatchObject([
        { type: 'toolProgress', value: 'a' },
        { type: 'toolResult', result: 'b' },
      ]);
    });

    it('may be an async generator that returns its result', async () => {
      async function* steps() {
        yield { percent: 50 };
        return await Promise.resolve({ total: 42 });
      }
      const { events } = await answersOf([plain('f', steps)], [call('f')]);
      expect(events.slice(1, 3)).toMatchObject([
        { type: 'toolProgress', value: { percent: 50 } },
        { type: 'toolResult', result: { total: 42 } },
      ]);
    });

    it('tells what an Error among the values says', async () => {
      const { answers } = await answersOf([plain('f', () => ({ failed: [new Error('no disk')] }))], [call('f')]);
      expect(answers).toEqual([{ result: { failed: ['no disk'] } }]);
    });

    it('as progress comes one value behind, since only the next shows that it was not the result', async () => {
      const { events } = await answersOf([plain('f', () => of('a', 'b', 'c'))], [call('f')]);
      expect(events.slice(1, 4)).toEqual([
        { type: 'toolProgress', id: 'id-f', name: 'f', value: 'a' },
        { type: 'toolProgress', id: 'id-f', name: 'f', value: 'b' },
        { type: 'toolResult', id: 'id-f', name: 'f', result: 'c' },
      ]);
    });
  });

  describe('what it answers itself', () => {
    it('names the tools there are when the model asks for another', async () => {
      const { answers } = await answersOf([plain('add', () => 1)], [call('sub')]);
      expect(answers).toEqual([{ error: 'There is no tool "sub". Available: add.' }]);
    });

    it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
      'takes %s for a name like any other',
      async (name) => {
        expect((await answersOf([plain('add', () => 1)], [call(name)])).answers).toEqual([
          { error: expect.stringContaining(`no tool "${name}"`) },
        ]);
        expect((await answersOf([plain(name, () => 1)], [call(name)])).answers).toEqual([{ result: 1 }]);
      },
    );

    it('does not run a call whose arguments were no JSON', async () => {
      const execute = jest.fn(() => 1);
      const { answers } = await answersOf([plain('f', execute)], [call('f', { _raw: '{"a', _error: 'invalid_json' })]);
      expect(answers).toEqual([{ error: expect.stringContaining('not valid JSON') }]);
      expect(execute).not.toHaveBeenCalled();
    });

    it('validates arguments by the schema, and hands on what it made of them', async () => {
      const seen: unknown[] = [];
      const typed = tool({
        name: 'f',
        description: '',
        parameters: z.object({ city: z.string(), days: z.number().default(3) }),
        execute: (args) => void seen.push(args),
      });
      const { answers } = await answersOf([typed], [call('f', { city: 5 }, 'a'), call('f', { city: 'Oslo' }, 'b')]);
      expect(answers).toEqual([{ error: expect.stringContaining('Invalid arguments: city:') }, { result: null }]);
      expect(seen).toEqual([{ city: 'Oslo', days: 3 }]);
    });

    it('waits for a schema that validates asynchronously', async () => {
      const schema = z.object({ n: z.number() }).refine(async ({ n }) => n > 0, 'n must be positive');
      const typed = tool({ name: 'f', description: '', parameters: schema, execute: ({ n }) => n });
      expect((await answersOf([typed], [call('f', { n: -1 }, 'a'), call('f', { n: 2 }, 'b')])).answers).toEqual([
        { error: expect.stringContaining('n must be positive') },
        { result: 2 },
      ]);
    });

    it('asks of a plain JSON Schema that its required keys are there, and calls its validate', async () => {
      const needs = tool({
        name: 'f',
        description: '',
        parameters: { type: 'object', required: ['a', 'toString'] },
        execute: () => 1,
      });
      expect((await answersOf([needs], [call('f', { a: 1 })])).answers).toEqual([
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
      expect((await answersOf([checked], [call('f', { n: 2 }, 'a'), call('f', { n: 1 }, 'b')])).answers).toEqual([
        { error: 'Invalid arguments: n must be 1' },
        { result: 1 },
      ]);
    });
  });

  describe('time and concurrency', () => {
    it('frees the loop at the deadline, although the tool reports progress for ever and ignores its signal', () =>
      virtual(({ flush }) => {
        let signal: AbortSignal | undefined;
        let left = false;
        const endless = plain('endless', (_, context) => {
          signal = context.signal;
          return interval(10).pipe(finalize(() => (left = true)));
        });
        const { values, completed } = observe(
          turnOf(call('endless'), call('good')).pipe(executeTools([endless, plain('good', () => 1)], { deadline: 25 })),
        );
        expect(completed).toBe(false);
        flush();
        expect(values.slice(1)).toMatchObject([
          { type: 'toolProgress', value: 0 },
          { type: 'toolResult', error: 'The tool did not finish within 25 ms.' },
          { type: 'toolResult', name: 'good', result: 1 },
          { type: 'message' },
          { type: 'finish' },
        ]);
        expect({ left, aborted: signal?.aborted }).toEqual({ left: true, aborted: true });
      }));

    it('frees the loop from a Promise that never settles', () =>
      virtual(({ flush }) => {
        const { values } = observe(
          turnOf(call('hangs')).pipe(
            executeTools([plain('hangs', () => new Promise(() => undefined))], { deadline: 5 }),
          ),
        );
        flush();
        expect(values.at(-1)).toBe(finish);
      }));

    it.each([2 ** 31, Infinity])('takes a deadline of %s for what it says', (deadline) =>
      virtual(({ cold, flush }) => {
        const { values } = observe(
          turnOf(call('f')).pipe(executeTools([plain('f', () => cold('---(a|)'))], { deadline })),
        );
        flush();
        expect(values.at(-2)).toMatchObject({ message: { parts: [{ result: 'a' }] } });
      }),
    );

    it.each([
      ['concurrency', 0],
      ['concurrency', NaN],
      ['concurrency', -1],
      ['deadline', NaN],
      ['deadline', -1],
    ])('says so when %s is %s', (name, value) => {
      const { error } = observe(turnOf(call('f')).pipe(executeTools([plain('f', () => 1)], { [name]: value })));
      expect(error).toMatchObject({
        code: 'configuration',
        subject: 'options',
        message: expect.stringContaining(name),
      });
    });

    it.each([
      ['at its end', { deadline: 1000 }, (out: Subscriber<number>) => out.complete()],
      ['at the deadline', { deadline: 5 }, () => undefined],
    ])('survives a tool whose teardown throws %s', (_, options, act) =>
      virtual(({ flush }) => {
        const torn = () =>
          new Observable<number>((out) => {
            out.next(1);
            asyncScheduler.schedule(() => act(out), 1);
            return () => {
              throw new Error('from the teardown');
            };
          });
        const { values, error } = observe(
          turnOf(call('torn'), call('good')).pipe(executeTools([plain('torn', torn), plain('good', () => 2)], options)),
        );
        flush();
        expect(error).toBeUndefined();
        expect(values.filter(({ type }) => type === 'toolResult')).toHaveLength(2);
        expect(values.at(-1)).toBe(finish);
      }),
    );

    it('tells an error of a teardown to config.onUnhandledError', () => {
      const unhandled: unknown[] = [];
      config.onUnhandledError = (error) => unhandled.push(error);
      const torn = () =>
        new Observable<number>(() => () => {
          throw new Error('from the teardown');
        });
      observe(turnOf(call('torn')).pipe(executeTools([plain('torn', torn)]))).subscription.unsubscribe();
      config.onUnhandledError = null;
      expect(unhandled).toHaveLength(1);
    });

    it('does not abort the signal of a tool that came to its end', async () => {
      const signals: AbortSignal[] = [];
      const f = plain('f', (_, { signal }) => (signals.push(signal), Promise.resolve(1)));
      await answersOf([f], [call('f')], { deadline: 1000 });
      expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    });

    it.each([
      [1, [3, 6, 9]],
      [2, [3, 3, 6]],
      [Infinity, [3, 3, 3]],
    ])('runs %s at a time', (concurrency, frames) =>
      virtual(({ cold, flush }) => {
        const seen: number[] = [];
        const tools = ['a', 'b', 'c'].map((name) => plain(name, () => cold('---(x|)')));
        turnOf(call('a'), call('b'), call('c'))
          .pipe(executeTools(tools, { concurrency }))
          .subscribe(({ type }) => type === 'toolResult' && seen.push(asyncScheduler.now()));
        flush();
        expect(seen).toEqual(frames);
      }),
    );

    it('closes the connection of the model before the first tool runs', () => {
      const order: string[] = [];
      const source = turnOf(call('f')).pipe(finalize(() => order.push('connection closed')));
      observe(source.pipe(executeTools([plain('f', () => (order.push('tool runs'), 1))])));
      expect(order).toEqual(['connection closed', 'tool runs']);

      order.length = 0;
      const later = new Subject<MessageEvent | Chunk>();
      observe(
        later.pipe(
          finalize(() => order.push('connection closed')),
          executeTools([plain('f', () => (order.push('tool runs'), 1))]),
        ),
      );
      later.next(asking(call('f')));
      later.next(finish);
      later.complete();
      expect(order).toEqual(['connection closed', 'tool runs']);
    });

    it('leaves an eager tool on retract', () => {
      const slow = new Subject<number>();
      const source = new Subject<StreamEvent>();
      const { values } = observe(source.pipe(executeTools([plain('slow', () => slow)], { eager: true })));
      source.next(call('slow'));
      expect(slow.observed).toBe(true);
      source.next({ type: 'retract' });
      expect(slow.observed).toBe(false);
      source.next(finish);
      source.complete();
      expect(values.map(({ type }) => type)).toEqual(['toolCall', 'retract', 'finish']);
    });
  });

  it('tells the tool its call and the conversation', async () => {
    const history: Message[] = [modelMessage('before')];
    const contexts: ToolContext[] = [];
    await answersOf([plain('f', (_, context) => void contexts.push(context))], [call('f', { a: 1 })], {
      messages: history,
    });
    expect(contexts[0]).toMatchObject({ call: call('f', { a: 1 }), messages: history });
  });

  it('rejects two tools of one name as a notification', () => {
    const { error } = observe(turnOf().pipe(executeTools([plain('f', () => 1), plain('f', () => 2)])));
    expect(error).toMatchObject({ code: 'configuration', subject: 'tools', message: expect.stringContaining('"f"') });
  });

  it('adds nothing to a turn without calls', () => {
    const says: MessageEvent = { type: 'message', message: modelMessage('Hi') };
    expect(
      observe(of<(MessageEvent | Chunk)[]>(says, finish).pipe(executeTools([plain('f', () => 1)]))).values,
    ).toEqual([says, finish]);
  });

  it('keeps the types: own events stay, results are typed by the name of their tool', () => {
    interface Mine extends StreamEvent {
      readonly type: 'mine';
      readonly n: number;
    }
    const count = tool({
      name: 'count',
      description: '',
      parameters: z.object({ n: z.number() }),
      execute: ({ n }) => of(n),
    });
    const shout = tool({
      name: 'shout',
      description: '',
      parameters: z.object({ s: z.string() }),
      execute: async ({ s }) => s.toUpperCase(),
    });
    const events = concat(of<Mine[]>({ type: 'mine', n: 1 }), turnOf(call('count', { n: 2 }))).pipe(
      executeTools([count, shout]),
      take(99),
    );
    const described = events.pipe(
      map((event) => {
        if (event.type === 'mine') return event.n.toFixed(1);
        if (event.type !== 'toolResult' || event.error !== undefined) return event.type;
        return event.name === 'count' ? event.result.toFixed(2) : event.result.toLowerCase();
      }),
    );
    expect(observe(described).values).toEqual(['1.0', 'message', '2.00', 'message', 'finish']);
  });

  it('is not confused by a source that goes on after its finish', () => {
    expect(observe(concat(turnOf(), NEVER).pipe(executeTools([]), take(1))).completed).toBe(true);
  });
});
