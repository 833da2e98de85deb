import { describe, expect, it, jest } from '@jest/globals';
import {
  BehaviorSubject,
  EMPTY,
  NEVER,
  Observable,
  Subject,
  asyncScheduler,
  concat,
  concatMap,
  finalize,
  from,
  map,
  of,
  take,
  throwError,
  timer,
} from 'rxjs';
import type { Chunk, FinishReason } from '../../lib/core/chunk.js';
import type { TurnMessageEvent, StreamEvent } from '../../lib/core/event.js';
import { isToolResult } from '../../lib/core/eventGuards.js';
import { modelMessage, toolErrorTexts } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { progress } from '../../lib/core/progress.js';
import { tool } from '../../lib/core/tool.js';
import type { ToolContext } from '../../lib/core/tool.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import type { ExecuteToolsOptions } from '../../lib/operators/executeTools.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { observe } from '../support/observe.js';
import {
  anyTool,
  apart,
  callOf,
  finishOf,
  messageOf,
  nextTask,
  runCalls,
  turnOf,
  virtual,
} from '../support/toolCalls.js';

const types = (events: readonly StreamEvent[]) => events.map(({ type }) => type);
const resultNames = (events: readonly StreamEvent[]) => events.filter(isToolResult).map(({ name }) => name);
const vetoes = ['length', 'contentFilter', 'error', 'stopped'] as const satisfies readonly FinishReason[];

describe('executeTools', () => {
  it('executeTools runs the calls one after the other once the model has finished', () =>
    diagram('executeTools', ({ source, load, save }: Streams<'source'> & Streams<'load' | 'save', unknown>) => {
      const steps = load.pipe(map((value) => (value === 'half' ? progress(value) : value)));
      return source.pipe(executeTools([anyTool('load', () => steps), anyTool('save', () => save)]));
    }));

  it('executeTools with eager runs the calls while the model streams', () =>
    diagram('executeTools.eager', ({ source, load }) =>
      source.pipe(executeTools([anyTool('load', () => load)], { eager: true })),
    ));

  describe.each([false, true])('with eager %s', (eager) => {
    it.each(
      operatorContract(executeTools([anyTool('f', () => 1)], { eager }), {
        source: [messageOf(callOf('f')), finishOf()],
      }),
    )('executeTools $title', ({ run }) => run());

    it('executeTools runs a call once, even if a toolCall event precedes the message', () => {
      const execute = jest.fn(() => 1);
      const f = callOf('f');
      const { values } = observe(
        of<StreamEvent[]>(f, messageOf(f), finishOf()).pipe(executeTools([anyTool('f', execute)], { eager })),
      );
      expect(execute).toHaveBeenCalledTimes(1);
      expect(resultNames(values)).toEqual(['f']);
      expect(types(values).slice(-2)).toEqual(['message', 'finish']);
    });

    it('executeTools unsubscribes the tool, aborts its signal and emits nothing more when it is unsubscribed', () => {
      const running = new Subject<number>();
      let signal: AbortSignal | undefined;
      const slow = anyTool('slow', (_, context) => {
        signal = context.signal;
        return running;
      });
      const { values, subscription } = observe(turnOf(callOf('slow')).pipe(executeTools([slow], { eager })));
      running.next(1);
      running.next(2);
      const countBefore = values.length;
      expect(running.observed).toBe(true);
      subscription.unsubscribe();
      expect(running.observed).toBe(false);
      expect(signal?.aborted).toBe(true);
      running.next(3);
      expect(values).toHaveLength(countBefore);
    });

    it.each<[string, (context: ToolContext) => AbortSignal | undefined]>([
      ['before', ({ signal }) => signal],
      ['after', () => undefined],
    ])(
      'executeTools aborts the signal of a tool that causes the unsubscription inside execute and reads it %s',
      (_, readBefore) => {
        const leave = new Subject<void>();
        let signal: AbortSignal | undefined;
        let subscribed = false;
        const leaver = anyTool('leaver', (_args, context) => {
          signal = readBefore(context);
          leave.next();
          signal ??= context.signal;
          return new Observable(() => void (subscribed = true));
        });
        const source = of<StreamEvent[]>(callOf('leaver'), messageOf(callOf('leaver')), finishOf());
        const values: StreamEvent[] = [];
        const run = new Observable<StreamEvent>((out) => {
          leave.subscribe(() => out.unsubscribe());
          source.pipe(executeTools([leaver], { eager })).subscribe(out);
        });
        run.subscribe((event) => values.push(event));
        expect(signal?.aborted).toBe(true);
        expect(subscribed).toBe(false);
        expect(types(values).at(-1)).toBe('toolStart');
      },
    );

    it('executeTools does not begin a generator whose tool causes the unsubscription inside execute', () => {
      const leave = new Subject<void>();
      const begun = jest.fn();
      const leaver = anyTool('leaver', () => {
        leave.next();
        return (function* () {
          begun();
          yield 1;
        })();
      });
      new Observable<StreamEvent>((out) => {
        leave.subscribe(() => out.unsubscribe());
        turnOf(callOf('leaver'))
          .pipe(executeTools([leaver], { eager }))
          .subscribe(out);
      }).subscribe();
      expect(leave.observed).toBe(true);
      expect(begun).not.toHaveBeenCalled();
    });

    it('executeTools aborts a signal that is first read after the unsubscription', () => {
      let context: ToolContext | undefined;
      const slow = anyTool('slow', (_, given) => {
        context = given;
        return NEVER;
      });
      observe(turnOf(callOf('slow')).pipe(executeTools([slow], { eager }))).subscription.unsubscribe();
      expect(context?.signal.aborted).toBe(true);
    });

    it('executeTools drops the pending calls on retract', () => {
      const executed: string[] = [];
      const tools = ['void', 'good'].map((name) => anyTool(name, () => (executed.push(name), 1)));
      const events: StreamEvent[] = [
        messageOf(callOf('void')),
        { type: 'retract' },
        messageOf(callOf('good')),
        finishOf(),
      ];
      const { values } = observe(from(events).pipe(executeTools(tools, { eager })));
      expect(executed).toEqual(['good']);
      expect(values.at(-2)).toMatchObject({ message: { parts: [{ name: 'good', result: 1 }] } });
    });

    it('executeTools starts again when retract follows the finish, and emits that finish first', () => {
      const good = callOf('good');
      const cut = { ...finishOf('length'), usage: { output: 7 } };
      const events: StreamEvent[] = [messageOf(callOf('void')), cut, { type: 'retract' }, messageOf(good), finishOf()];
      const { values } = observe(
        from(events).pipe(executeTools([anyTool('good', () => 1), anyTool('void', () => 2)], { eager })),
      );
      expect(values.slice(1, 3)).toEqual([cut, { type: 'retract' }]);
      expect(values.filter(isToolResult)).toMatchObject([{ name: 'good', result: 1 }]);
      expect(values.at(-1)).toEqual(finishOf());
    });

    it('executeTools runs no call of an attempt that a handler of its events retracts', () => {
      const execute = jest.fn(() => 1);
      const f = callOf('f');
      for (const retracted of ['toolCall', 'message']) {
        const source = new Subject<StreamEvent>();
        const events: string[] = [];
        source.pipe(executeTools([anyTool('f', execute)], { eager })).subscribe(({ type }) => {
          events.push(type);
          if (type === retracted) source.next({ type: 'retract' });
        });
        source.next(retracted === 'message' ? messageOf(f) : f);
        source.next(finishOf());
        source.complete();
        expect(events).toEqual([retracted, 'retract', 'finish']);
      }
      expect(execute).not.toHaveBeenCalled();
    });

    it('executeTools runs the calls of all messages of the model', () => {
      const events: StreamEvent[] = [
        messageOf(callOf('f')),
        { type: 'message', message: modelMessage('And more.') } as TurnMessageEvent,
        finishOf(),
      ];
      const { values } = observe(from(events).pipe(executeTools([anyTool('f', () => 1)], { eager })));
      expect(values.filter(isToolResult)).toMatchObject([{ name: 'f', result: 1 }]);
    });

    it('executeTools emits the first finish of several', () => {
      const { values } = observe(of(finishOf('stop'), finishOf('length')).pipe(executeTools([], { eager })));
      expect(values).toEqual([finishOf('stop')]);
    });

    it('executeTools runs no call when an empty response follows retract', () => {
      const execute = jest.fn(() => 1);
      const events: StreamEvent[] = [messageOf(callOf('void')), { type: 'retract' }, finishOf('stop')];
      const { values } = observe(from(events).pipe(executeTools([anyTool('void', execute)], { eager })));
      expect(execute).not.toHaveBeenCalled();
      expect(types(values)).toEqual(['message', 'retract', 'finish']);
    });

    it('executeTools runs the same id again after retract', () =>
      virtual(({ flush }) => {
        const execute = jest.fn(() => execute.mock.calls.length);
        const f = callOf('f');
        const attempt: StreamEvent[] = [f, messageOf(f)];
        const { values } = observe(
          apart(...attempt, { type: 'retract' }, ...attempt, finishOf()).pipe(
            executeTools([anyTool('f', execute)], { eager }),
          ),
        );
        flush();
        expect(execute).toHaveBeenCalledTimes(eager ? 2 : 1);
        expect(values.at(-2)).toMatchObject({ message: { parts: [{ id: 'id-f', result: eager ? 2 : 1 }] } });
      }));

    it.each([
      ['a completion without finish', EMPTY, undefined],
      ['an error', throwError(() => new Error('reset')), new Error('reset')],
    ])('executeTools emits no result on %s, and unsubscribes running tools', (_, end, failure) =>
      virtual(({ flush }) => {
        const never = new Subject<number>();
        const slow = callOf('slow');
        const observed = observe(
          concat(apart(slow, messageOf(slow)), end).pipe(executeTools([anyTool('slow', () => never)], { eager })),
        );
        flush();
        expect(observed.values).toEqual([
          slow,
          ...(eager ? [expect.objectContaining({ type: 'toolStart' })] : []),
          messageOf(slow),
        ]);
        expect(observed.error).toEqual(failure);
        expect(observed.completed).toBe(failure === undefined);
        expect(never.observed).toBe(false);
      }),
    );

    it.each(vetoes)('executeTools executes no call of a message that ends with %s', (reason) => {
      const execute = jest.fn(() => 1);
      const events: StreamEvent[] = [messageOf(callOf('f'), callOf('unknown')), finishOf(reason)];
      const { values } = observe(from(events).pipe(executeTools([anyTool('f', execute)], { eager })));
      const answer = { type: 'toolResult', error: 'The call was not executed.', code: 'not_executed' };
      const parts = [
        { ...answer, id: 'id-f', name: 'f' },
        { ...answer, id: 'id-unknown', name: 'unknown' },
      ];
      expect(execute).not.toHaveBeenCalled();
      expect(values.slice(1)).toEqual([
        ...parts,
        { type: 'message', message: { role: 'user', parts } },
        finishOf(reason),
      ]);
    });

    it.each(['stop', 'unspecified', 'other', 'toolCalls'] as const)(
      'executeTools executes the calls of a message that ends with %s',
      (reason) => {
        const events: StreamEvent[] = [messageOf(callOf('f')), finishOf(reason)];
        const { values } = observe(from(events).pipe(executeTools([anyTool('f', () => 1)], { eager })));
        expect(values.filter(isToolResult)).toMatchObject([{ result: 1 }]);
      },
    );

    it('executeTools emits one message with the results in the order of the calls', () =>
      virtual(({ cold, flush }) => {
        const tools = [anyTool('slow', () => cold('---(a|)')), anyTool('quick', () => cold('-(b|)'))];
        const { values } = observe(
          turnOf(callOf('slow'), callOf('quick')).pipe(executeTools(tools, { eager, concurrency: Infinity })),
        );
        flush();
        expect(resultNames(values)).toEqual(['quick', 'slow']);
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

  describe('eager', () => {
    const isCut = (reason: FinishReason) => (vetoes as readonly FinishReason[]).includes(reason);
    it.each(
      (['stop', 'toolCalls', ...vetoes] as const).flatMap((reason) => [true, false].map((done) => ({ reason, done }))),
    )(
      'executeTools with eager starts no call that has arrived with the end of a response that was cut: $reason, done $done',
      ({ reason, done }) =>
        virtual(({ flush }) => {
          const execute = jest.fn(() => 1);
          const fragments = ['c1', 'c2', 'c3'].map((id, index): Chunk => ({
            ...{ type: 'toolCallFragment', index, id, name: 'f', arguments: '{"x":1}' },
            ...(done && { done }),
          }));
          const { values } = observe(
            concat(
              apart(...fragments.slice(0, 1)),
              of<Chunk[]>(...fragments.slice(1), { type: 'finish', reason }),
            ).pipe(
              map((event) => ({ ...event })), // an operator of the user
              accumulateToolCalls(),
              consolidate(),
              executeTools([anyTool('f', execute)], { eager: true }),
            ),
          );
          flush();
          const executed = isCut(reason) ? 0 : 3;
          expect(execute).toHaveBeenCalledTimes(executed);
          expect(values.filter(isToolResult).map(({ code }) => code)).toEqual(
            Array.from({ length: 3 }, () => (isCut(reason) ? 'not_executed' : undefined)),
          );
        }),
    );

    it.each(vetoes)('executeTools with eager has run a call that ended before a response that ends with %s', (reason) =>
      virtual(({ flush }) => {
        const [one, two] = [callOf('f', {}, 'c1'), callOf('f', {}, 'c2')];
        const { values } = observe(
          concat(apart(one), timer(1).pipe(concatMap(() => [two, messageOf(one, two), finishOf(reason)]))).pipe(
            executeTools([anyTool('f', () => 1)], { eager: true }),
          ),
        );
        flush();
        expect(values.filter(isToolResult).map(({ id, code }) => [id, code])).toEqual([
          ['c1', undefined],
          ['c2', 'not_executed'],
        ]);
      }),
    );

    it.each(vetoes)(
      'executeTools with eager keeps results and cancels running calls when the model ends with %s',
      async (reason) => {
        const running = new Subject<string>();
        let signal: AbortSignal | undefined;
        const waiting = jest.fn(() => 1);
        const tools = [
          anyTool('quick', () => 'done'),
          anyTool('slow', (_, context) => {
            signal = context.signal;
            return running;
          }),
          anyTool('waiting', waiting),
        ];
        const source = new Subject<StreamEvent>();
        const { values } = observe(source.pipe(executeTools(tools, { eager: true })));
        const calls = ['quick', 'slow', 'waiting'].map((name) => callOf(name));
        calls.forEach((call) => source.next(call));
        await nextTask();
        running.next('half');
        source.next(messageOf(...calls, callOf('late')));
        source.next(finishOf(reason));
        source.complete();
        expect(signal?.aborted).toBe(true);
        expect(running.observed).toBe(false);
        expect(waiting).not.toHaveBeenCalled();
        expect(types(values).filter((type) => type === 'toolStart')).toHaveLength(2);
        expect(values.at(-6)).toMatchObject({ type: 'toolProgress', name: 'slow', value: 'half' });
        expect(values.at(-2)).toEqual({
          type: 'message',
          message: {
            role: 'user',
            parts: [
              { type: 'toolResult', id: 'id-quick', name: 'quick', result: 'done' },
              { type: 'toolResult', id: 'id-slow', name: 'slow', error: 'The call was cancelled.', code: 'cancelled' },
              ...['waiting', 'late'].map((name) => ({
                type: 'toolResult',
                id: `id-${name}`,
                name,
                error: 'The call was not executed.',
                code: 'not_executed',
              })),
            ],
          },
        });
        expect(values.at(-1)).toEqual(finishOf(reason));
      },
    );

    it('executeTools with eager unsubscribes a running tool on retract', async () => {
      const slow = new Subject<number>();
      const source = new Subject<StreamEvent>();
      const { values } = observe(source.pipe(executeTools([anyTool('slow', () => slow)], { eager: true })));
      source.next(callOf('slow'));
      await nextTask();
      expect(slow.observed).toBe(true);
      source.next({ type: 'retract' });
      expect(slow.observed).toBe(false);
      source.next(finishOf());
      source.complete();
      expect(types(values)).toEqual(['toolCall', 'toolStart', 'retract', 'finish']);
    });
  });

  it('executeTools with eager tears down a running tool before it completes without a finish', async () => {
    const order: string[] = [];
    const slow = NEVER.pipe(finalize(() => order.push('torn down')));
    const source = new BehaviorSubject(callOf('slow'));
    source
      .pipe(executeTools([anyTool('slow', () => slow)], { eager: true }))
      .subscribe({ complete: () => order.push('complete') });
    await nextTask();
    source.complete();
    expect(order).toEqual(['torn down', 'complete']);
  });

  it('executeTools with eager waits for a call that no message contains, and emits no message without results', async () => {
    const output = new Subject<string>();
    const source = new BehaviorSubject<StreamEvent>(callOf('slow'));
    const { values } = observe(
      source.pipe(executeTools([anyTool('slow', () => output)], { eager: true, checkpoints: true })),
    );
    await nextTask();
    expect(types(values)).toEqual(['toolCall', 'toolStart']);
    source.next(finishOf());
    source.complete();
    output.next('done');
    output.complete();
    expect(types(values)).toEqual(['toolCall', 'toolStart', 'toolResult', 'finish']);
  });

  it('executeTools with eager reports no open calls until the response has ended', async () => {
    const source = new Subject<StreamEvent>();
    const outputs = { a: new Subject<string>(), b: new Subject<string>() };
    const calls = [callOf('f', {}, 'a'), callOf('f', {}, 'b')];
    const f = anyTool('f', (_, { call }) => outputs[call.id as 'a']);
    const { values } = observe(
      source.pipe(executeTools([f], { eager: true, checkpoints: true, concurrency: Infinity })),
    );
    for (const call of calls) source.next(call);
    await nextTask();
    outputs.a.complete();
    source.next(messageOf(...calls));
    source.next(finishOf());
    outputs.b.complete();
    expect(types(values).slice(4)).toEqual(['toolResult', 'message', 'toolResult']);
    source.complete();
    expect(types(values).slice(7)).toEqual(['openCalls', 'message', 'finish']);
  });

  describe('many calls that wait for an asynchronous one', () => {
    const tools = (first: Observable<number>) => [anyTool('first', () => first), anyTool('f', () => of(1))];
    const calls = [callOf('first'), ...Array.from({ length: 2000 }, (_, index) => callOf('f', {}, `id-${index}`))];

    it('executeTools runs 2,000 synchronous calls after it without nesting', () => {
      const first = new Subject<number>();
      const { values } = observe(turnOf(...calls).pipe(executeTools(tools(first))));
      first.next(1);
      first.complete();
      expect(values.filter(isToolResult).filter(({ result }) => result === 1)).toHaveLength(2001);
      expect(values.at(-1)).toEqual(finishOf());
    });

    it('executeTools with eager emits not_executed for 2,000 calls after it when the model ends with length', async () => {
      const source = new Subject<StreamEvent>();
      const { values } = observe(source.pipe(executeTools(tools(NEVER), { eager: true })));
      for (const call of calls) source.next(call);
      await nextTask();
      for (const event of [messageOf(...calls), finishOf('length')]) source.next(event);
      source.complete();
      const codes = values.filter(isToolResult).map(({ code }) => code);
      expect(codes).toEqual(['cancelled', ...Array.from({ length: 2000 }, () => 'not_executed')]);
    });

    it('executeTools tears down a synchronous tool before the next tool starts', () => {
      const first = new Subject<number>();
      const order: string[] = [];
      const stream = (name: string) => of(1).pipe(finalize(() => order.push(`${name} ends`)));
      const named = (name: string) => anyTool(name, () => (order.push(name), stream(name)));
      observe(
        turnOf(callOf('first'), callOf('a'), callOf('b')).pipe(
          executeTools([anyTool('first', () => first), named('a'), named('b')]),
        ),
      );
      first.complete();
      expect(order).toEqual(['a', 'a ends', 'b', 'b ends']);
    });
  });

  describe('concurrency and order', () => {
    it.each([
      ['concurrency', 0],
      ['concurrency', NaN],
      ['concurrency', -1],
      ['deadline', NaN],
      ['deadline', -1],
    ])('executeTools reports a ConfigurationError when %s is %s', (name, value) => {
      const { error } = observe(turnOf(callOf('f')).pipe(executeTools([anyTool('f', () => 1)], { [name]: value })));
      expect(error).toMatchObject({
        code: 'configuration',
        subject: 'options',
        message: expect.stringContaining(name),
      });
    });

    it.each([
      [1, [3, 6, 9]],
      [2, [3, 3, 6]],
      [Infinity, [3, 3, 3]],
    ])('executeTools runs %s calls at a time', (concurrency, frames) =>
      virtual(({ cold, flush }) => {
        const resultFrames: number[] = [];
        const tools = ['a', 'b', 'c'].map((name) => anyTool(name, () => cold('---(x|)')));
        turnOf(callOf('a'), callOf('b'), callOf('c'))
          .pipe(executeTools(tools, { concurrency }))
          .subscribe((event) => isToolResult(event) && resultFrames.push(asyncScheduler.now()));
        flush();
        expect(resultFrames).toEqual(frames);
      }),
    );

    it('executeTools closes the connection of the model before the first tool runs', () => {
      const order: string[] = [];
      const tools = [anyTool('f', () => (order.push('tool runs'), 1))];
      const synchronous = turnOf(callOf('f')).pipe(finalize(() => order.push('connection closed')));
      observe(synchronous.pipe(executeTools(tools)));
      expect(order).toEqual(['connection closed', 'tool runs']);

      order.length = 0;
      const later = new Subject<TurnMessageEvent | Chunk>();
      observe(
        later.pipe(
          finalize(() => order.push('connection closed')),
          executeTools(tools),
        ),
      );
      later.next(messageOf(callOf('f')));
      later.next(finishOf());
      later.complete();
      expect(order).toEqual(['connection closed', 'tool runs']);
    });
  });

  it('executeTools passes the call and the conversation to the tool', async () => {
    const history: Message[] = [modelMessage('before')];
    const contexts: ToolContext[] = [];
    await runCalls([anyTool('f', (_, context) => void contexts.push(context))], [callOf('f', { a: 1 })], {
      messages: history,
    });
    expect(contexts[0]).toMatchObject({ call: callOf('f', { a: 1 }), messages: history });
  });

  it('executeTools gives each call an idempotency key, which differs between two runs with the same ids', () => {
    const keys: string[] = [];
    const f = anyTool('f', (_, { idempotencyKey }) => keys.push(idempotencyKey));
    const run = turnOf(callOf('f', {}, 'a')).pipe(executeTools([f]));
    for (const each of [run, run]) observe(each);
    expect(keys).toEqual([expect.stringMatching(/.\.a\.\w{16}$/), expect.stringMatching(/.\.a\.\w{16}$/)]);
    expect(new Set(keys).size).toBe(2);
    observe(turnOf(callOf('f', {}, 'a')).pipe(executeTools([f], { idempotencyPrefix: 'run-1.' })));
    expect(keys.at(-1)).toMatch(/^run-1\.a\.\w{16}$/);
  });

  it('executeTools rejects two tools with the same name with an error notification', () => {
    const { error } = observe(turnOf().pipe(executeTools([anyTool('f', () => 1), anyTool('f', () => 2)])));
    expect(error).toMatchObject({ code: 'configuration', subject: 'tools', message: expect.stringContaining('"f"') });
  });

  it('executeTools adds nothing to a turn without calls', () => {
    const answer: TurnMessageEvent = { type: 'message', message: modelMessage('Hi') };
    expect(
      observe(of<(TurnMessageEvent | Chunk)[]>(answer, finishOf()).pipe(executeTools([anyTool('f', () => 1)]))).values,
    ).toEqual([answer, finishOf()]);
  });

  it('executeTools keeps the types of other events, and types results by the name of their tool', () => {
    interface Mine extends StreamEvent {
      readonly type: 'mine';
      readonly n: number;
    }
    const description = '';
    const count = tool({ name: 'count', description, execute: () => of(2) });
    const shout = tool({ name: 'shout', description, execute: async () => 'OH' });
    const described = concat(of<Mine[]>({ type: 'mine', n: 1 }), turnOf(callOf('count'))).pipe(
      executeTools([count, shout]),
      take(99),
      map((event) => {
        if (event.type === 'mine') return event.n.toFixed(1);
        if (event.type !== 'toolResult' || event.error !== undefined) return event.type;
        return event.name === 'count' ? event.result.toFixed(2) : event.result.toLowerCase();
      }),
    );
    expect(observe(described).values).toEqual(['1.0', 'message', 'toolStart', '2.00', 'message', 'finish']);
  });

  it('executeTools does not fail for a source that continues after its finish', () => {
    expect(observe(concat(turnOf(), NEVER).pipe(executeTools([]), take(1))).completed).toBe(true);
  });
});

describe('the option stop of executeTools', () => {
  const never = anyTool('never', () => NEVER);
  const progressing = anyTool('progressing', () => concat(of('half'), NEVER));

  it('cancels the running calls, does not start the others, and changes the finish reason', () => {
    const stop = new Subject<void>();
    const calls = [callOf('never', {}, 'a'), callOf('never', {}, 'b')];
    const log = observe(turnOf(...calls).pipe(executeTools([never], { stop })));
    expect(log.values.map(({ type }) => type)).toEqual(['message', 'toolStart']);
    stop.next();
    expect(log.values.slice(2)).toMatchObject([
      { type: 'toolResult', id: 'a', code: 'cancelled' },
      { type: 'toolResult', id: 'b', code: 'not_executed' },
      { type: 'message', message: { parts: [{ id: 'a' }, { id: 'b' }] } },
      { type: 'finish', reason: 'stopped' },
    ]);
    expect([log.completed, stop.observed]).toEqual([true, false]);
  });

  it('emits the progress that a cancelled tool held', () => {
    const stop = new Subject<void>();
    const log = observe(turnOf(callOf('progressing')).pipe(executeTools([progressing], { stop })));
    stop.next();
    expect(log.values.slice(2, 4)).toMatchObject([{ type: 'toolProgress', value: 'half' }, { code: 'cancelled' }]);
  });

  it('keeps the usage of the finish, without its raw reason', () => {
    const finish = { type: 'finish', reason: 'toolCalls', rawReason: 'tool_use', usage: { input: 1 } } as const;
    const source = of<StreamEvent[]>(messageOf(callOf('never')), finish);
    const { values } = observe(source.pipe(executeTools([never], { stop: of(1) })));
    expect(values.at(-1)).toEqual({ type: 'finish', reason: 'stopped', usage: { input: 1 } });
  });

  it('keeps another finish reason that ends the run', () => {
    const source = of<StreamEvent[]>(messageOf(callOf('never')), finishOf('length'));
    const { values } = observe(source.pipe(executeTools([never], { stop: of(1) })));
    expect(values.at(-1)).toEqual(finishOf('length'));
  });

  it('starts no eager call after the stop, also after a retract', async () => {
    const stop = new Subject<void>();
    const source = new Subject<StreamEvent>();
    const log = observe(source.pipe(executeTools([never], { stop, eager: true })));
    source.next(callOf('never', {}, 'a'));
    await nextTask();
    stop.next();
    source.next({ type: 'retract' });
    source.next(callOf('never', {}, 'b'));
    await nextTask();
    expect(log.values.filter(({ type }) => type === 'toolStart')).toHaveLength(1);
  });

  it('does not change a turn without calls', () => {
    const { values } = observe(of(finishOf('stop')).pipe(executeTools([never], { stop: of(1) })));
    expect(values).toEqual([finishOf('stop')]);
    const cancelled = of(finishOf('stop')).pipe(executeTools([never], { stop: of(1), cancel: of('x') }));
    expect(observe(cancelled).values).toEqual([finishOf('stop')]);
  });
});

describe('the option cancel of executeTools', () => {
  const calls = ['a', 'b', 'c'].map((id) => callOf('slow', {}, id));
  const codes = (values: readonly StreamEvent[]) =>
    values.filter(isToolResult).map(({ id, code, result }) => [id, code ?? result]);

  /** Runs three slow calls, with the ids to cancel in the hands of the spec. */
  function started(options: ExecuteToolsOptions = {}) {
    const cancel = new Subject<string>();
    const answers = new Subject<string>();
    const aborted: string[] = [];
    const slow = anyTool('slow', (_, { call, signal }) => {
      signal.addEventListener('abort', () => aborted.push(call.id));
      return answers.pipe(take(1));
    });
    const log = observe(turnOf(...calls).pipe(executeTools([slow], { cancel, ...options })));
    return { cancel, answers, aborted, log };
  }

  it('aborts the running call, answers it as cancelled, and starts the next one', () => {
    const { cancel, answers, aborted, log } = started();
    cancel.next('a');
    expect(aborted).toEqual(['a']);
    expect(log.values.slice(1)).toMatchObject([
      { type: 'toolStart', id: 'a' },
      { type: 'toolResult', id: 'a', code: 'cancelled', error: toolErrorTexts.cancelled },
      { type: 'toolStart', id: 'b' },
    ]);
    answers.next('done');
    answers.next('done');
    expect(codes(log.values)).toEqual([
      ['a', 'cancelled'],
      ['b', 'done'],
      ['c', 'done'],
    ]);
    expect(log.values.slice(-2)).toMatchObject([
      { type: 'message', message: { parts: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] } },
      { type: 'finish', reason: 'toolCalls' },
    ]);
    expect([log.completed, cancel.observed, aborted]).toEqual([true, false, ['a']]);
  });

  it('answers a call that waits for its turn, without starting it', () => {
    const { cancel, answers, log } = started();
    cancel.next('b');
    expect(codes(log.values)).toEqual([['b', 'cancelled']]);
    answers.next('one');
    answers.next('two');
    expect(codes(log.values)).toEqual([
      ['b', 'cancelled'],
      ['a', 'one'],
      ['c', 'two'],
    ]);
    expect(log.values.filter(({ type }) => type === 'toolStart')).toHaveLength(2);
    expect(log.completed).toBe(true);
  });

  it('ignores the ids of calls that do not exist, and of calls that have ended', () => {
    const { cancel, answers, log } = started({ concurrency: Infinity });
    cancel.next('a');
    for (const id of ['a', 'x', 'a/b', '']) cancel.next(id);
    answers.next('done');
    expect(codes(log.values)).toEqual([
      ['a', 'cancelled'],
      ['b', 'done'],
      ['c', 'done'],
    ]);
  });

  it('does not begin a call that is cancelled before the end of the response', () => {
    const cancel = new Subject<string>();
    const source = new Subject<StreamEvent>();
    const tools = [anyTool('slow', () => 'done')];
    const log = observe(source.pipe(executeTools(tools, { cancel })));
    cancel.next('b');
    for (const event of [messageOf(...calls), finishOf()]) source.next(event);
    source.complete();
    expect(codes(log.values)).toEqual([
      ['a', 'done'],
      ['b', 'cancelled'],
      ['c', 'done'],
    ]);
  });

  it('takes effect at its frame, and unsubscribes the tool then', () =>
    virtual(({ cold, expectObservable, expectSubscriptions }) => {
      const output = cold('---------(v|)');
      const slow = anyTool('slow', () => output);
      const events = turnOf(callOf('slow', {}, 'a')).pipe(executeTools([slow], { cancel: cold('----a') }));
      expectObservable(events.pipe(map(({ type }) => type))).toBe('(ms)(rmf|)', {
        m: 'message',
        s: 'toolStart',
        r: 'toolResult',
        f: 'finish',
      });
      expectSubscriptions(output.subscriptions).toBe('^---!');
    }));

  it('fails the output if it fails, as stop does', () => {
    const { cancel, aborted, log } = started();
    cancel.error(new Error('lost'));
    expect(log.error).toEqual(new Error('lost'));
    expect(aborted).toEqual(['a']);
  });

  it('leaves the calls alone if it completes', () => {
    const { cancel, log } = started();
    cancel.complete();
    expect(log.values.map(({ type }) => type)).toEqual(['message', 'toolStart']);
  });
});

describe('the option context of executeTools', () => {
  const whoami = tool({
    name: 'whoami',
    description: '',
    execute: (_, { context }: { readonly context: { readonly userId: string } }) => context.userId,
  });

  it('reaches the tools, with the type that they declare', () => {
    const context = { userId: 'u1' };
    const { values } = observe(turnOf(callOf('whoami')).pipe(executeTools([whoami], { context })));
    expect(values.find(isToolResult)).toMatchObject({ result: 'u1' });
    // @ts-expect-error -- a user's id is a text
    const wrong = () => executeTools([whoami], { context: { userId: 1 } });
    expect(wrong).toBeDefined();
  });
});
