import { describe, expect, it, jest } from '@jest/globals';
import { map, merge, NEVER, throwError, timer } from 'rxjs';
import type { JsonObject } from '../../lib/core/json/json.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool, virtual } from '../support/toolCalls.js';
import { callTool } from './calls.js';

/** A tool that takes 10 ms, and answers with its argument. */
const slow = anyTool('slow', ({ n }: JsonObject) => timer(10).pipe(map(() => n)));

describe('limitTool', () => {
  it('limitTool starts a call when an earlier one has ended, as in its diagram', () =>
    diagram('limitTool', (streams: Streams<'first' | 'second', unknown>) => {
      const tool = anyTool('load', ({ name }) => streams[name as 'first' | 'second']);
      const limited = limitTool(tool, { concurrency: 1 });
      return merge(callTool(limited, { name: 'first' }), callTool(limited, { name: 'second' }));
    }));

  it('limitTool runs as many calls at a time as `concurrency` says, in the order of the calls', () =>
    virtual(({ expectObservable }) => {
      const limited = limitTool(slow, { concurrency: 2 });
      const calls = [1, 2, 3, 4, 5].map((n) => callTool(limited, { n }));
      expectObservable(merge(...calls)).toBe('10ms (ab) 6ms (cd) 6ms (e|)', { a: 1, b: 2, c: 3, d: 4, e: 5 });
    }));

  it('limitTool frees the place of a call that is cancelled, whether it runs or waits', () =>
    virtual(({ expectObservable }) => {
      const limited = limitTool(slow, { concurrency: 1 });
      expectObservable(callTool(limited, { n: 1 }), '^----!').toBe('');
      expectObservable(callTool(limited, { n: 2 }), '^--!').toBe('');
      expectObservable(callTool(limited, { n: 3 })).toBe('15ms (a|)', { a: 3 });
    }));

  it('limitTool frees the place of a call that fails', () => {
    const failing = anyTool('f', ({ fails }) => (fails ? throwError(() => new Error('broken')) : 'done'));
    const limited = limitTool(failing, { concurrency: 1 });
    expect(observe(callTool(limited, { fails: true })).values).toEqual(['broken']);
    expect(observe(callTool(limited)).values).toEqual(['done']);
  });

  it('limitTool does not execute a call that was cancelled while it waited', () => {
    const execute = jest.fn(() => NEVER);
    const limited = limitTool(anyTool('f', execute), { concurrency: 1 });
    const first = observe(callTool(limited)).subscription;
    observe(callTool(limited)).subscription.unsubscribe();
    first.unsubscribe();
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it.each([0, NaN])('limitTool rejects a concurrency of %s', (concurrency) => {
    expect(() => limitTool(slow, { concurrency })).toThrow(`concurrency is ${concurrency}.`);
  });
});
