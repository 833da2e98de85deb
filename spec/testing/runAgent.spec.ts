import { describe, expect, it } from '@jest/globals';
import { asyncScheduler, map, NEVER, timer } from 'rxjs';
import { askTool, tool } from 'rivulet';
import type { AgentOptions } from 'rivulet';
import { runAgent, scriptedModel, toolCall } from 'rivulet/testing';
import * as z from 'zod';

const clock = () =>
  tool({
    name: 'clock',
    description: 'The time.',
    execute: (_arguments, { idempotencyKey }) =>
      timer(300).pipe(map(() => `${idempotencyKey} at ${asyncScheduler.now()}`)),
  });
const script = () => scriptedModel([[{ delay: 200 }, toolCall('clock', {}, ''), toolCall('clock', {}, '')], 'Late.']);

describe('runAgent', () => {
  it('runAgent has the same times, ids and keys in each run', () => {
    const [first, second] = [0, 1].map(() => runAgent({ model: script(), tools: [clock()] }, 'What time is it?'));
    expect(second).toEqual(first);
    const shown = first?.values.flatMap(({ at, value }) =>
      value.type === 'toolResult' ? [[at, value.id, value.result]] : [],
    );
    expect(shown).toEqual([
      [500, 'id_1', 'run_1.0.id_1.bcb1bff3b701bd6e at 500'],
      [800, 'id_2', 'run_1.0.id_2.bcb1bff3b701bd6e at 800'],
    ]);
    expect([first?.end, first?.at, first?.result?.text]).toEqual(['completed', 800, 'Late.']);
  });

  it('runAgent keeps the ids of its caller, and types what the tools return', () => {
    let count = 0;
    const newId = () => `mine_${++count}`;
    const run = runAgent({ model: script(), tools: [clock()], newId }, 'Time?', { runId: 'theirs' });
    const results = run.values.flatMap(({ value }) =>
      value.type === 'toolResult' && value.error === undefined ? [value.result satisfies string] : [],
    );
    expect(results[0]).toBe('theirs.0.mine_1.bcb1bff3b701bd6e at 500');
  });

  it('runAgent answers the questions of a tool at virtual times, or shows that the run waits', () => {
    const pay = askTool({
      name: 'pay',
      description: 'Pays.',
      execute: (_, { ask }) =>
        ask({ message: 'Which account?', schema: z.object({ account: z.string() }) }).pipe(
          map(({ account }) => `paid from ${account}`),
        ),
    });
    const options = { model: scriptedModel(() => [toolCall('pay', {}, 'c1')]), tools: [pay], maxTurns: 1 };
    const answers = timer(3_600_000).pipe(map(() => ({ results: { 'c1/1': { account: 'A' } } })));
    const { values, result } = runAgent(options, 'Pay.', { answers });
    expect(values.find(({ value }) => value.type === 'toolResult')).toMatchObject({
      at: 3_600_000,
      value: { result: 'paid from A' },
    });
    expect(result?.finishReason).toBe('maxTurns');
    expect(runAgent(options, 'Pay.').result?.waiting).toMatchObject([{ id: 'c1/1' }]);
    expect(runAgent(options, 'Pay.', { answers, patience: 60_000 })).toMatchObject({
      at: 60_000,
      result: { finishReason: 'waiting' },
    });
  });

  it('runAgent has no result if the run fails', () => {
    const { end, error, result } = runAgent({ model: scriptedModel([[{ error: new Error('down') }]]) }, 'Hi');
    expect({ end, error, result }).toEqual({ end: 'failed', error: new Error('down'), result: undefined });
  });

  describe('a run that waits for a Promise', () => {
    const look = { name: 'look', description: 'Looks.', execute: () => 'seen' };
    const script = () => scriptedModel([[toolCall('look')], 'Done.']);
    it.each<[string, Partial<AgentOptions>]>([
      ['The tool "look" returned', { tools: [tool({ ...look, execute: () => Promise.resolve('seen') })] }],
      ['The tool "look" returned', { tools: [tool({ ...look, execute: seen })] }],
      ['needsApproval of the tool "look"', { tools: [tool({ ...look, needsApproval: () => Promise.resolve(false) })] }],
      [
        'The option approve returned',
        { tools: [tool({ ...look, needsApproval: true })], approve: () => Promise.resolve({ approve: true }) },
      ],
      ['The option prepareTurn returned', { tools: [tool(look)], prepareTurn: () => Promise.resolve({}) }],
    ])('an error says: %s', (message, options) => {
      const run = () => runAgent({ model: script(), ...options }, 'Hi');
      expect(run).toThrow(message);
      expect(run).toThrow('advanceTimersByTimeAsync');
    });

    it('a Promise of a run that ends is not an error', () => {
      const late = tool({ ...look, execute: () => Promise.resolve('seen') });
      const { end, error } = runAgent({ model: script(), tools: [late], timeout: { run: 50 } }, 'Hi');
      expect({ end, error }).toEqual({ end: 'failed', error: expect.objectContaining({ name: 'TimeoutError' }) });
    });

    it('a tool that never ends is not an error', () => {
      const { end, result } = runAgent({ model: script(), tools: [tool({ ...look, execute: () => NEVER })] }, 'Hi');
      expect({ end, result }).toEqual({ end: 'open', result: undefined });
    });
  });
});

async function* seen() {
  yield await Promise.resolve('seen');
}
