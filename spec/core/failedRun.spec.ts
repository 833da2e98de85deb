import { describe, expect, it, jest } from '@jest/globals';
import { NEVER, Subject, concat, lastValueFrom, of, tap, throwError } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { ProviderError } from '../../lib/core/errors.js';
import type { RunEvent } from '../../lib/core/event.js';
import { failedRunOf } from '../../lib/core/failedRun.js';
import { repairHistory } from '../../lib/core/history.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import { setUsageOfError } from '../../lib/core/usageOfError.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { observe } from '../support/observe.js';

const look = tool({ name: 'look', description: '', execute: () => 'rain' });
const busy = () => new ProviderError('scripted', 'Busy.', { retryable: true });
const usage = { input: 1, output: 2, total: 3 };
const finish: Chunk = { type: 'finish', reason: 'toolCalls', usage };

describe('failedRunOf', () => {
  it('returns the messages, the partial text, the thinking, the usage, the turn and the orchestrator', () => {
    const failure = busy();
    setUsageOfError(failure, { input: 10 });
    const model = scriptedModel([
      ['I look.', toolCall('look'), finish],
      [{ type: 'thinking', text: 'Rain?' }, 'It rai', { error: failure }],
    ]);
    const { error } = observe(createAgent({ model, tools: [look], prefix: '' }).stream('Hi'));
    expect(error).toBe(failure);
    expect(failedRunOf(error)).toEqual({
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
    const history = [userMessage('Hi'), ...(failedRunOf(error)?.messages ?? [])];
    expect(repairHistory(history)).toBe(history);
    expect(observe(agent.run([], { history })).values).toMatchObject([{ text: 'It rains.' }]);
  });

  it('wraps a value that is not an object in an Error, with the value as its cause', () => {
    const model = scriptedModel([[{ error: 'out of paper' as unknown as Error }]]);
    const { error } = observe(createAgent({ model }).run('Hi'));
    expect(error).toMatchObject({ message: 'out of paper', cause: 'out of paper' });
    expect(failedRunOf(error)).toMatchObject({ turn: 1, messages: [] });
  });

  it('does not change an error that is frozen, and knows nothing of other errors', () => {
    const frozen = Object.freeze(new Error('fixed'));
    const { error } = observe(createAgent({ model: scriptedModel([[{ error: frozen }]]) }).run('Hi'));
    expect(error).toBe(frozen);
    expect(failedRunOf(frozen)).toBeDefined();
    for (const other of [new Error('fixed'), 'fixed', null, undefined]) expect(failedRunOf(other)).toBeUndefined();
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
    expect(failedRunOf(error)).toMatchObject({ text: 'a', partialText: 'a', usage });
  });

  it('includes the message and the usage of a typed output that could not be repaired', () => {
    const model = scriptedModel([['{}', { type: 'finish', reason: 'stop', usage }]]);
    const agent = createAgent({ model, output: typed(z.object({ a: z.number() })), maxRepairs: 0 });
    const { error } = observe(agent.run('Hi'));
    expect(failedRunOf(error)).toMatchObject({
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
    const agent = createAgent({ model: scriptedModel([]), orchestrator, output: typed(z.object({})) });
    const { error } = observe(agent.run('Hi'));
    expect(error).toMatchObject({ code: 'configuration' });
    expect(failedRunOf(error)).toMatchObject({ turn: 1, orchestrator: 'own' });
  });

  it('has the run that a signal has left', () => {
    const chunks = new Subject<Chunk>();
    const controller = new AbortController();
    const agent = createAgent({ model: scriptedModel([chunks]) });
    const log = observe(agent.stream('Hi', { signal: controller.signal }));
    chunks.next({ type: 'text', text: 'Once' });
    controller.abort('tired');
    expect(log.error).toMatchObject({ cause: 'tired' });
    expect(failedRunOf(log.error)).toMatchObject({ partialText: 'Once', turn: 1 });
  });

  it('keeps the conversations of two runs apart that one signal has left', () => {
    const controller = new AbortController();
    const start = (text: string) => {
      const chunks = new Subject<Chunk>();
      const log = observe(createAgent({ model: scriptedModel([chunks]) }).stream('Hi', { signal: controller.signal }));
      chunks.next({ type: 'text', text });
      return log;
    };
    const [ann, bob] = [start('for Ann'), start('for Bob')];
    controller.abort();
    expect(failedRunOf(ann.error)).toMatchObject({ partialText: 'for Ann' });
    expect(failedRunOf(bob.error)).toMatchObject({ partialText: 'for Bob' });
    expect(ann.error).toBe(controller.signal.reason);
    expect(bob.error).toMatchObject({ name: 'AbortError', message: (ann.error as Error).message });
    expect((bob.error as Error).cause).toBe(ann.error);
  });

  it('keeps the class and the fields of an error of the library that two runs share', () => {
    const failure = busy();
    const [first, second] = ['a', 'b'].map(
      (text) => observe(createAgent({ model: scriptedModel([[text, { error: failure }]]) }).run('Hi')).error,
    );
    expect(failedRunOf(first)).toMatchObject({ partialText: 'a' });
    expect(failedRunOf(second)).toMatchObject({ partialText: 'b' });
    expect(second).toBeInstanceOf(ProviderError);
    expect(second).toMatchObject({ code: 'provider', message: failure.message, retryable: true, cause: failure });
    expect(JSON.stringify(second)).toBe(JSON.stringify(failure));
  });

  /** What fails a run while its second tool works. */
  const failures: readonly (readonly [string, (failure: Subject<never>) => Options])[] = [
    ['its time is over', () => ({ timeout: { run: 10 } })],
    ['the time of the turn is over', () => ({ timeout: { turn: 10 } })],
    ['`stop` fails', (stop) => ({ run: { stop } })],
    ['`prompts` fails', (prompts) => ({ run: { prompts } })],
    ['`answers` fails', (answers) => ({ run: { answers } })],
    ['`cancel` fails', (cancel) => ({ run: { cancel } })],
  ];
  interface Options {
    readonly timeout?: { readonly run?: number; readonly turn?: number };
    readonly run?: object;
  }
  const settings = [
    ['one after the other', {}],
    ['at the same time', { toolConcurrency: 2 }],
    ['early', { eagerTools: true, toolConcurrency: 2 }],
  ] as const;
  const rows = failures.flatMap(([shown, options]) =>
    settings.map(([order, setting]) => ({ shown, options, order, setting })),
  );

  it('has the calls that eagerTools had begun in a response that breaks off', async () => {
    const work = tool({ name: 'work', description: '', execute: () => NEVER });
    const broken = { error: new Error('broken') };
    const calls = ['look', 'work', 'look'].map((name, index) => toolCall(name, {}, `c${index + 1}`));
    const model = scriptedModel([['I look.', ...calls.slice(0, 2), { delay: 5 }, ...calls.slice(2), broken]]);
    const agent = createAgent({ model, tools: [look, work], eagerTools: true, toolConcurrency: 2 });
    const thrown = await lastValueFrom(agent.stream('Hi')).catch((error: unknown) => error);
    expect(failedRunOf(thrown)).toMatchObject({
      messages: [
        { role: 'model', parts: [{ id: 'c1' }, { id: 'c2' }] },
        {
          role: 'user',
          parts: [
            { id: 'c1', result: 'rain' },
            { id: 'c2', code: 'cancelled' },
          ],
        },
      ],
      partialText: 'I look.',
    });
  });

  it.each(rows)('has the result of a call that had ended, of calls $order, when $shown', ({ options, setting }) => {
    jest.useFakeTimers();
    try {
      const failure = new Subject<never>();
      const { timeout, run = {} } = options(failure);
      const work = tool({ name: 'work', description: '', execute: () => NEVER });
      const model = scriptedModel([[toolCall('look', {}, 'c1'), toolCall('work', {}, 'c2')]]);
      const agent = createAgent({ model, tools: [look, work], timeout, ...setting });
      const saved: Checkpoint[] = [];
      const first = observe(
        agent
          .stream('Hi', { checkpoints: true, ...run })
          .pipe(tap((event) => event.type === 'checkpoint' && saved.push(event.checkpoint))),
      );
      if (failure.observed) failure.error(busy());
      jest.advanceTimersByTime(20);
      const result = { type: 'toolResult', id: 'c1', name: 'look', result: 'rain' };
      const [call, results] = failedRunOf(first.error)?.messages ?? [];
      expect(results?.parts).toMatchObject([result, { id: 'c2', code: 'cancelled' }]);
      const sent = repairHistory([userMessage('Hi'), ...(failedRunOf(first.error)?.messages ?? [])]);
      expect([sent.length, sent.at(-1)]).toEqual([3, results]);

      const checkpoint = JSON.parse(JSON.stringify(saved.at(-1))) as Checkpoint;
      const again = new Subject<never>();
      const resumed = observe(agent.resume(checkpoint, options(again).run));
      if (again.observed) again.error(busy());
      jest.advanceTimersByTime(20);
      expect(failedRunOf(resumed.error)?.messages).toEqual([call, results]);
    } finally {
      jest.useRealTimers();
    }
  });
});
