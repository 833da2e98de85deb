import fc from 'fast-check';
import { defer, firstValueFrom, lastValueFrom, retry, share, Subject, Subscription, tap } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { chatCopies, conversation, persist, remoteAgent, remoteChats } from '../../lib/chat/index.js';
import type { Conversation } from '../../lib/chat/index.js';
import type { Exchange } from '../../lib/chat/exchange.js';
import type { ModelRequest } from '../../lib/core/model.js';
import type { ChatRecord } from '../../lib/service/chats/chatStore.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { keepChats, memoryStore } from '../../lib/service/index.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { inVirtualTime } from './virtualTime.js';
import { payTool } from './toolCalls.js';

/** What a person does with one of two devices. */
const deviceActs = [
  'send',
  'pay',
  'approve',
  'edit',
  'regenerate',
  'offline',
  'online',
  'close',
  'open',
  'fetch',
  'full',
  'room',
  'rename',
  'delete',
  'restore',
] as const;
type Act = (typeof deviceActs)[number];

type DeviceStep = readonly [act: Act, device: 0 | 1];

const often: readonly Act[] = ['send', 'pay', 'approve', 'approve', 'offline', 'online', 'fetch', 'fetch', 'open'];

/** Steps in random order. A deletion is rare. */
export const deviceSteps = fc.array(
  fc.tuple(fc.constantFrom(...deviceActs, ...often), fc.constantFrom(0 as const, 1 as const)),
  { minLength: 4, maxLength: 16 },
);

const url = 'http://service.test/api/chat';
/** After this time, in milliseconds, a step has had its effects, also by a request that is sent again. */
const SETTLED = 500;
/** A text of more characters does not fit into a storage that is full. */
const ROOM = 900;

const pause = () => new Promise((resolve) => setTimeout(resolve, SETTLED));

/** How far an exchange has come. A page shows one that is done as done, too. */
const rankOf = ({ view: { status } }: Exchange): number => {
  if (status === 'idle' || status === 'stopped') return 2;
  return status === 'waiting' ? 1 : 0;
};

function createService() {
  const textOf = ({ messages }: ModelRequest) => JSON.stringify(messages.at(-1));
  const respond = (request: ModelRequest) => {
    if (textOf(request).includes('toolResult')) return 'Paid.';
    return textOf(request).includes('Pay') ? [toolCall('pay', {}, `c${++calls}`)] : 'An answer.';
  };
  let calls = 0;
  const agent = createAgent({ model: scriptedModel(respond), tools: [payTool()] });
  return agentHandler(agent, { chats: keepChats(memoryStore<ChatRecord>()) });
}

/** A browser. Its storage and its connection outlive its page. */
function createDevice(handler: ReturnType<typeof createService>) {
  const texts = new Map<string, string>();
  const state = { isOnline: true, isFull: false };
  const online$ = new Subject<void>();
  const storage = {
    getItem: (key: string) => texts.get(key) ?? null,
    removeItem: (key: string) => void texts.delete(key),
    setItem(key: string, text: string) {
      if (state.isFull && text.length > ROOM) throw new Error('QuotaExceededError');
      texts.set(key, text);
    },
  };
  const options = {
    retryDelay: 5,
    retries: 1,
    fetch: (address: RequestInfo | URL, init?: RequestInit) =>
      state.isOnline ? handler(new Request(address, init)) : Promise.reject(new TypeError('offline')),
  };
  const chats = remoteChats(url, options);
  const copies = chatCopies(chats, storage);
  let page: { readonly chat: Conversation; readonly work: Subscription } | undefined;
  let isKept = false;
  return {
    state,
    online$,
    chats,
    copies,
    chat: () => page?.chat,
    /** Whether what the page shows goes to the service, or is in its storage, which may be full. */
    keeps: (id: string) => isKept || !copies.read(id)?.includes('isReduced'),
    open(id: string) {
      if (page) return;
      const chat = conversation(remoteAgent(url, options), { saved: copies.read(id) });
      const stored$ = persist(chat, storage, id).pipe(share());
      const work = new Subscription();
      page = { chat, work };
      const ignore = { error: () => undefined }; // a page tries again when it is opened again
      work.add(chat.view$.subscribe());
      work.add(stored$.subscribe(ignore));
      const kept$ = defer(() => {
        isKept = true;
        return copies.keep(id, stored$).pipe(tap({ error: () => (isKept = false) }));
      });
      work.add(kept$.pipe(retry({ delay: () => online$ })).subscribe());
    },
    close() {
      page?.work.unsubscribe();
      page = undefined;
    },
  };
}

/**
 * Plays what a person does with one chat on two devices, in virtual time. At the end both are online, and have been
 * opened twice. Returns what was lost, or came back.
 */
export const playDevices = (steps: readonly DeviceStep[]): Promise<readonly string[]> =>
  inVirtualTime(async () => {
    const handler = createService();
    const devices = [createDevice(handler), createDevice(handler)] as const;
    const observer = createDevice(handler);
    const id = crypto.randomUUID();
    const wrong = new Set<string>();
    /** How far the service has had each exchange, and those that a page with a connection has shown as done. */
    const best = new Map<string, number>();
    const shown = new Set<string>();
    const done = { title: undefined as string | undefined, isDeleted: false, isRestored: false };
    const stored = () => firstValueFrom(observer.chats.open(id)).catch(() => undefined);
    const look = async () => {
      const opened = await stored();
      for (const exchange of opened?.saved.exchanges ?? []) {
        const before = best.get(exchange.id) ?? 0;
        if (before > rankOf(exchange) && !done.isRestored) wrong.add('an exchange is older at the service than it was');
        best.set(exchange.id, Math.max(before, rankOf(exchange)));
      }
      for (const { state, chat, keeps } of devices)
        for (const exchange of state.isOnline && keeps(id) ? (chat()?.save().exchanges ?? []) : [])
          if (rankOf(exchange) === 2) shown.add(exchange.id);
      return opened;
    };

    const perform = async ([act, index]: DeviceStep, count: number): Promise<void> => {
      const device = devices[index];
      const { state, copies, chats } = device;
      const chat = device.chat();
      const last = chat?.view.exchanges.at(-1)?.id;
      switch (act) {
        case 'send':
          return chat?.send(`Question ${count}`);
        case 'pay':
          return chat?.send(`Pay ${count}`);
        case 'edit':
          return last === undefined ? undefined : chat?.edit(last, `Another question ${count}`);
        case 'regenerate':
          return last === undefined ? undefined : chat?.regenerate(last);
        case 'approve': {
          const call = state.isOnline ? chat?.view.waiting[0] : undefined;
          return call && chat?.decide(call.id, { approve: true });
        }
        case 'offline':
        case 'online':
          state.isOnline = act === 'online';
          if (state.isOnline) device.online$.next();
          return;
        case 'full':
        case 'room':
          state.isFull = act === 'full';
          return;
        case 'close':
          device.close();
          return;
        case 'fetch':
          if (!chat && state.isOnline) await firstValueFrom(copies.fetch(id)).catch(() => undefined);
          device.open(id);
          return;
        case 'open':
          device.open(id);
          return;
        case 'rename':
          if (state.isOnline && (await stored()))
            await firstValueFrom(chats.rename(id, (done.title = `Title ${count}`)));
          return;
        case 'delete':
          if (!state.isOnline || !(await stored())) return;
          done.isDeleted = true;
          device.close();
          copies.remove(id);
          await lastValueFrom(chats.delete(id), { defaultValue: undefined });
          return;
        case 'restore':
          // What a full storage had no room for cannot be restored from it.
          if (!done.isDeleted || !state.isOnline || (copies.read(id)?.includes('isReduced') ?? true)) return;
          done.isDeleted = false;
          done.isRestored = true; // its runs are gone: a call that waited cannot be approved any more
          done.title = undefined;
          best.clear(); // some exchanges may have been on the other device only
          shown.clear();
          await lastValueFrom(copies.restore(id), { defaultValue: undefined });
      }
    };

    devices[0].open(id);
    devices[0].chat()?.send('Pay first');
    await pause();
    for (const [count, step] of steps.entries()) {
      await perform(step, count);
      await pause();
      if (!done.isDeleted) await look();
    }
    for (const device of devices) {
      Object.assign(device.state, { isOnline: true, isFull: false });
      device.close();
    }
    for (const device of [...devices, ...devices]) {
      device.open(id);
      await pause();
      device.close();
    }
    if (done.isDeleted) {
      if ((await firstValueFrom(observer.chats.list())).chats.length > 0) wrong.add('a deleted chat is back');
    } else {
      const opened = await look();
      const ids = new Set(opened?.saved.exchanges.map((exchange) => exchange.id));
      if ([...best.keys()].some((each) => !ids.has(each))) wrong.add('an exchange that the service had is lost');
      if ([...shown].some((each) => !ids.has(each))) wrong.add('an exchange that was shown is not at the service');
      if (done.title !== undefined && opened?.title !== done.title) wrong.add('the title of the user is lost');
    }
    await lastValueFrom(handler.shutdown('abandon'), { defaultValue: undefined });
    return [...wrong];
  });
