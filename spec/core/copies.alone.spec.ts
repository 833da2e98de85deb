import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { lastValueFrom, NEVER, Subject, tap, throwError, toArray } from 'rxjs';
import * as own from '../../lib/index.js';
import { StreamInterruptedError } from '../../lib/core/errors.js';
import { describeError } from '../../lib/transport/publicError.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';

/** Another copy of the library in the same process, as the ESM and the CommonJS build are. */
let other: typeof own;
let others: {
  readonly StreamInterruptedError: typeof StreamInterruptedError;
  readonly scriptedModel: typeof scriptedModel;
};
beforeAll(() =>
  jest.isolateModulesAsync(async () => {
    other = await import('../../lib/index.js');
    const { StreamInterruptedError: OtherError } = await import('../../lib/core/errors.js');
    const testing = await import('../../lib/testing/index.js');
    others = { StreamInterruptedError: OtherError, scriptedModel: testing.scriptedModel };
  }),
);

describe('two copies of the library', () => {
  it('RivuletError knows the errors of another copy, its other classes do not', () => {
    const error = new others.StreamInterruptedError('p', 'It was cut.');
    expect(other).not.toBe(own);
    expect(error).toBeInstanceOf(own.RivuletError);
    expect(error).not.toBeInstanceOf(StreamInterruptedError);
    expect(error).not.toBeInstanceOf(own.ConfigurationError);
    expect(new StreamInterruptedError('p', 'x')).toBeInstanceOf(StreamInterruptedError);
    for (const value of [undefined, null, 5, 'x', {}, new Error('x'), NEVER])
      expect(value instanceof own.RivuletError).toBe(false);
    expect(describeError(error)).toMatchObject({ code: 'stream_interrupted', retryable: true });
  });

  const run = (tool: own.Tool) =>
    lastValueFrom(
      own.createAgent({ model: scriptedModel([[toolCall('w', { prompt: 'x' }, 'c')], 'Hi']), tools: [tool] }).run('Hi'),
    );
  const define = (from: typeof own, execute: () => unknown) =>
    from.tool({ name: 'w', description: '', execute: execute as () => string });

  it.each<[string, () => own.Tool, string]>([
    [
      'deadlineTool',
      () =>
        other.deadlineTool(
          define(own, () => NEVER),
          1,
        ),
      'timeout',
    ],
    [
      'an agent as a tool',
      () =>
        other.agentTool(other.createAgent({ model: scriptedModel(['a']), maxTurns: 0 }), {
          name: 'w',
          description: '',
        }),
      'incomplete',
    ],
  ])('an agent reports the code of a failure of %s of another copy', async (_, make, code) => {
    expect(JSON.stringify((await run(make())).messages)).toContain(`"code":"${code}"`);
  });

  it('retryModel retries an error of another copy', async () => {
    const cut = () => throwError(() => new others.StreamInterruptedError('p', 'It was cut.'));
    const answers = [cut, () => others.scriptedModel(['Hi']).stream({ messages: [] })];
    const broken: own.Model = { provider: 'p', name: 'm', stream: () => answers.shift()?.() ?? NEVER };
    const model = own.retryModel(broken, { delay: 0 });
    expect(await lastValueFrom(own.createAgent({ model }).run('Hi'))).toMatchObject({ text: 'Hi' });
  });

  it('a stop ends the response of a model of another copy', async () => {
    const stop = new Subject<void>();
    const agent = own.createAgent({ model: others.scriptedModel([['a', 'b', { delay: 1000 }, 'c']]) });
    const stopAtB = tap((event: { readonly type: string; readonly text?: string }) => {
      if (event.type === 'text' && event.text === 'b') stop.next();
    });
    const events = await lastValueFrom(agent.stream('Hi', { stop }).pipe(stopAtB, toArray()));
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { text: 'ab', finishReason: 'stopped' } });
  });
});
