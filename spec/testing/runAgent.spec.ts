import { describe, expect, it } from '@jest/globals';
import { asyncScheduler, map, timer } from 'rxjs';
import { tool } from 'rivulet';
import { runAgent, scriptedModel, toolCall } from 'rivulet/testing';

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
      [500, 'id_1', 'run_1.0.id_1 at 500'],
      [800, 'id_2', 'run_1.0.id_2 at 800'],
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
    expect(results[0]).toBe('theirs.0.mine_1 at 500');
  });

  it('runAgent has no result if the run fails', () => {
    const { end, error, result } = runAgent({ model: scriptedModel([[{ error: new Error('down') }]]) }, 'Hi');
    expect({ end, error, result }).toEqual({ end: 'failed', error: new Error('down'), result: undefined });
  });
});
