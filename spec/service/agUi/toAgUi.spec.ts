import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { concat, from, of, skip, Subject, take, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { toAgUi } from '../../../lib/agUi.js';
import type { AgUiEvent, AgUiMessage } from '../../../lib/agUi.js';
import { HttpError } from '../../../lib/core/errors.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import { filePart, userMessage } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { Step } from '../../../lib/testing/index.js';
import { operatorContract } from '../../../lib/testing/operatorContract.js';
import type { OptionsOf } from '../../../lib/index.js';
import { typed } from '../../../lib/agent/typed.js';
import { diagram } from '../../support/diagram.js';
import { observe } from '../../support/observe.js';
import { exampleRun } from '../../support/runs.js';
import { randomRun } from '../../chat/agUi/randomRun.js';
import { sequenceProblem } from './sequence.js';

const question: AgUiMessage = { id: 'u1', role: 'user', content: 'How warm is it?' };
const request = { threadId: 't', runId: 'r', messages: [question], tools: [] };
const event = (fields: Record<string, unknown> & { readonly type: string }): StreamEvent => fields;

/** The AG-UI events of a run. */
const convert = (run$: Observable<StreamEvent>, options: OptionsOf<typeof toAgUi> = {}): readonly AgUiEvent[] =>
  observe(run$.pipe(toAgUi(request, options))).values;

/** Without the fields that the test does not look at. */
const brief = (events: readonly AgUiEvent[]) =>
  events.map((each) => {
    if ('delta' in each) return `${each.type} ${'messageId' in each ? each.messageId : each.toolCallId} ${each.delta}`;
    if ('toolCallId' in each) return `${each.type} ${each.toolCallId}`;
    return 'messageId' in each ? `${each.type} ${each.messageId}` : each.type;
  });
const ofType = <T extends AgUiEvent['type']>(events: readonly AgUiEvent[], type: T) =>
  events.filter((each): each is Extract<AgUiEvent, { readonly type: T }> => each.type === type);

const add = tool({ name: 'add', description: 'Adds.', execute: () => 3 });
const run = (...turns: readonly (string | readonly Step[])[]) =>
  createAgent({ model: scriptedModel([...turns]), tools: [add] }).stream('Go.', { fragments: true });

describe('toAgUi', () => {
  it('toAgUi opens and closes the messages of a run', () =>
    diagram('toAgUi', ({ source }) => source.pipe(toAgUi({ threadId: 't', runId: 'r', messages: [] }))));

  it.each(
    operatorContract((source: Observable<StreamEvent>) => source.pipe(toAgUi(request), skip(1)), {
      source: [event({ type: 'a' })],
      passThrough: false,
    }).filter(
      ({ title }) => !/error of the source|under retry/.test(title), // an error becomes RUN_ERROR
    ),
  )('toAgUi $title', ({ run: check }) => check());

  it('toAgUi sends every run in an order that AG-UI accepts', () => {
    fc.assert(
      fc.property(randomRun, (run$) => {
        const { values, completed } = observe(run$.pipe(toAgUi(request)));
        expect(completed).toBe(true);
        expect(sequenceProblem(values)).toBeUndefined();
        expect(values.at(-1)?.type).toMatch(/^RUN_(FINISHED|ERROR)$/);
      }),
      { numRuns: 300 },
    );
  });

  it('toAgUi gives messages the same ids whenever it reads a run, and no id twice', () => {
    const first = convert(exampleRun());
    expect(convert(exampleRun())).toEqual(first);
    const ids = first.flatMap((each) =>
      /^(TEXT_MESSAGE_START|REASONING_MESSAGE_START|TOOL_CALL_RESULT)$/.test(each.type) && 'messageId' in each
        ? each.messageId
        : [],
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('toAgUi starts another message for text after reasoning or a call', () => {
    const steps: Step[] = [
      { type: 'thinking', text: 'Hm.' },
      'a',
      { type: 'thinking', text: 'Oh.' },
      'b',
      toolCall('add', {}, 'c1'),
      'c',
    ];
    const events = convert(run(steps, 'd'));
    expect(brief(events).filter((each) => /CONTENT|CALL_START/.test(each))).toEqual([
      'REASONING_MESSAGE_CONTENT r-1 Hm.',
      'TEXT_MESSAGE_CONTENT r-2 a',
      'REASONING_MESSAGE_CONTENT r-3 Oh.',
      'TEXT_MESSAGE_CONTENT r-4 b',
      'TOOL_CALL_START c1',
      'TEXT_MESSAGE_CONTENT r-5 c',
      'TEXT_MESSAGE_CONTENT r-7 d', // without the line feed that separates it from "c" in a single text
    ]);
    expect(ofType(events, 'TOOL_CALL_START')[0]?.parentMessageId).toBe('r-4');
  });

  it('toAgUi sends the fragments of arguments as they arrive', () => {
    const fragments: Step[] = ['{"x":', '1', '}'].map((text) => ({
      type: 'toolCallFragment',
      index: 0,
      id: 'c1',
      name: 'add',
      arguments: text,
    }));
    expect(brief(convert(run(fragments, 'End.'))).slice(1, 6)).toEqual([
      'TOOL_CALL_START c1',
      'TOOL_CALL_ARGS c1 {"x":',
      'TOOL_CALL_ARGS c1 1',
      'TOOL_CALL_ARGS c1 }',
      'TOOL_CALL_END c1',
    ]);
  });

  it('toAgUi corrects the arguments that a server has repeated with a snapshot, before the call ends', () => {
    const cumulative: Step[] = ['{"x"', '{"x":1', '{"x":1}'].map((text) => ({
      type: 'toolCallFragment',
      index: 0,
      id: 'c1',
      name: 'add',
      arguments: text,
    }));
    const events = convert(run(cumulative, 'End.'));
    const [snapshot] = ofType(events, 'MESSAGES_SNAPSHOT');
    expect(snapshot?.messages).toEqual([
      question,
      {
        id: 'r-1',
        role: 'assistant',
        toolCalls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"x":1}' } }],
      },
    ]);
    expect(events.findIndex(({ type }) => type === 'MESSAGES_SNAPSHOT')).toBeLessThan(
      events.findIndex(({ type }) => type === 'TOOL_CALL_END'),
    );
  });

  it('toAgUi corrects all calls that a server has sent one after the other with one snapshot, in their order', () => {
    const repeated = Array.from({ length: 20 }, (_, index): Step[] =>
      ['{"x":1}', '{"x":1}{"x":1}'].slice(0, index === 10 ? 1 : 2).map((text) => ({
        ...{ type: 'toolCallFragment', index, id: `c${index}`, name: 'add' },
        arguments: text,
      })),
    );
    const events = convert(run(repeated.flat(), 'End.'));
    const [snapshot, ...others] = ofType(events, 'MESSAGES_SNAPSHOT');
    expect(others).toEqual([]);
    const toolCalls = repeated.map((_, index) => ({ id: `c${index}`, function: { arguments: '{"x":1}' } }));
    expect(snapshot?.messages).toMatchObject([question, { role: 'assistant', toolCalls }]);
    expect(ofType(events, 'TOOL_CALL_END').map(({ toolCallId }) => toolCallId)).toEqual(toolCalls.map(({ id }) => id));
    expect(sequenceProblem(events)).toBeUndefined();
  });

  it.each([
    ['with text between the calls', false],
    ['with a result after each call', true],
  ])('toAgUi sends at most 17 snapshots in a turn: %s', (_, eagerTools) => {
    const repeated = Array.from({ length: 40 }, (_, index): Step[] => [
      'Then ',
      ...[{ arguments: '{"x":1}' }, { arguments: '{"x":1}{"x":1}' }, { done: true } as const].map((fields) => ({
        ...({ type: 'toolCallFragment', index, id: `c${index}`, name: 'add' } as const),
        ...fields,
      })),
    ]);
    const agent = createAgent({ model: scriptedModel([repeated.flat(), 'End.']), tools: [add], eagerTools });
    const events = convert(agent.stream('Go.', { fragments: true }));
    const snapshots = ofType(events, 'MESSAGES_SNAPSHOT');
    expect(snapshots).toHaveLength(17);
    expect(JSON.stringify(snapshots.at(-1)).split('"{\\"x\\":1}"')).toHaveLength(41);
    expect(sequenceProblem(events)).toBeUndefined();
  });

  it('toAgUi answers a call that was cut off: a client would answer it otherwise', () => {
    const half: Step = { type: 'toolCallFragment', index: 0, id: 'c1', name: 'add', arguments: '{"x":' };
    const events = convert(run([half, { type: 'finish', reason: 'length' }]));
    expect(ofType(events, 'TOOL_CALL_RESULT')).toMatchObject([
      { toolCallId: 'c1', content: 'The call was not executed.', metadata: { rivulet: { failed: true } } },
    ]);
    expect(ofType(events, 'RUN_FINISHED')[0]).toMatchObject({
      outcome: { type: 'success' },
      metadata: { rivulet: { finishReason: 'length' } },
    });
  });

  it('toAgUi removes what was retracted with a snapshot of all messages', () => {
    const steps: Step[] = [
      { type: 'thinking', text: 'Void thought.' },
      'Void',
      toolCall('add', {}, 'c1'),
      { type: 'retract' },
      'Valid',
    ];
    const events = convert(run([toolCall('add', {}, 'c0')], steps));
    const [snapshot] = ofType(events, 'MESSAGES_SNAPSHOT');
    expect(snapshot?.messages.map(({ id, role, content }) => [id, role, content])).toEqual([
      ['u1', 'user', 'How warm is it?'],
      ['r-1', 'assistant', undefined],
      ['r-2', 'tool', '3'],
      ['r-3', 'reasoning', ''], // a client keeps its reasoning, unless the snapshot has some
    ]);
    expect(ofType(events, 'TOOL_CALL_RESULT').map(({ toolCallId }) => toolCallId)).toEqual(['c0', 'c1']);
    expect(sequenceProblem(events)).toBeUndefined();
  });

  it('toAgUi sends what AG-UI has no word for as custom events, and no checkpoint', () => {
    const source = from([
      event({ type: 'source', source: { type: 'source', url: 'https://example.com' } }),
      event({ type: 'phase', name: 'research' }),
      event({ type: 'checkpoint', checkpoint: { version: 1 } }),
    ]);
    expect(ofType(convert(source), 'CUSTOM')).toEqual([
      { type: 'CUSTOM', name: 'rivulet.source', value: { source: { type: 'source', url: 'https://example.com' } } },
      { type: 'CUSTOM', name: 'rivulet.phase', value: { name: 'research' } },
    ]);
  });

  it('toAgUi sends a result as text, JSON or files, and an error as its text', () => {
    const image = filePart(new Uint8Array([1, 2, 3]), 'image/png');
    const results = [
      { type: 'toolResult', id: 'a', name: 'f', result: 'text' },
      { type: 'toolResult', id: 'b', name: 'f', result: { x: [1] } },
      { type: 'toolResult', id: 'c', name: 'f', result: ['A picture:', image] },
      { type: 'toolResult', id: 'd', name: 'f', error: 'Too late.', code: 'timeout' },
    ];
    expect(
      ofType(convert(from(results)), 'TOOL_CALL_RESULT').map(({ content, metadata }) => metadata ?? content),
    ).toEqual([
      'text',
      '{"x":[1]}',
      [
        { type: 'text', text: 'A picture:' },
        { type: 'image', source: { type: 'data', value: 'AQID', mimeType: 'image/png' } },
      ],
      { rivulet: { failed: true, code: 'timeout' } },
    ]);
  });

  it('toAgUi sends a prompt that joins the run as a message of the user', () => {
    const prompt = event({ type: 'message', message: userMessage('With a dragon.') });
    expect(brief(convert(of(prompt))).slice(1, 4)).toEqual([
      'TEXT_MESSAGE_START r-1',
      'TEXT_MESSAGE_CONTENT r-1 With a dragon.',
      'TEXT_MESSAGE_END r-1',
    ]);
  });

  it('toAgUi describes an error without details of the server, or as describeError says', () => {
    const busy = new HttpError('The server is busy.', { provider: 'p', status: 503, retryable: true, body: 'secret' });
    const fail = (thrown: Error, options: OptionsOf<typeof toAgUi> = {}) =>
      convert(
        concat(
          of(event({ type: 'text', text: 'a' })),
          throwError(() => thrown),
        ),
        options,
      ).slice(-2);
    expect(fail(busy)).toEqual([
      { type: 'TEXT_MESSAGE_END', messageId: 'r-1' },
      { type: 'RUN_ERROR', message: 'The model did not accept the request.', code: 'http' },
    ]);
    expect(fail(new Error('key sk-1'))[1]).toEqual({ type: 'RUN_ERROR', message: 'The run failed.', code: 'internal' });
    const logged: unknown[] = [];
    const options: OptionsOf<typeof toAgUi> = {
      describeError: () => ({ message: 'Sorry.' }),
      onError: (thrown) => logged.push(thrown),
    };
    expect(fail(busy, options)[1]).toEqual({ type: 'RUN_ERROR', message: 'Sorry.' });
    expect(logged).toEqual([busy]);
    const broken = () => {
      throw new Error('no words');
    };
    expect(fail(busy, { describeError: broken })[1]).toMatchObject({ message: 'The run failed.' });
  });

  it('toAgUi ends a run that was stopped or left as cancelled', () => {
    const stop = new Subject<void>();
    const model = scriptedModel([['a', { delay: 1000 }]]);
    const seen: AgUiEvent[] = [];
    createAgent({ model })
      .stream('Go.', { stop })
      .pipe(toAgUi(request))
      .subscribe((each) => seen.push(each));
    stop.next();
    const cancelled = { type: 'RUN_FINISHED', outcome: { type: 'cancelled' } };
    expect(seen.at(-1)).toMatchObject(cancelled);
    expect(convert(run(['a', 'b']).pipe(take(1))).at(-1)).toMatchObject(cancelled);
  });

  it('toAgUi sends the typed output and the usage with the end', () => {
    const usage = { input: 5, cachedInput: 2, output: 3, reasoning: 1, total: 8 };
    const steps: Step[] = ['{"x":1}', { type: 'finish', reason: 'stop', usage }];
    const output = { type: 'object', properties: { x: { type: 'number' } } };
    const run$ = createAgent({ model: scriptedModel([steps]), output: typed(output) }).stream('Go.');
    expect(convert(run$).at(-1)).toMatchObject({
      result: { x: 1 },
      usage: [{ inputTokens: 5, cachedInputTokens: 2, outputTokens: 3, reasoningTokens: 1, totalTokens: 8 }],
    });
  });
});
