import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  BehaviorSubject,
  EMPTY,
  NEVER,
  Observable,
  Subject,
  asyncScheduler,
  config,
  finalize,
  from,
  map,
  of,
  take,
  throwError,
  timer,
} from 'rxjs';
import * as z from 'zod';
import type { Approve, Decision } from '../../lib/core/approval.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { isOpenCalls, isToolResult, isToolWaiting } from '../../lib/core/eventGuards.js';
import { tool } from '../../lib/core/tool.js';
import type { NeedsApproval, Tool } from '../../lib/core/tool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import type { ExecuteToolsOptions } from '../../lib/operators/executeTools.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool, callOf, finishOf, messageOf, nextTask, turnOf, virtual } from '../support/toolCalls.js';

const schema = z.object({ amount: z.number().max(100) });
const payTool = (execute: (args: { amount: number }) => unknown, needsApproval: NeedsApproval = true): Tool =>
  tool({ name: 'pay', description: 'Pays.', parameters: schema, needsApproval, execute });
const payCall = callOf('pay', { amount: 5 });
const waitingEvent = { type: 'toolWaiting', id: 'id-pay', name: 'pay', arguments: { amount: 5 } };
const names = (events: readonly StreamEvent[]) =>
  events.map((event) => ('name' in event ? `${event.type} ${String(event.name)}` : event.type));
const resultOf = (events: readonly StreamEvent[], id = 'id-pay') =>
  events.filter(isToolResult).find((r) => r.id === id);
const decide =
  (decision: Decision): Approve =>
  () =>
    of(decision);

const runPay = (options: ExecuteToolsOptions, needsApproval?: NeedsApproval, call = payCall) => {
  const execute = jest.fn((args: { amount: number }): unknown => args.amount);
  const { values, error, subscription } = observe(
    turnOf(call).pipe(executeTools([payTool(execute, needsApproval)], options)),
  );
  return { values: values as readonly StreamEvent[], error, subscription, execute };
};

describe('executeTools with an approval', () => {
  it('executeTools waits for the decision, as in its diagram', () =>
    diagram('executeTools.approve', ({ source, approve }: Streams<'source'> & Streams<'approve', Decision>) => {
      const pay = tool({ name: 'pay', description: '', needsApproval: true, execute: () => 'paid' });
      return source.pipe(executeTools([pay], { approve: () => approve }));
    }));

  it('executeTools announces the call, asks, and then executes it', () => {
    const approve = jest.fn(decide({ approve: true }));
    const messages = [{ role: 'user', parts: [] }] as const;
    const { values, execute } = runPay({ approve, messages });
    expect(names(values)).toEqual([
      'message',
      'toolWaiting pay',
      'toolStart pay',
      'toolResult pay',
      'message',
      'finish',
    ]);
    expect(values[1]).toEqual(waitingEvent);
    expect(approve.mock.calls).toEqual([[{ id: 'id-pay', name: 'pay', arguments: { amount: 5 }, messages }]]);
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('executeTools counts a call as running whose approval ends after the call has begun', () => {
    const [first, decision, paid] = [new Subject<string>(), new Subject<Decision>(), new Subject<string>()];
    const slow = tool({ name: 'slow', description: '', execute: () => first });
    const approve = () => decision.pipe(finalize(() => first.complete())); // `slow` ends: `pay` begins
    const { values, completed } = observe(
      turnOf(callOf('slow'), payCall).pipe(executeTools([slow, payTool(() => paid)], { approve })),
    );
    decision.next({ approve: true });
    expect(values.at(-1)).toMatchObject({ type: 'toolStart', name: 'pay' });
    expect(completed).toBe(false);
    paid.next('paid');
    paid.complete();
    expect(resultOf(values as readonly StreamEvent[])).toMatchObject({ result: 'paid' });
    expect(names(values as readonly StreamEvent[]).slice(-2)).toEqual(['message', 'finish']);
  });

  describe('whose teardown throws', () => {
    afterEach(() => {
      config.onUnhandledError = null;
    });
    const failing = () => {
      throw new Error('from the teardown of approve');
    };
    const decided: Decision = { approve: true };
    const synchronous = new Observable<Decision>((out) => {
      out.next(decided);
      return failing;
    });
    const later = (source: Subject<Decision>) =>
      new Observable<Decision>((out) => (out.add(source.subscribe(out)), failing));

    it.each<[string, () => { approve: Observable<Decision>; decide: () => void }]>([
      ['synchronous', () => ({ approve: synchronous, decide: () => undefined })],
      [
        'asynchronous',
        () => {
          const source = new Subject<Decision>();
          return { approve: later(source), decide: () => source.next(decided) };
        },
      ],
    ])('executeTools executes the call after a %s approval, and RxJS reports the error', async (_, start) => {
      const reported = new Promise((resolve) => (config.onUnhandledError = resolve));
      const { approve, decide: emitDecision } = start();
      const { values, error, execute } = runPay({ approve: () => approve });
      emitDecision();
      expect(execute).toHaveBeenCalledTimes(1);
      expect(error).toBeUndefined();
      expect(names(values)).toEqual([
        'message',
        'toolWaiting pay',
        'toolStart pay',
        'toolResult pay',
        'message',
        'finish',
      ]);
      expect(resultOf(values)).toMatchObject({ result: 5 });
      expect(String(await reported)).toContain('from the teardown of approve');
    });

    it('executeTools ends the turn when it is stopped', async () => {
      const reported = new Promise((resolve) => (config.onUnhandledError = resolve));
      const stop = new Subject<void>();
      const { values } = runPay({ approve: () => later(new Subject()), stop });
      stop.next();
      expect(resultOf(values)).toMatchObject({ code: 'cancelled' });
      expect(names(values).slice(-2)).toEqual(['message', 'finish']);
      expect(String(await reported)).toContain('from the teardown of approve');
    });
  });

  it.each<[string, Decision | undefined, string]>([
    ['a denial', { approve: false }, 'The user denied the call.'],
    ['a denial with a reason', { approve: false, reason: 'Too much.' }, 'The user denied the call. Reason: Too much.'],
    ['an empty Observable', undefined, 'The user denied the call.'],
  ])('executeTools answers a call as denied after %s', (_, decision, error) => {
    const { values, execute } = runPay({ approve: () => (decision ? of(decision) : EMPTY) });
    const { reason } = { reason: undefined, ...decision };
    expect(resultOf(values)).toEqual({ type: 'toolResult', id: 'id-pay', name: 'pay', error, code: 'denied', reason });
    expect(names(values)).toEqual(['message', 'toolWaiting pay', 'toolResult pay', 'message', 'finish']);
    expect(execute).not.toHaveBeenCalled();
  });

  it.each<[string, unknown]>([
    ['true', true],
    ['a string', 'yes'],
    ['an object without approve', {}],
    ['a truthy approve', { approve: 1 }],
    ['arguments that are not an object', { approve: true, arguments: 7 }],
    ['a reason that is not a text', { approve: false, reason: 7 }],
    ['null', null],
  ])('executeTools does not execute a call if the decision is %s', (_, decision) => {
    const { values, execute } = runPay({ approve: () => of(decision as Decision) });
    const error = 'The call was not approved, because the approval failed: approve() must return { approve: true } or ';
    expect(resultOf(values)).toMatchObject({ code: 'failed', error: expect.stringContaining(error) });
    expect(execute).not.toHaveBeenCalled();
  });

  it.each<[string, Approve]>([
    [
      'throws',
      () => {
        throw new Error('offline');
      },
    ],
    ['fails', () => throwError(() => new Error('offline'))],
    ['returns no Observable', () => undefined as never],
  ])('executeTools does not execute a call if approve %s', (_, approve) => {
    const { values, execute, error } = runPay({ approve });
    expect(error).toBeUndefined();
    expect(resultOf(values)).toMatchObject({ code: 'failed', error: expect.stringContaining('the approval failed') });
    expect(execute).not.toHaveBeenCalled();
  });

  it('executeTools executes a call with edited arguments, and keeps those of the model in the message', () => {
    const { values, execute } = runPay({ approve: decide({ approve: true, arguments: { amount: 3 } }) });
    expect(execute.mock.calls[0]?.[0]).toEqual({ amount: 3 });
    expect(values[0]).toEqual(messageOf(payCall));
    expect(values[2]).toEqual({ type: 'toolStart', id: 'id-pay', name: 'pay', arguments: { amount: 3 } });
  });

  it('executeTools validates edited arguments', () => {
    const { values, execute } = runPay({ approve: decide({ approve: true, arguments: { amount: 300 } }) });
    expect(resultOf(values)).toMatchObject({ code: 'invalid_arguments' });
    expect(execute).not.toHaveBeenCalled();
  });

  it('executeTools validates the arguments before it asks', () => {
    const approve = jest.fn(decide({ approve: true }));
    const { values } = runPay({ approve }, true, callOf('pay', { amount: 300 }));
    expect(approve).not.toHaveBeenCalled();
    expect(values.some(isToolWaiting)).toBe(false);
    expect(resultOf(values)).toMatchObject({ code: 'invalid_arguments' });
  });

  it('executeTools answers an unknown tool without asking', () => {
    const approve = jest.fn(decide({ approve: true }));
    const { values } = runPay({ approve }, true, callOf('other'));
    expect(approve).not.toHaveBeenCalled();
    expect(resultOf(values, 'id-other')).toMatchObject({ code: 'unknown_tool' });
  });

  it.each<[string, NeedsApproval, boolean]>([
    ['false', false, false],
    ['true', true, true],
    ['a function that returns false', () => false, false],
    ['a function of the arguments', (args) => (args as { amount: number }).amount > 3, true],
    ['an Observable of false', () => of(false), false],
    ['an Observable of true', () => of(true), true],
    ['an empty Observable', () => EMPTY, true],
  ])('executeTools with needsApproval %s asks: %#', (_, needsApproval, asks) => {
    const approve = jest.fn(decide({ approve: true }));
    const { values, execute } = runPay({ approve }, needsApproval);
    expect(approve).toHaveBeenCalledTimes(asks ? 1 : 0);
    expect(values.some(isToolWaiting)).toBe(asks);
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('executeTools announces the details that needsApproval returns, and passes them to approve', () => {
    const approve = jest.fn(decide({ approve: true }));
    const { values, execute } = runPay({ approve }, () => of({ total: 5 }));
    const details = { total: 5 };
    expect(values.find(isToolWaiting)).toEqual({ ...waitingEvent, details });
    expect(approve.mock.calls).toMatchObject([[{ id: 'id-pay', details }]]);
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('executeTools passes the validated arguments and the call to needsApproval, and accepts a Promise', async () => {
    const needsApproval = jest.fn<(args: unknown, context: unknown) => Promise<boolean>>(() => Promise.resolve(true));
    const shout = tool({
      name: 'pay',
      description: '',
      parameters: schema.transform(({ amount }) => ({ cents: amount * 100 })),
      needsApproval,
      execute: () => 1,
    });
    const events = await new Promise<StreamEvent[]>((resolve) => {
      const seen: StreamEvent[] = [];
      turnOf(payCall)
        .pipe(executeTools([shout], { approve: decide({ approve: true }) }))
        .subscribe({ next: (event) => seen.push(event), complete: () => resolve(seen) });
    });
    expect(needsApproval.mock.calls).toEqual([[{ cents: 500 }, { call: payCall, messages: [] }]]);
    expect(names(events)).toContain('toolWaiting pay');
  });

  it('executeTools does not execute a call whose needsApproval throws', () => {
    const { values, execute } = runPay({}, () => {
      throw new Error('no database');
    });
    expect(resultOf(values)).toMatchObject({ code: 'failed', error: 'no database' });
    expect(execute).not.toHaveBeenCalled();
  });

  it('executeTools takes only the first decision, and unsubscribes then', () => {
    const decisions = new Subject<Decision>();
    const { values, execute } = runPay({ approve: () => decisions });
    expect(decisions.observed).toBe(true);
    decisions.next({ approve: false });
    expect(decisions.observed).toBe(false);
    decisions.next({ approve: true });
    expect(execute).not.toHaveBeenCalled();
    expect(names(values).at(-1)).toBe('finish');
  });

  it('executeTools runs other calls while it waits; concurrency and deadline apply from the decision on', () => {
    const log: string[] = [];
    virtual(({ flush }) => {
      const timed = (name: string, needsApproval: boolean) =>
        tool({ name, description: '', needsApproval, execute: () => timer(10) });
      const tools = [timed('a', true), timed('b', false), timed('c', true), timed('d', false)];
      const approve: Approve = ({ name }) => timer(name === 'a' ? 500 : 15).pipe(map(() => ({ approve: true })));
      turnOf(...['a', 'b', 'c', 'd'].map((name) => callOf(name)))
        .pipe(executeTools(tools, { approve, deadline: 12 }))
        .subscribe((event) => log.push(`${asyncScheduler.now()} ${names([event])[0]}`));
      flush();
    });
    expect(log).toEqual([
      '0 message',
      '0 toolWaiting a',
      '0 toolStart b',
      '0 toolWaiting c',
      '10 toolResult b',
      '10 toolStart d',
      '20 toolResult d',
      '20 toolStart c', // approved at 15, while d was running
      '30 toolResult c',
      '500 toolStart a',
      '510 toolResult a',
      '510 message',
      '510 finish',
    ]);
  });

  it('executeTools asks for all calls at once, and executes them in the order of the decisions', () => {
    const decisions = { a: new Subject<Decision>(), b: new Subject<Decision>() };
    const tools = ['a', 'b'].map((name) => tool({ name, description: '', needsApproval: true, execute: () => name }));
    const { values } = observe(
      turnOf(callOf('a'), callOf('b')).pipe(executeTools(tools, { approve: ({ name }) => decisions[name as 'a'] })),
    );
    decisions.b.next({ approve: true });
    decisions.a.next({ approve: true });
    expect(names(values).slice(1)).toEqual([
      'toolWaiting a',
      'toolWaiting b',
      'toolStart b',
      'toolResult b',
      'toolStart a',
      'toolResult a',
      'message',
      'finish',
    ]);
    expect(values.at(-2)).toMatchObject({ message: { parts: [{ name: 'a' }, { name: 'b' }] } }); // in their order
  });

  it('executeTools with eager asks as soon as the call is complete', async () => {
    const source = new Subject<StreamEvent>();
    const approve = jest.fn(decide({ approve: true }));
    const { values } = observe(source.pipe(executeTools([payTool(() => 1)], { approve, eager: true })));
    source.next(payCall);
    await nextTask();
    expect(approve).toHaveBeenCalledTimes(1);
    source.next(messageOf(payCall));
    source.next(finishOf());
    source.complete();
    expect(approve).toHaveBeenCalledTimes(1);
    expect(names(values)).toEqual([
      'toolCall pay',
      'toolWaiting pay',
      'toolStart pay',
      'toolResult pay',
      'message',
      'message',
      'finish',
    ]);
  });

  it.each(['length', 'contentFilter', 'error', 'stopped'] as const)(
    'executeTools does not ask in a turn that ends with %s, and with eager cancels an open decision',
    async (reason) => {
      const approve = jest.fn(() => NEVER);
      const late = observe(
        of(messageOf(payCall), finishOf(reason)).pipe(executeTools([payTool(() => 1)], { approve })),
      );
      expect(approve).not.toHaveBeenCalled();
      expect(resultOf(late.values)).toMatchObject({ code: 'not_executed' });
      const events = [payCall, messageOf(payCall), finishOf(reason)];
      const open = new Subject<Decision>();
      const source = new BehaviorSubject<StreamEvent>(payCall);
      const eager = observe(source.pipe(executeTools([payTool(() => 1)], { approve: () => open, eager: true })));
      await nextTask();
      expect(open.observed).toBe(true);
      for (const event of events.slice(1)) source.next(event);
      source.complete();
      expect(open.observed).toBe(false);
      expect(resultOf(eager.values)).toMatchObject({ code: 'cancelled' });
      expect(names(eager.values).at(-1)).toBe('finish');
      const waiting = observe(from<StreamEvent[]>(events).pipe(executeTools([payTool(() => 1)], { eager: true })));
      expect(resultOf(waiting.values)).toMatchObject({ code: 'not_executed' });
      expect(waiting.values.some(isOpenCalls)).toBe(false);
    },
  );

  it.each([false, true])('executeTools cancels an open decision when it is stopped (eager %s)', (eager) => {
    const [stop, open] = [new Subject<void>(), new Subject<Decision>()];
    const { values, execute } = runPay({ approve: () => open, stop, eager });
    expect(open.observed).toBe(true);
    stop.next();
    expect(open.observed).toBe(false);
    expect(values.filter(isToolResult)).toMatchObject([{ id: 'id-pay', code: 'cancelled' }]);
    expect(values.at(-1)).toMatchObject({ type: 'finish', reason: 'stopped' });
    expect(execute).not.toHaveBeenCalled();
  });

  it('executeTools answers a call that waits without approve as not executed when it is stopped', () => {
    const [stop, running] = [new Subject<void>(), new Subject<number>()];
    const tools = [payTool(() => 1), anyTool('slow', () => running)];
    const { values } = observe(turnOf(payCall, callOf('slow')).pipe(executeTools(tools, { stop })));
    stop.next();
    expect(running.observed).toBe(false);
    expect(resultOf(values)).toMatchObject({ code: 'not_executed' });
    expect(resultOf(values, 'id-slow')).toMatchObject({ code: 'cancelled' });
    expect(values.at(-1)).toMatchObject({ type: 'finish', reason: 'stopped' });
    expect(values.some(isOpenCalls)).toBe(false);
  });

  it('executeTools answers a call that waits for approve as cancelled, and leaves approve', () => {
    const [cancel, decision] = [new Subject<string>(), new Subject<Decision>()];
    const { values, execute } = runPay({ approve: () => decision, cancel });
    cancel.next('id-pay');
    expect(resultOf(values)).toMatchObject({ code: 'cancelled' });
    expect(names(values)).toEqual(['message', 'toolWaiting pay', 'toolResult pay', 'message', 'finish']);
    expect([decision.observed, execute.mock.calls]).toEqual([false, []]);
  });

  it('executeTools ends a turn whose call without approve is cancelled while another call runs', () => {
    const [cancel, slow] = [new Subject<string>(), new Subject<string>()];
    const tools = [anyTool('slow', () => slow), payTool(() => 'paid')];
    const { values } = observe(turnOf(payCall, callOf('slow')).pipe(executeTools(tools, { cancel })));
    cancel.next('id-pay');
    slow.complete();
    expect(resultOf(values)).toMatchObject({ code: 'cancelled' });
    expect(names(values).slice(-2)).toEqual(['message', 'finish']);
  });

  it('executeTools answers an approved call once, which is cancelled before it is queued', () => {
    const [cancel, decision] = [new Subject<string>(), new Subject<Decision>()];
    const approve = () => decision.pipe(finalize(() => cancel.next('id-pay')));
    const { values, execute } = runPay({ approve, cancel });
    decision.next({ approve: true });
    expect(names(values)).toEqual(['message', 'toolWaiting pay', 'toolResult pay', 'message', 'finish']);
    expect(execute).not.toHaveBeenCalled();
  });

  it('executeTools leaves an open decision when it is unsubscribed', () => {
    const open = new Subject<Decision>();
    const { values, subscription, execute } = runPay({ approve: () => open });
    const count = values.length;
    subscription.unsubscribe();
    expect(open.observed).toBe(false);
    open.next({ approve: true });
    expect(values).toHaveLength(count);
    expect(execute).not.toHaveBeenCalled();
  });

  it('executeTools does not ask if toolWaiting is the last event that is taken', () => {
    const approve = jest.fn(() => NEVER);
    const { values } = observe(turnOf(payCall).pipe(executeTools([payTool(() => 1)], { approve }), take(2)));
    expect(names(values)).toEqual(['message', 'toolWaiting pay']);
    expect(approve).not.toHaveBeenCalled();
  });

  it('executeTools does not execute a call if the decision causes the unsubscription', () => {
    const execute = jest.fn(() => 1);
    const leave = new Subject<void>();
    const approve: Approve = () =>
      new Observable((out) => {
        leave.next();
        out.next({ approve: true });
      });
    const events: StreamEvent[] = [];
    const run = new Observable<StreamEvent>((out) => {
      leave.subscribe(() => out.unsubscribe());
      turnOf(payCall)
        .pipe(executeTools([payTool(execute)], { approve }))
        .subscribe(out);
    });
    run.subscribe((event) => events.push(event));
    expect(execute).not.toHaveBeenCalled();
    expect(names(events)).toEqual(['message', 'toolWaiting pay']);
  });

  it('executeTools leaves an open decision on retract, and asks again for the new call', async () => {
    const source = new Subject<StreamEvent>();
    const open: Subject<Decision>[] = [];
    const approve = () => (open.push(new Subject<Decision>()), open.at(-1) ?? EMPTY);
    const { values } = observe(source.pipe(executeTools([payTool(() => 1)], { approve, eager: true })));
    source.next(payCall);
    await nextTask();
    source.next({ type: 'retract' });
    expect(open[0]?.observed).toBe(false);
    source.next(payCall);
    source.next(messageOf(payCall));
    source.next(finishOf());
    source.complete();
    open[1]?.next({ approve: true });
    expect(open).toHaveLength(2);
    expect(names(values).slice(-3)).toEqual(['toolResult pay', 'message', 'finish']);
  });

  it('executeTools asks again at each subscription', () => {
    const approve = jest.fn(decide({ approve: true }));
    const run = turnOf(payCall).pipe(executeTools([payTool(() => 1)], { approve }));
    expect(observe(run).values).toEqual(observe(run).values);
    expect(approve).toHaveBeenCalledTimes(2);
  });

  it('executeTools runs 20,000 calls whose decisions are synchronous', () => {
    const calls = Array.from({ length: 20_000 }, (_, index) => callOf('pay', { amount: 1 }, `c${index}`));
    const { values, error } = observe(
      turnOf(...calls).pipe(executeTools([payTool(() => 1)], { approve: decide({ approve: true }) })),
    );
    expect(error).toBeUndefined();
    expect(values.filter(isToolResult)).toHaveLength(20_000);
  });
});

describe('executeTools with calls that wait for an answer from outside', () => {
  const browse = tool({ name: 'browse', description: 'Runs in the browser.', result: z.object({ title: z.string() }) });

  it('executeTools runs the other calls, and ends with openCalls instead of the results and the finish', () => {
    const look = anyTool('look', () => 'seen');
    const calls = [payCall, callOf('look'), callOf('browse')];
    const { values } = observe(turnOf(...calls).pipe(executeTools([payTool(() => 1), look, browse])));
    expect(names(values)).toEqual([
      'message',
      'toolWaiting pay',
      'toolStart look',
      'toolResult look',
      'toolWaiting browse',
      'openCalls',
    ]);
    expect(values.at(-1)).toEqual({
      type: 'openCalls',
      waits: true,
      open: {
        messages: [],
        finish: { reason: 'toolCalls' },
        results: [{ type: 'toolResult', id: 'id-look', name: 'look', result: 'seen' }],
        waiting: [
          { id: 'id-pay', name: 'pay', arguments: { amount: 5 } },
          { id: 'id-browse', name: 'browse', arguments: {} },
        ],
      },
    });
  });

  it('executeTools reports the usage and the raw reason of the finish with the open calls', () => {
    const finish: Chunk = { type: 'finish', reason: 'toolCalls', rawReason: 'tool_use', usage: { input: 1 } };
    const source = of<StreamEvent[]>(messageOf(payCall), finish);
    const { type: _, ...reported } = finish;
    expect(observe(source.pipe(executeTools([payTool(() => 1)]))).values.at(-1)).toMatchObject({
      type: 'openCalls',
      open: { finish: reported },
    });
  });

  it('executeTools does not ask approve about a tool without execute', () => {
    const approve = jest.fn(decide({ approve: true }));
    const { values } = observe(turnOf(callOf('browse')).pipe(executeTools([browse], { approve })));
    expect(approve).not.toHaveBeenCalled();
    expect(names(values)).toEqual(['message', 'toolWaiting browse', 'openCalls']);
  });

  it('executeTools reports the open calls after the message, each toolWaiting and each result with checkpoints', () => {
    const tools = [payTool(() => 1), anyTool('look', () => 'seen')];
    const { values } = observe(
      turnOf(payCall, callOf('look')).pipe(
        executeTools(tools, { approve: decide({ approve: true }), checkpoints: true }),
      ),
    );
    expect(names(values)).toEqual([
      'message',
      'openCalls',
      'toolWaiting pay',
      'openCalls',
      'toolStart pay',
      'toolResult pay',
      'openCalls',
      'toolStart look',
      'toolResult look',
      'openCalls',
      'message',
      'finish',
    ]);
    const open = (values as readonly StreamEvent[]).filter(isOpenCalls).map(({ open: calls }) => calls);
    expect(open.map(({ waiting, results }) => [waiting.length, results.length])).toEqual([
      [0, 0],
      [1, 0],
      [0, 1],
      [0, 2],
    ]);
  });

  it('tool types the events of a tool without execute by its schemas', () => {
    const { values } = observe(turnOf(callOf('browse')).pipe(executeTools([browse])));
    for (const event of values) {
      if (event.type === 'toolResult' && event.result) expect(event.result.title satisfies string).toBe('');
      if (event.type === 'toolWaiting') expect(event.name satisfies 'browse').toBe('browse');
    }
    // @ts-expect-error -- nothing is approved in a tool that is executed elsewhere
    tool({ name: 'x', description: '', needsApproval: true });
    // @ts-expect-error -- the result of a tool with execute is what execute returns
    tool({ name: 'x', description: '', result: z.object({}), execute: () => 1 });
  });
});
