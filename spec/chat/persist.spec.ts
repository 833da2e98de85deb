import { describe, expect, it } from '@jest/globals';
import { NEVER } from 'rxjs';
import { conversation } from '../../lib/chat/conversation.js';
import type { ConversationAgent } from '../../lib/chat/conversationAgent.js';
import { persist } from '../../lib/chat/persist.js';
import { observe } from '../support/observe.js';

/** An agent of a server whose runs do not end. */
const silent: ConversationAgent = {
  stream: () => NEVER,
  resume: () => NEVER,
  join: () => NEVER,
};

/** A storage that several tabs share. */
function createStorage() {
  const texts = new Map<string, string>();
  const storage = {
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
  };
  const open = () => {
    const chat = conversation(silent, { saved: storage.getItem('chat') });
    const seen = observe(chat.view$);
    const stored = observe(persist(chat, storage, 'chat'));
    return { chat, seen, stored };
  };
  const prompts = () => {
    const { view } = conversation(silent, { saved: storage.getItem('chat') });
    return { sent: view.exchanges.map(({ messages }) => messages[0]?.parts), queued: view.queued };
  };
  return { storage, open, prompts };
}

describe('persist', () => {
  it('persist stores prompts that wait, and a reload sends them after the run', () => {
    const { open, prompts } = createStorage();
    const { chat } = open();
    for (const prompt of ['a', 'b', 'c']) chat.send(prompt);
    expect(prompts()).toEqual({ sent: [[{ type: 'text', text: 'a' }]], queued: ['b', 'c'] });
    expect(open().chat.view.queued).toEqual(['b', 'c']);
  });

  it('persist keeps the prompts that wait in another tab', () => {
    const { open, prompts } = createStorage();
    const first = open();
    first.chat.send('a');
    const second = open(); // it knows nothing of what follows
    first.chat.send('b');
    second.chat.send('c');
    second.chat.stop();
    expect(prompts().queued).toEqual(['b']);
    first.chat.send('d');
    expect(prompts().queued).toEqual(['b', 'd']);
    first.chat.stop();
    expect(prompts().queued).toEqual([]);
  });

  it('persist keeps the exchanges that another tab has added', () => {
    const { storage, open } = createStorage();
    const [first, second] = [open(), open()];
    first.chat.send('a');
    second.chat.send('b');
    const stored = conversation(silent, { saved: storage.getItem('chat') }).save();
    expect(stored.exchanges.map(({ input }) => input[0]?.parts[0])).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]);
    expect(stored.selected).toBe(stored.exchanges[1]?.id);
  });

  it('persist replaces a value that cannot be read at the first change', () => {
    const { storage, open, prompts } = createStorage();
    storage.setItem('chat', '{"version":1,"exchanges":[{}]}');
    const { chat } = open();
    expect(storage.getItem('chat')).toBe('{"version":1,"exchanges":[{}]}');
    expect(chat.view.savedError).toMatchObject({ code: 'configuration' });
    chat.send('a');
    expect(prompts().sent).toHaveLength(1);
  });

  it('persist fails if the storage is full', () => {
    const full = new Error('QuotaExceededError');
    const storage = {
      getItem: () => null,
      setItem() {
        throw full;
      },
    };
    const chat = conversation(silent);
    observe(chat.view$);
    const stored = observe(persist(chat, storage, 'chat'));
    chat.send('a');
    expect(stored.error).toBe(full);
  });
});
