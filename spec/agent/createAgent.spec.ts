import { describe, expect, it } from '@jest/globals';
import {
  NEVER,
  Subject,
  concat,
  filter,
  firstValueFrom,
  of,
  repeat,
  take,
  takeUntil,
  tap,
  throwError,
  toArray,
} from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { RunEvent, RunState } from '../../lib/core/event.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { toolCall, scriptedModel } from '../../lib/testing/index.js';
import { followUp } from '../../lib/operators/followUp.js';
import type { Orchestrator, TurnContext } from '../../lib/agent/orchestrator.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { typed } from '../../lib/agent/typed.js';
import { diagram } from '../support/diagram.js';
import { nextTask } from '../support/toolCalls.js';
import { observe } from '../support/observe.js';

const add = tool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const script = () => [['Let me see.', toolCall('add', { a: 1, b: 2 })], 'Three.'];

describe('createAgent', () => {
  it('createAgent runs turns, with the tools between them', () =>
    diagram('createAgent', ({ turn1, weather, turn2 }: Streams<'turn1' | 'weather' | 'turn2', Chunk>) => {
      const execute = () => weather;
      const tools = [tool({ name: 'weather', description: '', parameters: { type: 'object' }, execute })];
      return createAgent({ model: scriptedModel([turn1, turn2]), tools }).stream('How warm is it in Oslo?');
    }));

  it('createAgent emits these events and no others, each once and in this order', () => {
    const { values } = observe(createAgent({ model: scriptedModel(script()), tools: [add] }).stream('1 + 2?'));
    expect(values).toEqual([
      { type: 'text', text: 'Let me see.' },
      { type: 'toolCall', id: 'call_1_1', name: 'add', arguments: { a: 1, b: 2 } },
      { type: 'message', message: expect.objectContaining({ role: 'model' }) },
      { type: 'toolStart', id: 'call_1_1', name: 'add', arguments: { a: 1, b: 2 } },
      { type: 'toolResult', id: 'call_1_1', name: 'add', result: 3 },
      {
        type: 'message',
        message: { role: 'user', parts: [{ type: 'toolResult', id: 'call_1_1', name: 'add', result: 3 }] },
      },
      { type: 'turn', turn: 1, finishReason: 'toolCalls' },
      { type: 'text', text: '\nThree.', prefix: '\n' },
      { type: 'message', message: modelMessage('Three.') },
      { type: 'turn', turn: 2, finishReason: 'stop' },
      {
        type: 'result',
        result: expect.objectContaining({ text: 'Let me see.\nThree.', finishReason: 'stop', turns: 2 }),
      },
    ]);
  });

  it('run emits the result only', async () => {
    const result = await firstValueFrom(createAgent({ model: scriptedModel(script()), tools: [add] }).run('1 + 2?'));
    expect(result).toMatchObject({ text: 'Let me see.\nThree.', thinking: '', output: undefined, turns: 2 });
    expect(result.messages.map(({ role }) => role)).toEqual(['model', 'user', 'model']);
  });

  it('run is cold: it sends no request before it is subscribed, and each subscription is a run of its own', () => {
    const model = scriptedModel(() => 'Hi');
    const run = createAgent({ model }).run('Hello');
    expect(model.requests).toHaveLength(0);
    observe(run);
    observe(run.pipe(repeat(2)));
    expect(model.requests).toHaveLength(3);
  });

  it('stream accepts a history and a text, a message or messages, and ignores later changes of the array', () => {
    const model = scriptedModel(() => 'Hi');
    const agent = createAgent({ model });
    const history: Message[] = [userMessage('a'), modelMessage('b')];
    const run = agent.stream('c', { history: history });
    observe(run);
    observe(agent.stream(userMessage('c'), { history: history }));
    observe(agent.stream([...history, userMessage('c')]));
    observe(run.pipe(filter(({ type }) => type === 'message')));
    history.push(userMessage('later'));
    for (const { messages } of model.requests)
      expect(messages).toEqual([userMessage('a'), modelMessage('b'), userMessage('c')]);
    expect(model.requests).toHaveLength(4);
  });

  it('run returns the text of the last message as the answer, without the preambles', () => {
    const run = (last: readonly (string | Chunk)[], maxTurns = 9) =>
      observe(
        createAgent({ model: scriptedModel([...script().slice(0, 1), last, last]), tools: [add], maxTurns }).run(
          '1 + 2?',
        ),
      ).values;
    expect(run(['Three', '.'])).toMatchObject([{ text: 'Let me see.\nThree.', answer: 'Three.' }]);
    const nothing: Chunk = { type: 'finish', reason: 'stop' };
    expect(run([nothing])).toMatchObject([{ text: 'Let me see.', answer: '' }]);
    expect(run([nothing], 1)).toMatchObject([{ answer: '', finishReason: 'maxTurns' }]);
  });

  it('run returns the answer of a run that was resumed', () => {
    const model = scriptedModel(script());
    const agent = createAgent({ model, tools: [add] });
    const turns = observe(agent.stream('1 + 2?', { checkpoints: true })).values.flatMap((event) =>
      event.type === 'turn' && event.checkpoint ? [event.checkpoint] : [],
    );
    const resumed = turns.map(
      (checkpoint) =>
        observe(createAgent({ model: scriptedModel(['Three.']), tools: [add] }).resumeRun(checkpoint)).values[0],
    );
    expect(resumed).toMatchObject([{ answer: 'Three.' }, { answer: 'Three.' }]);
  });

  it('createAgent continues a conversation with the messages of a result', () => {
    const model = scriptedModel(['one', 'two']);
    const agent = createAgent({ model });
    const messages: Message[] = [];
    for (const question of ['first', 'second']) {
      const asked = userMessage(question);
      agent.run(asked, { history: messages }).subscribe((result) => messages.push(asked, ...result.messages));
    }
    expect(messages.map(({ parts }) => (parts[0] as { text: string }).text)).toEqual(['first', 'one', 'second', 'two']);
  });

  it('createAgent reports an empty input without a history', () => {
    const model = scriptedModel(() => 'Hi');
    expect(observe(createAgent({ model }).run([])).error).toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('nothing to send'),
    });
    for (const nothing of [undefined, null, [undefined], 7]) {
      expect(observe(createAgent({ model }).run(nothing as unknown as string)).error).toMatchObject({
        code: 'configuration',
        subject: 'history',
      });
    }
    expect(model.requests).toHaveLength(0);
  });

  it.each<[string, unknown, string]>([
    ['a name in place of a model', { model: 'openai-chat:gpt-6.1-terra' }, 'modelByName'],
    ['an output without z.object', { output: typed({ city: z.string() }) }, 'z.object'],
    ['a name in place of an output', { output: typed('City' as never) }, 'The output'],
    ['an output without typed', { output: z.object({ city: z.string() }) }, 'typed(schema)'],
    ['an output that JSON cannot hold', { output: typed(z.object({ at: z.date() })) }, 'z.iso.datetime'],
  ])('createAgent reports %s, and what to do about it', (_, options, said) => {
    const made = createAgent({ model: scriptedModel(() => 'Hi'), ...(options as object) });
    const { error } = observe(made.run('Hi'));
    expect(error).toMatchObject({ code: 'configuration', message: expect.stringContaining(said) });
  });

  it('stream emits no system prompt, and checkpoints only if requested', () => {
    const make = () => createAgent({ model: scriptedModel(script()), tools: [add], system: 'A secret prompt.' });
    const plain = observe(make().stream('1 + 2?')).values;
    expect(plain.some((event) => 'next' in event || 'checkpoint' in event)).toBe(false);
    const checked = observe(make().stream('1 + 2?', { checkpoints: true })).values;
    expect(checked.find(({ type }) => type === 'turn')).toMatchObject({
      checkpoint: { orchestrator: 'toolLoop', state: { turn: 1, messages: [userMessage('1 + 2?'), {}, {}] } },
    });
    expect(JSON.stringify([plain, checked])).not.toContain('secret');
  });

  it('createAgent ends a run at maxTurns after the tools of the last turn, with all messages', async () => {
    const model = scriptedModel(() => [toolCall('add', { a: 1, b: 2 })]);
    const result = await firstValueFrom(createAgent({ model, tools: [add], maxTurns: 2 }).run('loop'));
    expect(model.requests).toHaveLength(2);
    expect(result).toMatchObject({ finishReason: 'maxTurns', turns: 2 });
    expect(result.messages.at(-1)?.parts[0]).toMatchObject({ type: 'toolResult', result: 3 });
  });

  it('createAgent sums the usage of the turns, and emits it nowhere else', async () => {
    const used = (input: number): Chunk => ({ type: 'finish', reason: 'stop', usage: { input, output: 1 } });
    const model = scriptedModel([
      [toolCall('add', { a: 1, b: 2 }), used(10)],
      ['Three.', used(20)],
    ]);
    const events = await firstValueFrom(
      createAgent({ model, tools: [add] })
        .stream('1 + 2?')
        .pipe(toArray()),
    );
    const carriers = events.filter((event) => JSON.stringify(event).includes('"usage"')).map(({ type }) => type);
    expect(carriers).toEqual(['turn', 'turn', 'result']);
    expect(events.at(-1)).toMatchObject({ result: { usage: { input: 30, output: 2 } } });
  });

  it('stream emits no turn and no result after an error', () => {
    const failure = new Error('reset');
    const model = scriptedModel([
      script()[0]!,
      concat(
        of<Chunk>({ type: 'text', text: 'Thr' }),
        throwError(() => failure),
      ),
    ]);
    const { values, error } = observe(createAgent({ model, tools: [add] }).stream('1 + 2?'));
    expect(error).toBe(failure);
    expect(values.at(-1)).toEqual({ type: 'text', text: '\nThr', prefix: '\n' });
    expect(values.filter(({ type }) => type === 'turn')).toHaveLength(1);
  });

  it('createAgent reports a model that completes without a finish', () => {
    const { error } = observe(
      createAgent({ model: scriptedModel([of<Chunk>({ type: 'text', text: 'a' })]) }).run('Hi'),
    );
    expect(error).toMatchObject({ code: 'stream_interrupted', message: expect.stringContaining('without a `finish`') });
  });

  it('createAgent reports a missing model, parameters that are not an object, and an orchestrator without typed output', () => {
    expect(observe(createAgent({ model: 'gpt-6.1-terra' as never }).run('Hi')).error).toMatchObject({
      code: 'configuration',
      subject: 'model',
    });
    const forgot = tool({ name: 'f', description: '', parameters: { city: z.string() }, execute: () => 1 });
    expect(observe(createAgent({ model: scriptedModel(['a']), tools: [forgot] }).run('Hi')).error).toMatchObject({
      code: 'configuration',
      subject: 'schema',
    });
    const loose = createAgent({ model: scriptedModel(['a']), output: typed(z.object({})), orchestrator: toolLoop });
    expect(observe(loose.run('Hi')).error).toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('"toolLoop" returned no typed output'),
    });
  });

  it('stream unsubscribes from the model when it is unsubscribed', () => {
    const silent = new Subject<Chunk>();
    const { subscription } = observe(createAgent({ model: scriptedModel([silent]) }).stream('Hi'));
    expect(silent.observed).toBe(true);
    subscription.unsubscribe();
    expect(silent.observed).toBe(false);
  });

  it('stream sends no further request for a subscriber that has completed', () => {
    const model = scriptedModel(script());
    observe(
      createAgent({ model, tools: [add] })
        .stream('1 + 2?')
        .pipe(take(6)),
    );
    expect(model.requests).toHaveLength(1);
  });

  it('createAgent continues after each kind of failed tool', async () => {
    const bad = (name: string, execute: () => unknown) =>
      tool({ name, description: '', parameters: { type: 'object' }, execute });
    const circular: unknown[] = [];
    circular.push(circular);
    const tools = [
      bad('throws', () => {
        throw new Error('no');
      }),
      bad('rejects', () => Promise.reject(new Error('no'))),
      bad('errors', () => throwError(() => new Error('no'))),
      bad('circular', () => circular),
    ];
    const names = ['throws', 'rejects', 'errors', 'circular', 'unknown'];
    const model = scriptedModel([names.map((name) => toolCall(name)), 'Sorry.']);
    const result = await firstValueFrom(createAgent({ model, tools }).run('go'));
    expect(result.text).toBe('Sorry.');
    expect(result.messages[1]?.parts).toMatchObject(names.map((name) => ({ name, error: expect.any(String) })));
  });

  it('stream types results by the names of the tools', async () => {
    const shout = tool({
      name: 'shout',
      description: '',
      parameters: z.object({ s: z.string() }),
      execute: async ({ s }) => s.toUpperCase(),
    });
    const agent = createAgent({
      model: scriptedModel([[toolCall('add', { a: 1, b: 2 }), toolCall('shout', { s: 'a' })], 'ok']),
      tools: [add, shout],
    });
    const events = await firstValueFrom(agent.stream('go').pipe(toArray()));
    const described = events.map((event) => {
      if (event.type !== 'toolResult' || event.error !== undefined) return undefined;
      return event.name === 'add' ? event.result.toFixed(1) : event.result.toLowerCase();
    });
    expect(described.filter(Boolean)).toEqual(['3.0', 'a']);
    const loose: readonly RunEvent<unknown>[] = events;
    expect(loose).toBe(events);
  });

  it('createAgent ends a run at maxTurns when followUp is used as its documentation shows, and without its context', () => {
    const again = (_: unknown, after: RunState): RunState => ({
      ...after,
      messages: [...after.messages, userMessage('Are you sure?')],
    });
    const following = (options: (context: TurnContext) => { last?: boolean }): Orchestrator => ({
      name: 'following',
      turn: (state, context) => toolLoop.turn(state, context).pipe(followUp(state, again, options(context))),
    });
    for (const orchestrator of [following((context) => context), following(() => ({}))]) {
      const model = scriptedModel(() => 'Yes.');
      const { values } = observe(createAgent({ model, orchestrator, maxTurns: 3 }).run('Hi'));
      expect(model.requests).toHaveLength(3);
      expect(values).toMatchObject([{ finishReason: 'maxTurns', turns: 3 }]);
    }
  });

  it('createAgent sends no request with maxTurns 0', () => {
    const model = scriptedModel(() => 'Hi');
    expect(observe(createAgent({ model, maxTurns: 0 }).run('Hi')).values).toMatchObject([
      { finishReason: 'maxTurns', turns: 0, messages: [], text: '' },
    ]);
    expect(model.requests).toHaveLength(0);
  });

  it.each(['run', 'stream'] as const)(
    '%s reports an orchestrator that completes without a turn as interrupted',
    (method) => {
      const model = scriptedModel([NEVER]);
      const stop = new Subject<void>();
      const orchestrator: Orchestrator = {
        name: 'cut',
        turn: (state, context) => toolLoop.turn(state, context).pipe(takeUntil(stop)),
      };
      const seen = observe<unknown>(createAgent({ model, orchestrator })[method]('Hi'));
      stop.next();
      expect(seen.error).toMatchObject({ code: 'stream_interrupted', provider: 'scripted' });
    },
  );

  it('run returns the metadata and the raw reason that stream emits', () => {
    const script = (): Chunk[] => [
      { type: 'metadata', metadata: { id: 'r1', cost: 1 } },
      { type: 'finish', reason: 'other', rawReason: 'recitation' },
    ];
    const agent = createAgent({ model: scriptedModel(() => script()) });
    expect(observe(agent.stream('Hi')).values).toMatchObject([
      { type: 'metadata' },
      { type: 'turn', rawReason: 'recitation', metadata: { id: 'r1', cost: 1 } },
      { type: 'result' },
    ]);
    expect(observe(agent.run('Hi')).values).toMatchObject([
      { finishReason: 'other', rawReason: 'recitation', metadata: { id: 'r1', cost: 1 } },
    ]);
  });

  it('createAgent starts the first text with a prefix only if text was emitted before the tool round', () => {
    const model = scriptedModel([[toolCall('add', { a: 1, b: 2 })], 'Three.']);
    expect(observe(createAgent({ model, tools: [add] }).run('1 + 2?')).values).toMatchObject([{ text: 'Three.' }]);
  });

  it('createAgent with an empty prefix leaves the text after a tool round as it is', () => {
    const model = scriptedModel([['I add. ', toolCall('add', { a: 1, b: 2 })], 'Three.']);
    const { values } = observe(createAgent({ model, tools: [add], prefix: '' }).stream('1 + 2?'));
    expect(values.filter(({ type }) => type === 'text')).toEqual([
      { type: 'text', text: 'I add. ' },
      { type: 'text', text: 'Three.' },
    ]);
  });

  it('createAgent passes toolConcurrency, eagerTools and toolDeadline to the tools', async () => {
    const log: string[] = [];
    const slow = tool({
      name: 'slow',
      description: '',
      execute: () => NEVER.pipe(tap({ subscribe: () => log.push('start'), unsubscribe: () => log.push('stop') })),
    });
    const calls = new Subject<Chunk>();
    const fragment = (id: string): Chunk => ({
      type: 'toolCallFragment',
      id,
      name: 'slow',
      arguments: '{}',
      done: true,
    });
    const options = { toolConcurrency: 2, eagerTools: true, toolDeadline: 0 };
    const model = scriptedModel([calls, 'done']);
    const agent = createAgent({ model, tools: [slow], ...options, toolDeadline: Infinity });
    const { subscription } = observe(agent.stream('go'));
    ['1', '2', '3'].forEach((id) => calls.next(fragment(id)));
    await nextTask();
    expect(log).toEqual(['start', 'start']);
    subscription.unsubscribe();
  });
});
