import { describe, expect, it } from '@jest/globals';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { fallback } from '../../lib/models/fallback.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { partialOutput } from '../../lib/operators/partialOutput.js';
import { toolCall } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { observe } from '../support/observe.js';
import { inVirtualTime, lost, modelOf } from './models.js';

const output = z.object({ n: z.number() });
const f = tool({ name: 'f', description: '', execute: () => 1 });

describe('a typed output of a model that starts over', () => {
  it('retryModel announces its retry in a run with a typed output, whose output is that of the last attempt', () => {
    inVirtualTime(({ flush }) => {
      const model = retryModel(modelOf('m', [['{"n":1', { error: lost }], '{"n":2}']), { delay: 5 });
      const agent = createAgent({ model, output: typed(output) });
      const seen = observe(agent.stream('Go.'));
      flush();
      expect(seen.values.map(({ type }) => type)).toEqual([
        ...['text', 'retract', 'retry', 'text', 'message', 'turn', 'result'],
      ]);
      expect(seen.values.at(-1)).toMatchObject({ result: { output: { n: 2 }, text: '{"n":2}' } });
    });
  });

  it('retryModel drops the partial output of the failed attempt', () => {
    inVirtualTime(({ flush }) => {
      const model = retryModel(modelOf('m', [['{"n":12', { delay: 3 }, { error: lost }], '{"n":3}']), { delay: 5 });
      const seen = observe(
        createAgent({ model, output: typed(output) })
          .stream('Go.')
          .pipe(partialOutput()),
      );
      flush();
      expect(seen.values.at(-1)).toEqual({ n: 3 });
    });
  });

  it('fallback and retryModel work in both phases of twoPhase', () => {
    inVirtualTime(({ flush }) => {
      const capabilities = { tools: true, typedOutput: true, typedOutputWithTools: false };
      const first = modelOf(
        'm',
        [[toolCall('f')], ['Half', { error: lost }], ['{"n":', { error: lost }]],
        capabilities,
      );
      const second = modelOf('n', ['It is 4.', '{"n":4}'], { ...capabilities, typedOutputWithTools: true });
      const agent = createAgent({
        model: retryModel(fallback([first, second]), { delay: 1 }),
        tools: [f],
        output: typed(output),
      });
      const seen = observe(agent.run('Go.'));
      flush();
      expect(seen.values).toMatchObject([{ output: { n: 4 } }]);
      expect(first.requests).toHaveLength(3);
    });
  });
});
