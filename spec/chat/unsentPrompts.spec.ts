import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, Subscription } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation } from '../../lib/chat/index.js';
import { messageText } from '../../lib/core/message.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { shutDown } from '../support/services.js';

let work = new Subscription();
afterEach(() => {
  work.unsubscribe();
  work = new Subscription();
});

/** A page without a network, or whose service receives requests but whose responses are lost. */
function createPage(fault: 'offline' | 'unanswered') {
  const model = scriptedModel(() => 'Hello.');
  const handler = agentHandler(createAgent({ model }), { grace: 60_000 });
  work.add(() => shutDown(handler));
  const network = { isOnline: false };
  const send: typeof fetch = async (address, init) => {
    if (network.isOnline) return handler(new Request(address, init));
    if (fault === 'unanswered') void (await handler(new Request(address, { ...init, signal: null }))).text();
    throw new Error('offline');
  };
  const open = (saved?: string) => {
    const chat = conversation(remoteAgent('http://service.test/', { fetch: send, retries: 0 }), { saved });
    const shown = chat.view$.subscribe();
    work.add(shown);
    return { chat, reload: () => (shown.unsubscribe(), open(JSON.stringify(chat.save()))) };
  };
  return { model, network, open };
}

type Page = ReturnType<typeof createPage>;
type Opened = ReturnType<Page['open']>;

const first = (chat: Conversation, isReached: (exchange: Conversation['view']['exchanges'][number]) => boolean) =>
  firstValueFrom(chat.view$.pipe(filter(({ exchanges: [exchange] }) => exchange !== undefined && isReached(exchange))));

/** What happens when the network is back: the person asks for it, or only the page. */
const ways: Readonly<Record<string, (page: Page, opened: Opened) => Opened>> = {
  'reconnect()': ({ network }, opened) => {
    network.isOnline = true;
    opened.chat.reconnect();
    return opened;
  },
  'a reload and reconnect()': ({ network }, opened) => {
    network.isOnline = true;
    const next = opened.reload();
    next.chat.reconnect();
    return next;
  },
  'a reload without a network, then reconnect()': ({ network }, opened) => {
    const next = opened.reload();
    network.isOnline = true;
    next.chat.reconnect();
    return next;
  },
};

describe('a prompt whose request has failed', () => {
  const cells = Object.keys(ways).flatMap((way) =>
    (['offline', 'unanswered'] as const).map((fault) => [way, fault] as const),
  );
  it.each(cells)('is answered once after %s: %s', async (way, fault) => {
    const page = createPage(fault);
    const opened = page.open();
    opened.chat.send('Hi');
    const failed = await first(opened.chat, ({ status }) => status === 'failed');
    expect(failed.exchanges[0]).toMatchObject({ isIncomplete: true, error: { code: 'connection' } });
    const { chat } = ways[way]?.(page, opened) ?? opened;
    const { exchanges } = await first(chat, ({ status }) => ['idle', 'failed'].includes(status));
    expect(exchanges[0]).toMatchObject({ status: 'idle', messages: [{ role: 'user' }, { role: 'model' }] });
    expect(exchanges[0]?.error).toBeUndefined();
    expect(page.model.requests.map(({ messages }) => messages.map((message) => messageText(message)))).toEqual([
      ['Hi'],
    ]);
  });

  it.each(['a reload', 'the next prompt'])(
    'keeps its error after %s, and is not sent without being asked',
    async (occasion) => {
      const page = createPage('offline');
      const opened = page.open();
      opened.chat.send('Hi');
      await first(opened.chat, ({ status }) => status === 'failed');
      page.network.isOnline = true;
      const { chat } = occasion === 'a reload' ? opened.reload() : opened;
      if (occasion === 'the next prompt') chat.send('Hello?');
      const { exchanges } = await first(chat, ({ isIncomplete }) => !isIncomplete);
      expect(exchanges[0]).toMatchObject({ status: 'failed', error: { code: 'connection' } });
      expect(page.model.requests.filter(({ messages }) => messages.length === 1)).toEqual([]);
    },
  );
});
