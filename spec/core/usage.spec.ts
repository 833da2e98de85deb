import { describe, expect, it } from '@jest/globals';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tokenBudget } from '../../lib/agent/stopWhen.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { hasToolResults } from '../../lib/core/message.js';
import { addUsage, usageOf, type Usage } from '../../lib/core/usage.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';
import { anyTool, payTool } from '../support/toolCalls.js';

describe('addUsage', () => {
  it('addUsage adds field by field, and keeps unknown counts absent', () => {
    expect(addUsage({ input: 1, output: 2, total: 3 }, { input: 10, reasoning: 0 })).toEqual({
      input: 11,
      output: 2,
      total: 3,
      reasoning: 0,
    });
    expect(addUsage(undefined, undefined)).toEqual({});
    expect(addUsage({}, { cachedInput: 4, cacheWriteInput: 5 })).toEqual({ cachedInput: 4, cacheWriteInput: 5 });
    expect(Object.keys(addUsage({ input: 1 }, {}))).toEqual(['input']);
  });
});

describe('what tools and models report as usage', () => {
  it.each<[string, unknown]>([
    ['NaN', { input: NaN, output: 2 }],
    ['less than 0', { input: 3, output: 2, total: -5 }],
    ['a text', { input: '5' }],
    ['a bigint', { input: 5n }],
    ['an object', { input: { tokens: 5 } }],
    ['a cost that is a text', { cost: '1' }],
    ['counts whose sum is infinite', { input: 1e308, output: 1e308 }],
    ['a total with such a sum', { input: 1e308, output: 1e308, total: 3 }],
  ])('validUsage omits %s, so that budgets hold and a checkpoint can be resumed', (_, reported) => {
    const usage = reported as Usage;
    const report = anyTool('report', (_args, context) => {
      context.usage(usage);
      return 'reported';
    });
    const finish: Chunk = { type: 'finish', reason: 'toolCalls', usage };
    const agent = createAgent({
      model: scriptedModel(({ messages }) =>
        messages.some(hasToolResults) ? 'Done.' : [toolCall('report'), toolCall('pay', {}, 'c2'), finish],
      ),
      tools: [report, payTool()],
    });
    const waiting = observe(agent.run('Go.', { checkpoints: true })).values[0];
    for (const tokens of Object.values(waiting?.usage ?? {})) expect(Number.isFinite(tokens)).toBe(true);
    const checkpoint = JSON.parse(JSON.stringify(waiting?.checkpoint)) as Checkpoint;
    const rest = observe(agent.resumeRun(checkpoint, { decisions: { c2: { approve: true } } }));
    expect(rest).toMatchObject({ values: [{ answer: 'Done.' }], error: undefined });
  });
});

describe('tokenBudget', () => {
  it.each<[string, Usage]>([
    ['0', { input: 900, output: 100, total: 0 }],
    ['less than its parts', { input: 900, output: 100, total: 999 }],
    ['less than its only part', { output: 1000, total: 1 }],
    ['less than 0', { input: 900, output: 100, total: -1 }],
    ['no number', { input: 900, output: 100, total: NaN }],
    ['their sum', { input: 900, output: 100, total: 1000 }],
    ['more than its parts', { input: 1, output: 1, total: 1000 }],
  ])('tokenBudget counts input and output if the reported total is %s', (_, usage) => {
    const finish: Chunk = { type: 'finish', reason: 'toolCalls', usage };
    const model = scriptedModel(() => [toolCall('report'), finish]);
    const report = anyTool('report', () => 'reported');
    const agent = createAgent({ model, tools: [report], maxTurns: 5, stopWhen: tokenBudget(2000) });
    expect(observe(agent.run('Go.')).values).toMatchObject([{ finishReason: 'limit', usage: { total: 2000 } }]);
  });
});

describe('usageOf', () => {
  it('usageOf omits unknown counts, and sums a missing total', () => {
    expect(usageOf({ input: 1, output: 2, reasoning: undefined })).toEqual({ input: 1, output: 2, total: 3 });
    expect(usageOf({ input: 1, output: 2, total: 9 })).toEqual({ input: 1, output: 2, total: 9 });
    expect(usageOf({ output: 2 })).toEqual({ output: 2 });
  });
});
