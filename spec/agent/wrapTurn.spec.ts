import { describe, expect, it } from '@jest/globals';
import { map, tap } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Orchestrator } from '../../lib/agent/orchestrator.js';
import { ConfigurationError } from '../../lib/core/errors.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { tool } from '../../lib/core/tool.js';
import { traceAgent } from '../../lib/observe/opentelemetry/index.js';
import { recordRun } from '../../lib/observe/recording/recordRun.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';

const look = tool({ name: 'look', description: '', execute: () => 'rain' });

/** Notes each turn, and turns its text into capitals. */
function capitals() {
  const notes: string[] = [];
  const wrapTurn = (turn: Orchestrator['turn']): Orchestrator['turn'] => {
    notes.push('run');
    return (state, context) => {
      notes.push(`turn ${state.turn + 1} of ${context.model.name}`);
      const model = pipeModel(
        context.model,
        map((chunk) => (chunk.type === 'text' ? { ...chunk, text: chunk.text.toUpperCase() } : chunk)),
      );
      return turn(state, { ...context, model });
    };
  };
  return { notes, wrapTurn };
}

describe('wrapTurn', () => {
  it('wrapTurn is called once per run, and wraps each turn as prepareTurn has changed it', () => {
    const other = scriptedModel(['Rain.', 'Rain.'], { name: 'other' });
    const agent = createAgent({
      model: scriptedModel(() => [toolCall('look')]),
      tools: [look],
      prepareTurn: ({ turn }) => (turn === 0 ? undefined : { model: other }),
    });
    const { notes, wrapTurn } = capitals();
    const runs = agent.run('Hi', { wrapTurn });
    expect(observe(runs).values).toMatchObject([{ text: 'RAIN.' }]);
    expect(notes).toEqual(['run', 'turn 1 of scripted', 'turn 2 of other']);
    expect(observe(runs).values).toMatchObject([{ text: 'RAIN.' }]);
    expect(notes.slice(3)).toEqual(notes.slice(0, 3));
  });

  const wrong: readonly [string, () => unknown, string][] = [
    ['nothing', () => undefined, 'wrapTurn returned no function. Return a turn'],
    ['an object', () => ({ turn: look }), 'wrapTurn returned no function. Return a turn'],
    ['a Promise', () => Promise.resolve(), 'wrapTurn returned a Promise.'],
  ];
  it.each(wrong)('wrapTurn that returns %s fails the run, also while it is recorded or traced', (_, wrap, message) => {
    const agent = createAgent({ model: scriptedModel(['Rain.']), tools: [look] });
    for (const each of [agent, recordRun(agent, () => undefined), traceAgent(agent, { name: 'a' })]) {
      const { error } = observe(each.run('Hi', { wrapTurn: wrap as never }));
      expect(error).toBeInstanceOf(ConfigurationError);
      expect((error as Error).message).toContain(message);
    }
  });

  it('wrapTurn wraps a resumed run, whose checkpoints keep the name of the orchestrator', () => {
    const ask = tool({ name: 'ask', description: '' });
    const agent = createAgent({ model: scriptedModel([[toolCall('ask')], 'Done.']), tools: [ask] });
    const { notes, wrapTurn } = capitals();
    const checkpoint = observe(agent.run('Hi', { wrapTurn })).values[0]!.checkpoint!;
    expect(checkpoint.orchestrator).toBe('toolLoop');
    const resumed = agent.resumeRun(checkpoint, { results: { call_1_1: 'yes' }, wrapTurn });
    expect(observe(resumed).values).toMatchObject([{ text: 'DONE.' }]);
    expect(notes).toEqual(['run', 'turn 1 of scripted', 'run', 'turn 1 of scripted', 'turn 2 of scripted']);
  });

  it('wrapTurn sees the open calls of a turn only in a run with checkpoints', () => {
    const openCalls = (options: { readonly checkpoints?: boolean }) => {
      const seen: string[] = [];
      const wrapTurn =
        (turn: Orchestrator['turn']): Orchestrator['turn'] =>
        (state, context) =>
          turn(state, context).pipe(tap(({ type }) => seen.push(type)));
      const agent = createAgent({ model: scriptedModel([[toolCall('look')], 'Rain.']), tools: [look] });
      observe(agent.run('Hi', { ...options, wrapTurn }));
      return seen.filter((type) => type === 'openCalls');
    };
    expect(openCalls({})).toEqual([]);
    expect(openCalls({ checkpoints: true })).not.toEqual([]);
  });

  it('an exception of wrapTurn is the error of the run', () => {
    const failure = new Error('no wrapper');
    const wrapTurn = () => {
      throw failure;
    };
    expect(observe(createAgent({ model: scriptedModel(['Hi']) }).run('Hi', { wrapTurn })).error).toBe(failure);
  });
});
