import { describe, expect, it } from '@jest/globals';
import { map, timer } from 'rxjs';
import { backgroundTool } from '../../lib/agent/backgroundTool.js';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { RunEvent } from '../../lib/core/event.js';
import { tool } from '../../lib/core/tool.js';
import { drawRun } from '../../lib/observe/draw/drawRun.js';
import { traceAgent } from '../../lib/observe/opentelemetry/index.js';
import { readRecording } from '../../lib/observe/recording/readRecording.js';
import { recordRun } from '../../lib/observe/recording/recordRun.js';
import { replayRun } from '../../lib/observe/recording/replayRun.js';
import { toAgUi } from '../../lib/service/agUi/toAgUi.js';
import { toUiMessageStream } from '../../lib/service/uiChat/toUiMessageStream.js';
import { inVirtualTime, scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { createCompactor, createRestorer } from '../../lib/transport/compactEvents.js';
import { record } from './opentelemetry/recording.js';

const secret = 'hunter2';
const work = (name: string, time: number) =>
  tool({ name, description: name, execute: () => timer(time).pipe(map(() => `${secret} ${name}`)) });

function newTools() {
  const inner = createAgent({
    model: scriptedModel([[toolCall('step', {}, 's1')], 'Found.']),
    tools: [work('step', 100)],
  });
  const research = agentTool(inner, { name: 'research', description: 'Researches.' });
  return [backgroundTool(work('look', 50)), backgroundTool(research)];
}

function newAgent() {
  const model = scriptedModel([
    [toolCall('look', {}, 'c1'), toolCall('research', { prompt: 'Why?' }, 'c2')],
    'Working.',
    'Looked.',
    'All done.',
  ]);
  return createAgent({ model, tools: newTools() });
}

const events = inVirtualTime(() => newAgent().stream('Go.', { runId: 'r1' })).values.map(
  ({ value }) => value as RunEvent,
);

describe('a run with work in the background', () => {
  it('is recorded without contents, drawn, and replayed', () => {
    const recordings = [true, false].map((content) => {
      const lines: string[] = [];
      const agent = recordRun(newAgent(), (line) => void lines.push(line), { content });
      expect(inVirtualTime(() => agent.stream('Go.', { runId: 'r1' })).end).toBe('completed');
      expect(drawRun(readRecording(lines))).toContain('research');
      return lines;
    });
    const [whole = [], masked = []] = recordings;
    expect([whole, masked].map((lines) => lines.join('\n').includes(secret))).toEqual([true, false]);
    const replayed = replayRun(readRecording(whole)); // its own tools answer with the handles only
    const again = inVirtualTime(() => replayed.play(createAgent({ ...replayed.agent, tools: newTools() })));
    expect(again.values.map(({ value }) => value)).toEqual(events);
  });

  it('is traced, with spans that all end', () => {
    const recorded = record();
    expect(inVirtualTime(() => traceAgent(newAgent(), recorded.options).stream('Go.')).end).toBe('completed');
    expect([recorded.open(), recorded.warnings]).toEqual([[], []]);
    expect(recorded.tree().join('\n')).toContain('execute_tool step');
  });

  it('travels to a page unchanged', () => {
    const compact = createCompactor();
    const restore = createRestorer();
    expect(events.map((event) => restore(JSON.parse(JSON.stringify(compact(event))) as never))).toEqual(
      JSON.parse(JSON.stringify(events)),
    );
  });

  it('is output of a call for useChat, first the handle and then the result', () => {
    const chunks = inVirtualTime(() => newAgent().stream('Go.').pipe(toUiMessageStream())).values.map(
      ({ value }) => value,
    );
    const outputs = chunks.filter((chunk) => 'toolCallId' in chunk && chunk.toolCallId === 'c1' && 'output' in chunk);
    expect(outputs).toMatchObject([{ output: { status: 'running' } }, { output: `${secret} look` }]);
    expect(JSON.stringify(chunks)).not.toContain('in the background has ended');
  });

  it('is a prompt for a client of AG-UI, so that its history is that of the run', () => {
    const { values, end } = inVirtualTime(() =>
      newAgent()
        .stream('Go.')
        .pipe(toAgUi({ threadId: 't1', runId: 'r1', messages: [] })),
    );
    expect(end).toBe('completed');
    expect(JSON.stringify(values)).toContain('in the background has ended');
  });
});
