import { describe, expect, it, jest } from '@jest/globals';
import { EMPTY, map, NEVER, of, throwError, timer } from 'rxjs';
import { isToolResult } from '../../lib/core/eventGuards.js';
import { progress } from '../../lib/core/progress.js';
import { ToolFailure } from '../../lib/operators/execute/toolFailure.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { deadlineTool } from '../../lib/tools/deadlineTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool, callOf, turnOf, virtual } from '../support/toolCalls.js';
import { callTool } from './calls.js';

/** A tool that fails a number of times. */
const flaky = (failures: number) => {
  let attempts = 0;
  return anyTool('flaky', () => {
    if (++attempts <= failures) throw new Error(`failure ${attempts}`);
    return `attempt ${attempts}`;
  });
};

describe('retryTool', () => {
  it('retryTool executes the tool again after an error, as in its diagram', () =>
    diagram('retryTool', ({ first, second }: Streams<'first' | 'second', unknown>) => {
      let attempt = 0;
      const tool = anyTool('load', () =>
        (++attempt === 1 ? first : second).pipe(map((value) => (value === 'half' ? progress(value) : value))),
      );
      return callTool(retryTool(tool, { delay: 3 }));
    }));

  it('retryTool waits 1, 2 and 4 seconds by default, and then answers with the last error', () =>
    virtual(({ expectObservable }) => {
      expectObservable(callTool(retryTool(flaky(3)))).toBe('7s (a|)', { a: 'attempt 4' });
      expectObservable(callTool(retryTool(flaky(9)))).toBe('7s (e|)', { e: 'failure 4' });
    }));

  it('retryTool retries as often as `count` says', () => {
    expect(observe(callTool(retryTool(flaky(1), { count: 0 }))).values).toEqual(['failure 1']);
    expect(observe(callTool(retryTool(flaky(5), { count: 5, delay: () => of(0) }))).values).toEqual(['attempt 6']);
  });

  it('retryTool does not retry an error that `when` rejects', () => {
    const when = jest.fn<(error: unknown) => boolean>(() => false);
    expect(observe(callTool(retryTool(flaky(1), { when }))).values).toEqual(['failure 1']);
    expect(when).toHaveBeenCalledWith(new Error('failure 1'));
  });

  it.each([
    ['denied', 1],
    ['cancelled', 1],
    ['failed', 3],
    ['timeout', 3],
  ] as const)('a tool that fails with the code %s is executed %d times by retryTool', (code, times) => {
    const execute = jest.fn(() => throwError(() => new ToolFailure(code, 'Failed.')));
    const tool = retryTool(anyTool('f', execute), { count: 2, delay: () => of(0) });
    const { values } = observe(turnOf(callOf('f')).pipe(executeTools([tool])));
    expect(values.find(isToolResult)).toMatchObject({ code });
    expect(execute).toHaveBeenCalledTimes(times);
  });

  it('retryTool waits for the Observable that `delay` returns, and gives up if it is empty', () =>
    virtual(({ expectObservable }) => {
      const delay = jest.fn((_: unknown, retryCount: number) => (retryCount < 3 ? timer(10) : EMPTY));
      expectObservable(callTool(retryTool(flaky(9), { count: Infinity, delay }))).toBe('20ms (e|)', { e: 'failure 3' });
    }));

  it('retryTool ends the wait when the call is unsubscribed', () =>
    virtual(({ expectObservable, flush }) => {
      const execute = jest.fn(() => throwError(() => new Error('failure')));
      expectObservable(callTool(retryTool(anyTool('f', execute))), '^ 500ms !').toBe('');
      flush();
      expect(execute).toHaveBeenCalledTimes(1);
    }));

  it('retryTool gives each attempt a signal of its own', () =>
    virtual(({ expectObservable, flush }) => {
      const signals: AbortSignal[] = [];
      const slow = anyTool('slow', (_, { signal }) => {
        signals.push(signal);
        return signals.length === 1 ? NEVER : of('done');
      });
      expectObservable(callTool(retryTool(deadlineTool(slow, 5), { delay: 5 }))).toBe('10ms (d|)', { d: 'done' });
      flush();
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    }));

  it('retryTool keeps the code of the last error', () =>
    virtual(({ flush }) => {
      const slow = deadlineTool(
        anyTool('slow', () => NEVER),
        5,
      );
      const { values } = observe(turnOf(callOf('slow')).pipe(executeTools([retryTool(slow, { count: 1 })])));
      flush();
      expect(values.find(isToolResult)).toMatchObject({ code: 'timeout' });
    }));

  it.each([
    [{ count: -1 }, 'count is -1.'],
    [{ count: NaN }, 'count is NaN.'],
    [{ delay: -1 }, 'delay is -1.'],
  ])('retryTool rejects %j', (options, message) => {
    expect(() => retryTool(flaky(1), options)).toThrow(message);
  });
});
