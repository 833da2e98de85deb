import { describe, expect, it } from '@jest/globals';
import { concat, interval, map, NEVER, of, take } from 'rxjs';
import { isToolResult } from '../../lib/core/eventGuards.js';
import { progress } from '../../lib/core/progress.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { deadlineTool } from '../../lib/tools/deadlineTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool, callOf, turnOf, virtual } from '../support/toolCalls.js';
import { callTool } from './calls.js';

describe('deadlineTool', () => {
  it('deadlineTool ends a call that takes too long, as in its diagram', () =>
    diagram('deadlineTool', ({ tool }: Streams<'tool', unknown>) =>
      callTool(
        deadlineTool(
          anyTool('load', () => tool.pipe(map(progress))),
          5,
        ),
      ),
    ));

  it('deadlineTool limits the total time, even if the tool reports progress', () =>
    virtual(({ expectObservable }) => {
      const busy = anyTool('busy', () => interval(2));
      const text = 'The tool did not finish within 5 ms.';
      expectObservable(callTool(deadlineTool(busy, 5))).toBe('----a(be|)', { a: 0, b: 1, e: text });
      const quick = anyTool('quick', () => interval(2).pipe(take(2)));
      expectObservable(callTool(deadlineTool(quick, 5))).toBe('----(ab|)', { a: 0, b: 1 });
    }));

  it('deadlineTool emits a value that is held as progress, aborts the signal, and answers with the code timeout', () =>
    virtual(({ flush }) => {
      let signal: AbortSignal | undefined;
      const slow = anyTool('slow', (_, context) => {
        signal = context.signal;
        return concat(of('half'), NEVER);
      });
      const { values } = observe(turnOf(callOf('slow')).pipe(executeTools([deadlineTool(slow, 5)])));
      flush();
      expect(values.map(({ type }) => type)).toEqual([
        'message',
        'toolStart',
        'toolProgress',
        'toolResult',
        'message',
        'finish',
      ]);
      expect(values.find(isToolResult)).toMatchObject({ code: 'timeout' });
      expect(signal?.aborted).toBe(true);
    }));

  it.each([-1, NaN])('deadlineTool rejects a deadline of %s', (deadline) => {
    const tool = anyTool('f', () => 1);
    expect(() => deadlineTool(tool, deadline)).toThrow(`deadline is ${deadline}.`);
  });
});
