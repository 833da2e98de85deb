import { afterEach, describe, expect, it } from '@jest/globals';
import { NEVER, Observable, Subject, asyncScheduler, concat, config, of } from 'rxjs';
import { progress } from '../../../lib/core/progress.js';
import type { ToolContext } from '../../../lib/core/tool.js';
import { executeTools } from '../../../lib/operators/executeTools.js';
import { runTool } from '../../../lib/operators/execute/runTool.js';
import { wrapTool } from '../../../lib/tools/wrapTool.js';
import type { ToolValue } from '../../../lib/tools/wrapTool.js';
import { observe } from '../../support/observe.js';
import { anyTool, callOf, turnOf, virtual } from '../../support/toolCalls.js';

const context: ToolContext = {
  call: callOf('f'),
  messages: [],
  context: undefined,
  idempotencyKey: 'k',
  signal: new AbortController().signal,
  progress: () => undefined,
  usage: () => undefined,
};

/** Executes a tool as `runTool` does. */
const runOf = (execute: Parameters<typeof anyTool>[1], given = context, deadline?: number): Observable<ToolValue> =>
  runTool(anyTool('f', execute), { a: 1 }, given, deadline);

describe('runTool', () => {
  afterEach(() => {
    config.onUnhandledError = null;
  });

  it('runTool emits marked progress, and last the result', () => {
    const { values, completed } = observe(runOf((args) => of('a', progress('b'), [args])));
    expect([values, completed]).toEqual([[progress('b'), progress('a'), [{ a: 1 }]], true]);
  });

  it('runTool executes the tool at each subscription, and not before', () => {
    let count = 0;
    const run = runOf(() => ++count);
    expect(count).toBe(0);
    expect([observe(run).values, observe(run).values]).toEqual([[1], [2]]);
  });

  it('runTool fails with what the tool throws, and reports nothing as unhandled', () =>
    virtual(({ flush }) => {
      const unhandled: unknown[] = [];
      config.onUnhandledError = (error) => unhandled.push(error);
      const output = new Subject<number>();
      const log = observe(runOf(() => concat(of('half'), output)));
      output.error(new Error('late'));
      expect([log.values, log.error]).toEqual([[progress('half')], new Error('late')]);
      flush();
      expect(unhandled).toEqual([]);
    }));

  it('runTool emits what the tool held as progress when the deadline ends, and fails', () =>
    virtual(({ flush }) => {
      const log = observe(runOf(() => concat(of('half'), NEVER), context, 10));
      flush();
      expect(asyncScheduler.now()).toBe(10);
      expect([log.values, log.error]).toMatchObject([[progress('half')], { name: 'TimeoutError', phase: 'tool' }]);
    }));

  it('runTool gives the tool a signal of its own, which is aborted on unsubscription, and passes its usage on', () => {
    const usages: unknown[] = [];
    let signal: AbortSignal | undefined;
    const given: ToolContext = { ...context, usage: (usage) => usages.push(usage) };
    const { subscription } = observe(
      runOf((_, inner) => {
        signal = inner.signal;
        inner.usage({ input: 1 });
        expect(inner).toMatchObject({ idempotencyKey: 'k', call: callOf('f') });
        return NEVER;
      }, given),
    );
    expect([usages, signal?.aborted]).toEqual([[{ input: 1 }], false]);
    subscription.unsubscribe();
    expect([signal?.aborted, context.signal.aborted]).toEqual([true, false]);
  });

  it('runTool does not execute the tool for a subscriber that has already left, and starts no timer', () =>
    virtual(({ flush }) => {
      let count = 0;
      new Observable<ToolValue>((out) => {
        out.unsubscribe();
        runOf(() => ++count, context, 10).subscribe(out);
      }).subscribe();
      flush();
      expect([count, asyncScheduler.now()]).toEqual([0, 0]);
    }));

  it('runTool inside of a wrapped tool keeps the progress and the result of the tool', () => {
    const tool = wrapTool(
      anyTool('f', (_, { progress: report }) => (report('now'), of('a', 'b'))),
      (run) => run,
    );
    expect(observe(turnOf(callOf('f')).pipe(executeTools([tool]))).values).toMatchObject([
      { type: 'message' },
      { type: 'toolStart' },
      { type: 'toolProgress', value: 'now' },
      { type: 'toolProgress', value: 'a' },
      { type: 'toolResult', result: 'b' },
      { type: 'message' },
      { type: 'finish' },
    ]);
  });
});
