import { describe, expect, it } from '@jest/globals';
import { NEVER, concat, map, of, take, timer } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { TimeoutError } from '../../lib/core/timeoutError.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';

/** Runs an agent in virtual time, and returns its events, its error and the time of its end. */
function runToEnd(options: AgentOptions) {
  return new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ flush }) => {
    const seen = observe(createAgent(options).stream('Go.'));
    flush();
    return { types: seen.values.map(({ type }) => type), error: seen.error };
  });
}
const slowTool = (milliseconds: number) =>
  tool({ name: 'slow', description: 'Slow.', execute: () => timer(milliseconds).pipe(map(() => 'done')) });

describe('the timeout of an agent', () => {
  it('timeout.turn limits each turn with its tools, and a run of many turns may take longer', () => {
    const script = () => [[toolCall('slow')], [toolCall('slow')], [toolCall('slow')], 'Done.'];
    const tools = [slowTool(50)];
    expect(runToEnd({ model: scriptedModel(script()), tools, timeout: { turn: 60 } })).toMatchObject({
      types: expect.arrayContaining(['result']) as unknown,
      error: undefined,
    });
    expect(runToEnd({ model: scriptedModel(script()), tools, timeout: { turn: 40 } })).toEqual({
      types: ['toolCall', 'message', 'toolStart'],
      error: new TimeoutError('turn', 40),
    });
  });

  it('timeout.run limits the complete run, and keeps what it has emitted', () => {
    const script = [[toolCall('slow')], [toolCall('slow')], 'Done.'];
    const { types, error } = runToEnd({ model: scriptedModel(script), tools: [slowTool(50)], timeout: { run: 70 } });
    expect(error).toEqual(new TimeoutError('run', 70));
    expect(types.filter((type) => type === 'turn')).toHaveLength(1);
    expect(types).not.toContain('result');
  });

  it('timeout.run ends a silent response, and one that never ends', () => {
    const text: Chunk = { type: 'text', text: '.' };
    const silent = scriptedModel(() => concat(of(text), NEVER));
    expect(runToEnd({ model: silent, timeout: { run: 600_000 } })).toEqual({
      types: ['text'],
      error: new TimeoutError('run', 600_000),
    });
    const endless = scriptedModel(() => timer(0, 1000).pipe(map(() => text)));
    expect(runToEnd({ model: endless, timeout: { run: 10_000 } }).error).toEqual(new TimeoutError('run', 10_000));
  });

  it('timeout.run ends the subscription of the model and leaves no timer when the run is left', () => {
    new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ cold, expectSubscriptions, flush }) => {
      const source = cold<Chunk>('-a', { a: { type: 'text', text: 'a' } });
      const model = scriptedModel(() => source);
      observe(createAgent({ model, timeout: { run: 5 } }).stream('Go.'));
      observe(
        createAgent({ model, timeout: { run: 3_600_000 } })
          .stream('Go.')
          .pipe(take(1)),
      );
      expectSubscriptions(source.subscriptions).toBe(['^----!', '^!']);
      flush();
    });
  });
});
