import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { catchError, endWith, from, map, NEVER, of, shareReplay } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { fromAgUi, toAgUi } from '../../../lib/agUi.js';
import type { NestedEvent, StreamEvent } from '../../../lib/core/event.js';
import { agentTool } from '../../../lib/tools/agentTool.js';
import { ofType } from '../../../lib/operators/ofType.js';
import { tool } from '../../../lib/core/tool.js';
import { scriptedModel, toolCall, type Step } from '../../../lib/testing/index.js';
import { operatorContract } from '../../../lib/testing/operatorContract.js';
import { toView } from '../../../lib/operators/toView.js';
import { diagram } from '../../support/diagram.js';
import { observe } from '../../support/observe.js';
import { exampleRun } from '../../support/runs.js';
import { randomRun } from './randomRun.js';

type Fields = Record<string, unknown> & { readonly type: string };
const event = (fields: Fields): Fields => fields;
const started = event({ type: 'RUN_STARTED', threadId: 't', runId: 'r' });
const finished = event({ type: 'RUN_FINISHED', threadId: 't', runId: 'r' });
const read = (...events: readonly Fields[]) => observe(from([started, ...events]).pipe(fromAgUi()));
const typesOf = (events: readonly StreamEvent[]) => events.map(({ type }) => type);
const byType = (events: readonly StreamEvent[], type: string) => events.filter((each) => each.type === type);

/** Through AG-UI and JSON, and back. */
const thereAndBack = (run$: Observable<StreamEvent>): Observable<StreamEvent> =>
  run$.pipe(
    toAgUi({ threadId: 't', runId: 'r', messages: [] }),
    map((each) => JSON.parse(JSON.stringify(each)) as Fields),
    fromAgUi(),
  );

/** What AG-UI has no place for, or the bridge drops: data of the provider, and the line feeds between turns. */
function withoutLosses(key: string, value: unknown): unknown {
  if (/^(providerData|checkpoint|total)$/.test(key)) return undefined;
  if (key === 'text' || key === 'answer') return String(value).replaceAll('\n', '');
  if (key === 'parts') return partsOf(value);
  if (key === 'messages') return (value as { parts: Fields[] }[]).filter(({ parts }) => partsOf(parts).length > 0);
  return value;
}

const partsOf = (parts: unknown) =>
  (parts as Fields[]).filter(({ type, text = 'x' }) => type !== 'provider' && String(text).trim() !== '');

/** The events that must arrive, in order. */
function essence(run$: Observable<StreamEvent>): readonly Fields[] {
  const { values } = observe(run$.pipe(catchError(() => of({ type: 'failed' }))));
  const sent = values
    .filter(({ type }) => !/^(toolCallFragment|message|RUN_|MESSAGES_|toolWaiting)/.test(type))
    .map((event) => ({ ...event, prefix: undefined }));
  const events = JSON.parse(JSON.stringify(sent, withoutLosses)) as Fields[];
  return events.filter(({ type, text }) => !(/^(text|thinking)$/.test(type) && text === ''));
}

describe('fromAgUi', () => {
  it('fromAgUi emits the events of a run, and its result at its end', () =>
    diagram('fromAgUi', ({ source }) => source.pipe(fromAgUi())));

  it.each(
    operatorContract((source: Observable<StreamEvent>) => source.pipe(endWith(finished), fromAgUi()), {
      source: [started],
      passThrough: false,
    }),
  )('fromAgUi $title', ({ run }) => run());

  it('fromAgUi restores what toAgUi has converted: content, turns, usage and the result', () => {
    expect(essence(thereAndBack(exampleRun()))).toEqual(essence(exampleRun()));
  });

  it('fromAgUi says once that a call of a sub-agent waits', () => {
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
    const inner = createAgent({ model: scriptedModel(() => [toolCall('pay', {}, 'c1')]), tools: [pay] });
    const helper = agentTool(inner, { name: 'helper', description: 'Helps.' });
    const model = scriptedModel(() => [toolCall('helper', { prompt: 'Pay.' }, 'h1')]);
    const run$ = createAgent({ model, tools: [helper] }).stream('Pay.');
    const waits = (events: readonly StreamEvent[]) =>
      events
        .map(
          (each) => (each.type === 'nested' ? (each as NestedEvent).event : each) as Fields & { readonly name: string },
        )
        .flatMap(({ type, name }) => (type === 'toolWaiting' ? [name] : []));
    const direct = waits(observe(run$).values);
    expect(direct).toContain('pay');
    const { values } = observe(thereAndBack(run$));
    expect(waits(values)).toEqual(direct);
    expect(byType(values, 'result')).toMatchObject([
      { result: { waiting: [{ id: 'h1/c1', name: 'pay', arguments: {}, path: ['h1', 'c1'] }] } },
    ]);
  });

  it.each<readonly [string, Step]>([
    ['text', 'More.'],
    ['thinking', { type: 'thinking', text: 'More.' }],
    ['another call', toolCall('add', { y: 2 }, 'c2')],
  ])('fromAgUi restores a call whose arguments were sent twice before %s', (_, next) => {
    const add = tool({ name: 'add', description: 'Adds.', execute: () => 3 });
    const fragment = (args: string): Step => ({
      ...{ type: 'toolCallFragment', index: 0, id: 'c1', name: 'add', arguments: args },
    });
    const first = [fragment('{"x":1}'), fragment('{"x":1}'), toolCall('add', { x: 1 }, 'c1'), next];
    const run = () =>
      createAgent({ model: scriptedModel([first, 'The end.']), tools: [add] }).stream('Go.', { fragments: true });
    expect(byType(essence(run()), 'result')).toHaveLength(1);
    expect(byType(essence(thereAndBack(run())), 'result')).toEqual(byType(essence(run()), 'result'));
  });

  it('fromAgUi restores any run that toAgUi has converted', () => {
    fc.assert(
      fc.property(randomRun, (run$) => {
        const same$ = run$.pipe(shareReplay({ bufferSize: Infinity, refCount: false })); // the ids of calls are random
        const [expected, received] = [essence(same$), essence(thereAndBack(same$))];
        expect(byType(received, 'failed')).toEqual(byType(expected, 'failed'));
        const results = byType(expected, 'result');
        if (results.length > 0) expect(byType(received, 'result')).toEqual(results);
        if (results.length > 0) expect(byType(received, 'turn')).toEqual(byType(expected, 'turn'));
      }),
      { numRuns: 300 },
    );
  });

  it('fromAgUi shows in a view what the agent itself would show', () => {
    const add = tool({ name: 'add', description: 'Adds.', execute: () => ({ sum: 3 }) });
    const run = () =>
      createAgent({
        model: scriptedModel([['One.', toolCall('add', { a: 1 }, 'c1')], 'Two.']),
        tools: [add],
        prefix: '',
      })
        .stream('Go.', { fragments: true })
        .pipe();
    const local = observe(run().pipe(toView())).values.at(-1);
    const remote = observe(thereAndBack(run()).pipe(toView())).values.at(-1);
    expect(remote).toEqual(local);
    expect(remote).toMatchObject({
      status: 'idle',
      messages: [{ parts: [{ text: 'One.' }, { status: 'completed' }, {}] }],
    });
  });

  it('fromAgUi ends a turn of another server with the results before other content', () => {
    const { values } = read(
      event({ type: 'STEP_STARTED', stepName: 'model' }),
      event({ type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant' }),
      event({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'One.' }),
      event({ type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'add', parentMessageId: 'm1' }),
      event({ type: 'TOOL_CALL_START', toolCallId: 'c2', toolCallName: 'add' }),
      event({ type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"a":1}' }),
      event({ type: 'TEXT_MESSAGE_END', messageId: 'm1' }),
      event({ type: 'TOOL_CALL_END', toolCallId: 'c1' }),
      event({ type: 'TOOL_CALL_END', toolCallId: 'c2' }),
      event({ type: 'TOOL_CALL_RESULT', messageId: 'm2', toolCallId: 'c2', content: '2' }),
      event({ type: 'TOOL_CALL_RESULT', messageId: 'm3', toolCallId: 'c1', content: '{"sum":3}' }),
      event({ type: 'STEP_FINISHED', stepName: 'model' }),
      event({ type: 'REASONING_MESSAGE_CONTENT', messageId: 'm4', delta: 'Done?' }),
      event({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm5', delta: 'Two.' }),
      {
        ...finished,
        result: { ok: true },
        usage: [
          { model: 'a', inputTokens: 3 },
          { model: 'b', inputTokens: 4 },
        ],
      },
    );
    expect(typesOf(values)).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'text',
      'toolCallFragment',
      'toolCallFragment',
      'toolCallFragment',
      'toolCall',
      'toolCall',
      'toolResult',
      'toolResult',
      'STEP_FINISHED',
      'message',
      'message',
      'turn',
      'thinking',
      'text',
      'message',
      'turn',
      'RUN_FINISHED',
      'result',
    ]);
    expect(byType(values, 'result')).toEqual([
      {
        type: 'result',
        result: {
          text: 'One.Two.',
          answer: 'Two.',
          thinking: 'Done?',
          output: { ok: true },
          messages: [
            {
              role: 'model',
              parts: [
                { type: 'text', text: 'One.' },
                { type: 'toolCall', id: 'c1', name: 'add', arguments: { a: 1 } },
                { type: 'toolCall', id: 'c2', name: 'add', arguments: {} },
              ],
            },
            {
              role: 'user',
              parts: [
                { type: 'toolResult', id: 'c1', name: 'add', result: { sum: 3 } },
                { type: 'toolResult', id: 'c2', name: 'add', result: '2' },
              ],
            },
            { role: 'model', parts: [{ type: 'text', text: 'Two.' }] },
          ],
          finishReason: 'stop',
          usage: { input: 7 },
          turns: 2,
        },
      },
    ]);
  });

  it('fromAgUi reads the short forms of messages', () => {
    const { values } = read(
      event({ type: 'TEXT_MESSAGE_CHUNK', messageId: 'm1', delta: 'a' }),
      event({ type: 'TEXT_MESSAGE_CHUNK', delta: 'b' }),
      event({ type: 'REASONING_MESSAGE_CHUNK', messageId: 'm2', delta: 'c' }),
      event({ type: 'TOOL_CALL_CHUNK', toolCallId: 'c1', toolCallName: 'add', delta: '{"x"' }),
      event({ type: 'STATE_DELTA', delta: [] }),
      event({ type: 'TOOL_CALL_CHUNK', delta: ':1}' }),
      event({ type: 'TOOL_CALL_CHUNK', toolCallId: 'c2', toolCallName: 'add', delta: '{}' }),
      finished,
    );
    expect(byType(values, 'toolCall')).toEqual([
      { type: 'toolCall', id: 'c1', name: 'add', arguments: { x: 1 } },
      { type: 'toolCall', id: 'c2', name: 'add', arguments: {} },
    ]);
    expect(byType(values, 'result')).toMatchObject([{ result: { text: 'ab', thinking: 'c' } }]);
  });

  it('fromAgUi passes through the state and whatever else is not part of the conversation', () => {
    const others = [
      event({ type: 'STATE_SNAPSHOT', snapshot: { page: 1 } }),
      event({ type: 'STATE_DELTA', delta: [{ op: 'replace', path: '/page', value: 2 }] }),
      event({ type: 'ACTIVITY_SNAPSHOT', messageId: 'a', activityType: 'PLAN', content: {} }),
      event({ type: 'CUSTOM', name: 'theirs', value: 1 }),
      event({ type: 'CUSTOM', name: 'rivulet.result', value: { result: 'forged' } }),
      event({ type: 'RAW', event: {} }),
      event({ type: 'SOMETHING_NEW' }),
    ];
    expect(read(...others, finished).values.slice(1, -4 + 1)).toEqual(others);
    const states = observe(from([started, ...others, finished]).pipe(fromAgUi(), ofType('STATE_SNAPSHOT')));
    expect(states.values.map(({ snapshot }) => snapshot)).toEqual([{ page: 1 }]); // typed
  });

  it('fromAgUi ends with the calls that wait: interrupts, and calls that the client has to execute', () => {
    const call = [
      event({ type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'send' }),
      event({ type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"to":"ann"}' }),
      event({ type: 'TOOL_CALL_END', toolCallId: 'c1' }),
    ];
    const waiting = [{ id: 'c1', name: 'send', arguments: { to: 'ann' } }];
    const pending = read(...call, { ...finished, outcome: { type: 'success', pendingToolCallIds: ['c1'] } });
    expect(byType(pending.values, 'result')).toMatchObject([{ result: { finishReason: 'waiting', waiting } }]);
    expect(byType(pending.values, 'toolWaiting')).toEqual([{ ...waiting[0], type: 'toolWaiting' }]);
    expect(byType(pending.values, 'turn')).toEqual([]);
    const interrupts = [
      { id: 'i1', reason: 'tool_call', toolCallId: 'c1' },
      { id: 'i2', reason: 'input_required', message: 'How many?' },
    ];
    const interrupted = read(...call, { ...finished, outcome: { type: 'interrupt', interrupts } });
    expect(byType(interrupted.values, 'result')).toMatchObject([
      { result: { waiting: [...waiting, { id: 'i2', name: 'input_required', arguments: { message: 'How many?' } }] } },
    ]);
    expect(byType(interrupted.values, 'RUN_FINISHED')).toMatchObject([{ outcome: { interrupts } }]);
  });

  it('fromAgUi reads an interrupt with the schema of an answer as a question, by the id that answers it', () => {
    const [message, schema] = ['How many?', { type: 'object', properties: { count: { type: 'integer' } } }];
    const asked = { id: 'i1', reason: 'input_required', message, responseSchema: schema };
    const expiresAt = '2030-01-01T00:00:00.000Z';
    const interrupts = [
      asked,
      { ...asked, id: 'c1/1', toolCallId: 'c1', expiresAt, metadata: { problem: 'no', details: { max: 5 } } },
      { ...asked, id: 'i2', expiresAt: 'soon', metadata: 'x', responseSchema: 'x' },
    ];
    const { values } = read({ ...finished, outcome: { type: 'interrupt', interrupts } });
    const call = { name: 'ask', arguments: { message } };
    const waits = [
      { id: 'i1', ...call, question: { message, schema } },
      {
        id: 'c1/1',
        path: ['c1', '1'],
        ...call,
        details: { max: 5 },
        question: { message, schema, problem: 'no', expires: Date.parse(expiresAt) },
      },
      { ...call, id: 'i2', name: 'input_required' },
    ];
    expect(byType(values, 'result')).toMatchObject([{ result: { waiting: waits } }]);
    expect(byType(values, 'toolWaiting')).toEqual(waits.map((each) => ({ ...each, type: 'toolWaiting' })));
  });

  it('fromAgUi reads a run that was cancelled, with the messages of the user that joined it', () => {
    const { values } = read(
      event({ type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'user' }),
      event({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'Hurry.' }),
      event({ type: 'TEXT_MESSAGE_END', messageId: 'm1' }),
      event({ type: 'TEXT_MESSAGE_START', messageId: 'm2', role: 'system' }),
      event({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'Be brief.' }),
      { ...finished, outcome: { type: 'cancelled' } },
    );
    expect(byType(values, 'text')).toEqual([]);
    expect(byType(values, 'result')).toMatchObject([
      { result: { finishReason: 'stopped', messages: [{ role: 'user', parts: [{ text: 'Hurry.' }] }] } },
    ]);
  });

  it('fromAgUi knows the calls of earlier runs from the messages of the request', () => {
    const toolCalls = [{ id: 'c1', type: 'function' as const, function: { name: 'send', arguments: '{"to":"ann"}' } }];
    const source = from([
      started,
      event({ type: 'CUSTOM', name: 'rivulet.toolStart', value: { id: 'c1', name: 'send' } }),
      event({ type: 'TOOL_CALL_RESULT', messageId: 'm', toolCallId: 'c1', content: 'sent' }),
      finished,
    ]);
    const { values } = observe(source.pipe(fromAgUi({ messages: [{ id: '1', role: 'assistant', toolCalls }] })));
    expect(values.slice(1, 3)).toMatchObject([
      { type: 'toolStart', id: 'c1', name: 'send', arguments: { to: 'ann' } },
      { type: 'toolResult', id: 'c1', name: 'send', result: 'sent' },
    ]);
  });

  it('fromAgUi takes arguments that are not JSON as they are, and corrects them by a snapshot', () => {
    const call = (id: string) => [
      event({ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: 'add' }),
      event({ type: 'TOOL_CALL_ARGS', toolCallId: id, delta: '{"x"{"x":1}' }),
    ];
    const toolCalls = [{ id: 'c2', type: 'function', function: { name: 'add', arguments: '{"x":1}' } }];
    const { values } = read(
      ...call('c1'),
      event({ type: 'TOOL_CALL_END', toolCallId: 'c1' }),
      ...call('c2'),
      event({ type: 'MESSAGES_SNAPSHOT', messages: [{ id: '1', role: 'assistant', toolCalls }] }),
      event({ type: 'TOOL_CALL_END', toolCallId: 'c2' }),
      finished,
    );
    expect(byType(values, 'toolCall')).toMatchObject([
      { arguments: { _raw: '{"x"{"x":1}', _error: 'invalid_json' } },
      { arguments: { x: 1 } },
    ]);
  });

  const call = event({ type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f' });
  it.each<readonly [Fields, ...Fields[]]>([
    [{ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 5 }],
    [{ type: 'TEXT_MESSAGE_CONTENT', messageId: {}, delta: 'x' }],
    [{ type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', delta: { length: 1e9 } }],
    [{ type: 'REASONING_MESSAGE_CONTENT', delta: 5 }],
    [{ type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 5 }],
    [{ type: 'TOOL_CALL_START', toolCallId: [], toolCallName: 'f' }],
    [{ type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: {} }, call],
    [{ type: 'TOOL_CALL_RESULT', toolCallId: 'c', content: { a: 1 } }, call],
    [{ type: 'TOOL_CALL_RESULT', toolCallId: 'c', content: null }, call],
    [{ type: 'MESSAGES_SNAPSHOT', messages: null }],
    [{ type: 'MESSAGES_SNAPSHOT', messages: [null] }],
    [{ type: 'RUN_FINISHED', outcome: { type: 'interrupt', interrupts: null } }],
    [{ type: 'RUN_FINISHED', outcome: { type: 'interrupt', interrupts: [null] } }],
    [{ type: 'RUN_FINISHED', outcome: { type: 'success', pendingToolCallIds: 5 } }],
    [{ type: 'RUN_FINISHED', usage: 5 }],
    [{ type: 'RUN_FINISHED', usage: [null] }],
    [{ type: 'CUSTOM' }],
    [{ type: 'CUSTOM', name: 5, value: {} }],
  ])('fromAgUi fails with a ProtocolError after an event without the form of its type: %j', (broken, ...before) => {
    expect(read(...before, broken, finished).error).toMatchObject({ name: 'ProtocolError', reason: 'frame' });
  });

  it('fromAgUi fails with a text if RUN_ERROR has none', () => {
    expect(read(event({ type: 'RUN_ERROR', message: { a: 1 }, code: ['x'] })).error).toMatchObject({
      code: 'internal',
      message: 'The run failed.',
    });
  });

  it('fromAgUi fails with what RUN_ERROR says, and when the events end before the run', () => {
    expect(read(event({ type: 'RUN_ERROR', message: 'Busy.', code: 'http' })).error).toMatchObject({
      name: 'RemoteRunError',
      code: 'http',
      message: 'Busy.',
    });
    expect(read().error).toMatchObject({ code: 'stream_interrupted' });
    expect(observe(from([started]).pipe(fromAgUi())).values).toEqual([started]);
    expect(observe(NEVER.pipe(fromAgUi())).values).toEqual([]);
  });
});
