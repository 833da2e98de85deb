import { describe, expect, it } from '@jest/globals';
import { EMPTY, NEVER, Observable, Subject, firstValueFrom, map, of, throwError, timer } from 'rxjs';
import type { ObservableInput } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { RunEvent, RunState } from '../../lib/core/event.js';
import { isToolResult } from '../../lib/core/eventGuards.js';
import { systemMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import type { TurnChanges } from '../../lib/agent/prepareTurn.js';
import type { TurnOptions } from '../../lib/agent/orchestrator.js';
import { requestOf } from '../../lib/agent/requestOf.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { observe } from '../support/observe.js';
import { virtual } from '../support/toolCalls.js';

const look = tool({ name: 'look', description: '', execute: () => 'rain' });
const save = tool({ name: 'save', description: '', execute: () => 'saved' });
const afterFirst = (changes: TurnChanges) => (state: RunState) => (state.turn === 0 ? undefined : changes);

describe('prepareTurn', () => {
  it('changes the model, the tools, the tool choice and the settings of one turn', () => {
    const [first, second] = [scriptedModel([[toolCall('look')], 'never']), scriptedModel(['Rain.'])];
    const changes = {
      model: second,
      tools: [save],
      toolChoice: { name: 'save' },
      system: 'Save it.',
      temperature: 0,
      maxOutputTokens: undefined,
    };
    const agent = createAgent({
      model: first,
      tools: [look, save],
      system: 'Look.',
      maxOutputTokens: 9,
      prepareTurn: afterFirst(changes),
    });
    observe(agent.stream('Hi'));
    expect(first.requests).toEqual([
      expect.objectContaining({
        tools: [expect.objectContaining({ name: 'look' }), expect.anything()],
        maxOutputTokens: 9,
      }),
    ]);
    expect(first.requests[0]).not.toHaveProperty('toolChoice');
    expect(second.requests).toMatchObject([
      { tools: [{ name: 'save' }], toolChoice: { name: 'save' }, temperature: 0, maxOutputTokens: 9 },
    ]);
    expect(second.requests[0]?.messages[0]).toEqual(systemMessage('Save it.'));
  });

  it('changes the messages of the request, and leaves the history of the run complete', () => {
    const model = scriptedModel([[toolCall('look')], 'Rain.']);
    const shortened = [userMessage('Short.')];
    const agent = createAgent({ model, tools: [look], prepareTurn: afterFirst({ messages: shortened }) });
    const { values } = observe(agent.stream('Hi', { checkpoints: true }));
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 1]);
    expect(model.requests[1]?.messages).toEqual(shortened);
    expect(values.at(-1)).toMatchObject({ result: { messages: [{}, {}, {}] } });
  });

  it('receives the state from which the turn starts, and the context of the run', () => {
    const seen: [number, number, unknown][] = [];
    const agent = createAgent({
      model: scriptedModel([[toolCall('look')], 'Rain.']),
      tools: [look],
      prepareTurn(state, context: { readonly userId: string }) {
        seen.push([state.turn, state.messages.length, context.userId]);
        return undefined;
      },
    });
    observe(agent.stream('Hi', { context: { userId: 'u1' } }));
    expect(seen).toEqual([
      [0, 1, 'u1'],
      [1, 3, 'u1'],
    ]);
  });

  it('makes the tools that it removes unknown in that turn', () => {
    const model = scriptedModel([[toolCall('save')], [toolCall('save')], 'Done.']);
    const agent = createAgent({ model, tools: [look, save], prepareTurn: afterFirst({ tools: [look] }) });
    const results = observe(agent.stream('Hi')).values.filter(isToolResult);
    expect(results).toMatchObject([{ result: 'saved' }, { code: 'unknown_tool' }]);
  });

  it.each<[string, ObservableInput<TurnChanges>]>([
    ['a Promise', Promise.resolve({ system: 'Later.' })],
    ['an Observable, with its first value', of({ system: 'Later.' }, { system: 'Too late.' })],
    ['an Observable that does not complete', new Observable((out) => out.next({ system: 'Later.' }))],
    ['an array', [{ system: 'Later.' }]],
    [
      'an Observable of another library',
      { '@@observable': () => of({ system: 'Later.' }) } as unknown as ObservableInput<TurnChanges>,
    ],
  ])('accepts %s', async (_, changes) => {
    const model = scriptedModel(() => 'Hello');
    await firstValueFrom(createAgent({ model, prepareTurn: () => changes }).run('Hi'));
    expect(model.requests[0]?.messages[0]).toEqual(systemMessage('Later.'));
  });

  it('changes nothing if its Observable is empty, and fails the run if it fails', () => {
    const failure = new Error('no database');
    const model = scriptedModel(() => 'Hello');
    expect(observe(createAgent({ model, prepareTurn: () => EMPTY }).run('Hi')).values).toMatchObject([
      { text: 'Hello' },
    ]);
    expect(observe(createAgent({ model, prepareTurn: () => throwError(() => failure) }).run('Hi')).error).toBe(failure);
    const thrown = new Error('no model');
    const throwing = () => {
      throw thrown;
    };
    expect(observe(createAgent({ model, prepareTurn: throwing }).run('Hi')).error).toBe(thrown);
  });

  it('fails the run for something with `subscribe` that RxJS cannot subscribe', () => {
    const unknown = { subscribe: () => undefined } as unknown as ObservableInput<TurnChanges>;
    const { error } = observe(createAgent({ model: scriptedModel([]), prepareTurn: () => unknown }).run('Hi'));
    expect(error).toMatchObject({ message: expect.stringContaining('where a stream was expected') });
  });

  it('keeps the tool choice of the agent if it changes other options', () => {
    const model = scriptedModel(['Rain.']);
    const prepareTurn = () => ({ temperature: 0 });
    observe(createAgent({ model, tools: [look], toolChoice: 'required', prepareTurn }).run('Hi'));
    expect(model.requests).toMatchObject([{ toolChoice: 'required', temperature: 0 }]);
  });

  it('reports a model that is not a model', () => {
    const name = 'openai-chat:any' as unknown as Model;
    const { error } = observe(
      createAgent({ model: scriptedModel([]), prepareTurn: () => ({ model: name }) }).run('Hi'),
    );
    expect(error).toMatchObject({ code: 'configuration', subject: 'model' });
  });

  it('delays the request until its value arrives, and is unsubscribed with the run', () => {
    virtual(({ expectObservable }) => {
      const agent = createAgent({
        model: scriptedModel(() => 'a'),
        prepareTurn: () => timer(3).pipe(map(() => ({ system: 'Later.' }))),
      });
      const types = agent.stream('Hi').pipe(map(({ type }: RunEvent) => type[0]));
      expectObservable(types).toBe('---(tmtr|)');
    });
    let unsubscribed = false;
    const waiting = new Observable<TurnChanges>(() => () => (unsubscribed = true));
    const { subscription } = observe(createAgent({ model: scriptedModel([]), prepareTurn: () => waiting }).run('Hi'));
    subscription.unsubscribe();
    expect(unsubscribed).toBe(true);
  });

  it('is ended by a stop, without a request', () => {
    const stop = new Subject<void>();
    const model = scriptedModel(['never']);
    const { values } = observe(createAgent({ model, prepareTurn: () => NEVER }).run('Hi', { stop }));
    stop.next();
    expect(values).toMatchObject([{ finishReason: 'stopped', turns: 1 }]);
    expect(model.requests).toHaveLength(0);
  });

  it('can change the model of a run with a typed output', () => {
    const model = scriptedModel([], { capabilities: { typedOutput: true } });
    const other = scriptedModel([[toolCall('return_result', { a: 1 })]], { capabilities: { typedOutput: false } });
    const agent = createAgent({
      model,
      output: typed(z.object({ a: z.number() })),
      prepareTurn: () => ({ model: other }),
    });
    expect(observe(agent.run('Hi')).values).toMatchObject([{ output: { a: 1 } }]);
  });
});

describe('the context of a run', () => {
  interface App {
    readonly userId: string;
  }
  const whoami = tool({
    name: 'whoami',
    description: '',
    execute: (_, { context }: { readonly context: App }) => context.userId,
  });
  const locate = tool({
    name: 'locate',
    description: '',
    parameters: z.object({ city: z.string() }),
    execute: ({ city }, { context }: { readonly context: { readonly country: string } }) =>
      `${city}, ${context.country}`,
  });

  it('reaches the tools and the tool choice unchanged, and no request', () => {
    const model = scriptedModel([[toolCall('whoami'), toolCall('locate', { city: 'Oslo' })], 'Done.']);
    const context = { userId: 'u1', country: 'Norway' };
    const seen: unknown[] = [];
    const agent = createAgent({
      model,
      tools: [whoami, locate],
      toolChoice(_, given) {
        seen.push(given);
        return 'auto';
      },
    });
    const results = observe(agent.stream('Hi', { context })).values.filter(isToolResult);
    expect(results).toMatchObject([{ result: 'u1' }, { result: 'Oslo, Norway' }]);
    expect(seen.every((given) => given === context)).toBe(true);
    expect(JSON.stringify(model.requests[0])).not.toContain('u1');
  });

  it('has the type that all tools, prepareTurn and toolChoice need', () => {
    const model = scriptedModel(() => 'Hi');
    const plain = createAgent({ model, tools: [look] });
    const both = createAgent({ model, tools: [look, whoami, locate] });
    const prepared = createAgent({ model, prepareTurn: (_, context: App) => ({ system: context.userId }) });
    const chosen = createAgent({ model, tools: [locate], toolChoice: (_, { country }) => (country ? 'auto' : 'none') });
    const types = () => [
      plain.stream('Hi'),
      plain.stream('Hi', { context: 7 }),
      both.stream('Hi', { context: { userId: 'u', country: 'c' } }),
      both.stream('Hi', { context: { userId: 'u', country: 'c' }, fragments: true }),
      prepared.stream('Hi', { context: { userId: 'u' } }),
      chosen.stream('Hi', { context: { country: 'c' } }),
      // @ts-expect-error -- the tools need a context
      both.stream('Hi'),
      // @ts-expect-error -- a country is missing
      both.stream('Hi', { context: { userId: 'u' } }),
      // @ts-expect-error -- a user's id is a text
      prepared.run('Hi', { context: { userId: 1 } }),
      // @ts-expect-error -- prepareTurn needs a context
      prepared.run('Hi', {}),
      // @ts-expect-error -- the tools need a context
      chosen.run('Hi', { history: [] }),
    ];
    expect(types).toBeDefined();
    const city = (): Observable<string> =>
      both
        .stream('Hi', { context: { userId: 'u', country: 'c' } })
        .pipe(map((event) => (event.type === 'toolCall' && event.name === 'locate' ? event.arguments.city : '')));
    expect(city).toBeDefined();
  });
});

describe('requestOf', () => {
  it('creates the request of a turn for a custom orchestrator', () => {
    const state: RunState = { messages: [userMessage('Hi')], turn: 0, usage: {} };
    const options = { system: 'Be brief.', temperature: 0, toolChoice: 'required', toolConcurrency: 3 } as const;
    expect(requestOf(state, { tools: [look], options })).toEqual({
      messages: [systemMessage('Be brief.'), userMessage('Hi')],
      tools: [{ name: 'look', description: '', parameters: expect.anything() }],
      toolChoice: 'required',
      temperature: 0,
    });
  });

  it('uses the messages of the context in place of those of the state', () => {
    const messages: readonly Message[] = [userMessage('Short.')];
    const state: RunState = { messages: [userMessage('Long.')], turn: 1, usage: {} };
    expect(requestOf(state, { tools: [], options: {}, messages })).toEqual({ messages });
  });

  it('reports an output whose schema cannot be a JSON Schema', () => {
    const state: RunState = { messages: [userMessage('Hi')], turn: 0, usage: {} };
    expect(() => requestOf(state, { tools: [], options: {}, output: z.date() })).toThrow(
      'The output: this schema cannot be converted to JSON Schema',
    );
  });

  it('has the same system message in every turn, so that a model encodes it once', () => {
    const state: RunState = { messages: [userMessage('Hi')], turn: 0, usage: {} };
    const systemOf = (options: TurnOptions) => requestOf(state, { tools: [], options }).messages[0];
    const [brief, long] = [{ system: 'Be brief.' }, { system: 'Be long.' }];
    expect(systemOf(brief)).toBe(systemOf(brief));
    expect(systemOf(long)).toEqual(systemMessage('Be long.'));
    expect(systemOf(brief)).toEqual(systemMessage('Be brief.'));
  });
});
