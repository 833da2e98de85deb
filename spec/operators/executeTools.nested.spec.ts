import { describe, expect, it, jest } from '@jest/globals';
import { BehaviorSubject, EMPTY, NEVER, Subject, of, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Approve, WaitingCall } from '../../lib/core/approval.js';
import { markAsking } from '../../lib/core/askingTool.js';
import type { Checkpoint, ResumedRun, ResumedTurn } from '../../lib/core/checkpoint.js';
import { startState } from '../../lib/core/event.js';
import type { StreamEvent, ToolCallEvent } from '../../lib/core/event.js';
import { isOpenCalls, isToolResult } from '../../lib/core/eventGuards.js';
import type { OuterRun } from '../../lib/core/nested.js';
import { tool } from '../../lib/core/tool.js';
import type { Tool, ToolContext } from '../../lib/core/tool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import type { ExecuteToolsOptions } from '../../lib/operators/executeTools.js';
import { inVirtualTime, scriptedModel } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { observe } from '../support/observe.js';
import { anyTool, callOf, finishOf, messageOf, nextTask, turnOf } from '../support/toolCalls.js';

const inner: WaitingCall = { id: 'x', name: 'pay', arguments: { amount: 5 } };
const asked: WaitingCall = { ...inner, id: 'id-ask/x', path: ['id-ask', 'x'] };

/** The checkpoint of an inner run, with the calls that wait in it. */
const checkpointOf = (...waiting: readonly WaitingCall[]): Checkpoint => ({
  version: 1,
  orchestrator: 'inner',
  state: startState([]),
  emitted: { text: '', thinking: '', messages: [], needsSeparator: false },
  open: { messages: [], finish: { reason: 'toolCalls' }, results: [], waiting },
});

const resumedTurn = (open: Partial<ResumedTurn['open']>, nested: Readonly<Record<string, ResumedRun>> = {}) => ({
  open: { messages: [], finish: { reason: 'toolCalls' as const }, results: [], waiting: [], ...open },
  decisions: new Map(),
  results: new Map(),
  errors: new Map(),
  nested: new Map(Object.entries(nested)),
});

/** A tool that runs an agent. The spec reports what the inner run does, and reads what it is told. */
function asking(options: ExecuteToolsOptions = {}, calls: readonly ToolCallEvent[] = [callOf('ask')], other?: Tool) {
  const [output, aborted, told] = [new Subject<string>(), [] as string[], [] as string[]];
  const contexts: ToolContext[] = [];
  const ask = anyTool('ask', (_, context) => {
    contexts.push(context);
    context.signal.addEventListener('abort', () => aborted.push(context.call.id));
    const { outer } = context;
    if (outer)
      outer.control({
        stop: () => told.push('stop'),
        cancel: (id) => told.push(`cancel ${id}`),
      });
    return output;
  });
  const log = observe(
    turnOf(...calls).pipe(executeTools(other ? [ask, other] : [ask], { concurrency: Infinity, ...options })),
  );
  const [context] = contexts;
  if (!context?.outer) throw new Error('The tool has not begun.');
  return { output, aborted, told, contexts, context, outer: context.outer, values: log.values as StreamEvent[], log };
}

const types = (values: readonly StreamEvent[]) => values.map(({ type }) => type);
const lastOpen = (values: readonly StreamEvent[]) => values.findLast(isOpenCalls);
const codes = (values: readonly StreamEvent[]) =>
  values.filter(isToolResult).map(({ id, code, result }) => [id, code ?? result]);
const slow = anyTool('slow', () => NEVER);
const withSlow = [callOf('ask'), callOf('slow')];

/** The inner run reports everything that it can report. */
function reportAll({ outer, context }: { readonly outer: OuterRun; readonly context: ToolContext }) {
  outer.emit({ type: 'text', text: 'late' } as StreamEvent);
  outer.keep(checkpointOf(inner));
  outer.suspend(checkpointOf(inner));
  context.usage({ input: 1 });
  context.progress('late');
}

describe('executeTools with a tool that runs an agent', () => {
  it('executeTools emits the events of the inner run as nested events of the call', () => {
    const { values, outer } = asking();
    outer.emit({ type: 'text', text: 'I look.' } as StreamEvent);
    expect(values.at(-1)).toEqual({
      type: 'nested',
      id: 'id-ask',
      name: 'ask',
      event: { type: 'text', text: 'I look.' },
    });
  });

  it('executeTools emits the usage that the tool reports, with the call', () => {
    const { values, context } = asking();
    context.usage({ input: 7 });
    expect(values.at(-1)).toEqual({ type: 'toolUsage', id: 'id-ask', name: 'ask', usage: { input: 7 } });
  });

  it('executeTools passes its approve, its checkpoints and the call on to the inner run', () => {
    const approve: Approve = () => EMPTY;
    expect(asking({ approve, checkpoints: true }).outer).toMatchObject({ approve, checkpoints: true });
    const { outer } = asking();
    expect(outer).toMatchObject({ checkpoints: false, call: { id: 'id-ask', name: 'ask' } });
    expect([outer.approve, outer.resumed]).toEqual([undefined, undefined]);
  });

  it('executeTools ignores what the inner run of an ended call reports, while another call runs', () => {
    const cancel = new Subject<string>();
    const cancelled = asking({ cancel, checkpoints: true }, withSlow, slow);
    cancel.next('id-ask');
    const ended = asking({ checkpoints: true }, withSlow, slow);
    ended.output.next('done');
    ended.output.complete();
    for (const run of [cancelled, ended]) {
      const count = run.values.length;
      reportAll(run);
      expect(run.values).toHaveLength(count);
      expect(run.log.completed).toBe(false);
    }
    expect(codes(cancelled.values)).toEqual([['id-ask', 'cancelled']]);
    expect(codes(ended.values)).toEqual([['id-ask', 'done']]);
  });

  it('executeTools ignores what the handler of the result reports in the name of the call', () => {
    const values: StreamEvent[] = [];
    const output = new Subject<string>();
    let context: ToolContext | undefined;
    const ask = anyTool('ask', (_, given) => ((context = given), output));
    turnOf(...withSlow)
      .pipe(executeTools([ask, slow], { concurrency: Infinity }))
      .subscribe((event) => {
        values.push(event);
        if (event.type === 'toolResult') context?.progress('late');
      });
    output.next('done');
    output.complete();
    expect(types(values)).toEqual(['message', 'toolStart', 'toolStart', 'toolResult']);
  });

  describe('checkpoints', () => {
    it('executeTools keeps the last checkpoint of the inner run until the call has a result', () => {
      const { values, outer, output } = asking({ checkpoints: true }, withSlow, slow);
      outer.keep(checkpointOf());
      outer.keep(checkpointOf(inner));
      expect(lastOpen(values)).toEqual({
        type: 'openCalls',
        waits: false,
        open: {
          messages: [],
          finish: { reason: 'toolCalls' },
          results: [],
          waiting: [asked],
          nested: { 'id-ask': checkpointOf(inner) },
        },
      });
      output.next('done');
      output.complete();
      expect(lastOpen(values)?.open).toEqual({
        messages: [],
        finish: { reason: 'toolCalls' },
        results: [{ type: 'toolResult', id: 'id-ask', name: 'ask', result: 'done' }],
        waiting: [],
      });
    });

    it('executeTools reports no checkpoint of an inner run without the option checkpoints', () => {
      const { values, outer } = asking();
      outer.keep(checkpointOf(inner));
      expect(types(values)).toEqual(['message', 'toolStart']);
    });
  });

  describe('that waits', () => {
    it('executeTools ends the turn with the waiting calls of the inner run, and leaves the tool', () => {
      const { values, outer, output, aborted, log } = asking();
      outer.suspend(checkpointOf(inner));
      expect(types(values)).toEqual(['message', 'toolStart', 'openCalls']);
      expect(values.at(-1)).toMatchObject({
        waits: true,
        open: { results: [], waiting: [asked], nested: { 'id-ask': checkpointOf(inner) } },
      });
      expect([log.completed, output.observed, aborted]).toEqual([true, false, ['id-ask']]);
    });

    it('executeTools ends the turn as open even if the inner run names no waiting call', () => {
      const { values, outer } = asking();
      outer.suspend(checkpointOf());
      expect(values.at(-1)).toMatchObject({ type: 'openCalls', waits: true, open: { waiting: [] } });
    });

    it('executeTools starts the next call in the place of the one that waits', () => {
      const { values, outer } = asking({ concurrency: 1 }, withSlow, slow);
      expect(values.at(-1)).toMatchObject({ type: 'toolStart', id: 'id-ask' });
      outer.suspend(checkpointOf(inner));
      expect(values.at(-1)).toMatchObject({ type: 'toolStart', id: 'id-slow' });
    });

    it('executeTools answers the call as cancelled when it is cancelled, or the turn is stopped', () => {
      const [cancel, stop] = [new Subject<string>(), new Subject<void>()];
      const first = asking({ cancel }, withSlow, slow);
      first.outer.suspend(checkpointOf(inner));
      cancel.next('id-ask');
      expect(first.values.at(-1)).toMatchObject({ type: 'toolResult', id: 'id-ask', code: 'cancelled' });
      cancel.next('id-slow');
      expect(types(first.values).slice(-3)).toEqual(['toolResult', 'message', 'finish']);
      const second = asking({ stop }, withSlow, slow);
      second.outer.suspend(checkpointOf(inner));
      stop.next();
      expect(codes(second.values)).toEqual([
        ['id-ask', 'cancelled'],
        ['id-slow', 'cancelled'],
      ]);
      expect(second.values.at(-1)).toMatchObject({ type: 'finish', reason: 'stopped' });
    });
  });

  describe('cancellation', () => {
    it('executeTools passes the id of an inner call on to each inner run, past tools that run no agent', () => {
      const cancel = new Subject<string>();
      const { told, values } = asking({ cancel }, [callOf('slow'), callOf('ask')], slow);
      cancel.next('id-ask/x');
      expect(told).toEqual(['cancel id-ask/x']);
      expect(codes(values)).toEqual([]);
    });

    it('executeTools stops the inner run of a call that is cancelled, before it leaves the tool', () => {
      const cancel = new Subject<string>();
      const { told, aborted, values } = asking({ cancel });
      cancel.next('id-ask');
      expect([told, aborted]).toEqual([['stop'], ['id-ask']]);
      expect(codes(values)).toEqual([['id-ask', 'cancelled']]);
    });

    it('executeTools keeps what a stopped agent wrote as the data of the error', () => {
      const model = scriptedModel([['I look', { delay: 10 }, ' again.']]);
      const ask = agentTool(createAgent({ model }), { name: 'ask', description: '' });
      const call = callOf('ask', { prompt: 'Where?' });
      const { values } = inVirtualTime(() => turnOf(call).pipe(executeTools([ask], { stop: timer(5) })));
      expect(values.map(({ value }) => value as StreamEvent).find(isToolResult)).toMatchObject({
        code: 'cancelled',
        data: { finishReason: 'stopped', text: 'I look' },
      });
    });
  });
});

describe('executeTools with the option resumed', () => {
  const pay = tool({ name: 'pay', description: '', needsApproval: true, execute: () => 'paid' });
  const run = (tools: readonly Tool[], calls: readonly ToolCallEvent[], options: ExecuteToolsOptions) =>
    observe(turnOf(...calls).pipe(executeTools(tools, options)) as Observable<StreamEvent>).values;
  const waitingPay: WaitingCall = { id: 'id-pay', name: 'pay', arguments: {} };
  const look = anyTool('look', () => 'seen');

  it('executeTools repeats no call that has a result, and includes the result in the message', () => {
    const result = { type: 'toolResult', id: 'id-slow', name: 'slow', result: 'earlier' } as const;
    const values = run([slow, look], [callOf('slow'), callOf('look')], { resumed: resumedTurn({ results: [result] }) });
    expect(types(values)).toEqual(['message', 'toolStart', 'toolResult', 'message', 'finish']);
    expect(values.at(-2)).toMatchObject({ message: { parts: [result, { id: 'id-look', result: 'seen' }] } });
  });

  it('executeTools waits again for a call without an answer, does not announce it again, and begins the others', () => {
    const waiting = [waitingPay, { ...inner, id: 'other/x', path: ['other', 'x'] }];
    const values = run([pay, look], [callOf('pay'), callOf('look')], { resumed: resumedTurn({ waiting }) });
    expect(types(values)).toEqual(['message', 'toolStart', 'toolResult', 'openCalls']);
    // The call of an inner run waits only as long as its checkpoint says so.
    expect(lastOpen(values)).toMatchObject({ waits: true, open: { waiting: [waitingPay] } });
    expect(lastOpen(values)?.open.waiting).toHaveLength(1);
  });

  it('executeTools executes a call that was announced after its decision, without asking the tool or approve again', () => {
    const asks: string[] = [];
    const asksTool = tool({
      name: 'pay',
      description: '',
      needsApproval: () => (asks.push('tool'), true),
      execute: () => 'paid',
    });
    const values = run([asksTool], [callOf('pay')], {
      approve: () => (asks.push('approve'), EMPTY),
      resumed: { ...resumedTurn({ waiting: [waitingPay] }), decisions: new Map([['id-pay', { approve: true }]]) },
    });
    expect(asks).toEqual([]);
    expect(types(values)).toEqual(['message', 'toolStart', 'toolResult', 'message', 'finish']);
  });

  it('executeTools does not execute a denied call, also if its tool needs no approval any more', () => {
    const execute = jest.fn(() => 'paid');
    const values = run([anyTool('pay', execute)], [callOf('pay')], {
      resumed: { ...resumedTurn({ waiting: [waitingPay] }), decisions: new Map([['id-pay', { approve: false }]]) },
    });
    expect(execute).not.toHaveBeenCalled();
    expect(codes(values)).toEqual([['id-pay', 'denied']]);
  });

  it.each([undefined, { total: 5 }])('executeTools asks approve with the details %j that were announced', (details) => {
    const requests: unknown[] = [];
    const waiting = [details ? { ...waitingPay, details } : waitingPay];
    const approve: Approve = (request) => (requests.push(request), EMPTY);
    run([pay], [callOf('pay')], { approve, resumed: resumedTurn({ waiting }) });
    expect(requests).toStrictEqual([
      { ...waitingPay, ...(details ? { details } : {}), messages: [], context: undefined },
    ]);
  });

  it('executeTools answers a call with the error or the result from outside', () => {
    const place = tool({ name: 'place', description: '' });
    const resumed = {
      ...resumedTurn({ waiting: ['a', 'b'].map((id) => ({ id, name: 'place', arguments: {} })) }),
      errors: new Map([['a', 'The browser is closed.']]),
      results: new Map([['b', 'Oslo']]),
    };
    const values = run([place], [callOf('place', {}, 'a'), callOf('place', {}, 'b')], { resumed });
    expect(values.filter(isToolResult)).toEqual([
      { type: 'toolResult', id: 'a', name: 'place', error: 'The browser is closed.', code: 'failed' },
      { type: 'toolResult', id: 'b', name: 'place', result: 'Oslo' },
    ]);
  });

  describe('and an inner run', () => {
    const resumedRun: ResumedRun = { checkpoint: checkpointOf(inner), answers: { results: { x: 1 } } };
    const nested = { 'id-ask': resumedRun.checkpoint };

    it('executeTools passes its checkpoint and its answers on to the tool, without approval and without toolStart', () => {
      const seen: unknown[] = [];
      const ask = markAsking(
        tool({
          name: 'ask',
          description: '',
          needsApproval: true,
          execute: (_, { outer }) => (seen.push(outer?.resumed), 'done'),
        }),
      );
      const resumed = resumedTurn({ nested, approved: ['id-ask'] }, { 'id-ask': resumedRun });
      expect(types(run([ask], [callOf('ask')], { resumed }))).toEqual(['message', 'toolResult', 'message', 'finish']);
      expect(seen).toEqual([[resumedRun]]);
    });

    it.each([
      ['true', true],
      ['a function', () => true],
    ])(
      'executeTools asks before a tool that has replaced that of the inner run: needsApproval is %s',
      (_, needsApproval) => {
        const execute = jest.fn(() => 'wiped');
        const wipe = tool({ name: 'ask', description: '', needsApproval, execute });
        const values = run([wipe], [callOf('ask')], { resumed: resumedTurn({ nested }, { 'id-ask': resumedRun }) });
        expect(types(values)).toEqual(['message', 'toolWaiting', 'openCalls']);
        const [open] = values.flatMap((event) => (isOpenCalls(event) && event.waits ? [event.open] : []));
        expect([open?.waiting, open?.nested]).toEqual([[expect.objectContaining({ id: 'id-ask' })], undefined]);
        expect(execute).not.toHaveBeenCalled();
        const approve: Approve = () => of({ approve: true });
        const resumed = resumedTurn({ nested }, { 'id-ask': resumedRun });
        expect(types(run([wipe], [callOf('ask')], { resumed, approve }))).toContain('toolStart');
        expect(execute).toHaveBeenCalledTimes(1);
      },
    );

    it('executeTools keeps the checkpoint while another call runs before it', () => {
      const values = run([slow, look, anyTool('ask', () => 'done')], [callOf('look'), callOf('slow'), callOf('ask')], {
        checkpoints: true,
        resumed: resumedTurn({ nested }, { 'id-ask': resumedRun }),
      });
      expect(lastOpen(values)).toMatchObject({ open: { results: [{ id: 'id-look' }], nested, waiting: [asked] } });
    });

    it('executeTools answers it as cancelled when the turn is stopped before the call begins', () => {
      const stop = new Subject<void>();
      const log = observe(
        turnOf(callOf('slow'), callOf('ask'), callOf('look')).pipe(
          executeTools([slow, look, anyTool('ask', () => 'done')], {
            stop,
            resumed: resumedTurn({ nested }, { 'id-ask': resumedRun }),
          }),
        ),
      );
      stop.next();
      expect(codes(log.values)).toEqual([
        ['id-slow', 'cancelled'],
        ['id-ask', 'cancelled'],
        ['id-look', 'not_executed'],
      ]);
    });
  });
});

describe('executeTools with eager, in a response that a prompt has interrupted', () => {
  it('executeTools lets the calls end that have begun, and answers the others as not executed', async () => {
    const output = new Subject<string>();
    const slowly = anyTool('slow', () => output);
    const [a, b] = [callOf('slow', {}, 'a'), callOf('slow', {}, 'b')];
    const finish: StreamEvent = { ...finishOf('stopped'), ...{ rawReason: 'prompt' } };
    const source = new BehaviorSubject<StreamEvent>(a);
    const { values, completed } = observe(source.pipe(executeTools([slowly], { eager: true })));
    await nextTask();
    for (const event of [messageOf(a, b), finish]) source.next(event);
    source.complete();
    expect(completed).toBe(false);
    output.next('done');
    output.complete();
    expect(codes(values)).toEqual([
      ['b', 'not_executed'],
      ['a', 'done'],
    ]);
    expect(values.at(-1)).toBe(finish);
  });
});
