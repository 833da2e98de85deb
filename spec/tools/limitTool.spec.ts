import { describe, expect, it, jest } from '@jest/globals';
import {
  asyncScheduler,
  combineLatest,
  concat,
  EMPTY,
  forkJoin,
  map,
  merge,
  NEVER,
  takeUntil,
  throwError,
  timer,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import type { Tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { askTool } from '../../lib/tools/askTool.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import { wrapTool } from '../../lib/tools/wrapTool.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { anyTool, virtual } from '../support/toolCalls.js';
import { callTool } from './calls.js';

/** A tool that takes 10 ms, and answers with its argument. */
const slow = anyTool('slow', ({ n }: JsonObject) => timer(10).pipe(map(() => n)));

/** The same, as a tool that may ask. */
const asking = askTool({
  name: 'asking',
  description: '',
  execute: ({ n }: JsonObject) => timer(10).pipe(map(() => n)),
});

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

  const failed = throwError(() => new Error('broken'));
  it.each<[string, (call: Observable<unknown>) => Observable<unknown>]>([
    ['forkJoin, after an error', (call) => forkJoin([failed, call])],
    ['forkJoin, after an empty source', (call) => forkJoin([EMPTY, call])],
    ['combineLatest, after an error', (call) => combineLatest([failed, call])],
  ])('limitTool keeps no place for a call whose subscriber is closed: %s', (_, join) => {
    for (const limited of [slow, asking].map((tool) => limitTool(tool, { concurrency: 1 }))) {
      const late = anyTool('late', (args, context) => join(limited.execute?.(args, context) as Observable<unknown>));
      virtual(({ expectObservable }) => {
        observe(callTool(late));
        expectObservable(callTool(limited, { n: 1 })).toBe('10ms (a|)', { a: 1 });
      });
    }
  });

  it('limitTool does not execute a call that was cancelled while it waited', () => {
    const execute = jest.fn(() => NEVER);
    const limited = limitTool(anyTool('f', execute), { concurrency: 1 });
    const first = observe(callTool(limited)).subscription;
    observe(callTool(limited)).subscription.unsubscribe();
    first.unsubscribe();
    expect(execute).toHaveBeenCalledTimes(1);
  });

  const who = askTool({
    name: 'who',
    description: '',
    execute: (_, { ask }) => ask({ message: 'Who?', schema: { type: 'object' } }),
  });

  /** Runs three calls of a tool whose questions are answered at 5, 9 and 13 ms. Returns the results with their times. */
  function askThree(tool: Tool, options: Partial<AgentOptions> = {}, isLive = true) {
    const results: unknown[] = [];
    const model = scriptedModel([['c1', 'c2', 'c3'].map((id) => toolCall('who', {}, id)), 'Done.']);
    virtual(({ flush }) => {
      const given = [5, 9, 13].map((at, index) =>
        timer(at).pipe(map(() => ({ results: { [`c${index + 1}/1`]: { person: index + 1 } } }))),
      );
      const live = isLive ? { answers: merge(NEVER, ...given) } : {};
      createAgent({ model, tools: [tool], ...options })
        .stream('Go.', live)
        .subscribe((event) => {
          const at = asyncScheduler.now();
          if (event.type === 'toolResult') results.push([at, event.id, event.result ?? event.code]);
          if (event.type === 'result') results.push([at, event.result.finishReason]);
        });
      flush();
    });
    return results;
  }

  it.each([1, 2, Infinity])(
    'limitTool lets calls that ask take turns with a toolConcurrency of %s',
    (toolConcurrency) => {
      const limited = limitTool(who, { concurrency: 1 });
      // A call that waits for a call that waits for a person waits for that person.
      expect(askThree(limited, { toolConcurrency, toolDeadline: 4 })).toEqual([
        [5, 'c1', { person: 1 }],
        [9, 'c2', { person: 2 }],
        [13, 'c3', { person: 3 }],
        [13, 'stop'],
      ]);
      expect(askThree(limited, { toolConcurrency }, false)).toEqual([[0, 'waiting']]);
    },
  );

  it('limitTool continues the deadline of a call that goes on without the tool', () => {
    const impatient = wrapTool(limitTool(who, { concurrency: 1 }), (run, _, { call }) =>
      call.id === 'c1' ? run : concat(run.pipe(takeUntil(timer(3))), timer(7)),
    );
    expect(askThree(impatient, { toolConcurrency: Infinity, toolDeadline: 5 })).toEqual([
      [5, 'c1', { person: 1 }],
      [8, 'c2', 'timeout'],
      [8, 'c3', 'timeout'],
      [8, 'stop'],
    ]);
  });

  it.each([0, NaN])('limitTool rejects a concurrency of %s', (concurrency) => {
    expect(() => limitTool(slow, { concurrency })).toThrow(`concurrency is ${concurrency}.`);
  });
});
