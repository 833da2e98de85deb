import { describe, expect, it } from '@jest/globals';
import { concatMap, map, timer } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import { traceAgent } from '../../lib/observe/opentelemetry/index.js';
import { drawRun } from '../../lib/observe/draw/drawRun.js';
import { readRecording } from '../../lib/observe/recording/readRecording.js';
import { recordRun } from '../../lib/observe/recording/recordRun.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';
import { askTool } from '../../lib/tools/askTool.js';
import { record } from './opentelemetry/recording.js';

const secret = 'hunter2';
const pay = askTool({
  name: 'pay',
  description: 'Pays.',
  execute: (_, { ask, once }) =>
    once('look', () => `${secret} step`).pipe(
      concatMap(() =>
        ask({
          message: `${secret} message`,
          schema: z.object({ account: z.string().describe(`${secret} schema`) }),
          details: { url: `https://example.org/${secret}` },
        }),
      ),
    ),
});
const newAgent = () =>
  createAgent({ model: scriptedModel(() => [toolCall('pay', {}, 'c1')]), tools: [pay], maxTurns: 1 });
const answers = timer(5000).pipe(
  concatMap(() => [{ results: { 'c1/1': { account: 5 } } }, { results: { 'c1/1': { account: `${secret} answer` } } }]),
  concatMap((answer, index) => timer(index * 1000).pipe(map(() => answer))),
);

describe('a run with a question', () => {
  it.each([
    ['answered', { answers, checkpoints: true }],
    ['waiting', { checkpoints: true }],
  ])('that is %s is recorded without contents, and drawn', (_, options) => {
    const recordings = [true, false].map((content) => {
      const lines: string[] = [];
      const agent = recordRun(newAgent(), (line) => void lines.push(line), { content });
      expect(inVirtualTime(() => agent.stream('Pay.', options)).end).toBe('completed');
      expect(drawRun(readRecording(lines))).toContain('ask');
      return lines.join('\n');
    });
    expect(recordings.map((text) => text.includes(secret))).toEqual([true, false]);
    expect(recordings[1]).toContain('"id":"1","name":"ask"');
  });

  it.each([
    ['answered', 'execute_tool pay', { answers }],
    ['waiting', 'execute_tool pay !cancelled', {}],
  ])('that is %s is traced: %s', (_, span, options) => {
    const recorded = record();
    const run = inVirtualTime(() => traceAgent(newAgent(), recorded.options).stream('Pay.', options));
    expect(run.end).toBe('completed');
    expect(recorded.tree()).toContain(`    ${span}`);
    expect([recorded.open(), recorded.warnings]).toEqual([[], []]);
  });
});
