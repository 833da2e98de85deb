import { describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, Subject, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { chatCopies, conversation, persist, remoteChats } from '../../lib/chat/index.js';
import type { SavedConversation } from '../../lib/chat/index.js';
import { mergeSaved } from '../../lib/chat/mergeSaved.js';
import { isSavedConversation } from '../../lib/chat/savedConversation.js';
import { tryParseJson } from '../../lib/core/json/json.js';
import { filePart, userMessage } from '../../lib/core/message.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { observe } from '../support/observe.js';

const photo = (text: string) => userMessage([{ type: 'text', text }, filePart(new Uint8Array(30_000), 'image/png')]);

/** A storage with room for texts up to a length. It throws as a browser does. */
function limitedStorage(quota: number) {
  const texts = new Map<string, string>();
  return {
    quota,
    texts,
    getItem: (key: string) => texts.get(key) ?? null,
    setItem(key: string, text: string) {
      if (text.length > this.quota) throw new DOMException('There is no room.', 'QuotaExceededError');
      texts.set(key, text);
    },
    removeItem: (key: string) => void texts.delete(key),
  };
}

const read = (text: string | null): SavedConversation | undefined => {
  const saved = tryParseJson(text ?? '');
  return isSavedConversation(saved) ? saved : undefined;
};
/** The prompts of a conversation. `+` marks one whose file is there. */
const promptsOf = (saved: SavedConversation | undefined): string =>
  (saved?.exchanges ?? [])
    .map(({ input }) => {
      const parts = input[0]?.parts ?? [];
      const [first] = parts;
      return (first?.type === 'text' ? first.text : '') + (parts.length > 1 ? '+' : '');
    })
    .join(' ');

const chatOf = () => {
  const chat = conversation(createAgent({ model: scriptedModel(() => 'An answer.') }));
  observe(chat.view$);
  return chat;
};

describe('persist: a storage that is full', () => {
  it.each([
    ['room for all', 10_000_000, 'a b+ c+ d', 0],
    ['no room for the files', 20_000, 'a b c d', 4],
    ['room for the newest exchanges', 2000, 'c d', 4],
    ['room for less than an exchange', 10, '', 7],
  ])('persist keeps what fits, reports the rest, and continues: %s', (_, quota, kept, reports) => {
    const storage = limitedStorage(quota);
    const errors: unknown[] = [];
    const chat = chatOf();
    const emitted = observe(persist(chat, storage, 'chat', { onError: (thrown) => errors.push(thrown) }));
    for (const prompt of ['a', photo('b'), photo('c'), 'd']) chat.send(prompt);
    expect(promptsOf(read(storage.getItem('chat')))).toBe(kept);
    expect(promptsOf(emitted.values.at(-1))).toBe('a b+ c+ d');
    expect(errors.length).toBeGreaterThanOrEqual(reports);
    expect(emitted.error).toBeUndefined();
    storage.quota = 10_000_000;
    chat.send('e');
    expect(promptsOf(read(storage.getItem('chat')))).toBe('a b+ c+ d e');
    expect(conversation(createAgent({ model: scriptedModel([]) }), { saved: storage.getItem('chat') }).view).toEqual(
      JSON.parse(JSON.stringify(chat.view)),
    );
  });

  it('persist fails if the storage may not be read', () => {
    const denied = new DOMException('No.', 'SecurityError');
    const storage = {
      getItem() {
        throw denied;
      },
      setItem: () => undefined,
    };
    const chat = chatOf();
    const emitted = observe(persist(chat, storage, 'chat'));
    chat.send('a');
    expect(emitted.error).toBe(denied);
    expect(chat.view.status).toBe('idle');
  });

  it('mergeSaved does not replace complete exchanges by what a full storage has kept', () => {
    const chat = chatOf();
    const storage = limitedStorage(20_000);
    observe(persist(chat, storage, 'chat'));
    chat.send(photo('a'));
    chat.send('b');
    const less = read(storage.getItem('chat'));
    if (!less) throw new Error('Nothing is stored.');
    expect(promptsOf(less)).toBe('a b');
    expect(promptsOf(mergeSaved(chat.save(), {}, less))).toBe('a+ b');
  });
});

/** A service that has room for chats up to a size. */
function limitedService(limit: number) {
  const writes: SavedConversation[] = [];
  let requests = 0;
  const service: typeof fetch = async (input, init) => {
    requests += 1;
    const text = await new Request(input, init).text();
    if (text.length > limit) return Response.json({ error: { message: 'Too large.' } }, { status: 413 });
    writes.push((JSON.parse(text) as { readonly saved: SavedConversation }).saved);
    return Response.json({ id: 'x', title: '', updated: 0, version: writes.length });
  };
  return { service, writes, requests: () => requests };
}

describe('remoteChats: a chat that is too large', () => {
  it.each([
    ['room for all', 10_000_000, 'a b+ c+ d', 0],
    ['no room for the files', 20_000, 'a b c d', 1],
    ['room for the newest exchanges', 2000, 'c d', 1],
    ['room for less than an exchange', 10, '', 1],
  ])('keep writes what fits, reports once, and continues: %s', async (_, limit, kept, reports) => {
    const { service, writes, requests } = limitedService(limit);
    const errors: unknown[] = [];
    const chats = remoteChats('http://service.test/', {
      fetch: service,
      onError: (thrown) => errors.push(thrown),
    });
    const chat = chatOf();
    const states: SavedConversation[] = [chat.save()];
    for (const prompt of ['a', photo('b'), photo('c'), 'd']) {
      chat.send(prompt);
      states.push(chat.save());
    }
    const saved$ = new Subject<SavedConversation>();
    const done = firstValueFrom(chats.keep({ saved$ }, { id: crypto.randomUUID() }).pipe(toArray()));
    for (const state of states) {
      saved$.next(state);
      await new Promise((resolve) => setImmediate(resolve));
    }
    saved$.complete();
    const emitted = await done;
    expect(promptsOf(writes.at(-1))).toBe(kept);
    expect(promptsOf(emitted.at(-1)?.saved)).toBe(kept);
    expect(errors).toHaveLength(reports);
    expect(errors.every((thrown) => String(thrown).includes('Too large.'))).toBe(true);
    expect(requests()).toBeLessThan(12);
  });

  it('chatCopies.keep writes to the service what the storage has no room for', async () => {
    const { service, writes } = limitedService(10_000_000);
    const storage = limitedStorage(2000);
    const copies = chatCopies(remoteChats('http://service.test/', { fetch: service }), storage);
    const chat = chatOf();
    const id = crypto.randomUUID();
    const persisted$ = persist(chat, storage, id);
    const written = new Subject<SavedConversation>();
    const kept = firstValueFrom(copies.keep(id, written).pipe(filter(({ saved }) => promptsOf(saved) === 'a b+ c')));
    persisted$.subscribe(written);
    for (const prompt of ['a', photo('b'), 'c']) chat.send(prompt);
    await kept;
    expect(promptsOf(writes.at(-1))).toBe('a b+ c');
    expect(promptsOf(read(storage.getItem(id)))).not.toContain('+');
  });
});
