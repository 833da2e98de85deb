import { afterEach, describe, expect, it } from '@jest/globals';
import { EMPTY, NEVER, Subject, Subscription } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { messagesOf } from '../../lib/core/input.js';
import { answerOf, messageText } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { ConversationAgent } from '../../lib/chat/conversationAgent.js';
import type { Conversation } from '../../lib/chat/conversation.js';
import { persist } from '../../lib/chat/persist.js';
import { observe } from '../support/observe.js';

let pages = new Subscription();
afterEach(() => {
  pages.unsubscribe();
  pages = new Subscription();
});

/** An agent of a server whose runs do not end. */
const silent: ConversationAgent = {
  stream: () => NEVER,
  resume: () => NEVER,
  join: () => NEVER,
};

const ask = tool({ name: 'ask', description: 'Asks the user.', parameters: { type: 'object', properties: {} } });

/** An agent of a server. Its first run calls `ask` with the first id, and so on; a continued run says "Done". */
function asking(...callIds: readonly string[]): ConversationAgent {
  const first = createAgent({ model: scriptedModel(callIds.map((id) => [toolCall('ask', {}, id)])), tools: [ask] });
  const later = createAgent({ model: scriptedModel(() => 'Done'), tools: [ask] });
  return {
    stream: (input, options) =>
      (messagesOf(input).some((message) => messageText(message) === 'last') ? later : first).stream(input, options),
    resume: (checkpoint, options) => (checkpoint ? later.resume(checkpoint, options) : EMPTY),
    join: () => NEVER,
  };
}

/** A storage that several tabs share. */
function createStorage(agent: ConversationAgent = silent) {
  const texts = new Map<string, string>();
  const storage = {
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
  };
  const open = (server = agent) => {
    const chat = conversation(server, { saved: storage.getItem('chat') });
    const seen = observe(chat.view$);
    pages.add(seen.subscription);
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

  it('persist keeps the selection of another tab', () => {
    const { storage, open } = createStorage(createAgent({ model: scriptedModel(() => 'Done') }));
    const first = open();
    first.chat.send('a');
    const [id = ''] = first.chat.view.exchanges.map((exchange) => exchange.id);
    first.chat.regenerate(id);
    const selected = () => conversation(silent, { saved: storage.getItem('chat') }).save().selected;
    const newest = selected();
    const second = open(silent); // it shows the newest answer
    first.chat.select(id);
    second.chat.send('b');
    second.chat.send('c'); // changes the prompts that wait, and not the selection
    const shown = selected();
    expect([id, newest]).not.toContain(shown); // what the second tab has sent
    first.chat.select(newest ?? '');
    expect(selected()).toBe(shown); // it follows the one that is selected
    first.chat.select(id);
    second.chat.send('d');
    expect(selected()).toBe(id);
  });

  it.each([1, 2])(
    'persist stores the selection of a prompt that was sent when the page was opened (%d waited)',
    (count) => {
      const { storage, open } = createStorage(createAgent({ model: scriptedModel(() => 'Done') }));
      const first = open();
      first.chat.send('a');
      first.seen.subscription.unsubscribe();
      first.stored.subscription.unsubscribe();
      const queued = ['b', 'c'].slice(0, count).map((input) => ({ id: input, input }));
      storage.setItem('chat', JSON.stringify({ ...JSON.parse(storage.getItem('chat') ?? ''), queued }));
      open();
      const { view } = conversation(silent, { saved: storage.getItem('chat') });
      const texts = view.exchanges.map(({ messages: [prompt] }) => prompt && messageText(prompt as never));
      expect([texts, view.queued]).toEqual([['a', 'b', 'c'].slice(0, count + 1), []]);
    },
  );

  it('persist replaces a value that cannot be read at the first change', () => {
    const { storage, open, prompts } = createStorage();
    storage.setItem('chat', '{"version":1,"exchanges":[{}]}');
    const { chat } = open();
    expect(storage.getItem('chat')).toBe('{"version":1,"exchanges":[{}]}');
    expect(chat.view.savedError).toMatchObject({ code: 'configuration' });
    chat.send('a');
    expect(prompts().sent).toHaveLength(1);
  });

  it('persist reports that the storage is full, and stores everything when it has room again', () => {
    const { storage } = createStorage();
    const full = new Error('QuotaExceededError');
    const errors: unknown[] = [];
    let hasRoom = false;
    const setItem = (key: string, text: string) => {
      if (!hasRoom) throw full;
      storage.setItem(key, text);
    };
    const chat = conversation(silent);
    observe(chat.view$);
    const stored = observe(
      persist(chat, { ...storage, setItem }, 'chat', { onError: (thrown) => errors.push(thrown) }),
    );
    chat.send('a');
    expect(errors).toContain(full);
    expect(stored.values.at(-1)?.exchanges).toHaveLength(1);
    hasRoom = true;
    chat.send('b');
    expect(JSON.parse(storage.getItem('chat') ?? '')).toMatchObject({
      exchanges: [{ input: [{ parts: [{ text: 'a' }] }] }],
      queued: [{ input: 'b' }],
    });
  });

  it('persist fails if the browser forbids the storage', () => {
    const forbidden = new Error('SecurityError');
    const getItem = () => {
      throw forbidden;
    };
    const chat = conversation(silent);
    observe(chat.view$);
    const stored = observe(persist(chat, { getItem, setItem: () => undefined }, 'chat'));
    chat.send('a');
    expect(stored.error).toBe(forbidden);
  });
});

describe('persist: two tabs whose runs are both open', () => {
  /** The second tab sends its prompts before it knows of the first tab's: both are the first of the conversation. */
  function twoTabs(callIds = ['c1', 'c2'], reloaded?: ConversationAgent) {
    const storage = createStorage(asking(...callIds));
    const [first, second] = [storage.open(), storage.open()];
    first.chat.send('a');
    second.chat.send('b');
    second.chat.send('last');
    for (const { seen, stored } of [first, second]) {
      stored.subscription.unsubscribe();
      seen.subscription.unsubscribe();
    }
    return storage.open(reloaded);
  }
  const waitingIds = ({ view }: Conversation) => view.waiting.map(({ id }) => id);
  const statuses = (chat: Conversation) => chat.save().exchanges.map(({ view }) => view.status);

  it('a reload shows the waiting calls of both runs, continues each when it is answered, and then the prompts', () => {
    const { chat } = twoTabs();
    expect(waitingIds(chat)).toEqual(['c1', 'c2']);
    chat.answer('c2', 'blue');
    expect(waitingIds(chat)).toEqual(['c1']);
    expect(statuses(chat)).toEqual(['waiting', 'idle']);
    expect(chat.view.queued).toEqual(['last']);
    chat.answer('c1', 'red');
    expect(statuses(chat)).toEqual(['idle', 'idle', 'idle']);
    expect(chat.view).toMatchObject({ status: 'idle', waiting: [], queued: [] });
    expect(chat.save().exchanges.map(({ messages }) => answerOf(messages))).toEqual(['Done', 'Done', 'Done']);
  });

  it('a reload shows the second run as waiting when the first one was answered, and continues it', () => {
    const { chat } = twoTabs();
    chat.answer('c1', 'red');
    expect(waitingIds(chat)).toEqual(['c2']);
    chat.answer('c2', 'blue');
    expect(statuses(chat)).toEqual(['idle', 'idle', 'idle']);
  });

  it('stop ends both runs', () => {
    const { chat } = twoTabs();
    chat.stop();
    expect(statuses(chat)).toEqual(['stopped', 'stopped']);
    expect(chat.view).toMatchObject({ status: 'stopped', waiting: [], queued: [] });
    chat.send('last');
    expect(chat.view.status).toBe('idle');
  });

  it.each([0, 1])('an answer is for the call that is shown, if both runs have one with the same id: %i', (index) => {
    const resumed: string[] = [];
    const { chat } = twoTabs(['c', 'c'], {
      ...silent,
      resume: (_, { earlier }) => (resumed.push(earlier.at(-1)?.id ?? ''), NEVER),
    });
    const shown = chat.save().exchanges[index];
    chat.select(shown?.id ?? '');
    expect(waitingIds(chat)).toEqual(['c']);
    chat.answer('c', 'red');
    expect(resumed).toEqual([shown?.run]);
    expect(statuses(chat)[1 - index]).toBe('waiting');
  });

  it('the second answer to a call is not used for a call of the other run with the same id', () => {
    const resumed: string[] = [];
    const first = new Subject<StreamEvent>();
    const { chat } = twoTabs(['c', 'c'], {
      ...silent,
      resume: (_, { earlier }) => (resumed.push(earlier.at(-1)?.id ?? ''), first),
    });
    const [other, shown] = chat.save().exchanges.map(({ run }) => run);
    expect(waitingIds(chat)).toEqual(['c']);
    for (const answer of ['red', 'blue']) chat.answer('c', answer);
    expect(resumed).toEqual([shown]);
    expect(waitingIds(chat)).toEqual([]);
    first.error(new Error('The server is down.'));
    expect(waitingIds(chat)).toEqual(['c']);
    chat.answer('c', 'blue');
    expect(resumed).toEqual([shown, other]);
  });

  it('a reload sends both runs again that may not have arrived', () => {
    const { open, storage } = createStorage();
    for (const { chat } of [open(), open()]) chat.send('a');
    const sent: string[] = [];
    open({ ...silent, stream: (_, { id }) => (sent.push(id), NEVER) });
    const { exchanges } = conversation(silent, { saved: storage.getItem('chat') }).save();
    expect(sent).toEqual(exchanges.map(({ run }) => run));
    expect(sent).toHaveLength(2);
  });

  it('a reload continues a run when the open run before it has ended', () => {
    const { open, storage } = createStorage(asking('c1', 'c2'));
    open().chat.send('a');
    const stale = open(silent);
    const other = open();
    other.chat.answer('c1', 'red');
    expect(statuses(open(silent).chat)).toEqual(['idle']);
    stale.chat.answer('c1', 'green'); // its run does not go on: what the other tab has stored is further
    expect(statuses(open(silent).chat)).toEqual(['idle']);
    other.chat.send('b');
    const [open1, open2] = [stale.chat.save().exchanges[0], other.chat.save().exchanges[1]];
    storage.setItem('chat', JSON.stringify({ ...other.chat.save(), exchanges: [open1, open2] }));

    const events = new Subject<StreamEvent>();
    const continued: string[] = [];
    const { chat } = open({
      ...silent,
      resume(_, { results }) {
        continued.push(...Object.keys(results ?? {}));
        return events;
      },
    });
    expect(statuses(chat)).toEqual(['sending', 'waiting']);
    chat.answer('c2', 'blue');
    expect(continued).toEqual(['c1']);
    events.complete();
    expect(continued).toEqual(['c1', 'c2']);
  });
});

/** Tabs of a browser: each reads its own value until a message brings that of another tab, and the last one stays. */
function createTabs(count: number) {
  const sent: { readonly from: number; readonly text: string }[] = [];
  const tabs = Array.from({ length: count }, (_, from) => {
    let text: string | null = null;
    let isOpen = true;
    let used = new Subscription();
    const storage = {
      getItem() {
        if (!isOpen) throw new Error('SecurityError');
        return text;
      },
      setItem(_key: string, value: string) {
        if (value !== text) sent.push({ from, text: value });
        text = value;
      },
    };
    const errors: unknown[] = [];
    const open = () => {
      const chat = conversation(silent, { saved: storage.getItem() });
      used = new Subscription();
      used.add(chat.view$.subscribe());
      used.add(persist(chat, storage, 'chat', { onError: (thrown) => errors.push(thrown) }).subscribe());
      pages.add(used);
      return chat;
    };
    const tab = {
      chat: open(),
      errors,
      prompts: () => tab.chat.save().exchanges.flatMap(({ input }) => input.map(messageText)),
      receive(value: string) {
        text = value;
        used.unsubscribe();
        tab.chat = open();
      },
      forbid() {
        isOpen = false;
        used.unsubscribe();
      },
    };
    return tab;
  });
  /** Brings the values to the other tabs, in the order in which they were sent. */
  const deliver = () => {
    for (let next = sent.shift(), count = 0; next; next = sent.shift(), count++) {
      if (count > 1000) throw new Error('The tabs write without end.');
      const { from, text } = next;
      tabs.forEach((tab, index) => index !== from && tab.receive(sent.at(-1)?.text ?? text));
      if (sent.length > 0) tabs[from]?.receive(sent.at(-1)?.text ?? text);
    }
  };
  return { tabs, deliver };
}

describe('persist in tabs that write at the same moment', () => {
  it.each([2, 3, 5])('persist loses no prompt of %i tabs, and all of them show the same', (count) => {
    const { tabs, deliver } = createTabs(count);
    tabs.forEach(({ chat }, index) => chat.send(`prompt ${index}`));
    deliver();
    const shown = tabs.map((tab) => tab.prompts().toSorted());
    expect(shown).toEqual(tabs.map(() => tabs.map((_, index) => `prompt ${index}`)));
  });

  it('persist brings no chat back that another tab has removed, and reports a storage that throws at its end', () => {
    const { storage, open } = createStorage();
    const { chat, stored } = open();
    chat.send('a');
    storage.setItem('chat', 'null');
    stored.subscription.unsubscribe();
    expect(storage.getItem('chat')).toBe('null');

    const [tab] = createTabs(1).tabs;
    tab?.chat.send('b');
    tab?.forbid();
    expect(tab?.errors).toEqual([new Error('SecurityError')]);
  });
});
