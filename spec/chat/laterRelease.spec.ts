import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, NEVER, of, Subscription } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { chatCopies, conversation, persist, remoteChats } from '../../lib/chat/index.js';
import type { Conversation, SavedConversation } from '../../lib/chat/index.js';
import { errorText } from '../../lib/core/errors.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { createChatService } from '../support/chats.js';
import { observe } from '../support/observe.js';
import { shutDown } from '../support/services.js';

let work = new Subscription();
afterEach(() => {
  work.unsubscribe();
  work = new Subscription();
});

/** What a later release saves: this one cannot know its form. */
const later = (version = 2) => ({ version, exchanges: [{ prompt: 'What is new?' }], branches: {} });
const isLater = /a later release has saved it\. It stays as it is\. Reload the page/;

function createStorage(value?: object) {
  const values = new Map<string, string>(value ? [['chat', JSON.stringify(value)]] : []);
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, text: string) => void values.set(key, text),
    removeItem: (key: string) => void values.delete(key),
  };
  return { storage, values };
}

function openChat(saved?: string | null) {
  const chat = conversation(createAgent({ model: scriptedModel(() => 'Hello.') }), { saved });
  work.add(chat.view$.subscribe());
  return chat;
}

function savedChat(): SavedConversation {
  const chat = openChat();
  chat.send('Hi');
  return chat.save();
}

describe('a conversation that a later release has stored', () => {
  const acts: Readonly<Record<string, (chat: Conversation) => void>> = {
    send: (chat) => chat.send('And now?'),
    regenerate: (chat) => chat.regenerate(),
    edit: (chat) => chat.edit(chat.view.exchanges[0]?.id ?? '', 'Another one'),
    select: (chat) => chat.select(chat.view.exchanges[0]?.versions[0] ?? ''),
    stop: (chat) => chat.stop(),
  };

  it.each(Object.keys(acts))('is not overwritten by %s in a tab of this release', (act) => {
    const { storage, values } = createStorage();
    const chat = openChat();
    const errors: unknown[] = [];
    const stored = observe(persist(chat, storage, 'chat', { onError: (thrown) => errors.push(thrown) }));
    chat.send('Hi');
    chat.regenerate();
    const text = JSON.stringify(later());
    values.set('chat', text);
    acts[act]?.(chat);
    acts[act]?.(chat);
    chat.send('Bye');
    expect(values.get('chat')).toBe(text);
    expect(errors.map(errorText)).toEqual([expect.stringMatching(isLater)]);
    expect(stored.values.at(-1)).toEqual(chat.save());
    stored.subscription.unsubscribe();
    expect([values.get('chat'), errors.length]).toEqual([text, 1]);
  });

  it('is not overwritten by a page that has found it, which says so', () => {
    const { storage, values } = createStorage(later(17));
    const chat = openChat(storage.getItem('chat'));
    expect(chat.view).toMatchObject({ exchanges: [], savedError: { message: expect.stringMatching(isLater) } });
    work.add(persist(chat, storage, 'chat').subscribe());
    chat.send('Hi');
    expect(values.get('chat')).toBe(JSON.stringify(later(17)));
  });

  it('is not replaced by what a tab has when it was removed, as at a logout', () => {
    const { storage, values } = createStorage(later());
    const chat = openChat(storage.getItem('chat'));
    work.add(persist(chat, storage, 'chat').subscribe());
    chat.send('Hi');
    values.delete('chat');
    chat.send('And now?');
    expect(values.get('chat')).toBeUndefined();
  });
});

/** A service with a chat of this release, which a device of a later one then writes. */
async function createService() {
  const { handler } = createChatService();
  work.add(() => shutDown(handler));
  const send: typeof fetch = (url, init) => handler(new Request(url, init));
  const chats = remoteChats('http://service.test/', { fetch: send, headers: { authorization: 'ann' }, retries: 0 });
  const id = crypto.randomUUID();
  const opened = await firstValueFrom(chats.keep({ saved$: of(savedChat()) }, { id }));
  const put = (saved: object, version: number) =>
    send(`http://service.test/?chat=${id}`, {
      method: 'PUT',
      headers: { authorization: 'ann', 'content-type': 'application/json' },
      body: JSON.stringify({ version, saved, restore: true }),
    });
  const stored = async () => {
    const response = await send(`http://service.test/?chat=${id}`, { headers: { authorization: 'ann' } });
    return ((await response.json()) as { readonly saved: unknown }).saved;
  };
  return { chats, id, opened, put, stored };
}

type Service = Awaited<ReturnType<typeof createService>>;

describe('a chat that a later release has written', () => {
  const writes: Readonly<Record<string, (service: Service) => unknown>> = {
    'keep, with what was opened': ({ chats, opened }) => lastValueFrom(chats.keep({ saved$: of(savedChat()) }, opened)),
    'keep, without': ({ chats, id }) => lastValueFrom(chats.keep({ saved$: of(savedChat()) }, { id })),
    restore: ({ chats, id }) => lastValueFrom(chats.restore(id, savedChat())),
    open: ({ chats, id }) => lastValueFrom(chats.open(id)),
    'a copy': ({ chats, id }) => {
      const { storage } = createStorage();
      storage.setItem(id, JSON.stringify(savedChat()));
      return lastValueFrom(chatCopies(chats, storage).keep(id, NEVER));
    },
  };

  it.each(Object.keys(writes))('is not overwritten by %s', async (name) => {
    const service = await createService();
    expect((await service.put(later(), 1)).status).toBe(200);
    await expect(writes[name]?.(service)).rejects.toThrow(isLater);
    expect(await service.stored()).toEqual(later());
  });

  it.each(['fetch', 'keep', 'restore'] as const)(
    'has a copy that %s does not overwrite, nor bring away',
    async (act) => {
      const { chats, id, stored } = await createService();
      const { storage, values } = createStorage();
      const text = JSON.stringify(later());
      storage.setItem(id, text);
      const before = await stored();
      const copies = chatCopies(chats, storage);
      const result = {
        fetch: () => copies.fetch(id),
        keep: () => copies.keep(id, NEVER),
        restore: () => copies.restore(id),
      };
      await expect(firstValueFrom(result[act]())).rejects.toThrow(isLater);
      expect(values.get(id)).toBe(text);
      expect(await stored()).toEqual(before);
    },
  );
});
