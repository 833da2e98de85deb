import { describe, expect, it } from '@jest/globals';
import { EMPTY, map } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { messageText } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { ConversationAgent } from '../../lib/chat/conversationAgent.js';
import { observe } from '../support/observe.js';

const ask = tool({ name: 'ask', description: 'Asks the user.', parameters: { type: 'object', properties: {} } });

/** A conversation whose runs can be joined, as those of a server, and what is saved whenever a view is emitted. */
function start() {
  const script = [['Let me ask. ', toolCall('ask', {}, 'c1')], ['It ', 'is ', 'blue.'], 'Bye'];
  const agent = createAgent({ model: scriptedModel(script), tools: [ask] });
  const remote: ConversationAgent = {
    stream: (input, options) => agent.stream(input, options),
    resume: (checkpoint, options) => (checkpoint ? agent.resume(checkpoint, options) : EMPTY),
    join: () => EMPTY,
  };
  const chat = conversation(remote);
  const saves = observe(chat.view$.pipe(map(({ status }) => ({ status, saved: chat.save() })))).values;
  return { chat, saves };
}

describe('conversation: what is saved', () => {
  it('save, called for each view, changes only when a run is sent, begins, waits and ends', () => {
    const { chat, saves } = start();
    chat.send('Which colour?');
    chat.answer('c1', 'blue');
    const distinct = saves.filter(({ saved }, at) => JSON.stringify(saved) !== JSON.stringify(saves[at - 1]?.saved));
    expect(distinct.map(({ status }) => status)).toEqual([
      'idle',
      'sending',
      'streaming',
      'waiting',
      'waiting',
      'sending',
      'sending',
      'idle',
    ]);
  });

  it('a run that was saved when it was sent is sent again with its id, and one that has begun is joined', () => {
    const { chat, saves } = start();
    chat.send('Which colour?');
    const savedAt = (at: string) => saves.find(({ status }) => status === at)?.saved;
    for (const [status, expected] of [
      ['sending', 'sent'],
      ['streaming', 'joined'],
    ] as const) {
      const seen: string[] = [];
      const agent: ConversationAgent = {
        stream: (_, { id }) => (seen.push('sent', id), EMPTY),
        resume: () => EMPTY,
        join: (id) => (seen.push('joined', id), EMPTY),
      };
      const later = conversation(agent, { saved: savedAt(status) });
      expect(later.view.status).toBe('sending');
      observe(later.view$);
      expect(seen).toEqual([expected, savedAt(status)?.exchanges[0]?.run]);
    }
  });

  it('the answer is saved when the last view is emitted', () => {
    const { chat, saves } = start();
    chat.send('Which colour?');
    chat.answer('c1', 'blue');
    const [exchange] = saves.at(-1)?.saved.exchanges ?? [];
    expect(exchange?.base).toBeUndefined();
    expect(exchange?.messages.map(messageText)).toEqual(['Let me ask. ', '', 'It is blue.']);
  });
});

describe('conversation: a saved conversation that was changed', () => {
  const saved = () => {
    const { chat } = start();
    chat.send('Which colour?');
    chat.answer('c1', 'blue');
    chat.send('Bye.');
    return JSON.parse(JSON.stringify(chat.save())) as { exchanges: Record<string, unknown>[]; [key: string]: unknown };
  };
  const poisons: Readonly<Record<string, (value: ReturnType<typeof saved>) => void>> = {
    'a cycle of parents': ({ exchanges: [first, second] }) => Object.assign(first ?? {}, { parent: second?.['id'] }),
    'an exchange that continues itself': ({ exchanges: [first] }) =>
      Object.assign(first ?? {}, { parent: first?.['id'] }),
    'two exchanges with one id': ({ exchanges }) => exchanges.push(exchanges[0] ?? {}),
    'an unknown selection': (value) => Object.assign(value, { selected: 'x' }),
    'an exchange without a view': ({ exchanges: [first] }) => delete first?.['view'],
    'a view without messages': ({ exchanges: [first] }) =>
      Object.assign(first ?? {}, { view: { status: 'idle', usage: {} } }),
    'a message without parts': ({ exchanges: [first] }) =>
      Object.assign(first ?? {}, { messages: [{ role: 'model' }] }),
    'a text that is not a string': ({ exchanges: [first] }) =>
      Object.assign(first ?? {}, { input: [{ role: 'user', parts: [{ type: 'text', text: 1 }] }] }),
    ...Object.fromEntries(
      Object.entries({
        'a call without an id': { id: undefined },
        'an inner run that is not a view': { nested: 5 },
        'an inner run with messages that are none': { nested: { status: 'idle', usage: {}, messages: [null] } },
      }).map(([name, fields]) => [
        name,
        ({ exchanges: [first] }: ReturnType<typeof saved>) => {
          const call = { type: 'toolCall', id: 'c1', name: 'pay', arguments: {}, status: 'running', ...fields };
          const view = { status: 'idle', usage: {}, messages: [{ role: 'model', parts: [call] }] };
          return Object.assign(first ?? {}, { view });
        },
      ]),
    ),
    ...Object.fromEntries(
      [
        5,
        {},
        { run: 'r' },
        { run: 5, base: { status: 'idle', usage: {}, messages: [] } },
        { run: 'r', base: { status: 'idle', usage: {}, messages: [null] } },
      ].map((lost) => [
        `a lost run that is ${JSON.stringify(lost)}`,
        ({ exchanges: [first] }: ReturnType<typeof saved>) => Object.assign(first ?? {}, { lost }),
      ]),
    ),
    'prompts without input': (value) => Object.assign(value, { queued: [{ id: 'x' }] }),
    'a prompt with a number as `beside`': (value) =>
      Object.assign(value, { queued: [{ id: 'x', input: 'Hi', beside: 5 }] }),
  };

  it('a saved conversation is read from its JSON, too', () => {
    const agent = createAgent({ model: scriptedModel([]) });
    expect(conversation(agent, { saved: JSON.stringify(saved()) }).view.exchanges).toHaveLength(2);
    expect(conversation(agent, { saved: '{"version":1,' }).view.savedError).toBeDefined();
  });

  it.each([
    'parent',
    'base',
    'hasBegun',
    'prompted',
    'lost',
    'stopping',
    'notice',
    'isReduced',
    'checkpoint',
    'answers',
  ])('a field that is null is absent: %s', (field) => {
    const { chat } = start();
    chat.send('Which colour?');
    const { exchanges, ...rest } = JSON.parse(JSON.stringify(chat.save())) as ReturnType<typeof saved>;
    const value = { ...rest, exchanges: exchanges.map((exchange) => ({ ...exchange, [field]: null })) };
    const agent = createAgent({ model: scriptedModel(['Hello']) });
    const next = conversation(agent, { saved: JSON.stringify(value) });
    observe(next.view$);
    if (field === 'parent') expect(next.view.savedError).toBeDefined();
    else expect(next.view.waiting).toMatchObject([{ id: 'c1' }]);
    expect(JSON.stringify(next.save())).not.toContain(`"${field}":null`);
  });

  it.each(Object.entries(poisons))('%s starts a new conversation', (_, poison) => {
    const value = saved();
    poison(value);
    const chat = conversation(createAgent({ model: scriptedModel(['Hello']) }), { saved: value as never });
    observe(chat.view$);
    expect(chat.view).toMatchObject({ exchanges: [], savedError: { code: 'configuration' } });
    chat.send('Hi');
    expect(chat.view).toMatchObject({ status: 'idle', exchanges: [{ status: 'idle' }] });
  });
});
