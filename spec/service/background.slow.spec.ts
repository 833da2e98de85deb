import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, map, ReplaySubject, take, tap } from 'rxjs';
import * as z from 'zod';
import { backgroundTool } from '../../lib/agent/backgroundTool.js';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Conversation, ConversationView } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { tool } from '../../lib/core/tool.js';
import type { MessageView, ToolCallView } from '../../lib/operators/view/view.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunRecord } from '../../lib/service/ports/runStore.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { agentTool } from '../../lib/tools/agentTool.js';
import { askTool } from '../../lib/tools/askTool.js';
import { createServers } from '../support/services.js';
import { lateLog, mapStore } from '../support/stores.js';

const servers = createServers();
afterEach(() => servers.close());

/** A process with two works in the background, which end when the page has shown what comes before. */
function startProcess(store: ReturnType<typeof mapStore>, log?: RunLog, atMostOnce = false) {
  const ends = { render: new ReplaySubject<string>(1), step: new ReplaySubject<string>(1) };
  const begun: string[] = [];
  const work = (name: keyof typeof ends) =>
    tool({
      name,
      description: name,
      atMostOnce,
      execute: (_, { idempotencyKey }) => {
        begun.push(idempotencyKey);
        return ends[name].pipe(take(1));
      },
    });
  const inner = createAgent({
    model: scriptedModel(({ messages }) => (messages.length === 1 ? [toolCall('step', {}, 's1')] : 'Sources.')),
    tools: [work('step')],
  });
  const research = agentTool(inner, { name: 'research', description: 'Researches.' });
  const model = scriptedModel(({ messages }) => {
    if (messages.length === 1) return [toolCall('render', {}, 'c1'), toolCall('research', { prompt: 'Why?' }, 'c2')];
    return ['Working.', 'Rendered.', 'All done.'][messages.filter(({ metadata }) => metadata).length] ?? '';
  });
  const agent = createAgent({ model, tools: [backgroundTool(work('render')), backgroundTool(research)] });
  const handler = agentHandler(agent, { store, log, checkpoints: true });
  const url = servers.serve(handler);
  /** Shows a chat, and ends each work when it is time. Returns the last view. */
  const follow = (chat: Conversation, seen: (view: ConversationView) => void = () => undefined) =>
    firstValueFrom(
      chat.view$.pipe(
        tap((view) => {
          seen(view);
          const text = textOf(view);
          if (text.includes('Working.')) ends.render.next('24 frames');
          if (text.includes('Rendered.')) ends.step.next('ok');
        }),
        filter(({ status }) => status === 'idle' || status === 'failed'),
        filter((view) => view.exchanges.length > 0),
      ),
    );
  const open = async (saved?: string) => conversation(remoteAgent(await url), { saved });
  return { open, follow, begun };
}

const answerOf = ({ exchanges }: ConversationView): readonly MessageView[] => exchanges[0]?.messages ?? [];
const textOf = (view: ConversationView) =>
  answerOf(view)
    .flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')))
    .join('|');

const callText = ({ id, status }: ToolCallView): string => `${id} ${status}`;

/** What a page shows of an answer. */
const shown = (view: ConversationView) => ({
  roles: answerOf(view).map(({ role }) => role),
  parts: answerOf(view).flatMap(({ parts }) =>
    parts.map((part): unknown => {
      if (part.type !== 'toolCall') return part.type === 'text' ? part.text : part.type;
      const { id, status, result, nested } = part;
      const inside = nested?.messages.flatMap((message) =>
        message.parts.map((inner): string => (inner.type === 'toolCall' ? callText(inner) : inner.type)),
      );
      return { id, status, result, ...(inside ? { inside } : {}) };
    }),
  ),
});

const whole = {
  roles: ['user', 'model'],
  parts: [
    'Go.',
    { id: 'c1', status: 'completed', result: '24 frames' },
    { id: 'c2', status: 'completed', result: 'Sources.', inside: ['c2/s1 completed', 'text'] },
    'Working.',
    'Rendered.',
    'All done.',
  ],
};

const logs: readonly (readonly [string, () => RunLog | undefined, boolean])[] = [
  ['in memory', () => undefined, false],
  ['that processes share', () => lateLog(memoryLog()), false],
  ['in memory, with tools that run at most once', () => undefined, true],
];

describe('work in the background in a service, seen by a page over HTTP', () => {
  it('is shown as running until its result is there, and is saved with the page', async () => {
    const { open, follow } = startProcess(mapStore());
    const chat = await open();
    const states: string[] = [];
    const end = follow(chat, (view) => {
      const state = shown(view).parts.map((part) => (typeof part === 'string' ? part : callText(part as ToolCallView)));
      if (states.at(-1) !== state.join(', ')) states.push(state.join(', '));
    });
    chat.send('Go.');
    const view = await end;
    expect(shown(view)).toEqual(whole);
    expect(states).toContain('Go., c1 running, c2 running, Working.');
    expect(states).toContain('Go., c1 completed, c2 running, Working., Rendered.');
    const reloaded = await open(JSON.stringify(chat.save()));
    expect(shown(await firstValueFrom(reloaded.view$))).toEqual(whole);
    expect(view.queued).toEqual([]);
  });

  it.each(logs)(
    'continues in another process after a crash at any write, with a log %s',
    async (_, createLog, once) => {
      const written: RunRecord[] = [];
      const first = startProcess(
        mapStore(new Map(), (record) => written.push(JSON.parse(JSON.stringify(record)) as RunRecord)),
        createLog(),
        once,
      );
      const chat = await first.open();
      let sent = '';
      chat.saved$.subscribe((saved) => (sent ||= saved.exchanges.length > 0 ? JSON.stringify(saved) : ''));
      const end = first.follow(chat);
      chat.send('Go.');
      expect(shown(await end)).toEqual(whole);
      const running = written.filter(({ state }) => state === 'running');
      expect(running.length).toBeGreaterThan(8);
      for (const record of running) {
        const store = mapStore(new Map([[record.id, { record: { ...record, executor: undefined }, version: 1 }]]));
        const next = startProcess(store, createLog(), once);
        const view = await next.follow(await next.open(sent));
        if (once) {
          // What had begun is not executed again: the model is told that its outcome is unknown.
          const again = next.begun.filter((key) => record.begun?.includes(key));
          expect(again).toEqual([]);
          expect(view.status).toBe('idle');
        } else {
          expect(shown(view)).toEqual(whole);
          for (const key of next.begun) expect(first.begun).toContain(key);
        }
      }
    },
  );

  it('can be cancelled, and ends with a stop', async () => {
    const { open } = startProcess(mapStore());
    const chat = await open();
    const until = (isThere: (view: ConversationView) => boolean) => firstValueFrom(chat.view$.pipe(filter(isThere)));
    const view$ = chat.view$.pipe(map(shown)).subscribe();
    chat.send('Go.');
    await until((view) => textOf(view).includes('Working.'));
    chat.cancel('c1');
    const cancelled = await until((view) => textOf(view).includes('Rendered.'));
    expect(shown(cancelled).parts).toContainEqual({ id: 'c1', status: 'cancelled', result: undefined });
    chat.stop();
    const stopped = await until(({ status }) => status === 'stopped');
    expect(shown(stopped).parts).toContainEqual(expect.objectContaining({ id: 'c2', status: 'cancelled' }));
    view$.unsubscribe();
  });

  it('asks a person, and is continued by another process when the service gets the answer', async () => {
    const store = mapStore();
    const start = () => {
      const pay = askTool({
        name: 'pay',
        description: 'Pays.',
        execute: (__, { ask }) =>
          ask({ message: 'Which account?', schema: z.object({ account: z.string() }) }).pipe(
            map(({ account }) => `paid from ${account}`),
          ),
      });
      const model = scriptedModel(({ messages }) =>
        messages.length === 1 ? [toolCall('pay', {}, 'c1')] : `${messages.length} messages.`,
      );
      const agent = createAgent({ model, tools: [backgroundTool(pay)] });
      const service = createService({ agent, store, checkpoints: true });
      return { service, url: servers.serve(agentHandler(service)) };
    };
    const chat = conversation(remoteAgent(await start().url));
    const until = (of: Conversation, isThere: (view: ConversationView) => boolean) =>
      firstValueFrom(of.view$.pipe(filter(isThere)));
    const shows = chat.view$.subscribe();
    chat.send('Go.');
    const { waiting } = await until(chat, ({ status }) => status === 'waiting');
    expect(waiting).toMatchObject([{ id: 'c1/1', question: { message: 'Which account?' } }]);
    const next = start();
    const device = conversation(remoteAgent(await next.url), { saved: JSON.stringify(chat.save()) });
    shows.add(device.view$.subscribe());
    await until(device, (view) => view.waiting.length === 1);
    device.answer('c1/1', { account: 'shop' });
    const answered = await until(device, ({ status }) => status === 'idle');
    expect(shown(answered).parts).toMatchObject([
      'Go.',
      { id: 'c1', status: 'completed', result: 'paid from shop' },
      '3 messages.',
      '5 messages.',
    ]);
    shows.unsubscribe();
  });
});
