import { describe, expect, it } from '@jest/globals';
import { NEVER, map, merge, of } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { createOperator } from '../../lib/core/createOperator.js';
import { repairHistory } from '../../lib/core/history.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { usageOfError } from '../../lib/core/usageOfError.js';
import { fallback } from '../../lib/models/fallback.js';
import { guardModel } from '../../lib/models/guardModel.js';
import type { GuardedCall, GuardedText, GuardModelOptions } from '../../lib/models/guardModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { holdBack } from '../../lib/operators/holdBack.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { answeredBy, chunks, inVirtualTime, modelOf, request } from './models.js';

const noKey = (content: GuardedText | GuardedCall) =>
  content.type === 'text' ? !content.text.includes('KEY') : content.name !== 'delete_all';
const filtered = { type: 'finish', reason: 'contentFilter', rawReason: 'guard' };
const run = (model: Model, isAllowed: typeof noKey, options?: GuardModelOptions) =>
  observe(guardModel(model, isAllowed, options).stream(request));

describe('guardModel', () => {
  it('guardModel aborts the model as soon as its text is not allowed, and ends the turn', () =>
    diagram('guardModel', ({ response }: Streams<'response', Chunk>) =>
      guardModel(modelOf('m', [response]), noKey).stream(request),
    ));

  it('guardModel recognizes a text that is cut anywhere', () => {
    expect(run(modelOf('m', [['The ', 'K', 'E', 'Y', ' is 1']]), noKey).values).toEqual([
      { type: 'text', text: 'The ' },
      { type: 'text', text: 'K' },
      { type: 'text', text: 'E' },
      filtered,
    ]);
  });

  it('guardModel passes what is allowed, unchanged', () => {
    const all = [chunks.i, chunks.t, chunks.a, toolCall('f', {}, 'c1'), chunks.f];
    const { values } = run(modelOf('m', [all]), noKey);
    expect(values).toEqual(all);
    for (const [at, chunk] of values.entries()) expect(chunk).toBe(all[at]);
  });

  it('guardModel passes the delta, the text so far and its length to the predicate, from the window', () => {
    const seen: unknown[] = [];
    const all = (content: GuardedText | GuardedCall) => {
      seen.push(content);
      return true;
    };
    run(modelOf('m', [[chunks.i, chunks.t, 'abc', '', 'def', chunks.x, 'g']]), all, { window: 4 });
    expect(seen).toEqual([
      { type: 'text', delta: 'abc', text: 'abc', length: 3 },
      { type: 'text', delta: 'def', text: 'cdef', length: 6 },
      { type: 'text', delta: 'g', text: 'g', length: 1 },
    ]);
  });

  it('guardModel passes the last 10,000 characters by default', () => {
    const lengths: number[] = [];
    run(modelOf('m', [['a'.repeat(9_999), 'b', 'c']]), (content) => {
      if (content.type === 'text') lengths.push(content.text.length);
      return true;
    });
    expect(lengths).toEqual([9_999, 10_000, 10_000]);
  });

  it('guardModel keeps the usage in the error of a response that it has rejected', () => {
    const late: Chunk[] = [{ type: 'toolCallFragment', index: 0, name: 'delete_all', arguments: '{}' }, chunks.f];
    const { error } = run(modelOf('m', [late]), noKey, { whenRejected: 'fail' });
    expect(usageOfError(error)).toEqual(chunks.f.usage);
  });

  it('guardModel forgets the calls of an attempt that is retracted', () => {
    const half: Chunk = { type: 'toolCallFragment', index: 0, name: 'delete_all', arguments: '{}' };
    const { values } = run(modelOf('m', [[half, chunks.x, chunks.a, chunks.f]]), noKey);
    expect(values).toEqual([half, chunks.x, chunks.a, chunks.f]);
  });

  it('guardModel passes each call with its arguments when it is complete: at its end, or at the finish', () => {
    const calls: unknown[] = [];
    const all = (content: GuardedText | GuardedCall) => calls.push(content) > 0;
    const fragments: Chunk[] = [
      { type: 'toolCallFragment', index: 0, name: 'f', arguments: '{"a":' },
      { type: 'toolCallFragment', index: 0, arguments: '1}', done: true },
      { type: 'toolCallFragment', index: 1, name: 'g', arguments: '{' },
      { type: 'toolCallFragment', index: 1, arguments: '}' },
    ];
    expect(run(modelOf('m', [fragments]), all).values).toHaveLength(5);
    expect(calls).toEqual([
      { type: 'toolCall', name: 'f', arguments: { a: 1 } },
      { type: 'toolCall', name: 'g', arguments: {} },
    ]);
  });

  it('guardModel executes no tool of a turn with a call that is not allowed, also with eagerTools', () => {
    for (const eagerTools of [false, true]) {
      const executed: string[] = [];
      const tools = ['f', 'delete_all'].map((name) =>
        tool({ name, description: '', execute: () => executed.push(name) }),
      );
      const model = guardModel(modelOf('m', [['Hm.', toolCall('delete_all'), toolCall('f')], 'never']), noKey);
      const { values } = observe(createAgent({ model, tools, eagerTools }).run('Go.'));
      expect(executed).toEqual([]);
      expect(values).toMatchObject([
        { finishReason: 'contentFilter', rawReason: 'guard', text: 'Hm.', turns: 1, messages: [{ role: 'model' }] },
      ]);
    }
  });

  it('guardModel leaves a history that can be sent: calls before the one that is rejected are answered', () => {
    const f = tool({ name: 'f', description: '', execute: () => 1 });
    const model = guardModel(modelOf('m', [[toolCall('f'), toolCall('delete_all')]]), noKey);
    const { values } = observe(createAgent({ model, tools: [f] }).run('Go.'));
    const { messages = [] } = values[0] ?? {};
    expect(messages).toMatchObject([
      { role: 'model', parts: [{ type: 'toolCall', name: 'f' }] },
      { role: 'user', parts: [{ type: 'toolResult', name: 'f', code: 'not_executed' }] },
    ]);
    const history = [userMessage('Go.'), ...messages];
    expect(repairHistory(history)).toEqual(history);
  });

  it('guardModel with `retract` leaves nothing of the turn', () => {
    const model = guardModel(modelOf('m', [['The ', 'KEY']]), noKey, { whenRejected: 'retract' });
    expect(observe(model.stream(request)).values).toEqual([{ type: 'text', text: 'The ' }, chunks.x, filtered]);
    const again = guardModel(modelOf('m', [['The ', 'KEY']]), noKey, { whenRejected: 'retract' });
    expect(observe(createAgent({ model: again }).run('Hi')).values).toMatchObject([
      { text: '', messages: [], finishReason: 'contentFilter' },
    ]);
  });

  it('guardModel with `fail` fails with an error that retryModel and fallback understand', () => {
    const guarded = () => guardModel(modelOf('m', [['The ', 'KEY'], 'Fine.']), noKey, { whenRejected: 'fail' });
    const { values, error } = observe(guarded().stream(request));
    expect(values).toEqual([{ type: 'text', text: 'The ' }]);
    expect(error).toMatchObject({ code: 'guard', retryable: true });
    inVirtualTime(({ flush }) => {
      const retried = observe(retryModel(guarded(), { delay: 1 }).stream(request));
      flush();
      expect(retried.values.map(({ type }) => type)).toEqual(['text', 'retract', 'retry', 'text', 'finish']);
    });
    const replaced = observe(fallback([guarded(), modelOf('n', ['Ok.'])]).stream(request));
    expect(replaced.values.slice(-5)).toMatchObject([
      chunks.x,
      { type: 'retry', error: { code: 'guard' } },
      answeredBy('n'),
      { text: 'Ok.' },
      { type: 'finish' },
    ]);
  });

  it('guardModel names the tool of a call that it has rejected, and keeps the usage that was reported', () => {
    const script = [[toolCall('delete_all', {}, 'c1'), chunks.f]];
    expect(run(modelOf('m', script), noKey, { whenRejected: 'fail' }).error).toMatchObject({
      code: 'guard',
      tool: 'delete_all',
    });
    const late: Chunk[] = [{ type: 'toolCallFragment', index: 0, name: 'delete_all', arguments: '{}' }, chunks.f];
    expect(run(modelOf('m', [late]), noKey).values.at(-1)).toEqual({ ...filtered, usage: chunks.f.usage });
  });

  it('guardModel reports the usage so far, when it ends a response', () => {
    const model: Model = {
      ...modelOf('m', []),
      stream: ({ stop = NEVER }) =>
        merge(
          stop.pipe(map((): Chunk => ({ type: 'finish', reason: 'stopped', usage: { input: 3 } }))),
          of<Chunk>({ type: 'text', text: 'KEY' }),
        ),
    };
    const piped = pipeModel(
      model,
      holdBack(() => 0, { limit: 1 }),
    );
    expect(run(piped, noKey).values.at(-1)).toEqual({ ...filtered, usage: { input: 3 } });
  });

  it('guardModel emits no text that an operator before it has held back until the rejection', () => {
    const holding = createOperator<Chunk, Chunk>((out) => {
      const held: Chunk[] = [];
      return {
        next(chunk) {
          if (chunk.type === 'finish') held.forEach((text) => out.next(text));
          if (chunk.type === 'text') held.push(chunk);
          else out.next(chunk);
        },
      };
    });
    const call: Chunk = { type: 'toolCallFragment', id: 'c1', name: 'delete_all', arguments: '{}', done: true };
    expect(run(pipeModel(modelOf('m', [['Held.', call]]), holding), noKey).values).toEqual([filtered]);
  });

  it('guardModel emits what the predicate throws', () => {
    const thrown = new Error('predicate');
    const failing = () => {
      throw thrown;
    };
    expect(run(modelOf('m', ['a']), failing).error).toBe(thrown);
  });

  it('guardModel takes a time that is linear in the length of the text', () => {
    let read = 0;
    const count = 20_000;
    const model = scriptedModel(() => Array.from({ length: count }, () => 'word '));
    const { values } = run(model, (content) => content.type !== 'text' || (read += content.text.length) > 0, {
      window: 100,
    });
    expect(values).toHaveLength(count + 1);
    expect(read).toBeLessThanOrEqual(count * 100);
  });

  it('guardModel has a state for each response, and checks its options at once', () => {
    const model = guardModel(modelOf('m', [['K'], ['EY']]), noKey);
    expect(observe(model.stream(request)).values).toHaveLength(2);
    expect(observe(model.stream(request)).values).toMatchObject([{ text: 'EY' }, { reason: 'stop' }]);
    expect(() => guardModel(modelOf('m', []), noKey, { window: NaN })).toThrow('window is NaN.');
  });
});
