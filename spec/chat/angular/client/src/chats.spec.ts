import { ApplicationRef, ChangeDetectionStrategy, Component, input, signal } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { createAgent } from 'rivulet';
import { injectChats, provideAgent } from 'rivulet/angular';
import { remoteAgent, remoteChats } from 'rivulet/chat';
import { agentHandler, keepChats, memoryStore } from 'rivulet/service';
import { scriptedModel } from 'rivulet/testing';
import { provide, show } from './setup';

const url = 'http://service.test/api/chat';

/** A service, and what a page of a user needs for it. */
function createService(user: () => string | undefined = () => 'ann') {
  const handler = agentHandler<string>(createAgent({ model: scriptedModel(() => 'An answer.') }), {
    context: (request) => request.headers.get('authorization') ?? '',
    owner: (name) => name,
    chats: keepChats(memoryStore()),
  });
  const options = {
    headers: () => ({ authorization: user() ?? '' }),
    fetch: (address: RequestInfo | URL, init?: RequestInit) => handler(new Request(address, init)),
    retryDelay: 1,
  };
  return { agent: remoteAgent(url, options), chats: remoteChats(url, options) };
}

const memory = () => {
  const texts = new Map<string, string>();
  return {
    texts,
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
    removeItem: (key: string) => void texts.delete(key),
  };
};

let service = createService();
let storage = memory();

@Component({ selector: 'app-device', changeDetection: ChangeDetectionStrategy.OnPush, template: `{{ name() }}` })
class Device {
  readonly name = input('');
  readonly chats = injectChats({ chats: service.chats, agent: service.agent, storage, refresh: 30, perFrame: false });
}

async function open(own = memory()) {
  storage = own;
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
    const own = memory();
    const { chats, titles } = await open(own);
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
});
