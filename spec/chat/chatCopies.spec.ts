import { afterEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, of, Subject, Subscription } from 'rxjs';
import { chatCopies, remoteChats } from '../../lib/chat/index.js';
import type { AgentHandler } from '../../lib/service/service.js';
import { createChatService } from '../support/chats.js';
import { shutDown } from '../support/services.js';

const handlers: AgentHandler[] = [];
let work = new Subscription();
afterEach(() => {
  work.unsubscribe();
  work = new Subscription();
  handlers.splice(0).forEach(shutDown);
});

/** A browser with its storage, at one service. */
function createDevices() {
  const { handler } = createChatService();
  handlers.push(handler);
  const requests: string[] = [];
  const fetchOf: typeof fetch = (url, init) => {
    requests.push(init?.method ?? '');
    return handler(new Request(url, init));
  };
  const chats = remoteChats('http://service.test/', { fetch: fetchOf, headers: { authorization: 'ann' } });
  const device = () => {
    const values = new Map<string, string>();
    const storage = {
      getItem: (key: string) => values.get(key) ?? null,
      setItem: (key: string, value: string) => void values.set(key, value),
      removeItem: (key: string) => void values.delete(key),
    };
    return { values, copies: chatCopies(chats, storage, (id) => `chat ${id}`) };
  };
  return { chats, device, requests };
}

const newId = () => crypto.randomUUID();
const savedWith = (...prompts: readonly string[]) =>
  JSON.stringify({
    version: 1,
    exchanges: prompts.map((text, index) => ({
      id: text,
      ...(index === 0 ? {} : { parent: prompts[index - 1] }),
      run: newId(),
      input: [{ role: 'user', parts: [{ type: 'text', text }] }],
      messages: [],
      view: { status: 'idle', messages: [], usage: {} },
    })),
  });

describe('chatCopies', () => {
  it('writes a copy that is there, and each change of it, and knows when the service has it completely', async () => {
    const { chats, device, requests } = createDevices();
    const { copies, values } = device();
    const id = newId();
    const changed = new Subject<void>();
    const kept: number[] = [];
    values.set(`chat ${id}`, savedWith('One'));
    const next = () => new Promise<number>((resolve) => (notify = resolve));
    let notify: (version: number) => void = () => undefined;
    const first = next();
    work.add(
      copies.keep(id, changed).subscribe(({ version }) => {
        kept.push(version);
        notify(version);
      }),
    );
    expect(await first).toBe(1);
    expect(values.get(`chat ${id} version`)).toBe('1');
    changed.next(); // nothing has changed: nothing is written
    values.set(`chat ${id}`, savedWith('One', 'Two'));
    const second = next();
    changed.next();
    expect(await second).toBe(2);
    expect(values.get(`chat ${id} version`)).toBe('2');
    expect(requests).toEqual(['PUT', 'PUT']);
    expect(JSON.stringify((await firstValueFrom(chats.open(id))).saved)).toBe(values.get(`chat ${id}`));
    expect(copies.isOld({ id, version: 2 })).toBe(false);
    expect(copies.isOld({ id, version: 3 })).toBe(true);
    expect(copies.isOld({ id: newId(), version: 1 })).toBe(true);
  });

  it('reads a chat into a copy, and writes nothing until it changes', async () => {
    const { device, requests } = createDevices();
    const [phone, desk] = [device(), device()];
    const id = newId();
    phone.values.set(`chat ${id}`, savedWith('One'));
    await lastValueFrom(phone.copies.keep(id, of(undefined)));
    const opened = await firstValueFrom(desk.copies.fetch(id));
    expect(desk.copies.read(id)).toBe(phone.copies.read(id));
    expect(opened.version).toBe(1);
    await lastValueFrom(desk.copies.keep(id, of(undefined)), { defaultValue: undefined });
    expect(requests).toEqual(['PUT', 'GET']);
    desk.copies.remove(id);
    expect([...desk.values.keys()]).toEqual([]);
    expect(desk.copies.read(id)).toBe(null);
  });

  it('does not replace a copy that was not written completely, and merges it with what another device has written', async () => {
    const { chats, device } = createDevices();
    const [phone, desk] = [device(), device()];
    const id = newId();
    phone.values.set(`chat ${id}`, savedWith('One'));
    await lastValueFrom(phone.copies.keep(id, of(undefined)));
    await firstValueFrom(desk.copies.fetch(id));
    const one = desk.copies.read(id) ?? '';
    const add = (text: string) => {
      const saved = JSON.parse(one) as { exchanges: object[] };
      const [added] = (JSON.parse(savedWith(text)) as { exchanges: object[] }).exchanges;
      return JSON.stringify({ ...saved, exchanges: [...saved.exchanges, added] });
    };
    // Both go on without a connection.
    phone.values.set(`chat ${id}`, add('Of the phone')).delete(`chat ${id} version`);
    desk.values.set(`chat ${id}`, add('Of the desk')).delete(`chat ${id} version`);
    await lastValueFrom(phone.copies.keep(id, of(undefined)));
    expect(desk.copies.isOld({ id, version: 2 })).toBe(false);
    await lastValueFrom(desk.copies.keep(id, of(undefined)));
    const { saved, version } = await firstValueFrom(chats.open(id));
    expect(saved.exchanges.map((exchange) => exchange.id)).toEqual(['One', 'Of the phone', 'Of the desk']);
    expect(version).toBe(3);
    expect(desk.values.has(`chat ${id} version`)).toBe(false); // the copy lacks what the phone has written
  });
});
