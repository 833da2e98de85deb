import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { context, createContextKey, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  NEVER,
  Subject,
  concat,
  concatMap,
  finalize,
  firstValueFrom,
  lastValueFrom,
  map,
  of,
  share,
  take,
  throwError,
  timer,
  toArray,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import * as z from 'zod';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { AgentOptions } from '../../../lib/agent/createAgent.js';
import { traceAgent } from '../../../lib/observe/opentelemetry/index.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import { ConnectionError, HttpError } from '../../../lib/core/errors.js';
import { isResult, isToolStart } from '../../../lib/core/eventGuards.js';
import { tool } from '../../../lib/core/tool.js';
import type { Tool } from '../../../lib/core/tool.js';
import { twoPhase } from '../../../lib/agent/twoPhase.js';
import { fallback } from '../../../lib/models/fallback.js';
import { retryModel } from '../../../lib/models/retryModel.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { OptionsOf } from '../../../lib/index.js';
import { agentTool } from '../../../lib/tools/agentTool.js';
import { typed } from '../../../lib/agent/typed.js';
import { observe } from '../../support/observe.js';
import { record, useContextManager } from './recording.js';

const load = tool({ name: 'load', description: 'Loads a file.', execute: () => 'loaded' });
const hang = tool({ name: 'hang', description: 'Never ends.', execute: () => NEVER });
const reset = () => new ConnectionError('scripted', 'The connection was reset.');

/** An agent whose runs are recorded. */
function traced(options: AgentOptions, traceOptions: OptionsOf<typeof traceAgent> = { name: 'helper' }) {
  const recorded = record();
  return { ...recorded, recorded, agent: traceAgent(createAgent(options), { ...recorded.options, ...traceOptions }) };
}

/** Flushes virtual time. */
const virtually = <T>(work: () => T) =>
  new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ flush }) => {
    const result = work();
    flush();
    return result;
  });

describe('traceAgent', () => {
  let removeContextManager: () => void;
  beforeAll(() => {
    removeContextManager = useContextManager();
  });
  afterAll(() => removeContextManager());

  it('traceAgent makes the run, its turns, its requests and its tools spans, and changes no event', () => {
    const model = () =>
      scriptedModel([
        [
          { type: 'metadata', metadata: { responseId: 'r1', model: 'scripted-2' } },
          toolCall('load', { path: '/a' }),
          { type: 'finish', reason: 'toolCalls', usage: { input: 10, output: 2, cachedInput: 4 } },
        ],
        ['Done.', { type: 'finish', reason: 'stop', usage: { input: 20, output: 3, reasoning: 1 } }],
      ]);
    const { agent, tree, span, open, warnings } = traced(
      { model: model(), tools: [load] },
      { name: 'helper', description: 'Helps.' },
    );
    const { values } = observe(agent.stream('Go.'));
    expect(values).toEqual(observe(createAgent({ model: model(), tools: [load] }).stream('Go.')).values);
    expect(tree()).toEqual([
      'invoke_agent helper',
      '  turn',
      '    chat scripted',
      '    execute_tool load',
      '  turn',
      '    chat scripted',
    ]);
    expect([open(), warnings]).toEqual([[], []]);
    expect(span('invoke_agent helper')).toMatchObject({
      kind: 0,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'helper',
        'gen_ai.agent.description': 'Helps.',
        'gen_ai.provider.name': 'scripted',
        'gen_ai.request.model': 'scripted',
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': 30,
        'gen_ai.usage.output_tokens': 5,
      },
    });
    expect(span('execute_tool load')).toMatchObject({
      kind: 0,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.agent.name': 'helper',
        'gen_ai.tool.name': 'load',
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.description': 'Loads a file.',
        'gen_ai.tool.call.id': 'call_1_1',
      },
    });
  });

  it('traceAgent records the id of a run of a service', () => {
    const { agent, span } = traced({ model: scriptedModel(['Hi.']) });
    observe(agent.stream('Go.', { runId: 'run-1' }));
    expect(span('invoke_agent helper').attributes).toMatchObject({ 'rivulet.run': 'run-1' });
  });

  it('traceAgent records the settings, the response and the tokens of a request', () => {
    const model = scriptedModel(
      [
        [
          { type: 'metadata', metadata: { responseId: 'r1', model: 'scripted-2' } },
          'Hi.',
          {
            type: 'finish',
            reason: 'length',
            usage: { input: 10, output: 2, cachedInput: 4, cacheWriteInput: 5, reasoning: 1 },
          },
        ],
      ],
      { provider: 'google' },
    );
    const { agent, span } = traced({
      model,
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 99,
      seed: 7,
      stopSequences: ['END'],
      thinking: { effort: 'low' },
    });
    observe(agent.run('Go.'));
    const { kind, attributes } = span('chat scripted');
    expect(kind).toBe(2);
    expect(attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'scripted',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.max_tokens': 99,
      'gen_ai.request.seed': 7,
      'gen_ai.request.stop_sequences': ['END'],
      'gen_ai.request.reasoning.level': 'low',
      'gen_ai.response.id': 'r1',
      'gen_ai.response.model': 'scripted-2',
      'gen_ai.response.finish_reasons': ['length'],
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 2,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'gen_ai.usage.cache_creation.input_tokens': 5,
      'gen_ai.usage.reasoning.output_tokens': 1,
    });
  });

  it("traceAgent makes the caller's span the parent, for each subscription on its own", () => {
    const { agent, tracer, tree } = traced({ model: scriptedModel(() => 'Hi.') });
    const run = agent.run('Go.');
    for (const name of ['first', 'second']) {
      tracer.startActiveSpan(name, (span) => {
        observe(run);
        span.end();
      });
    }
    observe(run);
    const lines = ['invoke_agent helper', '  turn', '    chat scripted'];
    const indented = lines.map((line) => `  ${line}`);
    expect(tree()).toEqual(['first', ...indented, 'second', ...indented, ...lines]);
  });

  it('traceAgent calls the subscriber in its own context, so a run that it starts is not a child of this one', async () => {
    const { agent, tree } = traced({ model: scriptedModel(() => ['Hi.', { delay: 1 }]), tools: [load] });
    const key = createContextKey('request');
    const seen = new Set<unknown>();
    const runs = of('first', 'second').pipe(concatMap((prompt) => agent.stream(prompt)));
    await context.with(ROOT_CONTEXT.setValue(key, 'mine'), () =>
      runs.forEach(() => void seen.add([context.active().getValue(key), trace.getActiveSpan()].join())),
    );
    expect([...seen]).toEqual(['mine,']);
    expect(tree()).toEqual([
      'invoke_agent helper',
      '  turn',
      '    chat scripted',
      'invoke_agent helper',
      '  turn',
      '    chat scripted',
    ]);
  });

  describe('traceAgent runs a tool in the context of its span', () => {
    const ways: readonly (readonly [way: string, execute: (work: () => string) => unknown])[] = [
      ['a function', (work) => work()],
      ['an async function, after it has waited', async (work) => (await Promise.resolve(), work())],
      ['an Observable', (work) => of(0).pipe(map(work))],
      ['an Observable, after it has waited', (work) => timer(1).pipe(map(work))],
      ['a Promise of an Observable', async (work) => (await Promise.resolve(), timer(1).pipe(map(work)))],
      [
        'a generator',
        function* (work) {
          yield 'half';
          return work();
        },
      ],
      [
        'an async generator',
        async function* (work) {
          yield 'half';
          await Promise.resolve();
          return work();
        },
      ],
    ];
    it.each(ways)('if it is %s', async (_, execute) => {
      const recorded = record();
      const work = () => {
        recorded.tracer.startSpan('query').end();
        return 'loaded';
      };
      const worker = tool({ name: 'work', description: 'Works.', execute: () => execute(work) });
      const model = scriptedModel([[toolCall('work')], 'Done.']);
      await lastValueFrom(traceAgent(createAgent({ model, tools: [worker] }), recorded.options).run('Go.'));
      expect(recorded.tree()).toEqual([
        ...['invoke_agent', '  turn', '    chat scripted', '    execute_tool work', '      query'],
        ...['  turn', '    chat scripted'],
      ]);
      expect([recorded.open(), recorded.warnings]).toEqual([[], []]);
    });
  });

  it('traceAgent traces parallel tools side by side', async () => {
    const recorded = record();
    const worker = tool({
      name: 'work',
      description: 'Works.',
      execute: async (_args, { call }) => {
        await Promise.resolve();
        recorded.tracer.startSpan(`query ${call.id}`).end();
        return 'done';
      },
    });
    const model = scriptedModel([[toolCall('work', {}, 'a'), toolCall('work', {}, 'b')], 'Done.']);
    const options = { model, tools: [worker], toolConcurrency: 2, eagerTools: true };
    await lastValueFrom(traceAgent(createAgent(options), recorded.options).run('Go.'));
    expect(recorded.tree().slice(2, 7)).toEqual([
      ...['    chat scripted', '    execute_tool work', '      query a', '    execute_tool work', '      query b'],
    ]);
  });

  it('traceAgent makes the run of an inner agent a child of the tool that is the agent', async () => {
    const recorded = record();
    const inner = traceAgent(createAgent({ model: scriptedModel([['Paris.', { delay: 1 }]], { name: 'inner' }) }), {
      ...recorded.options,
      name: 'inner',
    });
    const ask = agentTool(inner, { name: 'ask', description: 'Asks.' });
    const outer = createAgent({
      model: scriptedModel([[toolCall('ask', { prompt: 'Capital?' })], 'Paris.']),
      tools: [ask],
    });
    await lastValueFrom(traceAgent(outer, { ...recorded.options, name: 'outer' }).run('Go.'));
    expect(recorded.tree()).toEqual([
      ...['invoke_agent outer', '  turn', '    chat scripted', '    execute_tool ask'],
      ...['      invoke_agent inner', '        turn', '          chat inner'],
      ...['  turn', '    chat scripted'],
    ]);
  });

  it('traceAgent traces an inner agent that is not traced, by the name of its tool, at any depth', async () => {
    const recorded = record();
    const asking = (asked: Tool) =>
      createAgent({ model: scriptedModel([[toolCall(asked.name, { prompt: '' })], 'So.']), tools: [asked] });
    const inner = createAgent({ model: scriptedModel(['Paris.'], { name: 'inner' }) });
    const look = agentTool(inner, { name: 'look', description: '' });
    const outer = asking(agentTool(asking(look), { name: 'ask', description: '' }));
    await lastValueFrom(traceAgent(outer, recorded.options).run('Go.'));
    expect(recorded.tree().slice(3, 10)).toEqual([
      ...['    execute_tool ask', '      invoke_agent ask', '        turn', '          chat scripted'],
      ...['          execute_tool look', '            invoke_agent look', '              turn'],
    ]);
  });

  describe('traceAgent ends each span once', () => {
    const broken = concat(
      of<Chunk>({ type: 'text', text: 'a' }),
      throwError(() => reset()),
    );
    const scenarios: readonly (readonly [title: string, options: AgentOptions, tree: readonly string[]])[] = [
      [
        'a request fails',
        { model: scriptedModel([broken]) },
        ['invoke_agent helper !connection', '  turn !connection', '    chat scripted !connection'],
      ],
      [
        'a run misses its deadline in a tool',
        { model: scriptedModel([[toolCall('hang')]]), tools: [hang], timeout: { run: 50 } },
        ['invoke_agent helper !timeout', '  turn !cancelled', '    chat scripted', '    execute_tool hang !cancelled'],
      ],
      [
        'a tool misses its deadline',
        { model: scriptedModel([[toolCall('hang')], 'Done.']), tools: [hang], toolDeadline: 50 },
        [
          'invoke_agent helper',
          '  turn',
          '    chat scripted',
          '    execute_tool hang !timeout',
          '  turn',
          '    chat scripted',
        ],
      ],
      [
        'a turn starts over while an eager tool runs',
        {
          model: retryModel(
            scriptedModel([
              concat(
                of<Chunk>(toolCall('hang', {}, 'c1')),
                timer(3).pipe(map((): Chunk => ({ type: 'text', text: '.' }))),
                throwError(() => reset()),
              ),
              'Done.',
            ]),
            { delay: 5 },
          ),
          tools: [hang],
          eagerTools: true,
        },
        ['invoke_agent helper', '  turn', '    chat scripted', '    execute_tool hang !cancelled'],
      ],
      [
        'a response is cut off',
        { model: scriptedModel([of<Chunk>({ type: 'text', text: 'a' })]) },
        [
          'invoke_agent helper !stream_interrupted',
          '  turn !stream_interrupted',
          '    chat scripted !stream_interrupted',
        ],
      ],
      [
        'the model refuses its tools',
        { model: scriptedModel([[toolCall('load'), { type: 'finish', reason: 'length' }]]), tools: [load] },
        ['invoke_agent helper', '  turn', '    chat scripted'],
      ],
    ];
    it.each(scenarios)('when %s', (_, options, expected) => {
      const { agent, tree, open, warnings } = traced(options);
      virtually(() => observe(agent.stream('Go.')));
      expect([tree(), open(), warnings]).toEqual([expected, [], []]);
    });

    const script = () =>
      scriptedModel([
        ['Hm. ', toolCall('load'), toolCall('hang')],
        [{ delay: 2 }, 'Done.'],
      ]);
    const short = tool({ name: 'hang', description: 'Ends late.', execute: () => timer(20).pipe(map(() => 'late')) });
    const options = () => ({ model: script(), tools: [load, short], toolConcurrency: 2 });

    it('when the run is left, at each event, and records nothing afterwards', () => {
      const events = virtually(() => observe(createAgent(options()).stream('Go.'))).values.length;
      expect(events).toBeGreaterThan(9);
      for (let count = 1; count <= events; count++) {
        const { agent, open, warnings, tree, ended } = traced(options());
        let endedThen = 0;
        const left = () => {
          expect([count, open()]).toEqual([count, []]);
          endedThen = ended().length;
        };
        virtually(() => observe(agent.stream('Go.').pipe(take(count), finalize(left))));
        expect([count, open(), warnings]).toEqual([count, [], []]);
        expect([ended().length, tree().length]).toEqual([endedThen, endedThen]);
      }
    });

    it.each([1, 10, 23])('when the run is unsubscribed after %i ms', (milliseconds) => {
      const { agent, open, warnings, tree, ended } = traced({ ...options(), eagerTools: true });
      virtually(() => {
        const { subscription } = observe(agent.stream('Go.'));
        timer(milliseconds).subscribe(() => {
          subscription.unsubscribe();
          expect(open()).toEqual([]);
        });
      });
      const names = ended().map(({ name }) => name);
      expect(names.at(-1)).toBe('invoke_agent helper'); // from the inside to the outside
      expect([open(), warnings]).toEqual([[], []]);
      expect(tree()[0]).toBe(milliseconds < 22 ? 'invoke_agent helper !cancelled' : 'invoke_agent helper');
    });

    it('when the run is stopped in a tool, whose span has no error status', () => {
      const stop = new Subject<void>();
      const { agent, tree, span, open, warnings } = traced({
        model: scriptedModel([[toolCall('hang')]]),
        tools: [hang],
      });
      const seen = observe(agent.stream('Go.', { stop }));
      stop.next();
      expect(seen.values.at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'stopped' } });
      expect(tree()).toEqual([
        'invoke_agent helper',
        '  turn',
        '    chat scripted',
        '    execute_tool hang !cancelled',
      ]);
      expect(span('execute_tool hang').status.code).toBe(SpanStatusCode.UNSET);
      expect(span('invoke_agent helper').attributes['gen_ai.response.finish_reasons']).toEqual(['stopped']);
      expect([open(), warnings]).toEqual([[], []]);
    });

    it('when the run is left by its signal, which is not an error', () => {
      const controller = new AbortController();
      const { agent, tree, span, open } = traced({ model: scriptedModel([[toolCall('hang')]]), tools: [hang] });
      const seen = observe(agent.stream('Go.', { signal: controller.signal }));
      controller.abort();
      expect(seen.error).toMatchObject({ name: 'AbortError' });
      expect(tree()).toEqual([
        ...['invoke_agent helper !cancelled', '  turn !cancelled', '    chat scripted'],
        '    execute_tool hang !cancelled',
      ]);
      expect(span('invoke_agent helper').status.code).toBe(SpanStatusCode.UNSET);
      expect(open()).toEqual([]);
    });

    it('when two runs are left by one signal, which is not an error of the second one either', () => {
      const controller = new AbortController();
      const { agent, ended } = traced({ model: scriptedModel([NEVER, NEVER]) });
      for (const prompt of ['One.', 'Two.']) observe(agent.stream(prompt, { signal: controller.signal }));
      controller.abort();
      const runs = ended().filter(({ name }) => name === 'invoke_agent helper');
      expect(runs.map(({ status }) => status.code)).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET]);
    });

    it('when a turn starts over: the tool before the new attempt', () => {
      const attempt = concat(of<Chunk>(toolCall('hang', {}, 'c1')), of<Chunk>({ type: 'retract' }), NEVER);
      const { agent, open } = traced({ model: scriptedModel([attempt]), tools: [hang], eagerTools: true });
      observe(agent.stream('Go.'));
      expect(open()).toEqual(['invoke_agent helper', 'turn', 'chat scripted']);
    });

    it('when several readers share the run, and all of them leave', () => {
      const { agent, open, ended } = traced({ model: scriptedModel([[toolCall('hang')]]), tools: [hang] });
      const shared = agent.stream('Go.').pipe(share());
      const readers = [observe(shared), observe(shared)];
      readers[0]?.subscription.unsubscribe();
      expect(open()).toHaveLength(3);
      readers[1]?.subscription.unsubscribe();
      expect([open(), ended().length]).toEqual([[], 4]);
    });

    it('when a tool fails in a way that only its type tells', () => {
      const aborting = tool({
        name: 'load',
        description: '',
        execute: () => Promise.reject(new DOMException('no', 'AbortError')),
      });
      const { agent, span } = traced({ model: scriptedModel([[toolCall('load')], 'Done.']), tools: [aborting] });
      return lastValueFrom(agent.run('Go.')).then(() =>
        expect(span('execute_tool load').attributes['error.type']).toBe('AbortError'),
      );
    });

    it('when the run is stopped in a response', () => {
      const stop = new Subject<void>();
      const { agent, tree, span, open } = traced({
        model: scriptedModel([concat(of<Chunk>({ type: 'text', text: 'a' }), NEVER)]),
      });
      observe(agent.stream('Go.', { stop }));
      stop.next();
      expect(tree()).toEqual(['invoke_agent helper', '  turn', '    chat scripted']);
      expect(span('chat scripted').attributes['gen_ai.response.finish_reasons']).toEqual(['stopped']);
      expect(open()).toEqual([]);
    });
  });

  it('traceAgent traces a run that waits and the run that resumes it, also through resumeRun', () => {
    const ask = tool({ name: 'ask', description: 'Asks.', needsApproval: true, execute: () => 'yes' });
    const { agent, tree, span, open } = traced({ model: scriptedModel([[toolCall('ask')], 'Done.']), tools: [ask] });
    const checkpoint = observe(agent.run('Go.')).values[0]!.checkpoint!;
    expect(tree()).toEqual(['invoke_agent helper', '  turn', '    chat scripted']);
    expect(span('turn').attributes['gen_ai.response.finish_reasons']).toEqual(['waiting']);
    expect(open()).toEqual([]);
    const { values } = observe(agent.resumeRun(checkpoint, { decisions: { call_1_1: { approve: true } } }));
    expect(values).toMatchObject([{ text: 'Done.' }]);
    expect(tree().slice(3)).toEqual([
      ...['invoke_agent helper', '  turn', '    execute_tool ask', '  turn', '    chat scripted'],
    ]);
    expect(open()).toEqual([]);
  });

  it('traceAgent records retries as events of the request, which has one span', () => {
    const model = retryModel(scriptedModel([throwError(() => reset()), throwError(() => reset()), 'Done.']), {
      delay: 5,
    });
    const { agent, tree, span } = traced({ model });
    virtually(() => observe(agent.run('Go.')));
    expect(tree()).toEqual(['invoke_agent helper', '  turn', '    chat scripted']);
    expect(span('chat scripted').events).toMatchObject([
      {
        name: 'rivulet.retry',
        attributes: { 'rivulet.retry.attempt': 1, 'rivulet.retry.delay': 5, 'error.type': 'connection' },
      },
      { name: 'rivulet.retry', attributes: { 'rivulet.retry.attempt': 2 } },
    ]);
  });

  it('traceAgent names the model that has answered', () => {
    const model = fallback([
      scriptedModel([throwError(() => reset())], { name: 'first' }),
      scriptedModel(['Hi.'], { provider: 'mistral', name: 'second' }),
    ]);
    const { agent, span } = traced({ model });
    observe(agent.run('Go.'));
    expect(span('chat first').attributes).toMatchObject({
      'gen_ai.provider.name': 'mistral_ai',
      'gen_ai.request.model': 'second',
    });
  });

  it('traceAgent records the type of the error that a tool has thrown, and calls that were not executed', () => {
    const failing = tool({
      name: 'load',
      description: 'Fails.',
      execute: () => throwError(() => new RangeError('secret 42')),
    });
    const model = scriptedModel([[toolCall('load'), toolCall('made_up')], 'Done.']);
    const { agent, span, ended } = traced({ model, tools: [failing] });
    observe(agent.run('Go.'));
    expect(span('execute_tool load')).toMatchObject({
      attributes: { 'error.type': 'RangeError' },
      status: { code: SpanStatusCode.ERROR },
    });
    expect(span('execute_tool load').status.message).toBeUndefined();
    const turn = ended().find(({ name, events }) => name === 'turn' && events.length > 0);
    expect(turn?.events).toMatchObject([
      {
        name: 'rivulet.tool_not_executed',
        attributes: { 'gen_ai.tool.call.id': 'call_1_2', 'error.type': 'unknown_tool' },
      },
    ]);
  });

  const secret = { code: 'http', retryable: false, providerCode: 'SECRET-5', status: 404, requestId: 'SECRET-6' };
  it.each<[what: string, thrown: unknown, type: string]>([
    ['the fields of a Rivulet error', Object.assign(new Error('SECRET-7'), secret), 'Error'],
    ['an id as its code', Object.assign(new RangeError('SECRET-7'), { code: 'SECRET-8' }), 'RangeError'],
    ['an id as its name', Object.assign(new Error('SECRET-7'), { name: 'SECRET-9' }), '_OTHER'],
    ['the class of a Rivulet error', new HttpError('SECRET-7', { provider: 'p', ...secret, providerCode: 'c' }), 'c'],
  ])('traceAgent records only the type of an error that a tool throws with %s', async (_, thrown, type) => {
    const failing = tool({ name: 'load', description: '', execute: () => throwError(() => thrown) });
    const { agent, span, recorded } = traced({ model: scriptedModel([[toolCall('load')], 'Done.']), tools: [failing] });
    observe(agent.run('Go.'));
    expect(span('execute_tool load').attributes['error.type']).toBe(type);
    expect(await recorded.text()).not.toContain('SECRET');
  });

  const talkative = () => {
    const model = scriptedModel([
      [
        'SECRET-text',
        { type: 'thinking', text: 'SECRET-thought' },
        toolCall('load', { path: 'SECRET-argument' }),
        toolCall('fail', { path: 'SECRET-argument' }),
        toolCall('SECRET-name'),
      ],
      ['SECRET-answer'],
      throwError(() => new Error('SECRET-failure')),
    ]);
    const secretTool = tool({ name: 'load', description: 'Loads.', execute: () => ({ data: 'SECRET-result' }) });
    const failing = tool({
      name: 'fail',
      description: 'Fails.',
      execute: () => {
        throw new Error('SECRET-error');
      },
    });
    return { model, tools: [secretTool, failing], system: 'SECRET-system' };
  };

  it('traceAgent records no content by default', async () => {
    const { agent, recorded } = traced(talkative());
    observe(
      agent.run('SECRET-prompt', { history: [{ role: 'user', parts: [{ type: 'text', text: 'SECRET-history' }] }] }),
    );
    expect(observe(agent.run('SECRET-prompt')).error).toMatchObject({ message: 'SECRET-failure' });
    const text = await recorded.text();
    expect(text).toContain('execute_tool fail');
    expect(text).not.toContain('SECRET');
  });

  it('traceAgent records the content if it is asked to', () => {
    const { agent, ended, span, recorded } = traced(talkative(), { content: true });
    observe(agent.run('SECRET-prompt'));
    const chats = ended().filter(({ name }) => name === 'chat scripted');
    const json = (value: unknown) => JSON.parse(String(value)) as unknown;
    const question = { role: 'user', parts: [{ type: 'text', content: 'SECRET-prompt' }] };
    const answer = { role: 'assistant', parts: [{ type: 'text', content: 'SECRET-answer' }] };
    expect(json(chats[0]?.attributes['gen_ai.input.messages'])).toEqual([question]);
    expect(json(chats[0]?.attributes['gen_ai.system_instructions'])).toEqual([
      { type: 'text', content: 'SECRET-system' },
    ]);
    expect(json(chats[0]?.attributes['gen_ai.tool.definitions'])).toMatchObject([
      { type: 'function', name: 'load' },
      { name: 'fail' },
    ]);
    expect(json(chats[0]?.attributes['gen_ai.output.messages'])).toMatchObject([
      {
        role: 'assistant',
        parts: [
          { type: 'text', content: 'SECRET-text' },
          { type: 'tool_call', id: 'call_1_1', name: 'load', arguments: { path: 'SECRET-argument' } },
          { type: 'tool_call', name: 'fail' },
          { type: 'tool_call', name: 'SECRET-name' },
        ],
      },
    ]);
    expect(json(chats[1]?.attributes['gen_ai.input.messages'])).toMatchObject([
      question,
      { role: 'assistant' },
      {
        role: 'tool',
        parts: [
          { type: 'tool_call_response', id: 'call_1_1', response: { data: 'SECRET-result' } },
          { response: 'SECRET-error' },
          {},
        ],
      },
    ]);
    expect(json(span('execute_tool load').attributes['gen_ai.tool.call.arguments'])).toEqual({
      path: 'SECRET-argument',
    });
    expect(json(span('execute_tool load').attributes['gen_ai.tool.call.result'])).toEqual({ data: 'SECRET-result' });
    expect(span('execute_tool fail').status.message).toBe('SECRET-error');
    expect(json(span('invoke_agent').attributes['gen_ai.input.messages'])).toEqual([question]);
    expect(json(span('invoke_agent').attributes['gen_ai.output.messages'])).toEqual([answer]);
    expect(recorded.warnings).toEqual([]);
  });

  describe('the metrics of traceAgent', () => {
    const measured = async (traceOptions: OptionsOf<typeof traceAgent>) => {
      const late = tool({ name: 'late', description: 'Ends late.', execute: () => timer(500).pipe(map(() => 'late')) });
      const usage = { input: 100, output: 20, cachedInput: 40, cacheWriteInput: 7, reasoning: 5 };
      const model = scriptedModel([
        [{ delay: 200 }, 'Hm.', { delay: 100 }, toolCall('late'), { type: 'finish', reason: 'toolCalls', usage }],
        [{ delay: 400 }, 'Done.', { type: 'finish', reason: 'stop', usage: { input: 130, output: 10 } }],
      ]);
      const { agent, recorded } = traced({ model, tools: [late] }, traceOptions);
      virtually(() => observe(agent.run('Go.')));
      const metrics = await recorded.metrics();
      return metrics.map(({ name, unit, sum, count, attributes }) => {
        const type = attributes['gen_ai.token.type'];
        return `${name}${type === undefined ? '' : ` ${String(type)}`}: ${Number(sum.toFixed(3))} ${unit} in ${count}`;
      });
    };

    it('are durations, the time to the first chunk and tokens in virtual time, with published names', async () => {
      expect((await measured({ name: 'helper' })).sort()).toEqual([
        'gen_ai.client.operation.duration: 0.7 s in 2',
        'gen_ai.client.operation.time_to_first_chunk: 0.6 s in 2',
        'gen_ai.client.token.usage input: 230 {token} in 2',
        'gen_ai.client.token.usage output: 30 {token} in 2',
        'gen_ai.execute_tool.duration: 0.5 s in 1',
        'gen_ai.invoke_agent.duration: 1.2 s in 1',
      ]);
    });

    it('have the names of the latest conventions on request', async () => {
      expect((await measured({ conventions: 'latest' })).sort()).toEqual([
        'gen_ai.client.inference.duration: 0.7 s in 2',
        'gen_ai.client.inference.operation.input_tokens: 230 {token} in 2',
        'gen_ai.client.inference.operation.output_tokens: 30 {token} in 2',
        'gen_ai.client.inference.time_to_first_chunk: 0.6 s in 2',
        'gen_ai.client.inference.usage.cache_read.input_tokens: 40 {token} in 1',
        'gen_ai.client.inference.usage.cache_write.input_tokens: 7 {token} in 1',
        'gen_ai.client.inference.usage.input_tokens: 230 {token} in 1',
        'gen_ai.client.inference.usage.output_tokens: 30 {token} in 1',
        'gen_ai.client.inference.usage.reasoning.output_tokens: 5 {token} in 1',
        'gen_ai.execute_tool.duration: 0.5 s in 1',
        'gen_ai.invoke_agent.duration: 1.2 s in 1',
      ]);
    });

    it('contain failed requests with their error, and requests that were left as cancelled', async () => {
      const { agent, recorded } = traced({
        model: scriptedModel([throwError(() => reset()), concat(of<Chunk>({ type: 'text', text: 'a' }), NEVER)]),
      });
      observe(agent.run('Go.'));
      observe(agent.stream('Go.').pipe(take(1)));
      const durations = (await recorded.metrics()).filter(({ name }) => name === 'gen_ai.client.operation.duration');
      expect(durations.map(({ attributes }) => attributes['error.type'])).toEqual(['connection', 'cancelled']);
    });
  });

  it.each(['onStart', 'onEnd'] as const)(
    'an exception of a span processor in %s is the error of the run',
    async (hook) => {
      const { BasicTracerProvider } = await import('@opentelemetry/sdk-trace-base');
      const failure = new Error('disk full');
      const processor = {
        onStart: () => undefined,
        onEnd: () => undefined,
        forceFlush: async () => undefined,
        shutdown: async () => undefined,
        [hook]: () => {
          throw failure;
        },
      };
      const tracer = new BasicTracerProvider({ spanProcessors: [processor] }).getTracer('spec');
      const seen = observe(traceAgent(createAgent({ model: scriptedModel(['Hi.']) }), { tracer }).stream('Go.'));
      expect(seen.error).toBe(failure);
      expect(seen.closed()).toBe(true);
    },
  );

  it('traceAgent records nothing without a provider, and changes nothing', async () => {
    const agent = traceAgent(createAgent({ model: scriptedModel([[toolCall('load')], 'Done.']), tools: [load] }));
    const events = await lastValueFrom(agent.stream('Go.').pipe(toArray()));
    expect(events.filter(isToolStart)).toHaveLength(1);
    expect(events.filter(isResult)).toMatchObject([{ result: { text: 'Done.' } }]);
  });

  it('traceAgent traces each request of a turn that asks the model twice, and of a repair', () => {
    const model = scriptedModel([[toolCall('load')], 'Rome it is.', '{"city": 1}', '{"city": "Rome"}']);
    const output = typed(z.object({ city: z.string() }));
    const { agent, tree, open } = traced({ model, tools: [load], output, orchestrator: twoPhase });
    expect(observe(agent.run('Go.')).values).toMatchObject([{ output: { city: 'Rome' } }]);
    expect(tree().filter((line) => line.includes('chat'))).toHaveLength(4);
    expect(open()).toEqual([]);
  });

  it('traceAgent keeps the types of the agent', async () => {
    const typed = createAgent({ model: scriptedModel(() => [toolCall('load')]), tools: [load], maxTurns: 1 });
    const agent: typeof typed = traceAgent(typed);
    const events = await lastValueFrom(agent.stream('Go.').pipe(toArray()));
    const results = events.flatMap((event) => (event.type === 'toolResult' ? [event] : []));
    const name: 'load' | undefined = results[0]?.name;
    const result: string | undefined = results[0]?.result;
    expect([name, result]).toEqual(['load', 'loaded']);
  });

  it('traceAgent keeps the wrapTurn of the run', async () => {
    const { agent, span } = traced({ model: scriptedModel(['no']) });
    const other = scriptedModel(['Hi.'], { name: 'other' });
    const { text } = await firstValueFrom(
      agent.run('Go.', { wrapTurn: (turn) => (state, turnContext) => turn(state, { ...turnContext, model: other }) }),
    );
    expect([text, span('chat other').name]).toEqual(['Hi.', 'chat other']);
  });
});

describe('traceAgent without a context manager', () => {
  it('traceAgent still makes turns, requests and tools children of the run', () => {
    const { agent, tree } = traced({ model: scriptedModel([[toolCall('load')], 'Done.']), tools: [load] });
    observe(agent.run('Go.'));
    expect(tree()).toEqual([
      ...['invoke_agent helper', '  turn', '    chat scripted', '    execute_tool load', '  turn', '    chat scripted'],
    ]);
  });
});
