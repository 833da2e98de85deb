import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { concat, from, NEVER, of, skip, Subject, take, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { fromUiMessages, toUiMessageStream } from '../../../lib/service/uiChat/index.js';
import type { UiMessageChunk } from '../../../lib/service/uiChat/index.js';
import { HttpError } from '../../../lib/core/errors.js';
import type { RunEvent, StreamEvent } from '../../../lib/core/event.js';
import { userMessage } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { operatorContract } from '../../../lib/testing/operatorContract.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { Step } from '../../../lib/testing/index.js';
import type { OptionsOf } from '../../../lib/index.js';
import { diagram } from '../../support/diagram.js';
import { observe } from '../../support/observe.js';
import { exampleEvents, exampleRun } from '../../support/runs.js';
import { readUiMessage } from './readUiMessage.js';

const chunksOf = (
  run: Observable<StreamEvent>,
  options?: OptionsOf<typeof toUiMessageStream>,
): readonly UiMessageChunk[] => {
  const { values, completed } = observe(run.pipe(toUiMessageStream(options)));
  expect(completed).toBe(true);
  return values;
};
const event = (known: RunEvent): StreamEvent => known;
const events = (...known: RunEvent[]): Observable<StreamEvent> => from(known);
const typesOf = (chunks: readonly UiMessageChunk[]) => chunks.map(({ type }) => type);
const call = { type: 'toolCall', id: 'c1', name: 'weather', arguments: { city: 'Oslo' } } as const;

const locate = tool({ name: 'locate', description: 'Locates.' });
const clientWeather = tool({ name: 'weather', description: 'Tells.' });
const weather = tool({ name: 'weather', description: 'Tells.', execute: () => ({ degrees: 7 }) });

describe('toUiMessageStream', () => {
  it('toUiMessageStream makes a turn a step, and a text a block', () =>
    diagram('toUiMessageStream', ({ source }) => source.pipe(toUiMessageStream())));

  it.each(
    operatorContract((source: Observable<StreamEvent>) => source.pipe(toUiMessageStream(), skip(1)), {
      source: [event({ type: 'text', text: 'a' }), event({ type: 'turn', turn: 1, finishReason: 'stop' })],
      passThrough: false,
    }).filter(({ title }) => !/error of the source|under retry/.test(title)), // an error becomes the chunk `error`
  )('toUiMessageStream $title', ({ run }) => run());

  it('toUiMessageStream sends everything that a run emits', () => {
    const message = readUiMessage(chunksOf(exampleRun()));
    expect(message.parts).toEqual([
      { type: 'step-start' },
      { type: 'reasoning', text: 'Which city?', state: 'done' },
      { type: 'text', text: 'Let me see.', state: 'done' },
      expect.objectContaining({ type: 'tool-web_search', state: 'output-error', errorText: 'The call did not end.' }),
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AQID' },
      expect.objectContaining({
        type: 'tool-weather',
        toolCallId: 'c1',
        rawInput: '{"city":"Oslo"}',
        input: { city: 'Oslo' },
        state: 'output-available',
        output: { degrees: 7 },
      }),
      expect.objectContaining({ type: 'tool-missing', toolCallId: 'c2', state: 'output-error' }),
      { type: 'step-start' },
      { type: 'source-url', sourceId: 'source-1', url: 'https://example.com', title: 'Weather' },
      { type: 'text', text: 'It is 7 degrees.', state: 'done' },
    ]);
    expect(message.finishReason).toBe('stop');
  });

  it('toUiMessageStream sends progress as preliminary outputs', () => {
    const outputs = chunksOf(exampleRun()).filter(({ type }) => type === 'tool-output-available');
    expect(outputs).toEqual([
      { type: 'tool-output-available', toolCallId: 'c1', output: 'asking', preliminary: true },
      { type: 'tool-output-available', toolCallId: 'c1', output: 'reading', preliminary: true },
      { type: 'tool-output-available', toolCallId: 'c1', output: { degrees: 7 } },
    ]);
  });

  it('toUiMessageStream omits thinking, sources and progress on request', () => {
    const options = { reasoning: false, sources: false, progress: false };
    const types = JSON.stringify(chunksOf(exampleRun(), options));
    expect(types).not.toMatch(/reasoning|source|preliminary/);
  });

  it('toUiMessageStream puts the finish reason, the usage and the model that answered into the metadata', () => {
    const result = { text: '', answer: '', thinking: '', output: undefined, messages: [], turns: 1 } as const;
    const metadata = { answeredBy: { provider: 'p', name: 'm' } };
    const run = events({
      type: 'result',
      result: { ...result, finishReason: 'limit', rawReason: 'tokens', usage: { input: 1 }, metadata },
    });
    expect(chunksOf(run).at(-1)).toEqual({
      type: 'finish',
      finishReason: 'other',
      messageMetadata: { finishReason: 'limit', rawReason: 'tokens', usage: { input: 1 }, model: 'm' },
    });
  });

  it('toUiMessageStream sends the metadata that the application chooses, when it chooses', () => {
    const messageMetadata = ({ type }: StreamEvent) => (type === 'text' ? { seen: true } : undefined);
    const chunks = chunksOf(events({ type: 'text', text: 'a' }), { messageMetadata, messageId: 'm1' });
    expect(chunks[0]).toEqual({ type: 'start', messageId: 'm1' });
    expect(chunks).toContainEqual({ type: 'message-metadata', messageMetadata: { seen: true } });
    expect(chunks.at(-1)).toEqual({ type: 'finish' });
  });

  it('toUiMessageStream sends a typed output as data', () => {
    const usage = {};
    const result = { text: '', answer: '', thinking: '', output: { a: 1 }, messages: [], turns: 1, usage } as const;
    const chunks = chunksOf(events({ type: 'result', result: { ...result, finishReason: 'stop' } }));
    expect(chunks).toContainEqual({ type: 'data-output', id: 'output', data: { a: 1 } });
  });

  it('toUiMessageStream announces a retry as transient data', () => {
    const retry = { type: 'retry', attempt: 1, delay: 10, error: { code: 'http' } } as const;
    expect(chunksOf(events(retry))[1]).toEqual({
      type: 'data-retry',
      data: { attempt: 1, delay: 10, error: { code: 'http' } },
      transient: true,
    });
  });

  it('toUiMessageStream sends the calls that the provider executes', () => {
    const entry = { id: 's1', name: 'search', raw: {} };
    const change = (change: object): RunEvent => ({
      type: 'metadata',
      metadata: { serverTools: [{ ...entry, ...change }] },
    });
    const chunks = chunksOf(
      events(
        change({ status: 'running' }),
        change({ status: 'running', input: { q: 'a' } }),
        change({ status: 'completed', output: ['b'] }),
        change({ status: 'completed', output: ['b'] }),
        { type: 'turn', turn: 1, finishReason: 'paused' },
        change({ id: 's2', status: 'failed', output: 'Busy.' }),
      ),
    );
    const executed = { toolCallId: 's1', providerExecuted: true };
    expect(chunks.filter(({ type }) => type.startsWith('tool'))).toEqual([
      { type: 'tool-input-start', ...executed, toolName: 'search' },
      { type: 'tool-input-available', ...executed, toolName: 'search', input: { q: 'a' } },
      { type: 'tool-output-available', ...executed, output: ['b'] },
      { type: 'tool-input-available', toolCallId: 's2', providerExecuted: true, toolName: 'search', input: {} },
      { type: 'tool-output-error', toolCallId: 's2', providerExecuted: true, errorText: 'Busy.' },
    ]);
  });

  it('toUiMessageStream does not end a call of which the provider turns out to run it', () => {
    const run = (status: string) => ({ serverTools: [{ id: 's1', name: 'search', status, input: {}, raw: {} }] });
    const arriving = { type: 'toolCallFragment', index: 0, id: 's1', name: 'search', arguments: '{}' } as const;
    const chunks = chunksOf(
      from<StreamEvent[]>([
        arriving,
        { type: 'metadata', metadata: run('running') } as StreamEvent,
        { type: 'metadata', metadata: run('completed') } as StreamEvent,
        event({ type: 'turn', turn: 1, finishReason: 'stop' }),
      ]),
    );
    expect(typesOf(chunks).filter((type) => type.startsWith('tool'))).toEqual([
      'tool-input-start',
      'tool-input-delta',
      'tool-input-available',
      'tool-output-available',
    ]);
  });

  it('toUiMessageStream sends a source without a URL as a document, with its passage', () => {
    const source = { type: 'source', title: 'Report', text: 'It rained.', start: 2, end: 9 } as const;
    expect(chunksOf(events({ type: 'source', source }))[2]).toEqual({
      type: 'source-document',
      sourceId: 'source-1',
      mediaType: 'text/plain',
      title: 'Report',
      providerMetadata: { rivulet: { text: 'It rained.', start: 2, end: 9 } },
    });
  });
});

describe('toUiMessageStream and calls that wait', () => {
  const agent = createAgent({
    model: scriptedModel(() => [
      toolCall('locate', {}, 'c1'),
      toolCall('pay', {}, 'c2'),
      toolCall('weather', {}, 'c3'),
    ]),
    tools: [locate, weather, tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' })],
  });

  it('toUiMessageStream asks for an approval, and leaves a client tool to the browser', () => {
    const chunks = chunksOf(agent.stream('Go.'), { tools: [locate] });
    expect(readUiMessage(chunks)).toMatchObject({
      finishReason: 'tool-calls',
      parts: [
        { type: 'step-start' },
        { type: 'tool-locate', state: 'input-available' },
        { type: 'tool-pay', state: 'approval-requested', approval: { id: 'c2' } },
        { type: 'tool-weather', state: 'output-available' },
      ],
    });
  });

  it.each([
    [7, ['tool-approval-request', 'tool-approval-response', 'tool-output-available']],
    [6, ['tool-approval-request', 'tool-output-available']],
  ] as const)('toUiMessageStream says to version %i that the server has approved a call', (version, types) => {
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
    const model = scriptedModel([[toolCall('pay', {}, 'c1')], 'Done.']);
    const approving = createAgent({ model, tools: [pay], approve: () => of({ approve: true }) });
    const chunks = chunksOf(approving.stream('Pay.'), { version });
    expect(typesOf(chunks).filter((type) => /approval|output/.test(type))).toEqual(types);
    expect(readUiMessage(chunks).parts[1]).toMatchObject({ state: 'output-available', output: 'paid' });
  });

  it('toUiMessageStream gives a client tool its input when the call waits, since the browser executes it then', () => {
    const types = typesOf(chunksOf(events(call, { ...call, type: 'toolWaiting' }), { tools: [clientWeather] }));
    expect(types.slice(0, 4)).toEqual(['start', 'start-step', 'tool-input-start', 'tool-input-available']);
  });

  it('toUiMessageStream reports the invalid arguments of a client tool as an input error', () => {
    const result = {
      type: 'toolResult',
      id: 'c1',
      name: 'weather',
      error: 'No city.',
      code: 'invalid_arguments',
    } as const;
    const chunks = chunksOf(events(call, result), { tools: [clientWeather] });
    expect(chunks).toContainEqual({
      type: 'tool-input-error',
      toolCallId: 'c1',
      toolName: 'weather',
      input: { city: 'Oslo' },
      errorText: 'No city.',
    });
    expect(typesOf(chunks)).not.toContain('tool-input-available');
  });

  it.each([
    ['denied', [], { type: 'tool-output-denied', toolCallId: 'c1' }],
    ['denied', [clientWeather], { type: 'tool-output-error', toolCallId: 'c1', errorText: 'No.' }],
    ['failed', [], { type: 'tool-output-error', toolCallId: 'c1', errorText: 'No.' }],
  ] as const)('toUiMessageStream reports the outcome of a call that is %s and continues', (code, tools, chunk) => {
    const result = { type: 'toolResult', id: 'c1', name: 'weather', error: 'No.', code } as const;
    expect(chunksOf(events(result), { tools, continues: true })[1]).toEqual(chunk);
  });
});

describe('toUiMessageStream and prompts that join a run', () => {
  const run = () => {
    const prompt = userMessage([
      { type: 'text', text: 'In Celsius.' },
      { type: 'file', mediaType: 'image/png', url: 'https://a.test/b.png' },
    ]);
    const model = scriptedModel(['It is warm.', 'It is 7 degrees.']);
    return createAgent({ model }).stream('Hi', { prompts: of(prompt) });
  };
  const parts = [
    { type: 'text', text: 'In Celsius.' },
    { type: 'file', mediaType: 'image/png', url: 'https://a.test/b.png' },
  ];

  it('toUiMessageStream sends a prompt between the steps, and the server reads it back', () => {
    const message = readUiMessage(chunksOf(run(), { messageId: 'm1' }));
    expect(message.parts).toEqual([
      { type: 'step-start' },
      { type: 'text', text: 'It is warm.', state: 'done' },
      { type: 'steering-message', id: 'prompt-1', parts },
      { type: 'step-start' },
      { type: 'text', text: 'It is 7 degrees.', state: 'done' },
    ]);
    const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] } as const;
    const next = { ...user, id: 'u2' };
    expect(fromUiMessages([user, message, next]).messages.map(({ role, parts: all }) => [role, all.length])).toEqual([
      ['user', 1],
      ['model', 1],
      ['user', 2],
      ['model', 1],
      ['user', 1],
    ]);
  });

  it('toUiMessageStream omits it for a client that cannot read it', () => {
    expect(typesOf(chunksOf(run(), { version: 6 }))).not.toContain('steering-message');
  });
});

describe('toUiMessageStream and attempts that are discarded', () => {
  const retracted = () =>
    concat(
      events({ type: 'text', text: 'Void' }, call, { type: 'retract' }),
      createAgent({ model: scriptedModel(['Valid']) }).stream('Hi'),
    );

  it('toUiMessageStream removes a discarded attempt', () => {
    expect(readUiMessage(chunksOf(retracted())).parts).toEqual([
      { type: 'step-start' },
      { type: 'text', text: 'Valid', state: 'done' },
    ]);
  });

  it('toUiMessageStream leaves it in a step of its own if the client cannot remove it', () => {
    const chunks = chunksOf(retracted(), { version: 6 });
    expect(typesOf(chunks)).not.toContain('reset-step');
    expect(readUiMessage(chunks).parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'Void', state: 'done' },
      { type: 'tool-weather', state: 'output-error', errorText: 'The attempt was discarded.' },
      { type: 'step-start' },
      { type: 'text', text: 'Valid' },
    ]);
  });
});

describe('toUiMessageStream at the end of a run', () => {
  it('toUiMessageStream says no more than the code of an error of the server', () => {
    const logged: unknown[] = [];
    const secret = new Error('postgres://admin:hunter2@db');
    const chunks = chunksOf(
      concat(
        events({ type: 'text', text: 'a' }),
        throwError(() => secret),
      ),
      {
        onError: (thrown) => logged.push(thrown),
      },
    );
    expect(chunks.at(-1)).toEqual({ type: 'error', errorText: 'The run failed.' });
    expect(logged).toEqual([secret]);
  });

  it('toUiMessageStream describes an error of the provider with a fixed sentence', () => {
    const busy = new HttpError('The server is busy.', { provider: 'p', status: 503, retryable: true });
    expect(chunksOf(throwError(() => busy)).at(-1)).toEqual({
      type: 'error',
      errorText: 'The model did not accept the request.',
    });
  });

  it('toUiMessageStream describes errors as the application chooses, and survives its mistakes', () => {
    const failed = throwError(() => new Error('x'));
    expect(chunksOf(failed, { errorText: () => 'Sorry.' }).at(-1)).toEqual({ type: 'error', errorText: 'Sorry.' });
    const errorText = () => {
      throw new Error('of errorText');
    };
    expect(chunksOf(failed, { errorText }).at(-1)).toEqual({ type: 'error', errorText: 'The run failed.' });
  });

  it('toUiMessageStream ends a run that is stopped with abort, and with its usage', () => {
    const stop = new Subject<void>();
    const agent = createAgent({ model: scriptedModel([concat(of({ type: 'text', text: 'Hel' } as const), NEVER)]) });
    const seen = observe(agent.stream('Hi', { stop }).pipe(toUiMessageStream()));
    stop.next();
    expect(seen.values.slice(-4)).toEqual([
      { type: 'text-end', id: 'text-1' },
      { type: 'finish-step' },
      { type: 'abort', reason: 'stopped' },
      { type: 'finish', finishReason: 'other', messageMetadata: { finishReason: 'stopped', usage: {} } },
    ]);
  });

  it('toUiMessageStream ends with an empty step if the last turn has calls, so that useChat does not send again', () => {
    const agent = createAgent({ model: scriptedModel(() => [toolCall('weather')]), tools: [weather], maxTurns: 1 });
    expect(typesOf(chunksOf(agent.stream('Go.'))).slice(-4)).toEqual([
      'finish-step',
      'start-step',
      'finish-step',
      'finish',
    ]);
  });

  it('toUiMessageStream closes whatever is open, wherever a run ends', () => {
    const all = exampleEvents();
    for (let count = 0; count <= all.length; count++) {
      for (const version of [6, 7] as const) {
        const part = from(all.slice(0, count));
        readUiMessage(chunksOf(part, { version }));
        const failed = concat(
          part,
          throwError(() => new Error('x')),
        );
        expect(readUiMessage(chunksOf(failed, { version })).error).toBe(
          count < all.length ? 'The run failed.' : undefined,
        );
      }
    }
  });

  it('toUiMessageStream sends a well-formed message for any run, wherever it is stopped', () => {
    const step = fc.oneof<fc.Arbitrary<Step>[]>(
      fc.constantFrom('a', 'b', ''),
      fc.constant({ type: 'thinking', text: 'hm' }),
      fc.constantFrom('weather', 'locate', 'missing', 'fails').map((name) => toolCall(name)),
      fc
        .constantFrom('{"a":1}', '{"a"', '')
        .map((args) => ({ type: 'toolCallFragment', name: 'weather', arguments: args })),
      fc.constant({ type: 'toolCallFragment', index: 7, arguments: '{}' }),
      fc.constant({ type: 'source', source: { type: 'source', title: 's' } }),
      fc.constantFrom('running', 'completed').map((status) => ({
        type: 'metadata',
        metadata: { serverTools: [{ id: 's', name: 'search', status, raw: {} }] },
      })),
      fc.constant({ type: 'retract' }),
    );
    const fails = tool({
      name: 'fails',
      description: 'Fails.',
      execute: () => {
        throw new Error('No.');
      },
    });
    const tools = [weather, locate, fails];
    fc.assert(
      fc.property(
        fc.array(fc.array(step, { maxLength: 8 }), { minLength: 1, maxLength: 4 }),
        fc.record({
          eager: fc.boolean(),
          fragments: fc.boolean(),
          version: fc.constantFrom<(6 | 7)[]>(6, 7),
          stopAt: fc.nat(30),
        }),
        (turns, { eager, fragments, version, stopAt }) => {
          const agent = createAgent({ model: scriptedModel([...turns, 'End.']), tools, eagerTools: eager });
          const stop = new Subject<void>();
          const chunks: UiMessageChunk[] = [];
          let count = 0;
          const messageMetadata = () => {
            if (count++ === stopAt) stop.next();
            return undefined;
          };
          agent
            .stream('Go.', { fragments, stop })
            .pipe(toUiMessageStream({ tools, version, messageMetadata }))
            .subscribe((chunk) => chunks.push(chunk));
          readUiMessage(chunks);
        },
      ),
    );
  });

  it('toUiMessageStream emits nothing after take has closed it', () => {
    const { values } = observe(exampleRun().pipe(toUiMessageStream(), take(3)));
    expect(typesOf(values)).toEqual(['start', 'start-step', 'reasoning-start']);
  });
});
