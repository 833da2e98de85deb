import { describe, expect, it } from '@jest/globals';
import { concat, lastValueFrom, mergeMap, NEVER, of, throwError, timer } from 'rxjs';
import * as z from 'zod';
import { createAgent, type AgentOptions } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import type { Usage } from '../../lib/core/usage.js';
import { observeRun } from '../../lib/operators/observeRun.js';
import { tool } from '../../lib/core/tool.js';
import { typed } from '../../lib/agent/typed.js';
import { scriptedModel, toolCall, type Step } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { inVirtualTime } from '../support/virtualTime.js';

const used = (total: number, reason: 'stop' | 'toolCalls' | 'length' | 'contentFilter' = 'stop'): Chunk => ({
  type: 'finish',
  reason,
  usage: { total },
});
const retract: Chunk = { type: 'retract', usage: { total: 1000 } };
const slow = tool({ name: 'slow', description: '', execute: () => NEVER });
const counts = tool({
  name: 'counts',
  description: '',
  execute: (_, { usage }) => (usage({ total: 10 }), NEVER),
});
const inner = agentTool(createAgent({ model: scriptedModel(() => ['Done.', used(10)]) }), {
  name: 'inner',
  description: '',
});
const output = typed(z.object({ v: z.number() }));

type RunWith = Parameters<ReturnType<typeof createAgent>['run']>[1];
interface Row {
  readonly steps: readonly Step[];
  readonly agent?: Partial<AgentOptions>;
  readonly run?: () => RunWith;
}

/** What fails a run while its tools run. */
const endings: Readonly<Record<string, Omit<Row, 'steps'>>> = {
  'a signal': { run: () => ({ signal: abortedAfter(30) }) },
  'timeout.turn': { agent: { timeout: { turn: 30 } } },
  'timeout.run': { agent: { timeout: { run: 30 } } },
  'an error of answers': {
    run: () => ({ answers: timer(30).pipe(mergeMap(() => throwError(() => new Error('gone')))) }),
  },
};
function abortedAfter(milliseconds: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), milliseconds);
  return controller.signal;
}

/** What a turn has used by then. */
const turns: readonly (readonly [string, number, readonly Step[]])[] = [
  ['a response', 100, [toolCall('slow', {}, 'c1'), used(100, 'toolCalls')]],
  ['a response and a tool', 110, [toolCall('counts', {}, 'c1'), used(100, 'toolCalls')]],
  ['a response after a retract', 1100, ['a', retract, toolCall('slow', {}, 'c1'), used(100, 'toolCalls')]],
  ['all of them', 1110, ['a', retract, toolCall('counts', {}, 'c1'), used(100, 'toolCalls')]],
];

const inTools = Object.entries(endings).flatMap(([ending, row]) =>
  turns.flatMap(([title, total, steps]) =>
    [false, true].map(
      (isTyped) =>
        [
          `${ending}, after ${title}${isTyped ? ', typed' : ''}`,
          total,
          { ...row, steps, agent: { ...row.agent, ...(isTyped ? { output } : {}) } },
        ] as const,
    ),
  ),
);
const repairs = { output, maxRepairs: 0 };
const typedRows: readonly (readonly [string, number, Row])[] = [
  ['an invalid output after a retract', 1100, { steps: ['a', retract, 'no json', used(100)], agent: repairs }],
  ['an empty output after a retract', 1100, { steps: ['a', retract, used(100)], agent: repairs }],
  ['a cut output after a retract', 1100, { steps: ['a', retract, '{', used(100, 'length')], agent: repairs }],
  ['a refusal after a retract', 1100, { steps: ['a', retract, used(100, 'contentFilter')], agent: repairs }],
  [
    'maxTurns after a sub-agent',
    110,
    { steps: [toolCall('inner', { prompt: 'x' }, 'c1'), used(100, 'toolCalls')], agent: { output, maxTurns: 1 } },
  ],
  [
    'maxTurns after a retract and a sub-agent',
    1110,
    {
      steps: ['a', retract, toolCall('inner', { prompt: 'x' }, 'c1'), used(100, 'toolCalls')],
      agent: { output, maxTurns: 1 },
    },
  ],
];

const agentOf = ({ steps, agent }: Row) =>
  createAgent({ model: scriptedModel(() => [...steps]), tools: [slow, counts, inner], ...agent });

describe('a run that fails', () => {
  it.each([...inTools, ...typedRows])('by %s has used %d', (_, total, row) =>
    inVirtualTime(async () => {
      let observed: Usage | undefined;
      const events = agentOf(row).stream('x', row.run?.());
      const thrown: unknown = await lastValueFrom(
        events.pipe(observeRun({ runEnd: ({ usage }) => (observed = usage) })),
      ).catch((error: unknown) => error);
      expect(failedRunOf(thrown)?.usage).toEqual({ total });
      expect(observed).toEqual({ total });
    }),
  );

  it.each([...inTools, ...typedRows].filter(([, , { run }]) => !run))(
    'by %s has used %d, as a sub-agent',
    (_, total, row) =>
      inVirtualTime(async () => {
        const asked = agentTool(agentOf(row), { name: 'asked', description: '' });
        const model = scriptedModel([
          [toolCall('asked', { prompt: 'x' }, 'o1'), used(1, 'toolCalls')],
          ['Ok.', used(2)],
        ]);
        const result = await lastValueFrom(createAgent({ model, tools: [asked] }).run('x'));
        expect(result.usage).toEqual({ total: total + 3 });
      }),
  );

  it('counts its response once if it is a sub-agent that a retry continues', () =>
    inVirtualTime(async () => {
      let count = 0;
      const late = tool({
        name: 'late',
        description: '',
        execute: (_, { usage }) => (usage({ total: 10 }), count++ === 0 ? NEVER : concat(timer(1), of('done'))),
      });
      const quick = tool({ name: 'quick', description: '', execute: () => 'done' });
      const model = scriptedModel([
        [toolCall('quick', {}, 'q1'), toolCall('late', {}, 'c1'), used(100, 'toolCalls')],
        ['Done.', used(200)],
      ]);
      const agent = createAgent({ model, tools: [quick, late], timeout: { run: 30 } });
      const asked = retryTool(agentTool(agent, { name: 'asked', description: '' }), { delay: 1, when: () => true });
      const outer = scriptedModel([
        [toolCall('asked', { prompt: 'x' }, 'o1'), used(1, 'toolCalls')],
        ['Ok.', used(2)],
      ]);
      const result = await lastValueFrom(createAgent({ model: outer, tools: [asked] }).run('x'));
      expect(result.usage).toEqual({ total: 323 });
    }));
});
