import { describe, expect, it } from '@jest/globals';
import { Subject, concat, of, throwError } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { ProviderError } from '../../lib/core/errors.js';
import type { RunEvent } from '../../lib/core/event.js';
import { runOf } from '../../lib/core/failedRun.js';
import { repairHistory } from '../../lib/core/history.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import { setUsageOfError } from '../../lib/core/remainder.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';

const look = tool({ name: 'look', description: '', execute: () => 'rain' });
const busy = () => new ProviderError('scripted', 'Busy.', { retryable: true });
const usage = { input: 1, output: 2, total: 3 };
const finish: Chunk = { type: 'finish', reason: 'toolCalls', usage };

describe('runOf', () => {
  it('returns the messages, the partial text, the thinking, the usage, the turn and the orchestrator', () => {
    const failure = busy();
    setUsageOfError(failure, { input: 10 });
    const model = scriptedModel([
      ['I look.', toolCall('look'), finish],
      [{ type: 'thinking', text: 'Rain?' }, 'It rai', { error: failure }],
    ]);
    const { error } = observe(createAgent({ model, tools: [look], prefix: '' }).stream('Hi'));
    expect(error).toBe(failure);
    expect(runOf(error)).toEqual({
      messages: [
        modelMessage([
          { type: 'text', text: 'I look.' },
          { type: 'toolCall', id: 'call_1_1', name: 'look', arguments: {} },
        ]),
        userMessage([{ type: 'toolResult', id: 'call_1_1', name: 'look', result: 'rain' }]),
      ],
      partialText: 'It rai',
      text: 'I look.It rai',
      thinking: 'Rain?',
      usage: { input: 11, output: 2, total: 3 },
      turn: 2,
      orchestrator: 'toolLoop',
    });
    expect(JSON.stringify(error)).not.toContain('rai');
  });

  it('returns messages with which the conversation continues', () => {
    const model = scriptedModel([[toolCall('look')], [{ error: busy() }], 'It rains.']);
    const agent = createAgent({ model, tools: [look] });
    const { error } = observe(agent.stream('Hi'));
    const history = [userMessage('Hi'), ...(runOf(error)?.messages ?? [])];
    expect(repairHistory(history)).toBe(history);
    expect(observe(agent.run([], { history })).values).toMatchObject([{ text: 'It rains.' }]);
  });

  it('wraps a value that is not an object in an Error, with the value as its cause', () => {
    const model = scriptedModel([[{ error: 'out of paper' as unknown as Error }]]);
    const { error } = observe(createAgent({ model }).run('Hi'));
    expect(error).toMatchObject({ message: 'out of paper', cause: 'out of paper' });
    expect(runOf(error)).toMatchObject({ turn: 1, messages: [] });
  });

  it('does not change an error that is frozen, and knows nothing of other errors', () => {
    const frozen = Object.freeze(new Error('fixed'));
    const { error } = observe(createAgent({ model: scriptedModel([[{ error: frozen }]]) }).run('Hi'));
    expect(error).toBe(frozen);
    expect(runOf(frozen)).toBeDefined();
    for (const other of [new Error('fixed'), 'fixed', null, undefined]) expect(runOf(other)).toBeUndefined();
  });

  it('keeps nothing of a retracted attempt but its usage', () => {
    const chunks = of<Chunk[]>({ type: 'text', text: 'void' }, { type: 'retract', usage }, { type: 'text', text: 'a' });
    const model = scriptedModel([
      concat(
        chunks,
        throwError(() => busy()),
      ),
    ]);
    const { error } = observe(createAgent({ model }).run('Hi'));
    expect(runOf(error)).toMatchObject({ text: 'a', partialText: 'a', usage });
  });

  it('includes the message and the usage of a typed output that could not be repaired', () => {
    const model = scriptedModel([['{}', { type: 'finish', reason: 'stop', usage }]]);
    const agent = createAgent({ model, output: z.object({ a: z.number() }), maxRepairs: 0 });
    const { error } = observe(agent.run('Hi'));
    expect(runOf(error)).toMatchObject({
      messages: [modelMessage('{}')],
      partialText: '',
      text: '{}',
      usage,
      orchestrator: 'typedOutput',
    });
  });

  it('has the turns of a run whose result is rejected', () => {
    const turn: RunEvent = { type: 'turn', turn: 1, finishReason: 'stop', next: null };
    const orchestrator = { name: 'own', turn: () => of(turn) };
    const agent = createAgent({ model: scriptedModel([]), orchestrator, output: z.object({}) });
    const { error } = observe(agent.run('Hi'));
    expect(error).toMatchObject({ code: 'configuration' });
    expect(runOf(error)).toMatchObject({ turn: 1, orchestrator: 'own' });
  });

  it('has the run that a signal has left', () => {
    const chunks = new Subject<Chunk>();
    const controller = new AbortController();
    const agent = createAgent({ model: scriptedModel([chunks]) });
    const log = observe(agent.stream('Hi', { signal: controller.signal }));
    chunks.next({ type: 'text', text: 'Once' });
    controller.abort('tired');
    expect(log.error).toMatchObject({ cause: 'tired' });
    expect(runOf(log.error)).toMatchObject({ partialText: 'Once', turn: 1 });
  });
});
