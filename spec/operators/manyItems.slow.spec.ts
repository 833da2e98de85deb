import { describe, expect, it } from '@jest/globals';
import { from, NEVER, type OperatorFunction } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { fromAgUi } from '../../lib/chat/agUi/fromAgUi.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { ConversationAgent } from '../../lib/chat/conversationAgent.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { modelMessage, userMessage, type Message, type Part } from '../../lib/core/message.js';
import { nestedId } from '../../lib/core/nested.js';
import { drawRun } from '../../lib/observe/draw/drawRun.js';
import { readRecording } from '../../lib/observe/recording/readRecording.js';
import { recordRun } from '../../lib/observe/recording/recordRun.js';
import { replayEvents } from '../../lib/observe/recording/replay.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { endRun } from '../../lib/operators/endRun.js';
import { observeRun } from '../../lib/operators/observeRun.js';
import { toView } from '../../lib/operators/toView.js';
import { viewOf } from '../../lib/operators/view/view.js';
import { toAgUi } from '../../lib/service/agUi/toAgUi.js';
import { fromUiMessages } from '../../lib/service/uiChat/fromUiMessages.js';
import { toUiMessageStream } from '../../lib/service/uiChat/toUiMessageStream.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { fromAgUiMessages, toAgUiMessages } from '../../lib/transport/agUi/messages.js';
import { createCompactor, createRestorer } from '../../lib/transport/compactEvents.js';
import { repairHistory } from '../../lib/core/history.js';
import { keepRecent } from '../../lib/core/keepRecent.js';
import { writeSpec } from '../../lib/observe/spec/writeSpec.js';
import { anyTool } from '../support/toolCalls.js';
import { countRepeatedCalls } from '../../lib/core/repeatedCalls.js';
import { expectLinear } from '../support/cost.js';

const SIZES = [1000, 2000, 4000];

const range = <T>(count: number, of: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => of(i));
const each = <T>(count: number, of: (index: number) => readonly T[]): readonly T[] => range(count, of).flat();

const callOf = (index: number) => ({ id: `c${index}`, name: 'pay', arguments: {} });
const call = (index: number) => ({ type: 'toolCall', ...callOf(index) });
const start = (index: number) => ({ type: 'toolStart', ...callOf(index) });
const result = (index: number) => ({ type: 'toolResult', id: `c${index}`, name: 'pay', result: index });
const text = (index: number) => ({ type: 'text', text: `t${index}` });
const thinking = (index: number) => ({ type: 'thinking', text: `t${index}` });
const fragment = (index: number) => ({
  type: 'toolCallFragment',
  index,
  id: `c${index}`,
  name: 'pay',
  arguments: '{}',
});
const turn = (index: number) => ({ type: 'turn', turn: index + 1, finishReason: 'stop', usage: { input: 1 } });
const nested = (event: object) => ({ type: 'nested', id: 'c0', name: 'pay', event });
const reversed = <T>(list: readonly T[]): readonly T[] => [...list].reverse();

/** The events of a turn with many items. */
const kinds: Readonly<Record<string, (count: number) => readonly object[]>> = {
  'texts and thinking': (n) => each(n, (i) => [text(i), thinking(i)]),
  'texts between calls': (n) => each(n, (i) => [text(i), call(i)]),
  'calls, one after the other': (n) => each(n, (i) => [call(i), start(i), result(i)]),
  'calls whose results come in the other order': (n) => [
    ...range(n, call),
    ...range(n, start),
    ...reversed(range(n, result)),
  ],
  'calls that arrive in fragments': (n) => [...range(n, fragment), ...range(n, call)],
  'calls that arrive in fragments, and end in the other order': (n) => [
    ...range(n, fragment),
    ...reversed(range(n, call)),
  ],
  'calls that never end': (n) => each(n, (i) => [fragment(i), turn(i)]),
  'calls that wait': (n) => each(n, (i) => [call(i), { ...call(i), type: 'toolWaiting' }]),
  'texts beside a call that waits': (n) => [
    call(0),
    { ...call(0), type: 'toolWaiting' },
    ...each(n, (i) => [text(i), thinking(i)]),
  ],
  progress: (n) => [
    ...each(n, (i) => [call(i), start(i)]),
    ...range(n, (i) => ({ ...callOf(i), type: 'toolProgress', value: i })),
  ],
  sources: (n) => range(n, (i) => ({ type: 'source', source: { type: 'source', url: `https://example.com/${i}` } })),
  files: (n) => range(n, () => ({ type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AQID' } })),
  'tools of the provider': (n) =>
    range(n, (i) => ({
      type: 'metadata',
      metadata: { serverTools: [{ id: `s${i}`, name: 'search', status: 'running' }] },
    })),
  'prompts that join': (n) => each(n, (i) => [text(i), { type: 'message', message: userMessage(`p${i}`) }]),
  turns: (n) => each(n, (i) => [text(i), { type: 'message', message: modelMessage(`t${i}`) }, turn(i)]),
  'turns that start over': (n) => each(n, (i) => [text(i), { type: 'retract', attempt: i }]),
  'texts of an inner run': (n) => [call(0), start(0), ...each(n, (i) => [nested(text(i)), nested(thinking(i))])],
  'calls of an inner run': (n) => [
    call(0),
    start(0),
    ...each(n, (i) => [nested(call(i)), nested(start(i)), nested(result(i))]),
  ],
  'calls of an inner run that the page answers': (n) => [
    call(0),
    start(0),
    ...range(n, (i) => nested(call(i))),
    ...range(n, (i) => ({ ...result(i), id: nestedId('c0', `c${i}`) })),
  ],
  'calls with an inner run each': (n) =>
    each(n / 4, (i) => {
      const said = { ...nested(text(i)), id: `c${i}` };
      return [call(i), start(i), said, said];
    }),
  'results in a message': (n) => [
    ...range(n, call),
    { type: 'message', message: userMessage(range(n, result) as readonly Part[]) },
  ],
};

const ended = { type: 'turn', turn: 1, finishReason: 'stop', usage: {} };
const runResult = {
  type: 'result',
  result: { text: '', thinking: '', messages: [], finishReason: 'stop', usage: {}, turns: 1 },
};

const through =
  (operator: () => OperatorFunction<StreamEvent, unknown>) =>
  (events: readonly StreamEvent[]): void => {
    from(events).pipe(operator()).subscribe();
  };

const converse = (events: (input: unknown) => readonly StreamEvent[]) => {
  const agent: ConversationAgent = { stream: (input) => from(events(input)), resume: () => NEVER };
  const chat = conversation(agent);
  chat.view$.subscribe();
  return chat;
};

/** What reads the events of a run. */
const readers: Readonly<Record<string, (events: readonly StreamEvent[]) => unknown>> = {
  toView: through(() => toView()),
  conversation: (events) => converse(() => [...events, runResult]).send('Hi'),
  toAgUi: through(() => toAgUi({ threadId: 't', runId: 'r', messages: [] })),
  fromAgUi: (events) =>
    from([...events, runResult])
      .pipe(toAgUi({ threadId: 't', runId: 'r', messages: [] }), fromAgUi())
      .subscribe(),
  toUiMessageStream: through(() => toUiMessageStream()),
  compactEvents: (events) => {
    const compact = createCompactor();
    const restore = createRestorer();
    events.forEach((event) => restore(compact(event)));
  },
  observeRun: through(() => observeRun({})),
  endRun: (events) =>
    from([...events, ended])
      .pipe(endRun())
      .subscribe(),
  consolidate: (events) =>
    from([...events, { type: 'finish', reason: 'stop' }])
      .pipe(consolidate())
      .subscribe(),
  accumulateToolCalls: (events) =>
    from([...events, { type: 'finish', reason: 'stop' }])
      .pipe(accumulateToolCalls())
      .subscribe(),
};

/** Each of their views has a plain list of all of them. */
const listed = ['conversation, calls that wait', 'conversation, prompts that join', 'toView, prompts that join'];

/** The list of a view copies two arrays for a change, which grow with the root of its length: 2.83 in the limit. */
const MAX_RATIO = 3;

const expectNearlyLinear = <T>(read: (input: T) => unknown, inputs: readonly T[]): void =>
  expectLinear(read, inputs, MAX_RATIO);

describe('the cost of many small items', () => {
  const rows = Object.keys(readers)
    .flatMap((reader) => Object.keys(kinds).map((kind) => [reader, kind] as const))
    .filter(([reader, kind]) => !listed.includes(`${reader}, ${kind}`));
  it.each(rows)('%s is linear in the number of %s', (reader, kind) =>
    expectNearlyLinear(readers[reader] as never, SIZES.map((n) => kinds[kind]?.(n)) as never),
  );
});

const history = (n: number): readonly Message[] =>
  each(n, (i) => [
    userMessage(`p${i}`),
    modelMessage([{ type: 'text', text: `t${i}` }, call(i) as Part]),
    userMessage([result(i) as Part]),
    modelMessage(`t${i}`),
  ]);

const uiMessage = (n: number) => ({
  id: 'a',
  role: 'assistant',
  parts: each(n, (i) => [
    { type: 'text', text: `t${i}` },
    { type: 'tool-pay', toolCallId: `c${i}`, state: 'output-available', input: {}, output: i },
  ]),
});

/** The lines of a recording of a run with many turns, each with a call. */
function recorded(n: number): readonly string[] {
  const pay = anyTool('pay', () => 1);
  const lines: string[] = [];
  const model = scriptedModel([...range(n, (i) => [`t${i}`, toolCall('pay', {})]), 'Done.']);
  const agent = recordRun(createAgent({ model, tools: [pay], maxTurns: n + 1 }), (line) => lines.push(line));
  agent.stream('Hi').subscribe();
  return lines;
}

describe('the cost of a long conversation', () => {
  it.each<readonly [string, (n: number) => unknown, (input: never) => unknown]>([
    ['viewOf', history, viewOf],
    ['toAgUiMessages', history, toAgUiMessages],
    ['fromAgUiMessages', (n) => toAgUiMessages(history(n)), fromAgUiMessages],
    ['fromUiMessages', (n) => [uiMessage(n)], fromUiMessages],
    ['repairHistory', history, repairHistory],
    ['keepRecent', history, keepRecent({ messages: 100 })],
    [
      'countRepeatedCalls',
      (n) => n,
      (n) => {
        const calls = range(n, (index) => ({ ...callOf(index), type: 'toolCall', arguments: { index } }) as const);
        const messages = [modelMessage(calls), userMessage(range(n, result) as Part[]), modelMessage(calls)];
        expect(calls.map((each) => countRepeatedCalls(messages, each))).toEqual(calls.map(() => 2));
      },
    ],
  ])('%s is linear', (_, create, read) => expectNearlyLinear(read as never, SIZES.map(create)));

  it.each<readonly [string, (lines: readonly string[]) => unknown]>([
    ['readRecording', readRecording],
    ['drawRun', (lines) => drawRun(readRecording(lines))],
    ['replayEvents', (lines) => replayEvents(readRecording(lines)).subscribe()],
    ['writeSpec', (lines) => writeSpec(readRecording(lines))],
  ])('%s is linear in the number of turns', (_, read) => expectNearlyLinear(read, [200, 400, 800].map(recorded)));

  it.each<readonly [string, (count: number) => unknown]>([
    [
      'versions',
      (count) => {
        const chat = converse(() => [text(0), runResult]);
        chat.send('Hi');
        for (let index = 0; index < count; index++) chat.regenerate();
      },
    ],
    ['turns', recorded],
  ])('a conversation is linear in the number of its %s', (_, read) => expectNearlyLinear(read, [100, 200, 400]));
});
