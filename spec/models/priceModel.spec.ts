import { describe, expect, it } from '@jest/globals';
import { NEVER, Subject, from, map, take, throwError } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { StreamInterruptedError } from '../../lib/core/errors.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import type { Model } from '../../lib/core/model.js';
import type { Usage } from '../../lib/core/usage.js';
import { tool } from '../../lib/core/tool.js';
import { setUsageOfError } from '../../lib/core/usageOfError.js';
import { fallback } from '../../lib/models/fallback.js';
import { priceModel } from '../../lib/models/priceModel.js';
import { costBudget } from '../../lib/agent/stopWhen.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { modelOf, request } from './models.js';

const million = 1_000_000;
const prices = { input: 1, output: 10 };
const finish = (reason: 'stop' | 'toolCalls' = 'stop'): Chunk => ({
  type: 'finish',
  reason,
  usage: { input: million, output: million },
});
const resultOf = (agent: ReturnType<typeof createAgent>) => observe(agent.run('Hi')).values[0];

/** A model that reports a usage when it is stopped. */
const reportingModel = (usage: Usage): Model => ({
  ...scriptedModel([]),
  stream: ({ stop = NEVER }) =>
    from(stop).pipe(
      take(1),
      map((): Chunk => ({ type: 'finish', reason: 'stopped', usage })),
    ),
});

describe('priceModel', () => {
  it('priceModel adds the cost to the usage, as in its diagram', () =>
    diagram('priceModel', ({ model }: Streams<'model', Chunk>) =>
      priceModel(modelOf('m', [model]), { input: 1, output: 10 }).stream(request),
    ));

  it('priceModel keeps the name and the capabilities of the model, and composes with pipe', () => {
    const model = modelOf('m', [], { tools: true });
    expect(priceModel(prices)(model)).toMatchObject({ provider: 'p', name: 'm', capabilities: { tools: true } });
  });

  it('priceModel sums the cost of the turns, and costBudget ends the run by it', () => {
    const look = tool({ name: 'look', description: '', execute: () => 1 });
    const model = priceModel(
      scriptedModel(() => [toolCall('look'), finish('toolCalls')]),
      prices,
    );
    const result = resultOf(createAgent({ model, tools: [look], stopWhen: costBudget({ max: 30 }) }));
    expect(result).toMatchObject({
      cost: 33,
      turns: 3,
      rawReason: 'costBudget',
      usage: { cost: 33, input: 3 * million },
    });
  });

  it('priceModel applies the prices of the model that answers, also to an attempt that is retracted', () => {
    const lost = new StreamInterruptedError('p', 'lost');
    setUsageOfError(lost, { input: million });
    const models = fallback([modelOf('a', [['Half', { error: lost }]]), modelOf('b', [['All', finish()]])]);
    const model = priceModel(models, { a: { input: 3, output: 3 }, 'p:b': { input: 5, output: 50 } });
    expect(resultOf(createAgent({ model }))).toMatchObject({ cost: 58, usage: { input: 2 * million } });
    expect(
      resultOf(createAgent({ model: priceModel(modelOf('c', [['All', finish()]]), { a: prices }) })),
    ).not.toHaveProperty('cost');
  });

  it('priceModel keeps a cost that the usage has, so that it can be applied inside and outside', () => {
    const cheap = priceModel(modelOf('a', [['All', finish()]]), { input: 0, output: 1 });
    expect(resultOf(createAgent({ model: priceModel(cheap, prices) }))).toMatchObject({ cost: 1 });
  });

  it('priceModel counts the cost of a sub-agent, whose model has other prices', () => {
    const inner = createAgent({ model: priceModel(modelOf('i', [['Warm.', finish()]]), { input: 0, output: 2 }) });
    const asking = scriptedModel([
      [toolCall('ask', { prompt: '?' }), finish('toolCalls')],
      ['Done.', finish()],
    ]);
    const tools = [agentTool(inner, { name: 'ask', description: '' })];
    expect(resultOf(createAgent({ model: priceModel(asking, prices), tools }) as never)).toMatchObject({ cost: 24 });
  });

  it('priceModel counts what a stopped response and a failed run have cost', () => {
    const stop = new Subject<void>();
    const open = priceModel(reportingModel({ input: million }), prices);
    const stopped = observe(createAgent({ model: open }).run('Hi', { stop }));
    stop.next();
    expect(stopped.values).toMatchObject([{ cost: 1, usage: { input: million }, finishReason: 'stopped' }]);
    const lost = new StreamInterruptedError('p', 'lost');
    setUsageOfError(lost, { input: million });
    const failing = priceModel(
      scriptedModel(() => throwError(() => lost)),
      prices,
    );
    const { error } = observe(createAgent({ model: failing }).run('Hi'));
    expect(failedRunOf(error)?.usage).toEqual({ input: million, cost: 1 });
  });

  it('priceModel counts nothing for a stopped response without a usage, and a cost once if it is applied twice', () => {
    const stoppedRun = (model: Model) => {
      const stop = new Subject<void>();
      const stopped = observe(createAgent({ model }).run('Hi', { stop }));
      stop.next();
      expect(stopped.values).toMatchObject([{ finishReason: 'stopped' }]);
      return stopped.values[0];
    };
    const unknown = stoppedRun(priceModel(scriptedModel([NEVER]), prices));
    expect(unknown).toMatchObject({ usage: {} });
    expect(unknown).not.toHaveProperty('cost');
    const open = reportingModel({ input: million });
    expect(stoppedRun(priceModel(priceModel(open, prices), prices))).toMatchObject({ cost: 1 });
  });

  it.each<[string, object]>([
    ['no price', {}],
    ['no input', { output: 1 }],
    ['no output', { input: 1 }],
    ['a model without prices', { m: {} }],
    ['a model without output', { m: { input: 1, cachedInput: 1 } }],
    ['a number for a model', { m: { input: 1, output: 1 }, n: 5 }],
  ])('priceModel refuses %s: a cost would be NaN', (_, incomplete) => {
    expect(() => priceModel(scriptedModel(['Hi']), incomplete as never)).toThrow(/prices/);
  });

  it('a run reports the cost that the provider has reported, without priceModel', () => {
    const priced: Chunk = { type: 'metadata', metadata: { cost: 0.02 } };
    expect(resultOf(createAgent({ model: scriptedModel([['Hi', priced]]) }))).toMatchObject({ cost: 0.02 });
    expect(resultOf(createAgent({ model: scriptedModel(['Hi']) }))).not.toHaveProperty('cost');
  });
});
