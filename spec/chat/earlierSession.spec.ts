import { describe, expect, it } from '@jest/globals';
import { NEVER, of, Subject, type Observable } from 'rxjs';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent, remoteChats } from '../../lib/chat/index.js';
import type { SavedConversation } from '../../lib/chat/savedConversation.js';
import { userMessage } from '../../lib/core/message.js';
import { whileCurrent } from '../../lib/transport/pageFetch.js';

const id = 'a'.repeat(32);
const [one, two] = ['one', 'two'].map((text) => {
  const chat = conversation({ stream: () => NEVER, resume: () => NEVER });
  chat.view$.subscribe();
  chat.send([
    userMessage([
      { type: 'text', text },
      { type: 'file', mediaType: 'text/plain', data: 'AAAA' },
    ]),
  ]);
  return chat.save();
}) as [SavedConversation, SavedConversation];
const entry = { id, title: '', updated: 1, version: 1 };

/** A page whose requests the spec answers, and whose user may change before an answer arrives. */
function openPage() {
  let user = 'ann';
  const sent: string[] = [];
  const answers: ((response: Response) => void)[] = [];
  const fetch = ((_: string, { headers }: { readonly headers: HeadersInit }) => {
    sent.push(new Headers(headers).get('authorization') ?? '');
    return new Promise<Response>((resolve) => answers.push(resolve));
  }) as typeof globalThis.fetch;
  const options = { headers: () => ({ authorization: user }), fetch, retryDelay: 0 };
  const isCurrent = () => user === 'ann';
  const newest = new Subject<SavedConversation>();
  return {
    sent,
    newest,
    options,
    isCurrent,
    chats: whileCurrent(remoteChats('/api', options), isCurrent),
    agent: whileCurrent(remoteAgent('/api', options), isCurrent),
    leave: () => (user = 'bob'),
    answer: (status: number, body: object = {}) =>
      answers.shift()?.(
        new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } }),
      ),
  };
}

type Page = ReturnType<typeof openPage>;

/** More turns of the event loop than a request, its answer and its retry take. */
async function settle() {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setTimeout(resolve));
}

const notifiers = { id, earlier: [], stop: NEVER, cancel: NEVER, fragments: true, context: undefined } as const;

const requests: Record<string, (page: Page) => Observable<unknown>> = {
  'the list of chats': ({ chats }) => chats.list(),
  'a chat that is read': ({ chats }) => chats.open(id),
  'a chat that is renamed': ({ chats }) => chats.rename(id, 'SECRET'),
  'a chat that is deleted': ({ chats }) => chats.delete(id),
  'a chat that is restored': ({ chats }) => chats.restore(id, one),
  'a chat that is written': ({ chats }) => chats.keep({ saved$: of(one) }, { id }),
  'a prompt': ({ agent }) => agent.stream([userMessage('SECRET')], { ...notifiers, history: [] }),
  'an answer': ({ agent }) => agent.resume(undefined, { ...notifiers, results: { a: 'SECRET' } }),
  'a run that is joined': ({ agent }) => agent.join?.(id, notifiers) ?? NEVER,
  'a stop': ({ agent }) => agent.stop?.(id) ?? NEVER,
  'the list of what waits': ({ agent }) => agent.waiting?.() ?? NEVER,
};

const causes: Record<string, (page: Page) => unknown> = {
  'after an expired token (401)': ({ answer }) => answer(401),
  'after a delay (503)': ({ answer }) => answer(503),
};

/** What a write is followed by. */
const writes: Record<string, (page: Page) => unknown> = {
  'the next version': ({ newest, answer }) => {
    newest.next(two);
    answer(200, entry);
  },
  'a merged version (409)': ({ answer }) => answer(409, { ...entry, saved: two }),
  'a smaller version (413)': ({ answer }) => answer(413),
};

async function sentBy(request: (page: Page) => Observable<unknown>, cause: (page: Page) => unknown, leaves: boolean) {
  const page = openPage();
  const subscription = request(page).subscribe({ error: () => undefined });
  await settle();
  if (leaves) page.leave();
  cause(page);
  await settle();
  subscription.unsubscribe();
  return page.sent;
}

const keep = ({ chats, newest }: Page) => {
  const kept = chats.keep({ saved$: newest }, { id });
  queueMicrotask(() => newest.next(one));
  return kept;
};

describe.each([
  ...Object.entries(requests).flatMap(([name, request]) =>
    Object.entries(causes).map(([cause, act]) => [`${name}, ${cause}`, request, act] as const),
  ),
  ...Object.entries(writes).map(([cause, act]) => [cause, keep, act] as const),
])('%s', (_, request, cause) => {
  it('is sent again for the same user', async () => {
    expect(await sentBy(request, cause, false)).toEqual(['ann', 'ann']);
  });

  it('is not sent with the headers of the next user', async () => {
    expect(await sentBy(request, cause, true)).toEqual(['ann']);
  });
});

it.each(Object.entries(requests))('%s, whose token arrives with the next user, is not sent', async (_, request) => {
  const page = openPage();
  const token = new Subject<{ readonly authorization: string }>();
  const options = { ...page.options, headers: () => token };
  const own = {
    ...page,
    chats: whileCurrent(remoteChats('/api', options), page.isCurrent),
    agent: whileCurrent(remoteAgent('/api', options), page.isCurrent),
  };
  const subscription = request(own).subscribe({ error: () => undefined });
  await settle();
  page.leave();
  token.next({ authorization: 'bob' });
  await settle();
  subscription.unsubscribe();
  expect(page.sent).toEqual([]);
});

it('leaves a client that a program has wrapped as it is', () => {
  const agent = { ...remoteAgent('/api') };
  expect(whileCurrent(agent, () => false)).toBe(agent);
});
