import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, Subject, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { chatCopies, conversation, persist, remoteChats } from '../../lib/chat/index.js';
import type { SavedConversation } from '../../lib/chat/index.js';
import { mergeSaved } from '../../lib/chat/mergeSaved.js';
import { isSavedConversation } from '../../lib/chat/savedConversation.js';
import { smallerSaved } from '../../lib/chat/smallerSaved.js';
import { tryParseJson } from '../../lib/core/json/json.js';
import { filePart, userMessage } from '../../lib/core/message.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { AgentHandler } from '../../lib/service/service.js';
import { createChatService } from '../support/chats.js';
import { observe } from '../support/observe.js';
import { shutDown } from '../support/services.js';
import { anyTool } from '../support/toolCalls.js';

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

const handlers: AgentHandler[] = [];
afterEach(() => handlers.splice(0).forEach(shutDown));

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
  /** A chat of three exchanges at a service, and a browser whose storage has no room for texts that are longer. */
  async function secondDevice(quota: number) {
    const { handler } = createChatService();
    handlers.push(handler);
    const service: typeof fetch = (url, init) => handler(new Request(url, init));
    const chats = remoteChats('http://service.test/', { fetch: service, headers: { authorization: 'ann' } });
    const id = crypto.randomUUID();
    const chat = chatOf();
    for (const prompt of ['a', photo('b'), 'c']) chat.send(prompt);
    const { version } = await firstValueFrom(chats.keep(chat, { id }));
    const storage = limitedStorage(quota);
    return { id, version, storage, copies: chatCopies(chats, storage), again: () => chatCopies(chats, storage) };
  }

  it.each([
    ['room for all', 10_000_000],
    ['no room for a file', 20_000],
    ['room for one exchange', 1500],
    ['room for a version only', 300],
    ['no room', 0],
  ])('chatCopies.fetch reads a chat wholly, with a storage that has %s', async (_, quota) => {
    const { id, version, copies, again } = await secondDevice(quota);
    await firstValueFrom(copies.fetch(id));
    expect(promptsOf(read(copies.read(id)))).toBe('a b+ c');
    expect(copies.isOld({ id, version })).toBe(false); // a page would read it again and again
    expect(copies.isOld({ id, version: version + 1 })).toBe(true);
    expect(again().isOld({ id, version })).toBe(quota < 100_000); // after a reload
    copies.remove(id);
    expect(copies.read(id)).toBe(null);
  });

  it.each([
    ['what the page has stored last', 20_000, 'a b+ c d+'],
    ['a removal by another tab', 20_000, ''],
    ['what another tab has added', 20_000, 'a b+ c e'],
    ['what another tab has added to a storage that had no room', 0, 'e a b+ c'],
    ['a removal of what another tab has added to a storage that had no room', 0, ''],
  ])('chatCopies.read has %s', async (name, quota, prompts) => {
    const { id, storage, copies } = await secondDevice(quota);
    const { saved } = await firstValueFrom(copies.fetch(id));
    const chat = conversation(createAgent({ model: scriptedModel(() => 'An answer.') }), { saved });
    observe(chat.view$);
    if (name.startsWith('what the page')) {
      copies
        .keep(id, persist(chat, storage, id))
        .subscribe()
        .add(chat.view$.subscribe());
      chat.send(photo('d'));
    } else if (name.startsWith('a removal by')) storage.removeItem(id);
    else {
      const tab = conversation(createAgent({ model: scriptedModel(() => 'An answer.') }), {
        saved: storage.getItem(id),
      });
      observe(tab.view$);
      tab.send('e');
      storage.quota = 20_000;
      storage.setItem(id, JSON.stringify(tab.save()));
      if (name.startsWith('a removal of') && copies.read(id)) storage.removeItem(id);
    }
    expect(promptsOf(read(copies.read(id)))).toBe(prompts);
  });
});

/** What may stand in a chat beside a file, and looks as a file does. */
const listing = [{ type: 'file', path: 'thesis.doc' }, { type: 'dir' }];
const file = { type: 'file', mediaType: 'image/png', data: 'x' };
const text = { type: 'text', text: 'Hi' };
const viewWith = (part: object) => ({ status: 'idle', messages: [{ id: '1', role: 'user', parts: [text, part] }] });
const callWith = (fields: object) => ({ type: 'toolCall', id: 'c', name: 'clean', arguments: {}, ...fields });
const plainExchange = { id: 'a', run: 'a', input: [], messages: [], view: { status: 'idle', messages: [] } };

/** The first smaller version of a chat with one exchange. */
const reduced = (exchange: object, saved: object = {}): unknown => {
  const whole = { version: 1, exchanges: [{ ...plainExchange, ...exchange }], selected: 'a', ...saved };
  const [, smaller] = [...smallerSaved(whole as unknown as SavedConversation)];
  return smaller;
};

describe('smallerSaved', () => {
  it.each<[string, (part: object) => object]>([
    ['the prompt', (part) => ({ input: [{ role: 'user', parts: [text, part] }] })],
    ['the answer', (part) => ({ messages: [{ role: 'model', parts: [part, text] }] })],
    ['the view', (part) => ({ view: viewWith(part) })],
    ['the view of an inner run', (part) => ({ view: viewWith(callWith({ nested: viewWith(part) })) })],
    [
      'the view of a run inside of an inner one',
      (part) => ({
        view: viewWith(callWith({ nested: viewWith(callWith({ nested: viewWith(part) })) })),
      }),
    ],
    ['the view before the run', (part) => ({ base: viewWith(part) })],
    ['the view before a lost run', (part) => ({ lost: { run: 'a', base: viewWith(part) } })],
  ])('smallerSaved removes a file from %s, and nothing else', (_, withPart) => {
    const marked = { type: 'text', text: 'here' };
    const without = JSON.stringify(reduced(withPart(marked))).replace(/,?\{"type":"text","text":"here"\},?/, '');
    expect(JSON.stringify(reduced(withPart(file)))).toBe(without);
  });

  it.each<[string, object]>([
    [
      'the arguments that the model has sent',
      { messages: [{ role: 'model', parts: [callWith({ arguments: { listing } })] }] },
    ],
    [
      'the result that the model has read',
      {
        messages: [{ role: 'user', parts: [{ type: 'toolResult', id: 'c', name: 'ls', result: listing }] }],
      },
    ],
    [
      'changed arguments and data of a result',
      {
        messages: [
          {
            role: 'user',
            parts: [{ type: 'toolResult', id: 'c', error: 'no', arguments: { listing }, data: { listing } }],
          },
        ],
      },
    ],
    [
      'the data of a provider',
      { messages: [{ role: 'model', parts: [{ type: 'provider', data: { parts: listing } }] }] },
    ],
    [
      'the options of a part',
      { input: [{ role: 'user', parts: [{ ...text, providerOptions: { a: { parts: listing } } }] }] },
    ],
    [
      'the arguments that are shown',
      { view: viewWith(callWith({ arguments: { parts: listing, messages: [{ parts: listing }] } })) },
    ],
    [
      'the arguments of an inner call',
      { view: viewWith(callWith({ nested: viewWith(callWith({ arguments: { listing } })) })) },
    ],
    [
      'details, progress and result of a call',
      {
        view: viewWith(callWith({ details: { listing }, progress: listing, result: listing })),
      },
    ],
    [
      'the schema of a question',
      { view: viewWith(callWith({ question: { message: 'Which?', schema: { enum: listing } } })) },
    ],
    ['the typed output', { view: { ...viewWith(text), output: listing } }],
    ['the error of a run', { view: { ...viewWith(text), error: { code: 'x', params: { listing } } } }],
    ['the notice', { notice: { code: 'x', listing } }],
    [
      'results, edited arguments and errors of a person',
      {
        answers: { results: { c: listing }, decisions: { d: { approve: true, arguments: { listing } } }, errors: {} },
      },
    ],
    [
      'the checkpoint',
      {
        checkpoint: {
          state: { messages: [{ role: 'user', parts: [file] }] },
          open: {
            waiting: [{ id: 'c', arguments: { listing } }],
            results: [{ result: listing }],
            edited: { c: { listing } },
          },
        },
      },
    ],
  ])('smallerSaved keeps what looks as a file does in %s', (_, exchange) => {
    expect(reduced(exchange)).toEqual({
      version: 1,
      exchanges: [{ ...plainExchange, ...exchange, parent: undefined, isReduced: true }],
      selected: 'a',
    });
  });

  it('smallerSaved keeps the file of a prompt that was not sent', () => {
    const queued = [{ id: 'b', input: [{ role: 'user', parts: [file] }] }];
    expect(reduced({}, { queued })).toMatchObject({ queued });
  });
});

describe('persist: a run that waits in a storage that is full', () => {
  const keep = [{ type: 'file', path: 'thesis.doc' }];
  const clean = (ran: unknown[]) => ({ ...anyTool('clean', (args) => ran.push(args)), needsApproval: true });

  it.each<[string, boolean, string, readonly unknown[], string]>([
    ['is continued with its own arguments', false, 'waiting', [{ keep }], 'idle'],
    ['ends if its checkpoint has the file for which there is no room', true, 'failed', [], 'failed'],
  ])('a run %s', (_, readsPhoto, restored, executed, end) => {
    const storage = limitedStorage(20_000);
    const ran: unknown[] = [];
    const model = scriptedModel(['A photo.', [toolCall('clean', { keep })], 'Cleaned.']);
    const agent = createAgent({ model, tools: [clean(ran)] });
    const chat = conversation(agent);
    observe(chat.view$);
    observe(persist(chat, storage, 'chat'));
    chat.send(photo('a'));
    if (readsPhoto) chat.send('Clean up.');
    else chat.edit(chat.view.exchanges[0]?.id ?? '', 'Clean up.');
    expect(chat.view.status).toBe('waiting');
    const again = conversation(agent, { saved: storage.getItem('chat') });
    observe(again.view$);
    expect(again.view.status).toBe(restored);
    for (const { id } of again.view.waiting) again.decide(id, { approve: true });
    expect(ran).toEqual(executed);
    expect(again.view.status).toBe(end);
    expect(chat.view.status).toBe('waiting');
    storage.quota = 10_000_000;
    chat.send('Never mind.');
    expect(read(storage.getItem('chat'))?.exchanges.map(({ isReduced = false }) => isReduced)).not.toContain(true);
  });
});
