import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { filter, firstValueFrom, NEVER, Observable, Subscription, timer } from 'rxjs';
import type { ConversationAgent } from '../../lib/chat/conversationAgent.js';
import { conversation, pageTools, persist, remoteAgent, savedElsewhere } from '../../lib/chat/index.js';
import type { ConversationOptions } from '../../lib/chat/conversation.js';
import type { Conversation, SavedConversation } from '../../lib/chat/index.js';
import { createAgent } from '../../lib/agent/createAgent.js';
import { messageText } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';

const page = new EventTarget();
const names = ['addEventListener', 'removeEventListener'] as const;
let opened = new Subscription();
beforeEach(() => names.forEach((name) => Object.assign(globalThis, { [name]: page[name].bind(page) })));
afterEach(() => {
  opened.unsubscribe();
  opened = new Subscription();
  for (const name of names) Reflect.deleteProperty(globalThis, name);
});

const silent: ConversationAgent = { stream: () => NEVER, resume: () => NEVER, join: () => NEVER, stop: () => NEVER };

type Tab = 0 | 1 | 2;

/**
 * A storage of three tabs. As in a browser, each tab has a copy of the value, which is changed by another tab only while
 * the tab is idle. The value of the last one that wrote stays.
 */
function createTabs(agent: ConversationAgent = silent, options: ConversationOptions = {}) {
  let value: string | null = null;
  let room = Infinity;
  const written = [0, 0, 0];
  const copies: (string | null)[] = [null, null, null];
  const storageOf = (tab: Tab) => ({
    getItem: () => copies[tab] ?? null,
    setItem(_: string, text: string) {
      written[tab] = (written[tab] ?? 0) + 1;
      if (text.length > room) throw new Error('The storage is full.');
      value = copies[tab] = text;
    },
  });
  const storages = [storageOf(0), storageOf(1), storageOf(2)] as const;
  const open = (tab: Tab, saved: SavedConversation | string | null = storages[tab].getItem()) => {
    const chat = conversation(agent, { ...options, saved });
    const page = chat.view$.subscribe();
    const stored = { isComplete: false };
    page.add(persist(chat, storages[tab], 'chat').subscribe({ complete: () => (stored.isComplete = true) }));
    opened.add(page);
    return { chat, page, stored };
  };
  return {
    storages,
    written,
    open,
    fill: (characters: number) => (room = characters),
    put: (text: string | null) => (value = copies[0] = copies[1] = copies[2] = text),
    /** Tabs are idle: they get the value. */
    sync: (...tabs: readonly Tab[]) => tabs.forEach((tab) => (copies[tab] = value)),
    /** Then the event arrives. */
    notify: () => page.dispatchEvent(Object.assign(new Event('storage'), { key: 'chat' })),
    stored: () => conversation(silent, { saved: value }),
  };
}

type Tabs = ReturnType<typeof createTabs>;

describe('two tabs that write in the same moment', () => {
  interface Change {
    readonly act: (chat: Conversation) => void;
    readonly expect: (chat: Conversation) => void;
  }
  const changes: Readonly<Record<string, Change>> = {
    'a prompt that waits': {
      act: (chat) => chat.send('mine'),
      expect: ({ view }) => expect(view.queued).toContain('mine'),
    },
    'a stop': {
      act: (chat) => chat.stop(),
      expect: (chat) => expect(chat.save().exchanges[0]).toHaveProperty('stopping', expect.any(String)),
    },
    'another version': {
      act: (chat) => chat.edit(chat.view.exchanges[0]?.id ?? '', 'mine'),
      expect: (chat) => expect(JSON.stringify(chat.save().exchanges)).toContain('mine'),
    },
  };
  /** What the tab does whose change is not in the value that stays. */
  const ways: Readonly<Record<string, (tabs: Tabs, tab: ReturnType<Tabs['open']>) => void>> = {
    'when the event arrives': ({ notify }) => void notify(),
    'when it is closed': (_, { page }) => page.unsubscribe(),
    'when its conversation is created again': ({ open }, { page }) => {
      page.unsubscribe();
      open(0);
    },
    'when the event arrives, and its conversation is created again': ({ open, notify }, { page }) => {
      notify();
      page.unsubscribe();
      open(0);
    },
  };
  const cells = Object.keys(changes).flatMap((change) => Object.keys(ways).map((way) => ({ change, way })));

  it.each(cells)('keep $change of the tab that writes again $way', ({ change, way }) => {
    const tabs = createTabs();
    const first = tabs.open(0);
    first.chat.send('a');
    tabs.sync(0, 1);
    const second = tabs.open(1);
    changes[change]?.act(first.chat);
    second.chat.send('theirs'); // it has not seen the change
    tabs.sync(0, 1);
    ways[way]?.(tabs, first);
    tabs.sync(0, 1);
    changes[change]?.expect(tabs.stored());
    expect(JSON.stringify(tabs.stored().save())).toContain('theirs');
  });

  it('keep a change against a second write of a tab that was busy for long', () => {
    const tabs = createTabs();
    const first = tabs.open(0);
    first.chat.send('a');
    tabs.sync(0, 1);
    const second = tabs.open(1);
    first.chat.send('mine');
    let page = first;
    for (const prompt of ['theirs', 'theirs again']) {
      second.chat.send(prompt);
      tabs.sync(0);
      tabs.notify();
      page.page.unsubscribe();
      page = tabs.open(0);
    }
    tabs.sync(1);
    expect(tabs.stored().view.queued).toEqual(expect.arrayContaining(['mine', 'theirs', 'theirs again']));
  });
});

describe('a tab', () => {
  it('keeps a prompt of a third one, which it has read, and which a value lacks', () => {
    const tabs = createTabs();
    const first = tabs.open(0);
    first.chat.send('a');
    tabs.sync(0, 1, 2);
    const busy = tabs.open(1);
    tabs.open(2).chat.send('of the third');
    tabs.sync(0);
    first.page.unsubscribe();
    const again = tabs.open(0);
    again.chat.send('of the first');
    busy.chat.send('of the busy one'); // it has read neither
    tabs.sync(0);
    again.page.unsubscribe(); // the third one is closed, too: nobody else has its prompt
    expect(tabs.stored().view.queued).toEqual(
      expect.arrayContaining(['of the first', 'of the third', 'of the busy one']),
    );
  });

  it('writes nothing when it only joins a run', async () => {
    const model = scriptedModel(() => ['Hel', { delay: 50 }, 'lo']);
    const handler = agentHandler(createAgent({ model }));
    const agent = remoteAgent('http://service.test/', { fetch: (url, init) => handler(new Request(url, init)) });
    const tabs = createTabs(agent);
    const first = tabs.open(0);
    first.chat.send('Hi');
    await firstValueFrom(first.chat.view$.pipe(filter(({ status }) => status === 'streaming')));
    tabs.sync(1);
    const before = tabs.written[0];
    const second = tabs.open(1);
    await firstValueFrom(second.chat.view$.pipe(filter(({ status }) => status === 'streaming')));
    expect(tabs.written).toEqual([before, 0, 0]);
  });

  it('writes nothing that it has written to a full storage', () => {
    const tabs = createTabs();
    const { chat } = tabs.open(0);
    chat.send('x'.repeat(2000));
    tabs.fill(2000);
    chat.send('y');
    const text = tabs.storages[0].getItem();
    tabs.notify();
    expect(tabs.storages[0].getItem()).toBe(text);
  });

  it('adds nothing to another conversation with the same key, after the first one was removed', () => {
    const tabs = createTabs();
    const first = tabs.open(0);
    first.chat.send('old');
    tabs.sync(0, 1);
    const second = tabs.open(1);
    second.chat.send('older');
    tabs.sync(0, 1);
    tabs.notify();
    first.page.unsubscribe();
    tabs.put(null);
    tabs.open(0).chat.send('new');
    tabs.sync(1);
    const text = tabs.storages[0].getItem();
    tabs.notify();
    tabs.sync(0);
    expect(tabs.storages[0].getItem()).toBe(text);
    expect(tabs.stored().view.exchanges.map(({ messages }) => messages[0]?.parts)).toEqual([
      [{ type: 'text', text: 'new' }],
    ]);
  });
});

describe('a conversation that another tab has removed', () => {
  type Page = ReturnType<Tabs['open']>;
  const knows: Readonly<Record<string, (tabs: Tabs) => Page>> = {
    'has stored': (tabs) => {
      const first = tabs.open(0);
      first.chat.send('SECRET');
      return first;
    },
    'has read': (tabs) => {
      tabs.open(1).chat.send('SECRET');
      tabs.sync(0);
      return tabs.open(0);
    },
  };
  const acts: Readonly<Record<string, (page: Page, tabs: Tabs) => void>> = {
    'has another prompt': ({ chat }) => chat.send('SECRET'),
    'stops its run': ({ chat }) => chat.stop(),
    'learns of it': (_, { notify }) => void notify(),
    'is closed': ({ page }) => page.unsubscribe(),
  };
  const cells = Object.keys(knows).flatMap((known) => Object.keys(acts).map((act) => ({ known, act })));
  afterEach(() => void jest.restoreAllMocks());

  it.each(cells.filter(({ act }) => act !== 'is closed'))(
    'is not stored again by a tab that $known it, and $act',
    ({ known, act }) => {
      const tabs = createTabs();
      const first = knows[known]?.(tabs);
      if (!first) throw new Error('There is no tab.');
      tabs.put(null);
      acts[act]?.(first, tabs);
      first.page.unsubscribe();
      expect(tabs.storages[0].getItem()).toBeNull();
      expect(first.stored.isComplete).toBe(true);
    },
  );

  it.each(cells)('is not added to a later one by a tab that $known it, and $act', async ({ known, act }) => {
    const tabs = createTabs();
    const first = knows[known]?.(tabs);
    if (!first) throw new Error('There is no tab.');
    const emitted: unknown[] = [];
    first.page.add(savedElsewhere(first.chat, tabs.storages[0], 'chat').subscribe((saved) => emitted.push(saved)));
    tabs.put(null);
    const later = Date.now() + 60_000;
    jest.spyOn(Date, 'now').mockReturnValue(later);
    tabs.open(1).chat.send('of another user');
    tabs.sync(0);
    const text = tabs.storages[0].getItem();
    acts[act]?.(first, tabs);
    tabs.notify();
    await Promise.resolve();
    first.page.unsubscribe();
    expect(tabs.storages[0].getItem()).toBe(text);
    expect([...new Set(emitted)]).toEqual(act === 'is closed' ? [] : [text]);
  });

  it('is stored if there was none, also by a storage that had no room at first', () => {
    const tabs = createTabs();
    tabs.fill(10);
    const first = tabs.open(0);
    first.chat.send('a');
    tabs.notify();
    tabs.fill(10_000);
    first.chat.send('b');
    expect(tabs.stored().view).toMatchObject({ exchanges: [{}], queued: ['b'] });
  });
});

describe('savedElsewhere', () => {
  it('savedElsewhere emits what another tab has stored, and null if it has removed it', async () => {
    const tabs = createTabs();
    const { chat } = tabs.open(0);
    const values: unknown[] = [];
    opened.add(savedElsewhere(chat, tabs.storages[0], 'chat').subscribe((saved) => values.push(saved)));
    tabs.open(1).chat.send('theirs');
    for (const storedValue of [tabs.storages[1].getItem(), null]) {
      tabs.put(storedValue);
      tabs.notify();
      await Promise.resolve();
      expect(values.at(-1)).toBe(storedValue);
    }
    page.dispatchEvent(Object.assign(new Event('storage'), { key: 'another' }));
    await Promise.resolve();
    expect(values).toHaveLength(2);
  });

  it('savedElsewhere has what a full storage has left out, and this conversation still has', async () => {
    const model = scriptedModel(() => 'x'.repeat(500));
    const answering = createAgent({ model });
    const tabs = createTabs({ ...silent, stream: (input, options) => answering.stream(input, options) });
    const first = tabs.open(0);
    for (const prompt of ['a', 'b', 'c', 'd']) first.chat.send(prompt);
    const all = first.chat.view.exchanges.length;
    tabs.fill(3000);
    first.chat.send('e');
    tabs.sync(0, 1);
    const second = tabs.open(1);
    expect(second.chat.view.exchanges.length).toBeLessThan(all);
    second.chat.send('f');
    tabs.sync(0);
    const emitted = firstValueFrom(savedElsewhere(first.chat, tabs.storages[0], 'chat'));
    tabs.notify();
    const { view } = conversation(silent, { saved: await emitted });
    expect(view.exchanges.map(({ messages }) => messages[0]?.parts)).toEqual(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((text) => [{ type: 'text', text }]),
    );
  });

  it.each([
    ['still has no room', 2000, 'x'.repeat(3000)],
    ['has room again', 10_000, 'x'],
  ])('savedElsewhere has what never fitted into a storage that %s', async (_, room, prompt) => {
    const tabs = createTabs();
    tabs.fill(10);
    let first = tabs.open(0);
    first.chat.send(prompt);
    first.chat.send('waits');
    tabs.fill(room);
    const second = tabs.open(1);
    for (const theirs of ['theirs', 'theirs, too']) {
      second.chat.send(theirs);
      tabs.sync(0);
      const emitted = firstValueFrom(savedElsewhere(first.chat, tabs.storages[0], 'chat'));
      tabs.notify();
      const saved = await emitted;
      first.page.unsubscribe();
      first = tabs.open(0, saved);
      const { exchanges, queued } = first.chat.save();
      const texts = [...exchanges, ...(queued ?? [])].map(({ input }) => JSON.stringify(input));
      for (const expected of [prompt, 'waits', theirs])
        expect(texts).toContainEqual(expect.stringContaining(JSON.stringify(expected)));
      tabs.sync(1);
    }
  });

  it('savedElsewhere has a version of which nothing fitted beside an older value', async () => {
    const answering = createAgent({ model: scriptedModel(() => 'x'.repeat(500)) });
    const tabs = createTabs({ ...silent, stream: (input, options) => answering.stream(input, options) });
    const first = tabs.open(0);
    first.chat.send('a');
    tabs.sync(0, 1);
    const second = tabs.open(1);
    tabs.fill(10);
    first.chat.regenerate(); // another version, of which nothing fits
    tabs.fill(10_000);
    second.chat.send('theirs');
    tabs.sync(0);
    const emitted = firstValueFrom(savedElsewhere(first.chat, tabs.storages[0], 'chat'));
    tabs.notify();
    const saved = await emitted;
    const { exchanges } = conversation(silent, { saved }).save();
    expect(exchanges.flatMap(({ input }) => input.map(messageText)).toSorted()).toEqual(['a', 'a', 'theirs']);
  });

  it.each(['is stored', 'is not stored after a removal, which is emitted at once'])(
    'savedElsewhere waits for the end of a call of the page, whose result %s',
    async (name) => {
      const isRemoved = name !== 'is stored';
      const ends: (() => void)[] = [];
      let executions = 0;
      const locate = tool({
        name: 'locate',
        description: 'Where the user is.',
        execute: () =>
          new Observable<string>((out) => {
            executions += 1;
            ends.push(() => {
              out.next('Oslo');
              out.complete();
            });
          }),
      });
      const declared = tool({ name: 'locate', description: 'Where the user is.' });
      const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('locate')]));
      const handler = agentHandler(createAgent({ model, tools: [declared] }));
      const agent = remoteAgent('http://service.test/', { fetch: (url, init) => handler(new Request(url, init)) });
      const tools = pageTools([locate]);
      const tabs = createTabs(agent, { tools });
      const first = tabs.open(0);
      const values: (SavedConversation | string | null)[] = [];
      const saved$ = savedElsewhere(first.chat, tabs.storages[0], 'chat', { tools });
      opened.add(saved$.subscribe((saved) => values.push(saved)));
      first.chat.send('Where am I?');
      await firstValueFrom(first.chat.view$.pipe(filter(({ status }) => status === 'runningTools')));
      if (isRemoved) tabs.put(null);
      tabs.notify();
      await firstValueFrom(timer(20));
      expect(values).toEqual(isRemoved ? [null] : []);
      ends[0]?.();
      await Promise.resolve();
      await Promise.resolve();
      expect(values).toHaveLength(1);
      first.page.unsubscribe();
      if (isRemoved) {
        expect(tabs.storages[0].getItem()).toBeNull();
        return;
      }
      const again = tabs.open(0, values[0]);
      await firstValueFrom(again.chat.view$.pipe(filter(({ status }) => status === 'idle')));
      expect(executions).toBe(1);
      expect(model.requests).toHaveLength(2);
    },
  );
});
