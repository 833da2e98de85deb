import { describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, map, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { HandledAgent } from '../../../lib/service/handledAgent.js';
import type { RunEvent } from '../../../lib/core/event.js';
import { tool, type Tool } from '../../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { agentTool } from '../../../lib/tools/agentTool.js';
import { backgroundTool } from '../../../lib/agent/backgroundTool.js';
import { toUiMessageStream } from '../../../lib/service/uiChat/toUiMessageStream.js';
import { askTool } from '../../../lib/tools/askTool.js';
import { uiChatHandler } from '../../../lib/service/uiChat/index.js';
import type { UiMessage, UiMessageChunk } from '../../../lib/service/uiChat/index.js';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import type { RunStore } from '../../../lib/service/ports/runStore.js';
import { nestedAgents, removes } from '../../support/nestedAgents.js';
import { readUiMessage } from './readUiMessage.js';

const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };

/** Posts the messages of a chat to another process, and returns its answer. */
async function post(
  store: RunStore,
  messages: readonly unknown[],
  before?: UiMessage,
  agent: HandledAgent = nestedAgents([removes]),
) {
  const response = await uiChatHandler(agent, { store })(
    new Request('http://localhost/api/chat', {
      method: 'POST',
      body: JSON.stringify({ id: 'chat', messages, trigger: 'submit-message' }),
      headers: { 'content-type': 'application/json' },
    }),
  );
  const lines = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: {'));
  return readUiMessage(
    lines.map((line) => JSON.parse(line.slice(6)) as UiMessageChunk),
    before,
  );
}

const callsIn = ({ parts }: { readonly parts: readonly object[] }) => parts.filter((part) => 'toolCallId' in part);

describe('the sub-agents of a chat of `useChat`', () => {
  it('ask for an approval, and go on in another process', async () => {
    const store = memoryStore();
    const first = await post(store, [user]);
    expect(callsIn(first)).toMatchObject([
      {
        type: 'tool-ask',
        toolCallId: 'a',
        state: 'output-available',
        output: { status: 'waiting', messages: [{ parts: [{ text: 'I ask. ' }, { id: 'a/a', status: 'waiting' }] }] },
      },
      { type: 'tool-remove', toolCallId: 'a/a/a', state: 'approval-requested', input: { path: '/a' } },
    ]);
    const answered = {
      ...first,
      parts: first.parts.map((part) =>
        'approval' in part ? { ...part, state: 'approval-responded', approval: { id: 'a/a/a', approved: true } } : part,
      ),
    } as UiMessage;
    const last = await post(store, [user, answered], answered);
    expect(callsIn(last)).toMatchObject([
      { toolCallId: 'a', state: 'output-available', output: 'It says so.' },
      { toolCallId: 'a/a/a', state: 'output-available', output: 'removed /a' },
    ]);
    expect(last.parts.at(-1)).toMatchObject({ type: 'text', text: 'All done.' });
  });
});

it('an approved agent has an output, and no error, while a call of it waits', async () => {
  const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
  const calls = (name: string, id: string) =>
    scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall(name, { prompt: 'Go.' }, id)]));
  const payer = agentTool(createAgent({ model: calls('pay', 'x'), tools: [pay] }), {
    name: 'payer',
    description: 'P.',
  });
  const helper = createAgent({ model: calls('payer', 'b'), tools: [{ ...payer, needsApproval: true } as Tool] });
  const helps = agentTool(helper, { name: 'helper', description: 'H.' });
  const handler = uiChatHandler(createAgent({ model: calls('helper', 'a'), tools: [helps] }));
  const approved = (id: string, name: string) => ({
    ...{
      type: `tool-${name}`,
      toolCallId: id,
      input: {},
      state: 'approval-responded',
      approval: { id, approved: true },
    },
  });
  const send = async (...messages: readonly unknown[]) => {
    const body = JSON.stringify({ id: 'chat', messages });
    const headers = { 'content-type': 'application/json' };
    return (await handler(new Request('http://localhost/api/chat', { method: 'POST', body, headers }))).text();
  };
  const id = /"messageId":"(.*?)"/.exec(await send(user))?.[1];
  const waits = await send(user, { id, role: 'assistant', parts: [approved('a/b', 'payer')] });
  expect(waits).toContain('{"type":"tool-approval-request","approvalId":"a/b/x","toolCallId":"a/b/x"}');
  expect(waits).toContain('{"type":"tool-output-available","toolCallId":"a/b","output":null}');
  expect(waits).not.toContain('tool-output-error');
  const done = await send(user, { id, role: 'assistant', parts: [approved('a/b/x', 'pay')] });
  for (const call of ['a', 'a/b']) expect(done).toContain(`"toolCallId":"${call}","output":"Done."}`);
});

it('a question of a tool is a call of the message, whose input has the schema, and whose output is the answer', async () => {
  const schema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
  const order = askTool({
    name: 'order',
    description: 'Orders.',
    execute: (_, { ask }) => ask({ message: 'How many?', schema, details: { max: 9 } }),
  });
  const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('order', {}, 'c1')]));
  const agent = createAgent({ model, tools: [order] });
  for (const [answer, outcome] of [
    [{ state: 'output-available', output: { count: 3 } }, { output: { count: 3 } }],
    [{ state: 'output-error', errorText: 'No.' }, { errorText: expect.stringMatching(/denied/) }],
  ] as const) {
    const store = memoryStore();
    const first = await post(store, [user], undefined, agent);
    const input = { message: 'How many?', schema, details: { max: 9 } };
    expect(callsIn(first)).toMatchObject([
      { toolCallId: 'c1', state: 'output-available' },
      { type: 'tool-ask', toolCallId: 'c1/1', state: 'input-available', input },
    ]);
    const parts = first.parts.map((part) => (part['toolCallId'] === 'c1/1' ? { ...part, ...answer } : part));
    const answered = { ...first, parts } as UiMessage;
    const last = await post(store, [user, answered], answered, agent);
    expect(callsIn(last)).toMatchObject([{ toolCallId: 'c1' }, { toolCallId: 'c1/1', ...outcome }]);
    expect(last.parts.at(-1)).toMatchObject({ type: 'text', text: 'Done.' });
  }
});

describe('a call in the background that needs a person', () => {
  const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
  const payer = scriptedModel(({ messages }) => (messages.length > 1 ? 'It is paid.' : [toolCall('pay', {}, 'p')]));
  const agentCall = agentTool(createAgent({ model: payer, tools: [pay] }), { name: 'job', description: 'Pays.' });
  const schema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
  const question = askTool({
    name: 'job',
    description: 'Orders.',
    execute: (_, { ask }) =>
      ask({ message: 'How many?', schema }).pipe(map((answer) => `ordered ${JSON.stringify(answer['count'])}`)),
  });
  const approved = { state: 'approval-responded', approval: { id: 'c1/p', approved: true } };

  it.each([
    ['an approval', agentCall, 'c1/p', 'approval-requested', approved, 'It is paid.'],
    [
      'a question',
      question,
      'c1/1',
      'input-available',
      { state: 'output-available', output: { count: 3 } },
      'ordered 3',
    ],
  ] as const)('waits for %s after the turn has ended', async (_, job, id, state, answer, result) => {
    const read: string[] = [];
    const model = scriptedModel(({ messages }) => {
      read.push(JSON.stringify(messages.at(-1)));
      return messages.length > 1 ? 'I wait.' : [toolCall('job', { prompt: 'Pay.' }, 'c1')];
    });
    const agent = createAgent({ model, tools: [backgroundTool(job)] });
    const store = memoryStore();
    const first = await post(store, [user], undefined, agent);
    expect(callsIn(first)).toMatchObject([{ toolCallId: 'c1' }, { toolCallId: id, state }]);
    const parts = first.parts.map((part) => (part['toolCallId'] === id ? { ...part, ...answer } : part));
    const answered = { ...first, parts } as UiMessage;
    const last = await post(store, [user, answered], answered, agent);
    expect(last.parts.at(-1)).toMatchObject({ type: 'text', text: 'I wait.' });
    expect(read.at(-1)).toContain(result);
  });

  it('is shown again when the answer during which it came is retracted', async () => {
    const waiting = [{ id: 'c1/p', path: ['c1'], name: 'pay', arguments: {} }];
    const texts = { text: '', answer: '', thinking: '' };
    const result = { ...texts, output: undefined, messages: [], turns: 1, usage: {}, waiting } as const;
    const events: readonly RunEvent[] = [
      { type: 'toolCall', id: 'c1', name: 'job', arguments: {} },
      { type: 'toolResult', id: 'c1', name: 'job', result: 'It runs.' },
      { type: 'turn', turn: 1, finishReason: 'toolCalls', next: null },
      { type: 'text', text: 'I wait' },
      { type: 'nested', id: 'c1', name: 'job', event: { type: 'toolWaiting', id: 'p', name: 'pay', arguments: {} } },
      { type: 'retract' },
      { type: 'text', text: 'I wait.' },
      { type: 'result', result: { ...result, finishReason: 'waiting' } },
    ];
    const chunks = await lastValueFrom(from(events).pipe(toUiMessageStream(), toArray()));
    const message = readUiMessage(chunks);
    expect(callsIn(message)).toMatchObject([{ toolCallId: 'c1' }, { toolCallId: 'c1/p', state: 'approval-requested' }]);
  });
});

it('sends the view of a long inner run at intervals, so that its size grows with the calls', async () => {
  const preliminary = async (count: number) => {
    const calls = Array.from({ length: count }, (_, at) => toolCall('look', {}, `c${at}`));
    const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
    const inner = createAgent({
      model: scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : calls)),
      tools: [look],
    });
    const outer = createAgent({
      model: scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('job', { prompt: 'x' }, 'j')])),
      tools: [agentTool(inner, { name: 'job', description: 'Works.' })],
    });
    const chunks = await lastValueFrom(outer.stream('Go').pipe(toUiMessageStream(), toArray()));
    return chunks.flatMap((chunk) => ('preliminary' in chunk ? [JSON.stringify(chunk)] : []));
  };
  expect(await preliminary(2)).toHaveLength(12); // a short run: each event, but no deltas
  const sizes: number[] = [];
  for (const count of [200, 400]) {
    const sent = await preliminary(count);
    sizes.push(sent.join('').length);
    expect(sent.at(-1)?.split('"seen"').length).toBeGreaterThan((count * 15) / 16);
  }
  const [small = 0, large] = sizes;
  expect(large).toBeLessThan(2.4 * small);
});
