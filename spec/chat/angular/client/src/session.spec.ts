import { ApplicationRef, ChangeDetectionStrategy, Component, createEnvironmentInjector, signal } from '@angular/core';
import { EnvironmentInjector, runInInjectionContext } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { Subject } from 'rxjs';
import { injectChats, injectConversation, injectRun, injectWaiting, provideAgent } from 'rivulet/angular';
import type { InjectedChats } from 'rivulet/angular';
import { conversation, remoteAgent, remoteChats } from 'rivulet/chat';
import { agentByHand, heldService, memoryStorage, show } from './setup';

/** A conversation of Ann. */
const saved = (() => {
  const chat = conversation(agentByHand().agent);
  chat.view$.subscribe();
  chat.send('SECRET');
  return chat.save();
})();
const summary = { id: 'of-ann', title: 'SECRET', updated: 5, version: 2 };
const opened = { ...summary, saved };
const waitingRun = { id: 'r1', title: 'SECRET', waiting: [{ id: 'c1', name: 'pay', arguments: {} }] };

let service = heldService();
let storage = memoryStorage();
const user = signal<string | undefined>('ann');

@Component({ selector: 'app-session', changeDetection: ChangeDetectionStrategy.OnPush, template: '' })
class Page {
  readonly chats = injectChats({ chats: service.chats, storage, refresh: 3_600_000, perFrame: false });
  readonly waiting = injectWaiting({ refresh: 3_600_000 });
}

const stable = () => TestBed.inject(ApplicationRef).whenStable();

/** Ann's page, which has read her list. */
async function openPage() {
  user.set('ann');
  service = heldService();
  storage = memoryStorage();
  TestBed.configureTestingModule({ providers: [provideAgent(service.agent, { user })] });
  const page = (await show(Page)).componentInstance;
  const list = await service.asked('list');
  list.next({ chats: [summary] });
  list.complete();
  expect(page.chats.entries().map(({ title }) => title)).toEqual(['SECRET']);
  return page;
}

type Opened = Awaited<ReturnType<typeof openPage>>;

async function deleteChat({ chats }: Opened) {
  chats.delete('of-ann');
  (await service.asked('open')).next(opened);
  (await service.asked('delete')).complete();
  expect(chats.deleted()).toEqual([{ id: 'of-ann', title: 'SECRET' }]);
}

/** What a page asks of the service: the name of the request, what makes it, and the answer. */
const requests: Record<string, readonly [name: string, (page: Opened) => unknown, answer: unknown]> = {
  'a chat that is opened': ['open', ({ chats }) => chats.open('of-ann'), opened],
  'a chat that is read to be deleted': ['open', ({ chats }) => chats.delete('of-ann'), opened],
  'a chat that is renamed': ['rename', ({ chats }) => chats.rename('of-ann', 'SECRET'), summary],
  'a chat that is deleted': [
    'delete',
    async ({ chats }) => {
      chats.delete('of-ann');
      (await service.asked('open')).next(opened);
    },
    undefined,
  ],
  'a chat that is restored': [
    'restore',
    async (page) => {
      await deleteChat(page);
      page.chats.restore('of-ann');
    },
    opened,
  ],
  'a chat that is read after it was restored': [
    'open',
    async (page) => {
      await deleteChat(page);
      page.chats.restore('of-ann');
      (await service.asked('restore')).next(opened);
    },
    opened,
  ],
  'a chat that is written': ['keep', ({ chats }) => chats.current.send('SECRET'), opened],
  'the list of chats': [
    'list',
    async ({ chats }) => {
      chats.rename('of-ann', 'SECRET'); // the list is read after each change
      (await service.asked('rename')).next(summary);
    },
    { chats: [summary] },
  ],
  'the list of what waits': ['waiting', () => undefined, [waitingRun]],
  'an answer to a question': ['resume', ({ waiting }) => waiting.answer('r1', 'c1', 'SECRET'), undefined],
};

const leave: Record<string, (chats: InjectedChats) => void> = {
  'a logout': (chats) => {
    chats.clear();
    user.set(undefined);
  },
  'a logout, and the login of another user': (chats) => {
    chats.clear();
    user.set(undefined);
    user.set('bob');
  },
  'a change of the user': () => user.set('bob'),
};

const answers: Record<string, (request: Subject<unknown>, answer: unknown) => void> = {
  arrives: (request, answer) => {
    if (answer !== undefined) request.next(answer);
    request.complete();
  },
  fails: (request) => request.error(new Error('SECRET')),
};

const rows = Object.keys(requests).flatMap((request) =>
  Object.keys(leave).flatMap((left) => Object.keys(answers).map((answer) => [request, left, answer] as const)),
);

describe('an answer of the service for an earlier user', () => {
  afterEach(() => TestBed.resetTestingModule());

  const shownOf = ({ chats, waiting }: Opened) => ({
    entries: chats.entries(),
    deleted: chats.deleted(),
    exchanges: chats.current.exchanges(),
    errors: [chats.error(), waiting.error()],
    runs: waiting.runs(),
  });
  const nothing = { entries: [], deleted: [], exchanges: [], errors: [undefined, undefined], runs: [] };
  const storedOfOthers = () =>
    [...storage.texts]
      .filter(([key]) => !key.startsWith('ann '))
      .flat()
      .join(' ');

  it.each(rows)('%s: after %s, what %s changes and stores nothing', async (name, left, answer) => {
    const page = await openPage();
    const [asked, act, value] = requests[name]!;
    await act(page);
    const request = await service.asked(asked);
    leave[left]!(page.chats);
    answers[answer]!(request, value); // before Angular has run an effect
    expect(shownOf(page)).toEqual(nothing);
    expect(page.chats.id()).not.toBe('of-ann');
    await stable();
    expect(shownOf(page)).toEqual(nothing);
    expect(storedOfOthers()).not.toMatch(/of-ann|SECRET/);
    page.chats.restore('of-ann');
    expect(shownOf(page)).toEqual(nothing);
  });

  it.each(Object.keys(requests))('%s: the request is cancelled', async (name) => {
    const page = await openPage();
    const [asked, act] = requests[name]!;
    await act(page);
    const request = await service.asked(asked);
    user.set('bob');
    await stable();
    expect(request.observed).toBe(false);
  });

  it('asks nothing without a user', async () => {
    const page = await openPage();
    user.set(undefined);
    await stable();
    page.chats.rename('of-ann', 'SECRET');
    expect(service.isAsked('rename')).toBe(false);
    user.set('bob');
    page.chats.rename('of-bob', 'Oslo'); // before Angular has run an effect
    await stable();
    expect(service.isAsked('rename')).toBe(true);
  });
});

describe('what an earlier session has not sent yet', () => {
  afterEach(() => TestBed.resetTestingModule());

  /** Requests with the headers of the user, which the spec answers. */
  function openService() {
    user.set('ann');
    const sent: { readonly as: string; readonly body: string; readonly answer: (body: string) => void }[] = [];
    const answered: typeof fetch = (_, init) =>
      new Promise((resolve) => {
        const as = new Headers(init?.headers).get('authorization') ?? '';
        const answer = (body: string) =>
          resolve(new Response(body, { headers: { 'content-type': 'application/json' } }));
        if (init?.method !== 'GET') sent.push({ as, body: String(init?.body), answer });
      });
    return { sent, options: { headers: () => ({ authorization: user() ?? '' }), fetch: answered, retryDelay: 1 } };
  }

  const isSent = (sent: readonly unknown[]) => expect.poll(() => sent.length, { timeout: 10_000 }).toBe(1);

  it('of a chat is not written for the next user', async () => {
    const { sent, options } = openService();
    const chats = remoteChats('/api', options);
    TestBed.configureTestingModule({ providers: [provideAgent(heldService().agent, { user })] });
    const page = TestBed.runInInjectionContext(() => injectChats({ chats, storage: memoryStorage(), perFrame: false }));
    page.current.send('SECRET one');
    await isSent(sent);
    page.current.send('SECRET two'); // waits for the answer
    user.set('bob');
    sent[0]!.answer(JSON.stringify(summary));
    await stable();
    expect(sent.map(({ as }) => as)).toEqual(['ann']);
  });

  it('of the prompts is not sent for the next user', async () => {
    const { sent, options } = openService();
    TestBed.configureTestingModule({ providers: [provideAgent(remoteAgent('/api', options), { user })] });
    const chat = TestBed.runInInjectionContext(() =>
      injectConversation({ key: 'chat', storage: memoryStorage(), perFrame: false }),
    );
    chat.send('SECRET one');
    await isSent(sent);
    chat.send('SECRET two'); // waits for the end of the run
    user.set('bob');
    sent[0]!.answer('no run'); // the run fails
    await stable();
    expect(sent.map(({ as }) => as)).toEqual(['ann']);
  });
});

describe('what a page shows without storing it', () => {
  afterEach(() => TestBed.resetTestingModule());

  const session = signal<{ readonly id?: string }>({});
  function openSession() {
    session.set({ id: 'ann' });
    const byHand = agentByHand();
    TestBed.configureTestingModule({ providers: [provideAgent(byHand.agent, { user: () => session().id })] });
    return byHand;
  }
  const inject = (options: object) =>
    TestBed.runInInjectionContext(() => injectConversation({ ...options, perFrame: false }));

  it.each<[string, object, { readonly id?: string }]>([
    ['a conversation without a key, after a logout', {}, {}],
    ['a conversation without a key, for another user', {}, { id: 'bob' }],
    ['the option `saved`, after a logout', { saved }, {}],
    ['the option `saved`, for another user', { saved }, { id: 'bob' }],
  ])('%s: is not shown', async (_, options, next) => {
    openSession();
    const chat = inject(options);
    chat.send('SECRET');
    await stable();
    const { length } = chat.exchanges();
    expect(length).toBeGreaterThan(0);
    session.set({ id: 'ann' }); // with another token
    await stable();
    expect(chat.exchanges()).toHaveLength(length);
    session.set(next);
    expect(chat.exchanges()).toEqual([]); // before Angular has run an effect
    chat.send('Hello!');
    await stable();
    expect(chat.exchanges()).toHaveLength(1);
    expect(JSON.stringify(chat.save())).not.toContain('SECRET');
  });

  it('`saved` is not shown after `clear`, and not with a key', () => {
    openSession();
    const chat = inject({ saved });
    expect(chat.exchanges()).toHaveLength(1);
    chat.clear();
    expect(chat.exchanges()).toEqual([]);
    session.set({});
    expect(inject({ saved, key: 'chat', storage: memoryStorage() }).exchanges()).toEqual([]);
  });

  it('a run is left, and started again for the next user', async () => {
    const { say } = openSession();
    const run = TestBed.runInInjectionContext(() => injectRun(() => 'My mail', { perFrame: false }));
    await stable();
    say('SECRET');
    session.set({ id: 'ann' }); // with another token
    await stable();
    expect(run.text()).toBe('SECRET');
    session.set({ id: 'bob' });
    await stable();
    expect([run.status(), run.text()]).toEqual(['sending', '']);
  });
});

describe('a provider without a user, below one with a user', () => {
  it('stores the conversation of the user', () => {
    user.set('ann');
    const own = memoryStorage();
    const { agent } = agentByHand();
    TestBed.configureTestingModule({ providers: [provideAgent(agent, { user })] });
    const route = createEnvironmentInjector([provideAgent(agent)], TestBed.inject(EnvironmentInjector));
    const inRoute = () => injectConversation({ key: 'help', storage: own, perFrame: false });
    const chat = runInInjectionContext(route, inRoute);
    chat.send('Hello!');
    expect([...own.texts.keys()]).toEqual(['ann help']);
    user.set('bob');
    expect(chat.exchanges()).toEqual([]);
  });
});
