import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, Subject, takeUntil, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { runAgUi, toAgUi } from '../../../lib/agUi.js';
import type { AgUiEvent, RunAgentInput } from '../../../lib/agUi.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { agentTool } from '../../../lib/tools/agentTool.js';
import { nestedAgents, removes } from '../../support/nestedAgents.js';
import { observe } from '../../support/observe.js';

const request = (more: Partial<RunAgentInput> = {}): RunAgentInput => ({
  threadId: 't',
  runId: 'r',
  messages: [{ id: 'u', role: 'user', content: 'Hi' }],
  tools: [],
  context: [],
  ...more,
});
const lifecycle = (events: readonly AgUiEvent[]) => events.filter(({ type }) => type.startsWith('SUBAGENT'));
const play = (run: Observable<StreamEvent>, input = request()) => firstValueFrom(run.pipe(toAgUi(input), toArray()));

const started = [
  { type: 'SUBAGENT_STARTED', subagentRunId: 'a', name: 'ask', parentToolCallId: 'a' },
  { type: 'SUBAGENT_STARTED', subagentRunId: 'a/a', name: 'ask', parentSubagentRunId: 'a' },
];
const finished = [
  { type: 'SUBAGENT_FINISHED', subagentRunId: 'a/a', outcome: { type: 'success' } },
  { type: 'SUBAGENT_FINISHED', subagentRunId: 'a', outcome: { type: 'success' } },
];

describe('the sub-agents of an AG-UI run', () => {
  it('start and finish', async () => {
    expect(lifecycle(await play(nestedAgents(['Hm.']).stream('Hi')))).toEqual([...started, ...finished]);
  });

  const remove = { name: 'remove', description: '', parameters: {} };
  it.each([
    ['has no tools', []],
    ['has a tool with the name of the inner one', [remove]],
  ])('are suspended while an inner call waits, and go on in another process: the client %s', async (_, tools) => {
    const store = memoryStore();
    const asked = request({ tools });
    const first = await play(runAgUi(nestedAgents([removes]), asked, { store }), asked);
    expect(lifecycle(first)).toEqual([
      ...started,
      { type: 'SUBAGENT_FINISHED', subagentRunId: 'a/a', outcome: { type: 'suspended', interruptIds: ['a/a/a'] } },
      { type: 'SUBAGENT_FINISHED', subagentRunId: 'a', outcome: { type: 'suspended', interruptIds: [] } },
    ]);
    const interrupts = [{ id: 'a/a/a', reason: 'tool_call', toolCallId: 'a', subagentRunId: 'a/a' }];
    expect(first.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'interrupt', interrupts } });
    expect(first.map(({ type }) => type)).not.toContain('TOOL_CALL_RESULT');

    const resume = [{ interruptId: 'a/a/a', status: 'resolved', payload: { approved: true } }] as const;
    const call = { id: 'a', type: 'function', function: { name: 'ask', arguments: '{}' } } as const;
    const messages = [...request().messages, { id: 'm', role: 'assistant', toolCalls: [call] } as const];
    const input = request({ resume, messages, tools });
    const second = await play(runAgUi(nestedAgents([removes]), input, { store }), input);
    expect(lifecycle(second)).toEqual([...started, ...finished]);
    expect(second.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
  });

  it('have failed if their call has, or if the run ends before them', () => {
    const asks = toolCall('ask', { prompt: '' }, 'a');
    const agentOf = (inner: ReturnType<typeof createAgent>) =>
      createAgent({
        model: scriptedModel([[asks], 'Oh.']),
        tools: [agentTool(inner, { name: 'ask', description: '' })],
      });
    const failing = createAgent({ model: scriptedModel([['So far', { error: new Error('No.') }]]) });
    expect(lifecycle(observe(agentOf(failing).stream('Hi').pipe(toAgUi(request()))).values).at(-1)).toEqual({
      type: 'SUBAGENT_ERROR',
      subagentRunId: 'a',
      message: 'No.',
    });
    const chunks = new Subject<Chunk>();
    const endless = createAgent({ model: { provider: 'test', name: 'test', stream: () => chunks } });
    const end = new Subject<void>();
    const left = agentOf(endless).stream('Hi').pipe(takeUntil(end));
    const { values } = observe(left.pipe(toAgUi(request())));
    chunks.next({ type: 'text', text: 'So far' });
    end.next();
    expect(values.map(({ type }) => type).slice(-3)).toEqual(['SUBAGENT_ERROR', 'TOOL_CALL_RESULT', 'RUN_FINISHED']);
  });
});
