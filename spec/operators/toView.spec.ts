import { describe, expect, it } from '@jest/globals';
import { concat, EMPTY, from, of, skip, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Decision } from '../../lib/core/approval.js';
import { TimeoutError } from '../../lib/core/timeoutError.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { ToolCallPart } from '../../lib/core/message.js';
import { nestedId } from '../../lib/core/nested.js';
import { tool } from '../../lib/core/tool.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { operatorContract } from '../../lib/testing/operatorContract.js';
import { toView } from '../../lib/operators/toView.js';
import { emptyView, viewOf } from '../../lib/operators/view/view.js';
import type { View } from '../../lib/operators/view/view.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { exampleEvents } from '../support/runs.js';

const question = viewOf([userMessage('How warm is it in Oslo?')]);
const text = (value: string): StreamEvent => ({ type: 'text', text: value }) as StreamEvent;
const prefixed = (value: string) => ({ type: 'text', text: `\n${value}`, prefix: '\n' }) as StreamEvent;
const turn: StreamEvent = { type: 'turn', turn: 1, finishReason: 'stop', usage: { input: 1 } } as StreamEvent;
const result = (finishReason: string, more: object = {}): StreamEvent =>
  ({
    type: 'result',
    result: { text: '', thinking: '', messages: [], finishReason, usage: {}, turns: 1, ...more },
  }) as StreamEvent;

const viewsOf = (events: readonly StreamEvent[], initial: View = question): readonly View[] =>
  observe(from(events).pipe(toView(initial))).values;

const lastView = (events: readonly StreamEvent[], initial?: View): View => viewsOf(events, initial).at(-1) ?? emptyView;

describe('toView', () => {
  it('toView emits the growing view of a run', () => diagram('toView', ({ source }) => source.pipe(toView())));

  it.each(
    operatorContract((source: Observable<StreamEvent>) => source.pipe(toView(), skip(1)), {
      source: [text('a'), turn],
      passThrough: false,
    }).filter(({ title }) => !/error of the source|exception|under retry/.test(title)), // an error becomes the last view
  )('toView $title', ({ run }) => run());

  it('toView shows everything that a run emits', () => {
    const events = exampleEvents();
    expect(lastView(events)).toEqual({
      status: 'idle',
      finishReason: 'stop',
      usage: { input: 10, output: 6 },
      messages: [
        { id: '1', role: 'user', parts: [{ type: 'text', text: 'How warm is it in Oslo?' }] },
        {
          id: '2',
          role: 'model',
          parts: [
            { type: 'thinking', text: 'Which city?' },
            { type: 'text', text: 'Let me see.' },
            { type: 'serverTool', tool: { id: 's1', name: 'web_search', status: 'running', raw: {} } },
            { type: 'file', mediaType: 'image/png', data: 'AQID' },
            {
              type: 'toolCall',
              id: 'c1',
              name: 'weather',
              arguments: { city: 'Oslo' },
              status: 'completed',
              progress: 'reading',
              result: { degrees: 7 },
            },
            expect.objectContaining({ type: 'toolCall', id: 'c2', status: 'failed', code: 'unknown_tool' }),
            { type: 'source', url: 'https://example.com', title: 'Weather' },
            { type: 'text', text: 'It is 7 degrees.' },
          ],
        },
      ],
    });
  });

  it('toView reports what the run is doing', () => {
    const statuses = viewsOf(exampleEvents()).map(({ status }) => status);
    expect(statuses.filter((status, index) => status !== statuses[index - 1])).toEqual([
      'sending',
      'thinking',
      'streaming',
      'runningTools',
      'sending',
      'streaming',
      'sending',
      'streaming',
      'idle',
    ]);
  });

  it('toView shows the arguments of a call while they grow', () => {
    const fragment = (args: string): StreamEvent =>
      ({ type: 'toolCallFragment', index: 0, id: 'c', name: 'mail', arguments: args }) as StreamEvent;
    const views = viewsOf([fragment('{"to":"An'), fragment('n","body":"H'), fragment('i"}')]);
    expect(views.slice(1).map(({ messages }) => messages.at(-1)?.parts)).toEqual(
      [{ to: 'An' }, { to: 'Ann', body: 'H' }, { to: 'Ann', body: 'Hi' }].map((args) => [
        { type: 'toolCall', id: 'c', name: 'mail', arguments: args, status: 'receiving' },
      ]),
    );
  });

  it('toView keeps the identity of what did not change', () => {
    const before = viewOf([userMessage('a'), modelMessage('b'), userMessage('c')]);
    const views = viewsOf(
      [text('x'), { type: 'source', source: { type: 'source', url: 'u' } } as StreamEvent, text('y')],
      before,
    );
    for (const view of views)
      expect(view.messages.slice(0, 3).every((message, i) => message === before.messages[i])).toBe(true);
    expect(views.at(-1)?.messages[3]?.parts[0]).toBe(views.at(-2)?.messages[3]?.parts[0]);
  });

  it('toView emits nothing for an event that changes nothing', () => {
    expect(viewsOf([{ type: 'myOwn' }, { type: 'metadata', metadata: { cost: 1 } } as StreamEvent])).toHaveLength(1);
  });

  it('toView keeps the answer of a run that fails, and completes', () => {
    const run = concat(
      of(text('Hel')),
      throwError(() => new TimeoutError('each', 5)),
    );
    const { values, completed, error } = observe(run.pipe(toView(question)));
    expect([completed, error]).toEqual([true, undefined]);
    expect(values.at(-1)).toMatchObject({
      status: 'failed',
      error: { code: 'timeout' },
      messages: [{ role: 'user' }, { role: 'model', ended: 'failed', parts: [{ type: 'text', text: 'Hel' }] }],
    });
  });

  it('toView shows a failure before anything was received', () => {
    const { values } = observe(throwError(() => new Error('no')).pipe(toView(question)));
    expect(values.at(-1)).toEqual({ ...question, status: 'failed', error: { code: 'unknown', message: 'no' } });
  });

  it('toView keeps the answer of a run that was stopped', () => {
    const view = lastView([text('Hel'), { ...turn, finishReason: 'stopped' } as StreamEvent, result('stopped')]);
    expect(view).toMatchObject({ status: 'stopped', messages: [{}, { ended: 'stopped', parts: [{ text: 'Hel' }] }] });
  });

  it.each([
    ['a stop', [{ ...turn, finishReason: 'stopped' }, result('stopped')]],
    ['a response that was too long', [{ ...turn, finishReason: 'length' }, result('length')]],
    ['an interrupt', [{ type: 'message', message: userMessage('Wait.') }]],
    ['the other calls of the response', [{ type: 'message', message: modelMessage('Hel') }]],
    ['a failure', []],
  ])('toView removes a call whose arguments did not arrive: %s', (_, end) => {
    const fragment = { type: 'toolCallFragment', index: 0, id: 'c', name: 'f', arguments: '{"a":' } as StreamEvent;
    const events = concat(
      from([text('Hel'), fragment, ...(end as StreamEvent[])]),
      end.length > 0 ? EMPTY : throwError(() => new TimeoutError('each', 5)),
    );
    const views = observe(events.pipe(toView(question))).values;
    const answers = (view: View | undefined) => view?.messages.filter(({ role }) => role === 'model');
    expect(answers(views.find(({ messages }) => messages[1]?.parts.length === 2))).toHaveLength(1);
    expect(answers(views.at(-1))?.map(({ parts }) => parts)).toEqual([[{ type: 'text', text: 'Hel' }]]);
  });

  it('toView shows the result of a call after another one whose arguments did not arrive', () => {
    const fragment = { type: 'toolCallFragment', index: 0, id: 'c', name: 'f', arguments: '{"a":' } as StreamEvent;
    const call: ToolCallPart = { type: 'toolCall', id: 'd', name: 'f', arguments: {} };
    const message = { type: 'message', message: modelMessage([call]) } as StreamEvent;
    const answered = { ...call, type: 'toolResult', result: 1 } as StreamEvent;
    const view = lastView([fragment, call, message, answered]);
    expect(view.messages[1]?.parts).toMatchObject([{ id: 'd', status: 'completed', result: 1 }]);
  });

  it('toView does not show a retracted call as running', () => {
    const call = (type: string) => ({ type, id: 'c', name: 'f', arguments: {} }) as StreamEvent;
    const next = { type: 'toolResult', id: 'd', name: 'f', result: 1 } as StreamEvent;
    const events = [call('toolCall'), call('toolStart'), { type: 'retract' }, { ...call('toolCall'), id: 'd' }, next];
    const views = viewsOf(events);
    expect(views.map(({ status }) => status)).toEqual([
      'sending',
      'streaming',
      'runningTools',
      'sending',
      'streaming',
      'streaming',
    ]);
  });

  it('toView drops what a retracted attempt has shown, and nothing else', () => {
    const events = [text('first'), turn, text('void'), { type: 'retract' }, text('second')];
    expect(lastView(events).messages.at(-1)?.parts).toEqual([
      { type: 'text', text: 'first' },
      { type: 'text', text: 'second' },
    ]);
  });

  it('toView continues a tool of the provider after an answer that had one with the same id was retracted', () => {
    const search = (status: string) =>
      ({
        type: 'metadata',
        metadata: { serverTools: [{ id: 's', name: 'search', status }] },
      }) as unknown as StreamEvent;
    const prompt = { type: 'message', message: userMessage('In Celsius.') } as StreamEvent;
    const retracted = [prompt, search('running'), { type: 'retract' } as StreamEvent];
    const view = lastView([text('a'), search('running'), turn, ...retracted, search('completed')]);
    expect(view.messages.map(({ parts }) => parts)).toMatchObject([
      question.messages[0]?.parts ?? [],
      [{ type: 'text' }, { type: 'serverTool', tool: { id: 's', status: 'completed' } }],
    ]);
  });

  it('toView announces a retry until something arrives', () => {
    const retry = { type: 'retry', attempt: 1, delay: 2000, error: { code: 'http' } } as StreamEvent;
    const views = viewsOf([retry, text('a')]);
    expect(views.map(({ retry: notice }) => notice?.delay)).toEqual([undefined, 2000, undefined]);
  });

  it('toView shows a message that the user sent during the run, and the next answer after it', () => {
    const prompt = { type: 'message', message: userMessage('In Celsius.') } as StreamEvent;
    const retract = { type: 'retract' } as StreamEvent;
    const events = [text('a'), prompt, turn, prefixed('void'), retract, prefixed('b'), text('\nc')];
    // Also if a process has ended before the end of the turn that the message has joined: it joins again.
    const again = [text('void'), prompt, retract, ...events];
    for (const view of [lastView(events), lastView(again)])
      expect(view.messages.map(({ role, parts }) => [role, parts])).toEqual([
        ['user', question.messages[0]?.parts],
        ['model', [{ type: 'text', text: 'a' }]],
        ['user', [{ type: 'text', text: 'In Celsius.' }]],
        ['model', [{ type: 'text', text: 'b\nc' }]],
      ]);
  });

  it('toView shows a turn of 3000 calls', () => {
    const ids = Array.from({ length: 3000 }, (_, index) => `c${index}`);
    const event = (type: string, id: string) => ({ type, id, name: 'f', arguments: {}, result: 1 }) as StreamEvent;
    const view = lastView([
      ...ids.map((id) => event('toolCall', id)),
      ...ids.map((id) => event('toolStart', id)),
      ...ids.map((id) => event('toolResult', id)),
    ]);
    expect(
      view.messages.at(-1)?.parts.filter((part) => part.type === 'toolCall' && part.status === 'completed'),
    ).toHaveLength(3000);
  });

  it('toView emits views of a long message that stay as they were, whenever they are read', () => {
    const source = (index: number) => ({ type: 'source', source: { type: 'source', url: `u${index}` } }) as StreamEvent;
    const count = 700;
    const views = viewsOf([...Array.from({ length: count }, (_, index) => source(index)), text('a'), text('b')]);
    const partsAt = (index: number) => views[index]?.messages[1]?.parts ?? [];
    const end = partsAt(count + 2);
    expect(end.slice(-2)).toEqual([
      { type: 'source', url: `u${count - 1}` },
      { type: 'text', text: 'ab' },
    ]);
    for (const length of [count, 513, 512, 511, 257, 256, 255, 1]) {
      expect(partsAt(length)).toHaveLength(length);
      expect(partsAt(length).every((part, position) => part === end[position])).toBe(true);
      expect(partsAt(length)).toBe(partsAt(length)); // read once
    }
    expect(partsAt(count + 1).at(-1)).toEqual({ type: 'text', text: 'a' });
    const last = views.at(-1);
    for (const copy of [structuredClone(last), JSON.parse(JSON.stringify(last)) as View, { ...last }])
      expect(copy).toEqual({ ...last, messages: [question.messages[0], { id: '2', role: 'model', parts: end }] });
  });

  it('toView keeps the result that a page has given to a call of an inner run when that run goes on', () => {
    const call = (type: string, id = 'c') => ({ type, id, name: 'f', arguments: {}, result: 1 });
    const nested = (event: object) => ({ ...call('nested'), event }) as StreamEvent;
    const given = call('toolResult', nestedId('c', 'd')) as StreamEvent;
    const start = [call('toolCall'), call('toolStart')] as StreamEvent[];
    const events = [
      ...start,
      nested(call('toolCall', 'd')),
      nested(call('toolWaiting', 'd')),
      given,
      nested(text('So.')),
    ];
    expect(lastView(events).messages[1]?.parts).toMatchObject([
      { nested: { messages: [{ parts: [{ id: 'c/d', status: 'completed', result: 1 }, { text: 'So.' }] }] } },
    ]);
  });

  it('toView clears the error of an earlier run', () => {
    const failed = lastView([text('a')], { ...question, status: 'failed', error: { code: 'http' } });
    expect(failed).not.toHaveProperty('error');
  });

  it('toView shows typed output', () => {
    expect(lastView([text('{}'), turn, result('stop', { output: { n: 1 } })]).output).toEqual({ n: 1 });
  });

  it('toView shows a call that waits, and continues its message when the run is resumed', () => {
    const send = tool({ name: 'send', description: 'Sends.', needsApproval: true, execute: () => 'sent' });
    const model = scriptedModel([['Shall I?', toolCall('send', {}, 'c1')], 'Done.']);
    const agent = createAgent({ model, tools: [send] });
    const events = observe(agent.stream('Send it.')).values;
    const waiting = lastView(events, viewOf([userMessage('Send it.')]));
    expect(waiting).toMatchObject({
      status: 'waiting',
      messages: [{}, { parts: [{}, { id: 'c1', status: 'waiting' }] }],
    });

    const checkpoint = events.flatMap((event) => (event.type === 'result' ? (event.result.checkpoint ?? []) : []))[0];
    if (!checkpoint) throw new Error('The run has no checkpoint.');
    const decisions = { c1: { approve: true } } as const;
    const resumed = observe(agent.resume(checkpoint, { decisions }).pipe(toView(waiting))).values.at(-1);
    expect(resumed).toMatchObject({ status: 'idle', finishReason: 'stop' });
    expect(resumed?.messages.map(({ parts }) => parts)).toEqual([
      [{ type: 'text', text: 'Send it.' }],
      [
        { type: 'text', text: 'Shall I?' },
        { type: 'toolCall', id: 'c1', name: 'send', arguments: {}, status: 'completed', result: 'sent' },
        { type: 'text', text: 'Done.' },
      ],
    ]);
  });

  it.each<readonly [string, Decision, object]>([
    ['approved', { approve: true }, { status: 'completed', arguments: { id: 7 }, result: 'sent' }],
    ['denied', { approve: false }, { status: 'denied', code: 'denied' }],
  ])('toView shows the calls of a run that is resumed without the view before it, one %s', (_, decision, expected) => {
    const answers = (call: string | 0) => ({ decisions: { [call === 0 ? 'c1' : nestedId(call, 'c1')]: decision } });
    const send = tool({ name: 'send', description: 'S.', needsApproval: true, execute: () => 'sent' });
    const look = tool({ name: 'look', description: 'L.', execute: () => 'seen' });
    const create = () =>
      createAgent({
        model: scriptedModel([['Shall I?', toolCall('look', {}, 'c0'), toolCall('send', { id: 7 }, 'c1')], 'Done.']),
        tools: [send, look],
      });
    const outer = createAgent({
      model: scriptedModel([[toolCall('ask', { prompt: 'Hi' }, 'a')], 'All.']),
      tools: [agentTool(create(), { name: 'ask', description: 'A.' })],
    });
    const calls = (shown: View | undefined) =>
      shown?.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'toolCall' ? [part] : []))) ?? [];
    const expectCalls = (shown: View | undefined) => {
      expect(calls(shown)).toHaveLength(2);
      expect(calls(shown)).toContainEqual(expect.objectContaining({ name: 'send', ...expected }));
      expect(calls(shown)).toContainEqual(
        expect.objectContaining({ name: 'look', status: 'completed', result: 'seen' }),
      );
    };

    const agent = create();
    const own = observe(agent.run('Send it.')).values[0]?.checkpoint;
    expectCalls(own && observe(agent.resume(own, answers(0)).pipe(toView())).values.at(-1));
    const nested = observe(outer.run('Send it.')).values[0]?.checkpoint;
    const shown = nested && observe(outer.resume(nested, answers('a')).pipe(toView())).values.at(-1);
    expect(calls(shown).map(({ name, status }) => [name, status])).toEqual([['ask', 'completed']]);
    expectCalls(calls(shown)[0]?.nested);
  });
});
