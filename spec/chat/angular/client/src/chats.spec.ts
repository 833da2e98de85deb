import { ApplicationRef, ChangeDetectionStrategy, Component, input, signal } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { createAgent } from 'rivulet';
import type { ModelRequest } from 'rivulet';
import { injectChats, provideAgent } from 'rivulet/angular';
import { remoteAgent, remoteChats } from 'rivulet/chat';
import { agentHandler, keepChats, memoryStore } from 'rivulet/service';
import { scriptedModel } from 'rivulet/testing';
import { heldService, memoryStorage, provide, show } from './setup';

const url = 'http://service.test/api/chat';

/** A service, and what a page of a user needs for it. */
const asked: unknown[] = [];
let opens = 0;
function createService(user: () => string | undefined = () => 'ann') {
  const answer = ({ messages }: ModelRequest) => {
    const prompts = messages.filter(({ role }) => role === 'user');
    asked.push(prompts.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join('')));
    return 'An answer.';
  };
  const handler = agentHandler<string>(createAgent({ model: scriptedModel(answer) }), {
    context: (request) => request.headers.get('authorization') ?? '',
    owner: (name) => name,
    chats: keepChats(memoryStore()),
  });
  const options = {
    headers: () => ({ authorization: user() ?? '' }),
    fetch(address: RequestInfo | URL, init?: RequestInit) {
      if (init?.method === 'GET' && String(address).includes('chat=')) opens += 1;
      return handler(new Request(address, init));
    },
    retryDelay: 1,
  };
  return { agent: remoteAgent(url, options), chats: remoteChats(url, options) };
}

let service = createService();
/** What a page passes: undefined for `localStorage`. */
type PageStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | undefined;
let storage: PageStorage;

@Component({ selector: 'app-device', changeDetection: ChangeDetectionStrategy.OnPush, template: `{{ name() }}` })
class Device {
  readonly name = input('');
  readonly chats = injectChats({ chats: service.chats, agent: service.agent, storage, refresh: 30, perFrame: false });
}

async function open(own: () => PageStorage = memoryStorage) {
  storage = own();
  const fixture = await show(Device);
  const { chats } = fixture.componentInstance;
  return { chats, fixture, titles: () => chats.entries().map(({ title }) => title) };
}
const patient = { timeout: 10_000 };
vi.setConfig({ testTimeout: 30_000 });

describe('injectChats', () => {
  beforeEach(() => {
    service = createService();
    provide();
  });
  afterEach(() => localStorage.clear());

  it('shows the chats of all devices, opens, renames and deletes them, and restores one', async () => {
    const [phone, desk] = [await open(), await open()];
    expect(phone.titles()).toEqual([]);
    phone.chats.current.send('How warm is it?');
    expect(phone.titles()).toEqual(['How warm is it?']);
    await expect.poll(desk.titles, patient).toEqual(['How warm is it?']);
    const [entry] = desk.chats.entries();
    const id = entry?.id ?? '';
    await expect.poll(() => phone.chats.current.status(), patient).toBe('idle');
    desk.chats.open(id);
    await expect.poll(() => desk.chats.current.exchanges()[0]?.status, patient).toBe('idle');
    expect(desk.chats.id()).toBe(id);
    desk.chats.rename(id, 'Oslo');
    await expect.poll(phone.titles, patient).toEqual(['Oslo']);
    await expect.poll(() => desk.chats.title(), patient).toBe('Oslo');

    desk.chats.delete(id);
    await expect.poll(phone.titles, patient).toEqual([]);
    await expect.poll(desk.titles, patient).toEqual([]);
    await expect.poll(() => desk.chats.id(), patient).not.toBe(id);
    await expect.poll(() => desk.chats.deleted(), patient).toEqual([{ id, title: 'Oslo' }]);
    desk.chats.restore(id);
    await expect.poll(phone.titles, patient).toEqual(['How warm is it?']);
    await expect.poll(() => desk.chats.deleted(), patient).toEqual([]);
    await expect.poll(() => desk.chats.current.exchanges().length, patient).toBe(1);
  });

  it('shows what another device has added to the shown chat, and marks another chat as unread', async () => {
    const [phone, desk] = [await open(), await open()];
    phone.chats.current.send('First');
    await expect.poll(() => desk.titles(), patient).toEqual(['First']);
    const id = phone.chats.id();
    desk.chats.open(id);
    await expect.poll(() => desk.chats.current.exchanges().length, patient).toBe(1);
    phone.chats.current.send('Second');
    await expect.poll(() => desk.chats.current.exchanges().length, patient).toBe(2);
    await expect.poll(() => desk.chats.current.status(), patient).toBe('idle');
    await expect.poll(() => desk.chats.entries().map(({ isUnread }) => isUnread), patient).toEqual([false]);
    desk.chats.open();
    phone.chats.current.send('Third');
    await expect.poll(() => desk.chats.entries().map(({ isUnread }) => isUnread), patient).toEqual([true]);
  });

  it('shows another user nothing, and clear removes what is stored', async () => {
    const user = signal<string | undefined>('ann');
    service = createService(user);
    TestBed.configureTestingModule({ providers: [provideAgent(service.agent, { user })] });
    const own = memoryStorage();
    const { chats, titles } = await open(() => own);
    chats.current.send('Of Ann');
    await expect.poll(() => chats.current.status(), patient).toBe('idle');
    const id = chats.id();
    expect([...own.texts.keys()].every((key) => key.startsWith('ann '))).toBe(true);
    user.set('bob');
    await TestBed.inject(ApplicationRef).whenStable();
    await expect.poll(() => chats.id(), patient).not.toBe(id);
    await expect.poll(() => chats.current.exchanges(), patient).toEqual([]);
    await expect.poll(titles, patient).toEqual([]);
    user.set('ann');
    await expect.poll(titles, patient).toEqual(['Of Ann']);
    await expect.poll(() => chats.id(), patient).toBe(id);
    await expect.poll(() => chats.current.exchanges().length, patient).toBe(1);
    chats.clear();
    user.set(undefined);
    await expect.poll(titles, patient).toEqual([]);
    chats.current.send('Of nobody');
    expect([...own.texts.keys()].filter((key) => !key.startsWith('bob '))).toEqual([]);
  });

  it.each(['of this tab', 'of another tab'])(
    'clear removes a chat %s that the service does not know yet',
    async (tab) => {
      const held = heldService();
      service = { ...service, chats: held.chats };
      const own = memoryStorage();
      const first = await open(() => own);
      const second = tab === 'of this tab' ? first : await open(() => own);
      first.chats.current.send('SECRET');
      (await held.asked('list')).next({ chats: [] });
      second.chats.open();
      second.chats.current.send('SECRET, too');
      await expect.poll(() => [...own.texts.keys()].filter((key) => key.startsWith('chat ')).length, patient).toBe(2);
      first.chats.clear();
      expect([...own.texts.keys()]).toEqual([]);
    },
  );

  it('clear of another tab removes what this one has and stores', async () => {
    const phone = await open(() => undefined);
    phone.chats.current.send('SECRET');
    await expect.poll(phone.titles, patient).toEqual(['SECRET']);
    await expect.poll(() => phone.chats.current.status(), patient).toBe('idle');
    const id = phone.chats.id();
    phone.chats.open();
    localStorage.removeItem('chats');
    window.dispatchEvent(new StorageEvent('storage', { key: 'chats', storageArea: localStorage }));
    expect(phone.chats.id()).not.toBe(id);
    expect(phone.chats.entries()).toEqual([]);
    expect(Object.keys(localStorage)).toEqual([]);
  });

  /** Storages with room for texts up to a length, and one that the browser forbids. */
  const limited = (quota: number) => {
    const own = memoryStorage();
    const setItem = (key: string, text: string) => {
      if (text.length > quota) throw new Error('QuotaExceededError');
      own.setItem(key, text);
    };
    return { ...own, setItem };
  };
  it.each<[string, () => PageStorage]>([
    ['has room for all', () => limited(1_000_000)],
    ['has room for one exchange', () => limited(1500)],
    ['has room for a version', () => limited(300)],
    ['is full', () => limited(0)],
    ['is forbidden', () => undefined],
  ])('shows and continues a chat of another device wholly, with a storage that %s', async (name, own) => {
    const phone = await open();
    for (const [index, prompt] of ['One', 'Two', 'Three'].entries()) {
      phone.chats.current.send(prompt);
      await expect.poll(() => phone.chats.current.status(), patient).toBe('idle');
      expect(phone.chats.current.exchanges()).toHaveLength(index + 1);
    }
    const forbidden = vi.spyOn(window, 'localStorage', 'get').mockImplementation(() => {
      throw new DOMException('No.', 'SecurityError');
    });
    const desk = await open(own);
    forbidden.mockRestore();
    await expect.poll(desk.titles, patient).toEqual(['One']);
    desk.chats.open(desk.chats.entries()[0]!.id);
    const prompts = ({ chats }: typeof desk) =>
      chats.current.exchanges().map(({ messages }) => messages[0]!.parts.map((part) => 'text' in part && part.text)[0]);
    await expect.poll(() => prompts(desk), patient).toEqual(['One', 'Two', 'Three']);
    desk.chats.current.send('Four');
    await expect.poll(() => prompts(phone), patient).toEqual(['One', 'Two', 'Three', 'Four']);
    expect(prompts(desk)).toEqual(['One', 'Two', 'Three', 'Four']);
    expect(asked.at(-1)).toEqual(['One', 'Two', 'Three', 'Four']);
    const opened = opens;
    await new Promise((resolve) => setTimeout(resolve, 1000)); // some lists
    expect(opens - opened).toBeLessThan(2);
    expect(desk.chats.current.storageError() === undefined).toBe(name === 'has room for all');
    const id = desk.chats.id();
    desk.chats.open();
    desk.chats.open(id);
    await expect.poll(() => prompts(desk), patient).toEqual(['One', 'Two', 'Three', 'Four']);
    desk.chats.clear();
    desk.chats.open(id); // as a route would
    expect(prompts(desk)).toEqual([]);
  });
});
