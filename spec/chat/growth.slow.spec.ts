import { it } from '@jest/globals';
import { EMPTY, NEVER } from 'rxjs';
import { conversation, type Conversation } from '../../lib/chat/conversation.js';
import type { ConversationAgent } from '../../lib/chat/conversationAgent.js';
import { mergeSaved } from '../../lib/chat/mergeSaved.js';
import type { SavedConversation } from '../../lib/chat/savedConversation.js';
import { emptyView, type ToolCallView, type View } from '../../lib/operators/view/view.js';
import { collectGarbage } from '../support/collectGarbage.js';
import { expectLinear, shortestTime } from '../support/cost.js';

// A model may ask for thousands of calls. A page makes a view with each event, so the work for one view grows linearly
// with the number of calls. Each row is measured at n and at 4n: quadratic work takes sixteen times as long.

const SIZE = 1000;

type Call = (index: number) => Partial<ToolCallView>;

const viewWith = (calls: readonly Partial<ToolCallView>[]): View => ({
  status: 'waiting',
  usage: {},
  messages: [
    {
      id: '1',
      role: 'model',
      parts: calls.map((call) => ({ type: 'toolCall', id: '', name: 'f', arguments: {}, status: 'waiting', ...call })),
    },
  ],
});

const calls: Readonly<Record<string, Call>> = {
  'calls that wait': (index) => ({ id: `c${index}` }),
  'calls that have ended': (index) => ({ id: `c${index}`, status: 'completed', result: index }),
  'calls of inner runs': (index) => ({ id: `c${index}`, nested: viewWith([{ id: `c${index}/1` }]) }),
};

/** In how many exchanges the calls are: two tabs may have stored several that wait. */
const places: Readonly<Record<string, number>> = { 'one exchange': 1, 'two exchanges': 2, 'ten exchanges': 10 };

const actions: Readonly<Record<string, (chat: Conversation) => unknown>> = {
  'a view': (chat) => chat.view,
  'an answer': (chat) => chat.view.waiting.slice(0, 1).forEach(({ id }) => chat.answer(id, 1)),
  'what is saved': (chat) => chat.save(),
};

const agent: ConversationAgent = { stream: () => NEVER, resume: () => NEVER, join: () => EMPTY };

function chatWith(call: Call, count: number, n: number): Conversation {
  const exchanges = Array.from({ length: count }, (_, index) => ({
    id: `e${index}`,
    ...(index === 0 ? {} : { parent: `e${index - 1}` }),
    run: index.toString(16).padStart(32, '0'),
    input: [],
    messages: [],
    view: viewWith(Array.from({ length: n / count }, (__, at) => call(index * (n / count) + at))),
  }));
  const saved = { version: 1, exchanges, selected: `e${count - 1}` } as unknown as SavedConversation;
  return conversation(agent, { saved });
}

const rows = Object.entries(calls).flatMap(([kind, call]) =>
  Object.entries(places).flatMap(([place, count]) =>
    Object.entries(actions).map(([action, act]) => ({ kind, place, action, call, count, act })),
  ),
);

it.each(rows)('The work for $action grows linearly with $kind in $place', ({ call, count, act }) => {
  const time = (n: number) => {
    const chat = chatWith(call, count, n);
    const shown = chat.view$.subscribe();
    const best = shortestTime(() => {
      for (let times = 0; times < 5; times += 1) act(chat);
    }, 5);
    shown.unsubscribe();
    return best;
  };
  const reports: string[] = [];
  const isRight = () => {
    const [small, large] = [time(SIZE), time(4 * SIZE)];
    reports.push(`${small} ms, four times as many ${large} ms`);
    return large <= 8 * small + 25;
  };
  for (let attempt = 0; attempt < 5; attempt += 1) {
    if (isRight()) return;
    collectGarbage();
  }
  throw new Error(reports.join('; '));
});

/** A chat of many exchanges without calls, as it is stored. */
function longChat(n: number): SavedConversation {
  const id = (index: number) => index.toString(16).padStart(32, '0');
  const exchanges = Array.from({ length: n }, (_, index) => ({
    id: id(index),
    ...(index === 0 ? {} : { parent: id(index - 1) }),
    run: id(index),
    input: [],
    messages: [],
    view: emptyView,
  }));
  return { version: 1, exchanges, selected: id(n - 1) };
}

it.each([
  ['the first view', (saved: SavedConversation) => conversation(agent, { saved }).view],
  ['a merge with the same', (saved: SavedConversation) => mergeSaved(saved, {}, saved)],
  ['a merge with nothing', (saved: SavedConversation) => mergeSaved(longChat(0), {}, saved)],
] as const)('The work for %s grows linearly with the exchanges of a chat', (_, act) => {
  const chats = [2500, 5000, 10_000].map(longChat);
  expectLinear(act, chats);
});
