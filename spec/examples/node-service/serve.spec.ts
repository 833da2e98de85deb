import { afterEach, describe, expect, it } from '@jest/globals';
import { NEVER, concat, filter, firstValueFrom, of } from 'rxjs';
import { createAgent, tool } from 'rivulet';
import type { Agent, Chunk } from 'rivulet';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { conversation, remoteAgent } from 'rivulet/chat';
import type { ConversationView } from 'rivulet/chat';
import { serve } from '../../../examples/node-service/serve.js';
import { pageFiles } from '../../../examples/page/files.js';

let service: Awaited<ReturnType<typeof serve>> | undefined;
afterEach(() => service?.close());

const open = async (agent: Agent) => {
  service = await serve(agent, { page: pageFiles });
  return service.url;
};
const textOf = ({ exchanges }: ConversationView) =>
  exchanges
    .flatMap(({ messages }) => messages)
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === 'text' ? part.text : []))
    .join('|');

describe('serve', () => {
  it('serve answers with the page, and with the modules of its import map', async () => {
    const url = await open(createAgent({ model: scriptedModel([]) }));
    const page = await (await fetch(url)).text();
    const paths = [...page.matchAll(/"(?:rivulet\/chat|rxjs)": "(.*?)"/g)].map(([, path]) => path ?? '');
    expect(paths).toHaveLength(2);
    for (const path of paths) {
      const response = await fetch(new URL(path, url));
      expect(response.headers.get('content-type')).toMatch(/^text\/javascript/);
      expect(await response.text()).toMatch(/export/);
    }
    expect((await fetch(new URL('package.json', url))).status).toBe(404);
  });

  it('serve runs a conversation with a call that waits for the user', async () => {
    const note = tool({ name: 'note', description: 'Notes.', needsApproval: true, execute: () => 'noted' });
    const model = scriptedModel([[toolCall('note', {}, 'c1')], 'It is noted.', 'You are welcome.']);
    const url = await open(createAgent({ model, tools: [note] }));
    const chat = conversation(remoteAgent(new URL('api/chat', url).href));
    const reached = (status: string) => firstValueFrom(chat.view$.pipe(filter((view) => view.status === status)));
    const views = chat.view$.subscribe();

    chat.send('Note this.');
    await reached('waiting');
    chat.decide('c1', { approve: true });
    await reached('idle');
    chat.send('Thanks.');
    const view = await firstValueFrom(
      chat.view$.pipe(filter(({ status, exchanges }) => status === 'idle' && exchanges.length === 2)),
    );
    views.unsubscribe();

    expect(textOf(view)).toBe('Note this.|It is noted.|Thanks.|You are welcome.');
    expect(model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user']);
  });

  it('serve stops the runs when it is closed', async () => {
    const half = () => concat(of<Chunk>({ type: 'text', text: 'Half' }), NEVER);
    const url = await open(createAgent({ model: scriptedModel(half) }));
    const chat = conversation(remoteAgent(new URL('api/chat', url).href));
    const stopped = firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'stopped')));
    const streaming = firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'streaming')));
    chat.send('Go.');
    await streaming;
    await service?.close();
    expect(textOf(await stopped)).toBe('Go.|Half');
  });
});
