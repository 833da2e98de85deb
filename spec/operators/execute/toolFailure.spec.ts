import { describe, expect, it } from '@jest/globals';
import { config, throwError } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { tool } from '../../../lib/core/tool.js';
import { runResponse } from '../../../lib/service/http/runResponse.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { observe } from '../../support/observe.js';

const broken = new TypeError('the row has no price');
const fail = tool({ name: 'fail', description: '', execute: () => throwError(() => broken) });
const refuse = tool({
  name: 'refuse',
  description: '',
  parameters: { type: 'object', required: ['a'] },
  execute: () => 1,
});

/** An agent whose model calls tools, and what they threw. */
function failing(names: readonly string[] = ['fail']) {
  const thrown: unknown[] = [];
  const agent = createAgent({
    model: scriptedModel(() => names.map((name) => toolCall(name))),
    tools: [fail, refuse],
    maxTurns: 1,
    onToolError: (error, { name }) => thrown.push([error, name]),
  });
  return { agent, thrown };
}

describe('onToolError', () => {
  it('onToolError receives what a tool throws, with its stack, and no run, event or response contains the stack', async () => {
    const { agent, thrown } = failing();
    const results = observe(agent.run('Go.')).values;
    const events = observe(agent.stream('Go.', { checkpoints: true })).values;
    const response = await runResponse(agent.stream('Go.')).text();
    expect(thrown).toEqual([
      [broken, 'fail'],
      [broken, 'fail'],
      [broken, 'fail'],
    ]);
    expect(broken.stack).toContain('toolFailure.spec');
    for (const text of [JSON.stringify(results), JSON.stringify(events), response]) {
      expect(text).toContain('the row has no price');
      expect(text).not.toContain('toolFailure.spec');
    }
  });

  it('onToolError is not called for calls that were never executed', () => {
    const { agent, thrown } = failing(['refuse', 'unknown']);
    expect(observe(agent.run('Go.')).values).toMatchObject([
      { messages: [{}, { parts: [{ code: 'invalid_arguments' }, { code: 'unknown_tool' }] }] },
    ]);
    expect(thrown).toEqual([]);
  });

  it('onToolError that throws does not change the run, and its error is reported as unhandled', async () => {
    const unhandled = new Promise((resolve) => (config.onUnhandledError = resolve));
    try {
      const model = scriptedModel([[toolCall('fail')], 'Sorry.']);
      const log = () => {
        throw new Error('the log is full');
      };
      const { values } = observe(createAgent({ model, tools: [fail], onToolError: log }).run('Go.'));
      expect(values).toMatchObject([{ answer: 'Sorry.' }]);
      expect(await unhandled).toEqual(new Error('the log is full'));
    } finally {
      config.onUnhandledError = null;
    }
  });
});
