import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BehaviorSubject, filter, firstValueFrom, lastValueFrom, of, retry, Subject, take, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { SavedConversation } from '../../lib/chat/savedConversation.js';
import { remoteChats } from '../../lib/chat/index.js';
import type { OpenedChat } from '../../lib/chat/index.js';
import { nodeListener } from '../../lib/service/http/nodeListener.js';
import { createChatService, lateChats } from '../support/chats.js';
import type { ChatServiceOptions } from '../support/chats.js';
import { shutDown } from '../support/services.js';

const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

/** A service on a socket, and its users' devices. */
async function startService(options?: ChatServiceOptions) {
  const { handler, store } = createChatService(options);
  const server: Server = createServer(nodeListener(handler)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  closing.push(
    () => server.close().closeAllConnections(),
    () => shutDown(handler),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
  const fetches: string[] = [];
  /** What the next requests do instead. */
  const faults: (() => Promise<Response>)[] = [];
  const countingFetch: typeof fetch = (input, init) => {
    fetches.push(init?.method ?? 'GET');
    return (init?.method === 'PUT' ? faults.shift()?.() : undefined) ?? fetch(input, init);
  };
  return {
    url,
    fetches,
    faults,
    runs: () => [...store.records.keys()],
    device(user: string) {
      const settings = { headers: { authorization: user }, fetch: countingFetch, retryDelay: 1 };
      const chats = remoteChats(url, settings);
      const agent = remoteAgent(url, settings);
      const open = (opened: OpenedChat | { readonly id: string }) => {
        const chat = conversation(agent, { saved: 'saved' in opened ? opened.saved : undefined });
        const view = chat.view$.subscribe();
        closing.push(() => view.unsubscribe());
        const errors: unknown[] = [];
        const kept: string[] = [];
        const keeping = chats.keep(chat, opened).subscribe({
          next: ({ title }) => kept.push(title),
          error: (thrown: unknown) => errors.push(thrown),
        });
        closing.push(() => keeping.unsubscribe());
        return { chat, errors, kept };
      };
      return { chats, open };
    },
  };
}

const idle = (chat: ReturnType<typeof conversation>, count: number) =>
  firstValueFrom(chat.view$.pipe(filter(({ status, exchanges }) => status === 'idle' && exchanges.length === count)));
/** Waits until the service has a chat as it should be. */
async function stored(get: Observable<OpenedChat>, isRight: (text: string) => boolean): Promise<OpenedChat> {
  for (;;) {
    const opened = await lastValueFrom(get, { defaultValue: undefined }).catch(() => undefined);
    if (opened && isRight(JSON.stringify(opened.saved))) return opened;
  }
}
const savedWith = (...ids: readonly string[]): SavedConversation => ({
  version: 1,
  exchanges: ids.map((id) => ({
    id,
    run: id,
    input: [],
    messages: [],
    view: { status: 'idle', messages: [], usage: {} },
  })),
});
const idsOf = ({ exchanges }: SavedConversation) => exchanges.map(({ id }) => id);

describe('remoteChats.keep: another device writes before each of its writes', () => {
  it.each([0, 1, 10, 11, 23])('loses nothing after %i conflicts in a row', async (conflicts) => {
    let [left, version, saved] = [conflicts, 1, savedWith('one')];
    const service: typeof fetch = async (input, init) => {
      const sent = (await new Request(input, init).json()) as { version: number; saved: SavedConversation };
      if (left > 0) {
        left -= 1;
        version += 1;
        saved = savedWith(...idsOf(saved), `other ${version}`);
      }
      const isKnown = sent.version === version;
      if (isKnown) [version, saved] = [version + 1, sent.saved];
      return Response.json({ id: 'x', title: '', updated: 0, version, saved }, { status: isKnown ? 200 : 409 });
    };
    const errors: unknown[] = [];
    const chats = remoteChats('http://service.test/', { fetch: service, retryDelay: 1 });
    const kept$ = chats.keep({ saved$: of(savedWith('one', 'own')) }, { id: 'x', version: 1, saved: savedWith('one') });
    const again$ = kept$.pipe(
      retry({
        count: 3,
        delay: (thrown: { readonly retryable?: boolean }) => {
          expect(thrown).toMatchObject({ status: 409, retryable: true });
          errors.push(thrown);
          return of(true);
        },
      }),
    );
    const acknowledged = await lastValueFrom(again$);
    const others = Array.from({ length: conflicts }, (_, index) => `other ${index + 2}`);
    expect(idsOf(saved).toSorted()).toEqual(['one', 'own', ...others].toSorted());
    expect(idsOf(acknowledged.saved)).toEqual(idsOf(saved));
    expect(errors).toHaveLength(Math.floor(conflicts / 11));
  });
});

const hasEnded = (saved: string) => saved.includes('Hello.') && !saved.includes('"base"');

describe('remoteChats', () => {
  it.each([
    ['in memory', undefined],
    ['that answers late', lateChats()],
  ])('keeps a chat, which another device opens and continues, with a store %s', async (_, chats) => {
    const service = await startService({ chats });
    const [phone, desk] = [service.device('ann'), service.device('ann')];
    const id = crypto.randomUUID();
    const first = phone.open({ id });
    first.chat.send('Hi from the phone');
    await idle(first.chat, 1);
    const opened = await stored(desk.chats.open(id), hasEnded);
    expect(opened).toMatchObject({ id, title: 'Hi from the phone' });
    expect(await firstValueFrom(desk.chats.list())).toMatchObject({ chats: [{ id, title: 'Hi from the phone' }] });
    const second = desk.open(opened);
    expect(JSON.stringify(second.chat.view.exchanges)).toContain('Hello.');
    second.chat.send('Hi from the desk');
    await idle(second.chat, 2);
    await stored(phone.chats.open(id), (saved) => hasEnded(saved) && saved.includes('from the desk'));
    expect([...first.errors, ...second.errors]).toEqual([]);
    expect(first.kept[0]).toBe('Hi from the phone');
    const renamed = await firstValueFrom(phone.chats.rename(id, 'Greetings'));
    expect(renamed).toMatchObject({ id, title: 'Greetings' });
    await lastValueFrom(phone.chats.delete(id), { defaultValue: undefined });
    await lastValueFrom(phone.chats.delete(id), { defaultValue: undefined });
    expect(await firstValueFrom(desk.chats.list())).toEqual({ chats: [] });
    await expect(lastValueFrom(phone.chats.open(id))).rejects.toMatchObject({ code: 'http', status: 404 });
  });

  it('deletes all runs of a chat whose oldest exchanges had no room at the service', async () => {
    const service = await startService({ maxBytes: 2500 });
    const { chats, open } = service.device('ann');
    const id = crypto.randomUUID();
    const { chat, errors } = open({ id });
    for (const count of [1, 2, 3, 4, 5, 6]) {
      chat.send(`Prompt ${count} ${count === 3 ? 'x'.repeat(3000) : ''}`); // the third has never room
      await idle(chat, count);
    }
    const { saved } = await stored(chats.open(id), (text) => text.includes('Prompt 6') && hasEnded(text));
    expect(saved.exchanges.length).toBeLessThan(4);
    expect(errors).toEqual([]);
    expect(service.runs()).toHaveLength(6);
    await lastValueFrom(chats.delete(id), { defaultValue: undefined });
    expect(service.runs()).toEqual([]);
  });

  it('merges what two devices write at once: both prompts and both answers stay', async () => {
    const service = await startService({ chats: lateChats() });
    const [phone, desk] = [service.device('ann'), service.device('ann')];
    const id = crypto.randomUUID();
    const [first, second] = [phone.open({ id }), desk.open({ id })];
    first.chat.send('From the phone');
    second.chat.send('From the desk');
    await Promise.all([idle(first.chat, 1), idle(second.chat, 1)]);
    first.chat.send('Another from the phone');
    await idle(first.chat, 2);
    const { saved } = await stored(
      desk.chats.open(id),
      (text) => text.split('"text":"Hello."').length > 6 && !text.includes('"base"'),
    );
    const prompts = saved.exchanges.map(({ input }) => JSON.stringify(input));
    for (const text of ['From the phone', 'From the desk', 'Another from the phone'])
      expect(prompts.filter((prompt) => prompt.includes(text))).toHaveLength(1);
    expect([...first.errors, ...second.errors]).toEqual([]);
    const reopened = desk.open({ id, title: '', updated: 0, version: 99, saved });
    expect(reopened.chat.view.exchanges.every(({ status }) => status === 'idle')).toBe(true);
  });

  it('writes again after a broken connection and a 503, and only the newest state', async () => {
    const service = await startService();
    const { chats } = service.device('ann');
    const states: SavedConversation[] = [1, 2, 3].map((count) => ({
      version: 1,
      exchanges: Array.from({ length: count }, (_, index) => exchange(index + 1)),
    }));
    service.faults.push(
      () => Promise.reject(new TypeError('The connection broke.')),
      () => Promise.resolve(new Response(null, { status: 503 })),
    );
    const id = crypto.randomUUID();
    const kept = await lastValueFrom(chats.keep({ saved$: of(...states) }, { id }).pipe(toArray()));
    expect(kept.map(({ version }) => version)).toEqual([1, 2]); // the first state at once, and then the third
    expect(service.fetches).toHaveLength(4);
    expect((await firstValueFrom(chats.open(id))).saved).toEqual(states[2]);
  });

  it('continues after an error where it was, if it is subscribed again', async () => {
    const service = await startService();
    const { chats } = service.device('ann');
    const saved = new BehaviorSubject<SavedConversation>({ version: 1, exchanges: [] }); // as `saved$` does
    const id = crypto.randomUUID();
    const back = new Subject<void>();
    const errors: unknown[] = [];
    const kept: number[] = [];
    const subscription = chats
      .keep({ saved$: saved }, { id })
      .pipe(
        retry({
          delay: (thrown) => {
            errors.push(thrown);
            return back.pipe(take(1));
          },
        }),
      )
      .subscribe(({ version }) => kept.push(version));
    for (let n = 0; n < 6; n++) service.faults.push(() => Promise.resolve(new Response(null, { status: 503 })));
    saved.next({ version: 1, exchanges: [exchange(1)] });
    while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toMatchObject([{ code: 'http', status: 503 }]);
    back.next();
    const opened = await stored(chats.open(id), (text) => text.includes('Prompt 1'));
    expect(opened.version).toBe(1);
    expect(kept).toEqual([1]);
    subscription.unsubscribe();
  });

  it('fails if the chat was deleted meanwhile, or if nothing keeps chats there', async () => {
    const service = await startService();
    const { chats, open } = service.device('ann');
    const id = crypto.randomUUID();
    const { chat, errors } = open({ id });
    chat.send('Hi');
    await idle(chat, 1);
    await stored(chats.open(id), hasEnded);
    await lastValueFrom(chats.delete(id), { defaultValue: undefined });
    chat.send('Again');
    await idle(chat, 2);
    while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toMatchObject([{ code: 'http', status: 404, retryable: false }]);
    const elsewhere = remoteChats('http://service.test', { fetch: () => Promise.resolve(Response.json({ hello: 1 })) });
    for (const work of [elsewhere.list(), elsewhere.open(id), elsewhere.rename(id, 'x')])
      await expect(lastValueFrom(work as Observable<unknown>)).rejects.toMatchObject({ code: 'configuration' });
    const none = remoteChats('http://service.test', {
      fetch: () => Promise.resolve(new Response(null, { status: 405 })),
    });
    await expect(lastValueFrom(none.list())).rejects.toThrow('keeps no chats');
  });

  it('sends a title as JSON, and says so', () => {
    const sent: RequestInit[] = [];
    const chats = remoteChats('/api/chat', {
      fetch: (_, init = {}) => {
        sent.push(init);
        return new Promise(() => undefined);
      },
    });
    chats.rename('a', 'Ann').subscribe().unsubscribe();
    expect(new Headers(sent[0]?.headers).get('content-type')).toBe('application/json');
    expect(JSON.parse(sent[0]?.body as string)).toMatchObject({ title: 'Ann' });
  });

  it('sends nothing before it is subscribed, and aborts when it is unsubscribed', () => {
    const signals: AbortSignal[] = [];
    const chats = remoteChats('/api/chat?tenant=1', {
      headers: () => ({ 'x-token': String(signals.length) }),
      fetch: (url, init) => {
        expect(url).toBe('/api/chat?tenant=1&chat=a%26b');
        if (init?.signal) signals.push(init.signal);
        return new Promise(() => undefined);
      },
    });
    const opened = chats.open('a&b');
    expect(signals).toHaveLength(0);
    opened.subscribe().unsubscribe();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

const exchange = (n: number): SavedConversation['exchanges'][number] => ({
  id: `${n}`.padStart(32, '0'),
  run: `${n}`.padStart(32, '0'),
  input: [{ role: 'user', parts: [{ type: 'text', text: `Prompt ${n}` }] }],
  messages: [],
  view: { status: 'idle', messages: [], usage: {} },
});
