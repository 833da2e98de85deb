import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { NEVER, Observable, concat, firstValueFrom, of } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe('the option signal of a run', () => {
  it('aborts the model, emits nothing more, and fails with the reason of the signal', () => {
    let aborted = 0;
    const chunks = new Observable<Chunk>((out) => {
      out.next({ type: 'text', text: 'Once' });
      return () => aborted++;
    });
    const controller = new AbortController();
    const log = observe(createAgent({ model: scriptedModel([chunks]) }).stream('Hi', { signal: controller.signal }));
    controller.abort();
    expect(aborted).toBe(1);
    expect(log.values).toEqual([{ type: 'text', text: 'Once' }]);
    expect(log.error).toBe(controller.signal.reason);
    expect(listenersOf(controller.signal)).toBe(0);
  });

  it('rejects firstValueFrom(agent.run()) with an AbortError', async () => {
    const controller = new AbortController();
    const agent = createAgent({ model: scriptedModel([NEVER]) });
    const result = firstValueFrom(agent.run('Hi', { signal: controller.signal }));
    controller.abort();
    await expect(result).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('sends no request if the signal is already aborted', () => {
    const model = scriptedModel(['never']);
    const reason = new Error('too late');
    const { error } = observe(createAgent({ model }).stream('Hi', { signal: AbortSignal.abort(reason) }));
    expect(error).toBe(reason);
    expect(model.requests).toHaveLength(0);
  });

  it('leaves no listener when the run ends or is unsubscribed', () => {
    const { signal } = new AbortController();
    const agent = createAgent({
      model: scriptedModel(['Hello', concat(of<Chunk>({ type: 'text', text: 'a' }), NEVER)]),
    });
    observe(agent.run('Hi', { signal }));
    expect(listenersOf(signal)).toBe(0);
    const { subscription } = observe(agent.run('Hi', { signal }));
    expect(listenersOf(signal)).toBe(1);
    subscription.unsubscribe();
    expect(listenersOf(signal)).toBe(0);
  });

  it('uses one listener for all runs, so that Node does not warn of a leak', () => {
    const controller = new AbortController();
    const agent = createAgent({ model: scriptedModel(Array.from({ length: 12 }, () => NEVER)) });
    const logs = Array.from({ length: 12 }, () => observe(agent.run('Hi', { signal: controller.signal })));
    expect(listenersOf(controller.signal)).toBe(1);
    controller.abort();
    expect(logs.filter(({ error }) => (error as Error).name === 'AbortError')).toHaveLength(12);
    expect(listenersOf(controller.signal)).toBe(0);
  });
});
