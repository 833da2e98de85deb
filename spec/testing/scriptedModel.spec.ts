import { describe, expect, it } from '@jest/globals';
import { concat, EMPTY, expand, lastValueFrom, map, take, tap, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Observable } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import { userMessage } from '../../lib/core/message.js';
import type { ModelRequest } from '../../lib/core/model.js';
import { toolCall, scriptedModel } from '../../lib/testing/index.js';
import type { Script, ScriptedRequest } from '../../lib/testing/index.js';

const request: ModelRequest = { messages: [userMessage('Hello')] };
const text = (said: string): Chunk => ({ type: 'text', text: said });
const finish = (reason: 'stop' | 'toolCalls'): Chunk => ({ type: 'finish', reason });

/** What a synchronous stream emits: notifications as they come, in the same tick. */
function now(stream: Observable<Chunk>): unknown[] {
  const seen: unknown[] = [];
  stream.subscribe({
    next: (chunk) => seen.push(chunk),
    error: (error: unknown) => seen.push({ error }),
    complete: () => seen.push('complete'),
  });
  return seen;
}

const virtually = (run: Parameters<TestScheduler['run']>[0]) =>
  new TestScheduler((actual, expected) => {
    expect(actual).toEqual(expected);
  }).run(run);

describe('scriptedModel', () => {
  it('scriptedModel emits a text and finishes, in the tick of the subscription', () => {
    expect(now(scriptedModel(['Hello.']).stream(request))).toEqual([text('Hello.'), finish('stop'), 'complete']);
  });

  it('scriptedModel emits steps as chunks in order, and finishes with toolCalls after calls', () => {
    const model = scriptedModel([
      [
        { type: 'thinking', text: 'hm' },
        'I add.',
        toolCall('add', { a: 1 }),
        toolCall('add', { a: 2 }, 'mine'),
        toolCall('now'),
      ],
    ]);
    expect(now(model.stream(request))).toEqual([
      { type: 'thinking', text: 'hm' },
      text('I add.'),
      { type: 'toolCallFragment', id: 'call_1_1', name: 'add', arguments: { a: 1 }, done: true },
      { type: 'toolCallFragment', id: 'mine', name: 'add', arguments: { a: 2 }, done: true },
      { type: 'toolCallFragment', id: 'call_1_2', name: 'now', arguments: {}, done: true },
      finish('toolCalls'),
      'complete',
    ]);
  });

  it('scriptedModel does not change fragments and a finish of the script', () => {
    const steps: Chunk[] = [
      { type: 'toolCallFragment', index: 0, name: 'add' },
      { type: 'toolCallFragment', index: 0, arguments: '{}' },
      { type: 'toolCallFragment', id: '', name: 'anonymous', arguments: {}, done: true },
      { type: 'finish', reason: 'length', usage: { input: 3 } },
    ];
    expect(now(scriptedModel([steps]).stream(request))).toEqual([...steps, 'complete']);
  });

  it('scriptedModel finishes with stop after retracted calls', () => {
    const chunks = now(scriptedModel([[toolCall('add'), { type: 'retract' }, 'Never mind.']]).stream(request));
    expect(chunks.at(-2)).toEqual(finish('stop'));
  });

  it('scriptedModel emits only a finish for an empty turn', () => {
    expect(now(scriptedModel([[]]).stream(request))).toEqual([finish('stop'), 'complete']);
  });

  it('scriptedModel fails where the script fails, after the earlier steps', () => {
    const error = new Error('overloaded');
    expect(now(scriptedModel([['So far', { error }, 'not this']]).stream(request))).toEqual([
      text('So far'),
      { error },
    ]);
  });

  it('scriptedModel is cold: each subscription is a request and receives the next turn', () => {
    const model = scriptedModel(['one', 'two']);
    const stream = model.stream(request);
    expect(model.requests).toEqual([]);
    expect([now(stream)[0], now(stream)[0]]).toEqual([text('one'), text('two')]);
    expect(model.requests).toEqual([request, request]);
  });

  it('scriptedModel reports a request after the last turn', () => {
    const model = scriptedModel(['only']);
    now(model.stream(request));
    expect(now(model.stream(request))).toEqual([
      {
        error: expect.objectContaining({
          code: 'configuration',
          subject: 'script',
          message: expect.stringMatching(/one turn.*request 2/),
        }) as unknown,
      },
    ]);
  });

  it('scriptedModel calls a function for each turn, with the request and its number', () => {
    const seen: ScriptedRequest[] = [];
    const model = scriptedModel((asked) => {
      seen.push(asked);
      return asked.turn === 1 ? 'first' : () => ['later'];
    });
    expect([now(model.stream(request))[0], now(model.stream(request))[0]]).toEqual([text('first'), text('later')]);
    expect(seen).toEqual([
      { ...request, turn: 1 },
      { ...request, turn: 2 },
    ]);
  });

  it('scriptedModel turns an exception of a function into an error notification', () => {
    const error = new Error('no such turn');
    const script: Script = () => {
      throw error;
    };
    expect(now(scriptedModel(script).stream(request))).toEqual([{ error }]);
  });

  it('scriptedModel waits in virtual time', () => {
    virtually(({ expectObservable }) => {
      const model = scriptedModel([['a', { delay: 3 }, 'b', { delay: 2 }]]);
      expectObservable(model.stream(request)).toBe('a--b-(f|)', { a: text('a'), b: text('b'), f: finish('stop') });
    });
  });

  it('scriptedModel emits an Observable unchanged, also without a finish, and unsubscribes it', () => {
    virtually(({ cold, expectObservable, expectSubscriptions }) => {
      const values = { a: text('a'), b: text('b') };
      const turn = cold<Chunk>('-a-b-|', values);
      const model = scriptedModel([turn, turn]);
      expectObservable(model.stream(request)).toBe('-a-b-|', values);
      expectObservable(model.stream(request), '^-!').toBe('-a', values);
      expectSubscriptions(turn.subscriptions).toBe(['^----!', '^-!']);
    });
  });

  it('scriptedModel stops between two synchronous chunks: take(1) pulls one', () => {
    const steps = Array.from({ length: 1000 }, (_, at) => String(at));
    let pulled = 0;
    const model = scriptedModel([steps]);
    expect(
      now(
        model.stream(request).pipe(
          tap(() => (pulled += 1)),
          take(1),
        ),
      ),
    ).toEqual([text('0'), 'complete']);
    expect(pulled).toBe(1);
  });

  it('scriptedModel emits nothing after it was unsubscribed during a pause', () => {
    virtually(({ expectObservable }) => {
      const model = scriptedModel([['a', { delay: 5 }, 'b']]);
      expectObservable(model.stream(request), '^--!').toBe('a', { a: text('a') });
    });
  });

  it('scriptedModel has the given provider, name and capabilities', () => {
    expect(scriptedModel([])).toMatchObject({ provider: 'scripted', name: 'scripted', requests: [] });
    const options = { provider: 'acme', name: 'acme-1', capabilities: { tools: true } };
    expect(scriptedModel([], options)).toMatchObject(options);
  });

  it('scriptedModel plays 10,000 turns, and keeps the latest `keep` requests', async () => {
    const model = scriptedModel(({ turn }) => `${turn}`, { keep: 2 });
    const ask = (seed: number) => model.stream({ messages: [], seed });
    const turns = concat(...Array.from({ length: 10_000 }, (_, at) => ask(at)));
    const chunks = await lastValueFrom(turns.pipe(toArray()));
    expect(chunks).toHaveLength(20_000);
    expect(chunks.at(-2)).toEqual(text('10000'));
    expect(model.requests).toEqual([
      { messages: [], seed: 9998 },
      { messages: [], seed: 9999 },
    ]);
  });

  it('scriptedModel works in a recursion of turns', async () => {
    const model = scriptedModel([[toolCall('add')], 'done']);
    const turns = model.stream(request).pipe(
      expand((chunk) => (chunk.type === 'finish' && chunk.reason === 'toolCalls' ? model.stream(request) : EMPTY)),
      map(({ type }) => type),
      toArray(),
    );
    expect(await lastValueFrom(turns)).toEqual(['toolCallFragment', 'finish', 'text', 'finish']);
  });

  it('scriptedModel says which turns of its script were not used', () => {
    const model = scriptedModel(['one', 'two', 'three']);
    expect(model.unusedTurns).toEqual([1, 2, 3]);
    model.stream(request).subscribe();
    expect(model.unusedTurns).toEqual([2, 3]);
    for (let times = 0; times < 2; times++) model.stream(request).subscribe();
    expect(model.unusedTurns).toEqual([]);
    expect(scriptedModel(() => 'any').unusedTurns).toEqual([]);
  });
});
