import { describe, expect, it } from '@jest/globals';
import { catchError, firstValueFrom, map, of, pipe, Subject, toArray } from 'rxjs';
import * as z from 'zod';
import { errorText } from '../../lib/core/errors.js';
import { isMarkedProgress, progress } from '../../lib/core/progress.js';
import { tool } from '../../lib/core/tool.js';
import type { ToolContext } from '../../lib/core/tool.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { deadlineTool } from '../../lib/tools/deadlineTool.js';
import { limitRepeatsTool } from '../../lib/tools/limitRepeatsTool.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { wrapTool } from '../../lib/tools/wrapTool.js';
import { observe } from '../support/observe.js';
import { anyTool, callOf } from '../support/toolCalls.js';
import { callTool, sameType } from './calls.js';

const forecast = tool({
  name: 'forecast',
  description: 'Forecasts.',
  parameters: z.object({ city: z.string(), days: z.number().default(3) }),
  progress: z.object({ percent: z.number() }),
  providerOptions: { anthropic: { defer_loading: true } },
  execute: ({ days }, context) => {
    context.progress({ percent: 50 });
    return { days };
  },
});

// Functions, so that each test has a tool of its own: a cache and a limit have state.
const wrappers = [
  ['wrapTool', () => wrapTool(forecast, (run) => run)],
  ['retryTool', () => retryTool(forecast)],
  ['cacheTool', () => cacheTool(forecast)],
  ['limitTool', () => limitTool(forecast, { concurrency: 1 })],
  ['deadlineTool', () => deadlineTool(forecast, 1000)],
  ['all of them', () => retryTool(cacheTool(limitTool(deadlineTool(forecast, 1000), { concurrency: 1 })))],
  ['wrapTool, without the tool', () => wrapTool((run) => run)(forecast)],
  ['limitRepeatsTool, without the tool', () => limitRepeatsTool({ max: 3 })(forecast)],
  [
    'all of them, in a row',
    () =>
      pipe(
        deadlineTool(1000),
        limitTool({ concurrency: 1 }),
        cacheTool({ ttl: 60_000 }),
        retryTool({ count: 2 }),
      )(forecast),
  ],
  ['retryTool and cacheTool, without options', () => pipe(retryTool(), cacheTool())(forecast)],
] as const;

describe.each(wrappers)('a tool of %s', (_, wrap) => {
  it('has the type and all other fields of the tool', () => {
    const wrapped = wrap();
    sameType<typeof wrapped, typeof forecast>(true);
    expect(wrapped).toEqual({ ...forecast, execute: expect.any(Function) });
    expect(Object.keys(wrapped).sort()).toEqual(Object.keys(forecast).sort());
  });

  it('emits the progress and the result of the tool', async () => {
    expect(await firstValueFrom(callTool(wrap(), { city: 'Oslo' }).pipe(toArray()))).toEqual([
      { percent: 50 },
      { days: 3 },
    ]);
  });
});

describe('wrapTool', () => {
  it('wrapTool passes the validated arguments and the context to the wrapper', () => {
    let seen: unknown;
    const wrapped = wrapTool(forecast, (run, { days }, { call, messages }) => {
      seen = { days, call, messages };
      return run;
    });
    observe(callTool(wrapped, { city: 'Oslo' }));
    expect(seen).toEqual({ days: 3, call: callOf('forecast', { city: 'Oslo' }), messages: [] });
  });

  it('wrapTool passes fields of the context that it does not know to the tool', () => {
    let seen: unknown;
    const spy = anyTool('spy', (_args, context) => {
      seen = context;
      return 1;
    });
    const context = {
      call: callOf('spy'),
      messages: [],
      context: undefined,
      signal: new AbortController().signal,
      progress: () => null,
      usage: () => null,
      idempotencyKey: 'r.0.spy',
    };
    const output = wrapTool(spy, (run) => run).execute?.({}, { ...context, user: 'ann' } as ToolContext);
    expect(seen).toBeUndefined();
    observe(output as ReturnType<typeof callTool>);
    expect(seen).toMatchObject({ call: callOf('spy'), messages: [], user: 'ann' });
  });

  it.each([
    ['a value', () => 2, [2]],
    ['a Promise', () => Promise.resolve(2), [2]],
    ['an Observable', () => of(1, 2), [{ progress: 1 }, 2]],
    ['marked progress', () => of(progress(1), 2), [{ progress: 1 }, 2]],
    [
      'a generator',
      function* () {
        yield 1;
        return 2;
      },
      [{ progress: 1 }, 2],
    ],
    ['nothing', () => undefined, [null]],
  ])('wrapTool emits marked progress and one result of a tool that returns %s', async (_, execute, expected) => {
    const values: unknown[] = [];
    const wrapped = wrapTool(anyTool('f', execute), (run) =>
      run.pipe(
        map((value) => {
          values.push(isMarkedProgress(value) ? { progress: 1 } : value);
          return value;
        }),
      ),
    );
    await firstValueFrom(callTool(wrapped).pipe(toArray()));
    expect(values).toEqual(expected);
  });

  it('wrapTool catches an error that execute throws, and one that the wrapper itself throws', () => {
    const failing = anyTool('f', () => {
      throw new Error('broken');
    });
    const wrapped = wrapTool(failing, (run) =>
      run.pipe(catchError((error: unknown) => of(`instead of ${errorText(error)}`))),
    );
    expect(observe(callTool(wrapped)).values).toEqual(['instead of broken']);
    const throwing = wrapTool(failing, () => {
      throw new Error('wrapper');
    });
    expect(observe(callTool(throwing)).values).toEqual(['wrapper']);
  });

  it.each(wrappers.map(([name], index) => [name, index] as const))(
    'a tool of %s aborts the signal and unsubscribes the tool when the call is unsubscribed',
    (_, index) => {
      const output = new Subject<number>();
      let signal: AbortSignal | undefined;
      const slow = anyTool('slow', (_args, context) => {
        signal = context.signal;
        return output;
      });
      const wrapped = [
        wrapTool(slow, (run) => run),
        retryTool(slow),
        cacheTool(slow),
        limitTool(slow, { concurrency: 1 }),
        deadlineTool(slow, 1000),
        retryTool(cacheTool(limitTool(deadlineTool(slow, 1000), { concurrency: 1 }))),
      ][index];
      const { subscription, values } = observe(callTool(wrapped ?? slow));
      output.next(1);
      output.next(2);
      expect(values).toEqual([1]);
      expect(signal?.aborted).toBe(false);
      subscription.unsubscribe();
      expect(signal?.aborted).toBe(true);
      expect(output.observed).toBe(false);
    },
  );

  it('wrapTool keeps needsApproval, and returns a tool without execute unchanged', () => {
    const guarded = tool({ name: 'pay', description: '', needsApproval: true, execute: () => 1 });
    expect(wrapTool(guarded, (run) => run)).toMatchObject({ needsApproval: true });
    expect(deadlineTool(guarded, 5)).toMatchObject({ needsApproval: true });
    const elsewhere = tool({ name: 'locate', description: '' });
    expect(wrapTool(elsewhere, (run) => run)).toBe(elsewhere);
    expect(deadlineTool(elsewhere, 5)).toBe(elsewhere);
  });
});
