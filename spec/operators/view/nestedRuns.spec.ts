import { describe, expect, it } from '@jest/globals';
import { from, lastValueFrom, Subject, takeWhile, tap } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { conversation } from '../../../lib/chat/conversation.js';
import type { Conversation, ConversationOptions } from '../../../lib/chat/conversation.js';
import { pageTools } from '../../../lib/chat/pageTools.js';
import { remoteAgent } from '../../../lib/chat/remoteAgent.js';
import { toView } from '../../../lib/operators/toView.js';
import type { PartView, ToolCallView, View } from '../../../lib/operators/view/view.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import type { RunEvent } from '../../../lib/core/event.js';
import { tool } from '../../../lib/core/tool.js';
import { agentHandler } from '../../../lib/service/http/agentHandler.js';
import { memoryStore } from '../../../lib/service/stores/memory/memoryStore.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { agentTool } from '../../../lib/tools/agentTool.js';
import { locates, nestedAgents, position, removes } from '../../support/nestedAgents.js';
import { observe } from '../../support/observe.js';

/** One word for a part, with its inner run. */
const word = (part: PartView): string => {
  if (part.type === 'text') return part.text;
  if (part.type !== 'toolCall') return `(${part.type})`;
  return `[${part.id} ${part.name} ${part.status}${part.nested ? `: ${shownIn(part.nested)} (${part.nested.status})` : ''}]`;
};
const shownIn = ({ messages }: View): string =>
  messages.flatMap(({ role, parts }) => (role === 'model' ? parts.map(word) : [])).join('');
const shown = ({ view }: Conversation) => view.exchanges.map(shownIn).join();

const ended =
  '[a ask completed: I ask. [a/a ask completed: [a/a/a remove completed]Removed. (idle)]It says so. (idle)]All done.';

describe('the view of a run with sub-agents', () => {
  it('shows the inner runs at their calls', () => {
    const { values } = observe(nestedAgents(['Hm.']).stream('Hi').pipe(toView()));
    const last = values.at(-1);
    expect(last && shownIn(last)).toBe(
      '[a ask completed: I ask. [a/a ask completed: Hm. (idle)]It says so. (idle)]All done.',
    );
    expect(last?.status).toBe('idle');
    const streaming = values.map(shownIn);
    expect(streaming).toContain('[a ask running: I ask. [a/a ask running: Hm. (streaming)] (runningTools)]');
  });

  it('shows a stopped inner run with what it has', () => {
    const chunks = new Subject<Chunk>();
    const inner = createAgent({ model: { provider: 'test', name: 'test', stream: () => chunks } });
    const asked = agentTool(inner, { name: 'ask', description: '' });
    const agent = createAgent({ model: scriptedModel([[toolCall('ask', { prompt: '' }, 'a')]]), tools: [asked] });
    const stop = new Subject<void>();
    const { values } = observe(agent.stream('Hi', { stop }).pipe(toView()));
    chunks.next({ type: 'text', text: 'So far' });
    stop.next();
    const last = values.at(-1);
    expect(last && shownIn(last)).toBe('[a ask cancelled: So far (stopped)]');
  });

  it('shows the inner run of a call that is made again after a retract alone', () => {
    const call = { id: 'a', name: 'ask', arguments: {} };
    const said = (text: string): readonly RunEvent[] => [
      { type: 'toolCall', ...call },
      { type: 'toolStart', ...call },
      { type: 'nested', id: 'a', name: 'ask', event: { type: 'text', text } },
    ];
    const { values } = observe(
      from([...said('Old.'), { type: 'retract', attempt: 1 }, ...said('New.')]).pipe(toView()),
    );
    const last = values.at(-1);
    expect(last && shownIn(last)).toBe('[a ask running: New. (streaming)]');
  });

  it('shows an inner run that failed', () => {
    const inner = createAgent({ model: scriptedModel([['So far', { error: new Error('The line is dead.') }]]) });
    const asked = agentTool(inner, { name: 'ask', description: '' });
    const agent = createAgent({
      model: scriptedModel([[toolCall('ask', { prompt: '' }, 'a')], 'Oh.']),
      tools: [asked],
    });
    const last = observe(agent.stream('Hi').pipe(toView())).values.at(-1);
    expect(last && shownIn(last)).toBe('[a ask failed: So far (failed)]Oh.');
    expect((last?.messages[0]?.parts[0] as ToolCallView).nested?.error).toEqual({
      code: 'failed',
      message: 'The line is dead.',
    });
  });
});

describe('a conversation with sub-agents', () => {
  it('waits for inner calls, and continues with the answers', () => {
    const chat = conversation(nestedAgents([removes]));
    observe(chat.view$);
    chat.send('Hi');
    expect(chat.view.status).toBe('waiting');
    expect(chat.view.waiting).toMatchObject([{ id: 'a/a/a', name: 'remove', arguments: { path: '/a' } }]);
    expect(shown(chat)).toBe('[a ask waiting: I ask. [a/a ask waiting: [a/a/a remove waiting] (waiting)] (waiting)]');
    chat.decide('a/a/a', { approve: true });
    expect(chat.view).toMatchObject({ status: 'idle', waiting: [] });
    expect(shown(chat)).toBe(ended);
  });

  it('is saved while inner calls wait, and continued in another process', () => {
    const before = conversation(nestedAgents([removes]));
    observe(before.view$);
    before.send('Hi');
    const chat = conversation(nestedAgents([removes]), { saved: JSON.stringify(before.save()) });
    observe(chat.view$);
    chat.decide('a/a/a', { approve: true });
    expect(shown(chat)).toBe(ended);
  });

  it('executes inner calls of the tools of its page', () => {
    const tools = pageTools([tool({ ...position, result: undefined as never, execute: () => 'Oslo' })]);
    const chat = conversation(nestedAgents([removes, locates]), { tools });
    observe(chat.view$);
    chat.send('Hi');
    expect(chat.view.waiting.map(({ id }) => id)).toEqual(['a/a/a']);
    chat.decide('a/a/a', { approve: true });
    expect(shown(chat)).toBe(
      ended.replace('[a/a/a remove completed]', '[a/a/a remove completed][a/a/b position completed]'),
    );
  });

  it('cancels the inner calls if the user stops it', () => {
    const chat = conversation(nestedAgents([removes]));
    observe(chat.view$);
    chat.send('Hi');
    chat.stop();
    expect(chat.view).toMatchObject({ status: 'stopped', waiting: [] });
    expect(shown(chat)).toBe(
      '[a ask cancelled: I ask. [a/a ask cancelled: [a/a/a remove cancelled] (stopped)] (stopped)]',
    );
  });

  it('waits, and continues, with a service whose processes change', async () => {
    const store = memoryStore();
    /** Each request goes to another process. */
    const fetch = (url: string | URL | Request, init?: RequestInit) =>
      agentHandler(nestedAgents([removes]), { store, checkpoints: true })(
        new Request(new URL(url instanceof Request ? url.url : url, 'http://localhost'), init),
      );
    const open = (saved?: ConversationOptions['saved']) => conversation(remoteAgent('/api/chat', { fetch }), { saved });
    const until = (chat: Conversation, status: string) =>
      lastValueFrom(chat.view$.pipe(takeWhile((view) => view.status !== status, true)));
    const chat = open();
    const waiting = until(chat, 'waiting');
    chat.send('Hi');
    expect((await waiting).waiting).toMatchObject([{ id: 'a/a/a' }]);
    // The run of the first page may not have ended: the second one joins it, in yet another process.
    const later = open(JSON.stringify(chat.save()));
    await lastValueFrom(
      later.view$.pipe(
        tap(({ waiting: [call] }) => call && later.decide(call.id, { approve: true })),
        takeWhile(({ status }) => status !== 'idle', true),
      ),
    );
    expect(shown(later)).toBe(ended);
  });
});
