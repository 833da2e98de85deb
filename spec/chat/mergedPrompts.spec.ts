import { afterEach, describe, expect, it } from '@jest/globals';
import {
  concat,
  defer,
  filter,
  firstValueFrom,
  ignoreElements,
  merge,
  NEVER,
  of,
  ReplaySubject,
  Subject,
  take,
  tap,
  throwError,
  toArray,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Conversation } from '../../lib/chat/conversation.js';
import type { ConversationAgent } from '../../lib/chat/conversationAgent.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { messagesOf, type Input } from '../../lib/core/input.js';
import { messageText, type Message } from '../../lib/core/message.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { ScriptedTurn } from '../../lib/testing/index.js';
import { RemoteRunError } from '../../lib/transport/fromServerSentEvents.js';
import { createServers } from '../support/services.js';

const servers = createServers();
afterEach(() => servers.close());

const script: readonly ScriptedTurn[] = [['Let me see. ', toolCall('work', {}, 'c1')], 'Done.', 'More.', 'Last.'];

/** An agent whose tool ends when `tooling` emits. `started` emits when it runs. */
function working() {
  const tooling = new Subject<string>();
  const started = new Subject<void>();
  const work = tool({
    name: 'work',
    description: 'Works.',
    execute: () => {
      queueMicrotask(() => started.next());
      return tooling.pipe(take(1));
    },
  });
  const model = scriptedModel(script);
  return { agent: createAgent({ model, tools: [work] }), model, tooling, started };
}

/** The texts of the view, one list for each exchange. */
const textsOf = (chat: Conversation) =>
  chat.view.exchanges.map(({ messages }) =>
    messages.map(
      ({ role, parts }) => `${role}: ${parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}`,
    ),
  );
const isIdle = (chat: Conversation) => firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'idle')));

/** An agent, and what resolves when a number of prompts has been sent to its run. */
interface Opened {
  readonly agent: ConversationAgent;
  readonly sent: (count: number) => Promise<unknown>;
}
type Open = (agent: ReturnType<typeof working>['agent']) => Promise<Opened>;
const opened: { readonly local: Open; readonly remote: Open } = {
  local: (agent) => Promise.resolve({ agent, sent: () => Promise.resolve() }),
  async remote(agent) {
    const patches = new ReplaySubject<number>(Infinity);
    const url = await servers.serve(agentHandler(agent));
    const counted: typeof fetch = async (address, init) => {
      const response = await fetch(address, init);
      if (init?.method === 'PATCH') patches.next(response.status);
      return response;
    };
    return {
      agent: remoteAgent(url, { fetch: counted }),
      sent: (count) =>
        firstValueFrom(
          patches.pipe(
            filter((status) => status === 204),
            take(count),
            toArray(),
          ),
        ),
    };
  },
};

describe.each(Object.entries(opened))('whenBusy merge with a %s agent', (_, open) => {
  it('lets the prompts join the run at the end of the turn, in their order', async () => {
    const { agent, model, tooling, started } = working();
    const { agent: shown, sent } = await open(agent);
    const chat = conversation(shown, { whenBusy: 'merge' });
    const views = chat.view$.subscribe();
    const running = firstValueFrom(started);
    chat.send('Write.');
    await running;
    chat.send('Hurry.');
    chat.send('And be brief.');
    expect(chat.view.queued).toEqual(['Hurry.', 'And be brief.']);
    await sent(2);
    tooling.next('worked');
    await isIdle(chat);
    expect(textsOf(chat)).toEqual([
      ['user: Write.', 'model: Let me see. ', 'user: Hurry.', 'user: And be brief.', 'model: Done.'],
    ]);
    expect(model.requests.map(({ messages }) => messages.map(messageText))).toEqual([
      ['Write.'],
      ['Write.', 'Let me see. ', '', 'Hurry.', 'And be brief.'],
    ]);
    expect(chat.view.queued).toEqual([]);
    chat.send('Next.');
    await isIdle(chat);
    expect(textsOf(chat).at(-1)).toEqual(['user: Next.', 'model: More.']);
    views.unsubscribe();
  });

  it('drops the prompts that have not joined when the run is stopped', async () => {
    const { agent, tooling, started } = working();
    const { agent: shown, sent } = await open(agent);
    const chat = conversation(shown, { whenBusy: 'merge' });
    const views = chat.view$.subscribe();
    const running = firstValueFrom(started);
    chat.send('Write.');
    await running;
    chat.send('Hurry.');
    await sent(1);
    chat.stop(); // also the prompts that wait
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'stopped')));
    expect(chat.view.queued).toEqual([]);
    tooling.next('worked');
    chat.send('Again.');
    await isIdle(chat);
    expect(textsOf(chat).at(-1)).toEqual(['user: Again.', 'model: Done.']);
    views.unsubscribe();
  });

  it('keeps the prompts of a saved conversation that have not joined, and no others', async () => {
    const { agent, tooling, started } = working();
    const { agent: shown, sent } = await open(agent);
    const chat = conversation(shown, { whenBusy: 'merge' });
    const views = chat.view$.subscribe();
    const running = firstValueFrom(started);
    chat.send('Write.');
    await running;
    chat.send('Hurry.');
    await sent(1);
    expect(chat.save().queued).toMatchObject([{ input: 'Hurry.' }]);
    tooling.next('worked');
    await isIdle(chat);
    expect(chat.save().queued).toBeUndefined();
    views.unsubscribe();
    const again = conversation(shown, { whenBusy: 'merge', saved: chat.save() });
    expect(textsOf(again)).toEqual(textsOf(chat));
  });
});

it('a page that is loaded again during the run shows each prompt once', async () => {
  const { agent, tooling, started } = working();
  const { agent: remote, sent } = await opened.remote(agent);
  const chat = conversation(remote, { whenBusy: 'merge' });
  const views = chat.view$.subscribe();
  const running = firstValueFrom(started);
  chat.send('Write.');
  await running;
  chat.send('Hurry.');
  await sent(1);
  const saved = JSON.stringify(chat.save());
  views.unsubscribe();
  const again = conversation(remote, { whenBusy: 'merge', saved });
  const shown = again.view$.subscribe();
  tooling.next('worked');
  await isIdle(again);
  expect(textsOf(again)).toEqual([['user: Write.', 'model: Let me see. ', 'user: Hurry.', 'model: Done.']]);
  expect(again.view.queued).toEqual([]);
  shown.unsubscribe();
});

it('a run that is joined again takes no prompt for the one that has joined it before', () => {
  const prompts: Message[] = [];
  const first = new Subject<StreamEvent>();
  const joined = new Subject<StreamEvent>();
  const message = (index: number) => ({ type: 'message', message: prompts[index] }) as StreamEvent;
  // A run takes prompts as long as it is subscribed.
  const taking = (events: Observable<StreamEvent>, given: Observable<Input> = NEVER) =>
    merge(
      events,
      given.pipe(
        tap((input) => prompts.push(...messagesOf(input))),
        ignoreElements(),
      ),
    );
  const agent: ConversationAgent = {
    stream: (_, options) => taking(first, options.prompts),
    join: (_, options) => taking(joined, options.prompts),
    resume: () => NEVER,
  };
  const chat = conversation(agent, { whenBusy: 'merge' });
  const views = chat.view$.subscribe();
  chat.send('Write.');
  chat.send('Hurry.');
  first.next(message(0));
  expect(chat.view.queued).toEqual([]);
  chat.send('Hurry.');
  first.error(new RemoteRunError('run_not_found', 'The events are gone.', false)); // this page was suspended
  joined.next(message(0));
  expect(chat.view.queued).toEqual(['Hurry.']);
  joined.next(message(1));
  expect(chat.view.queued).toEqual([]);
  views.unsubscribe();
});

it('a run that fails as not found, each time it is joined, ends', () => {
  let joins = 0;
  const lost = new RemoteRunError('run_not_found', 'The run was lost.', false);
  const begun = (count: number) =>
    concat(
      of({ type: 'text', text: `Hi ${count}` } as StreamEvent),
      throwError(() => lost),
    );
  const agent: ConversationAgent = {
    stream: () => begun(0),
    join: () => defer(() => begun(++joins)),
    resume: () => NEVER,
  };
  const chat = conversation(agent);
  const views = chat.view$.subscribe();
  chat.send('Write.');
  expect(joins).toBe(1);
  expect(chat.view.exchanges).toMatchObject([{ status: 'failed', error: { code: 'run_not_found' } }]);
  expect(textsOf(chat)).toEqual([['user: Write.', 'model: Hi 1']]);
  views.unsubscribe();
});
