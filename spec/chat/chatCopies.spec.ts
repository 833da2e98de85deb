import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { firstValueFrom, lastValueFrom, of, Subject, Subscription } from 'rxjs';
import { chatCopies, remoteChats } from '../../lib/chat/index.js';
import type { AgentHandler } from '../../lib/service/service.js';
import { createChatService } from '../support/chats.js';
import { deviceSteps, playDevices } from '../support/devices.js';
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
    changed.next(); // nothing has changed: nothing is written
    values.set(`chat ${id}`, savedWith('One', 'Two'));
    const second = next();
    changed.next();
    expect(await second).toBe(2);
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

  it('merges what two devices have changed without a connection, each against the version that it knew', async () => {
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
    phone.values.set(`chat ${id}`, add('Of the phone'));
    desk.values.set(`chat ${id}`, add('Of the desk'));
    await lastValueFrom(phone.copies.keep(id, of(undefined)));
    expect(desk.copies.isOld({ id, version: 2 })).toBe(true);
    await lastValueFrom(desk.copies.keep(id, of(undefined)));
    const { saved, version } = await firstValueFrom(chats.open(id));
    expect(saved.exchanges.map((exchange) => exchange.id)).toEqual(['One', 'Of the phone', 'Of the desk']);
    expect(version).toBe(3);
    expect(desk.copies.isOld({ id, version })).toBe(true); // the copy lacks what the phone has written
    await firstValueFrom(desk.copies.fetch(id));
    expect(desk.copies.isOld({ id, version })).toBe(false);
    expect(JSON.parse(desk.copies.read(id) ?? '')).toEqual(saved);
  });

  it.each<[string, (copy: string) => string, boolean]>([
    ['that is whole', (copy) => copy, false],
    ['that was cut', (copy) => copy.slice(0, -20), true],
    ['that is another value', () => '{"version":1}', true],
    ['that is empty', () => '', true],
    ['of a later release', (copy) => copy.replace('"version":1', '"version":2'), false],
  ])('a copy %s is replaced by what the service has, if it cannot be read', async (_, change, isReplaced) => {
    const { device } = createDevices();
    const { copies, values } = device();
    const id = newId();
    const whole = savedWith('One');
    values.set(`chat ${id}`, whole);
    const { version } = await lastValueFrom(copies.keep(id, of(undefined)));
    values.set(`chat ${id}`, change(whole));
    expect(copies.isOld({ id, version })).toBe(isReplaced);
    if (isReplaced) await firstValueFrom(copies.fetch(id));
    expect(copies.read(id)).toBe(isReplaced ? whole : change(whole));
  });

  it('fetch keeps what the copy has and the service lacks', async () => {
    const { device } = createDevices();
    const [phone, desk] = [device(), device()];
    const id = newId();
    phone.values.set(`chat ${id}`, savedWith('One'));
    await lastValueFrom(phone.copies.keep(id, of(undefined)));
    await firstValueFrom(desk.copies.fetch(id));
    desk.values.set(`chat ${id}`, savedWith('One', 'Of the desk'));
    const { saved } = await firstValueFrom(desk.copies.fetch(id));
    expect(saved.exchanges.map((exchange) => exchange.id)).toEqual(['One', 'Of the desk']);
    expect(JSON.parse(desk.copies.read(id) ?? '')).toEqual(saved);
  });

  it.each([
    ['that has a copy', true],
    ['that has never read it', false],
  ])('a chat that was deleted is not created again by a device %s, until it is restored', async (_, hasCopy) => {
    const { chats, device } = createDevices();
    const [phone, desk] = [device(), device()];
    const id = newId();
    phone.values.set(`chat ${id}`, savedWith('One'));
    await lastValueFrom(phone.copies.keep(id, of(undefined)));
    if (hasCopy) await firstValueFrom(desk.copies.fetch(id));
    await lastValueFrom(chats.delete(id), { defaultValue: undefined });
    desk.values.set(`chat ${id}`, savedWith('One', 'Of the desk'));
    const keep = () => lastValueFrom(desk.copies.keep(id, of(undefined)));
    await expect(keep()).rejects.toMatchObject({ status: 404 });
    await expect(keep()).rejects.toMatchObject({ status: 404 }); // also after a reload
    expect((await firstValueFrom(chats.list())).chats).toEqual([]);
    expect((await firstValueFrom(desk.copies.restore(id))).version).toBe(3);
    expect((await firstValueFrom(chats.open(id))).saved.exchanges).toHaveLength(2);
    await lastValueFrom(desk.copies.keep(id, of(undefined)), { defaultValue: undefined });
    expect((await firstValueFrom(chats.list())).chats.map(({ version }) => version)).toEqual([3]);
  });

  it('loses nothing and brings nothing back, in random orders of what a person does with two devices', async () => {
    const property = fc.asyncProperty(deviceSteps, async (steps) => expect(await playDevices(steps)).toEqual([]));
    await fc.assert(property, { numRuns: 8 }); // chatCopies.slow.spec.ts tries more
  });
});
