import { describe, expect, it } from '@jest/globals';
import { NEVER, identity, lastValueFrom, map, merge, of, toArray } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { createOperator } from '../../lib/core/createOperator.js';
import { repairHistory } from '../../lib/core/history.js';
import type { JsonObject } from '../../lib/core/json/json.js';
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
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { answering } from '../providers/answering.js';
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

  it('guardModel passes the delta after a window of the text before it, and the length, to the predicate', () => {
    const seen: unknown[] = [];
    const all = (content: GuardedText | GuardedCall) => {
      seen.push(content);
      return true;
    };
    run(modelOf('m', [[chunks.i, chunks.t, 'abc', '', 'def', 'ghijkl', 'm', chunks.x, 'n']]), all, { window: 4 });
    expect(seen).toEqual([
      { type: 'text', delta: 'abc', text: 'abc', length: 3 },
      { type: 'text', delta: 'def', text: 'abcdef', length: 6 },
      { type: 'text', delta: 'ghijkl', text: 'cdefghijkl', length: 12 },
      { type: 'text', delta: 'm', text: 'ijklm', length: 13 },
      { type: 'text', delta: 'n', text: 'n', length: 1 },
    ]);
  });

  it('guardModel passes 10,000 characters before a delta by default', () => {
    const lengths: number[] = [];
    run(modelOf('m', [['a'.repeat(9_999), 'b', 'c', 'd'.repeat(12_000)]]), (content) => {
      if (content.type === 'text') lengths.push(content.text.length);
      return true;
    });
    expect(lengths).toEqual([9_999, 10_000, 10_001, 22_000]);
  });

  const large = 'x'.repeat(12_000);
  const buffered = holdBack<Chunk>(() => 0, { limit: 20_000 });
  it.each<[string, readonly string[], MonoTypeOperatorFunction<Chunk>, number]>([
    ['at the beginning of a large delta', [`KEY${large}`], identity, 0],
    ['in the middle of one', [`${large}KEY${large}`], identity, 0],
    ['before almost a window', [`KEY${'x'.repeat(9_998)}`], identity, 0],
    ['cut between a small and a large delta', ['K', `EY${large}`], identity, 1],
    ['cut between a small delta and almost a window', ['K', `EY${'x'.repeat(9_998)}`], identity, 1],
    ['cut between two large deltas', [`${large}K`, `EY${large}`], identity, 1],
    ['in small deltas that holdBack emits as one', ['KE', 'Y', ...(large.match(/.{1,100}/g) ?? [])], buffered, 0],
    ['in a large delta that holdBack passes', [`KEY${large}${large}`], buffered, 0],
    ['cut where holdBack emits', ['K', `EY${large}${large}`], holdBack<Chunk>(() => 0, { limit: 0 }), 1],
  ])('guardModel recognizes a text %s', (_, deltas, operator, passed) => {
    const { values } = run(pipeModel(modelOf('m', [[...deltas]]), operator), noKey);
    expect(values).toEqual([...deltas.slice(0, passed).map((text) => ({ type: 'text', text })), filtered]);
  });

  it.each<[string, JsonObject]>([
    ['content', { choices: [{ index: 0, delta: { content: `KEY${large}` } }] }],
    ['refusal', { choices: [{ index: 0, delta: { refusal: `KEY${large}` } }] }],
  ])('guardModel recognizes a text at the beginning of a large %s of a provider', async (_, frame) => {
    const { fetch } = answering(frame, '[DONE]');
    const model = guardModel(openaiChat('gpt-5', { apiKey: 'k', fetch }), noKey);
    expect(await lastValueFrom(model.stream(request).pipe(toArray()))).toEqual([filtered]);
  });

  it('guardModel passes large arguments to the predicate as a whole, also from many fragments', () => {
    const fragments = [`{"key":"KEY${large}`, large, `${large}"}`];
    const script: Chunk[] = fragments.map((args, at) => ({
      type: 'toolCallFragment',
      index: 0,
      arguments: args,
      ...(at === 0 ? { name: 'f' } : {}),
    }));
    const isAllowed = (content: GuardedText | GuardedCall) => !JSON.stringify(content).includes('KEY');
    expect(run(modelOf('m', [[...script, chunks.f]]), isAllowed).values.at(-1)).toMatchObject(filtered);
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
    expect(read).toBeLessThanOrEqual(count * (100 + 'word '.length));
  });

  it('guardModel has a state for each response, and checks its options at once', () => {
    const model = guardModel(modelOf('m', [['K'], ['EY']]), noKey);
    expect(observe(model.stream(request)).values).toHaveLength(2);
    expect(observe(model.stream(request)).values).toMatchObject([{ text: 'EY' }, { reason: 'stop' }]);
    expect(() => guardModel(modelOf('m', []), noKey, { window: NaN })).toThrow('window is NaN.');
  });
});
