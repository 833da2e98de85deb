import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, Subscription } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import type { Conversation } from '../../lib/chat/index.js';
import { packFiles } from '../../lib/chat/savedFiles.js';
import { filePart, userMessage } from '../../lib/core/message.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { emptyView } from '../../lib/operators/view/view.js';
import { filesIn } from '../../lib/transport/runFiles.js';
import { shutDown } from '../support/services.js';

const url = 'http://service.test/api/chat';
const photo = filePart(new Uint8Array(30_000).fill(7), 'image/jpeg', 'cat.jpg');
const drawing = filePart(new Uint8Array(30_000).fill(9), 'image/png');
const prompt = userMessage([{ type: 'text', text: 'What is it?' }, photo]);

let work = new Subscription();
afterEach(() => {
  work.unsubscribe();
  work = new Subscription();
});

/** A service whose answers have a drawing, and what was sent to it. */
function createService(options: { readonly maxBodyBytes?: number } = {}) {
  const model = scriptedModel(() => ['Here: ', { type: 'file', file: drawing }]);
  const handler = agentHandler<string>(createAgent({ model }), {
    context: (request) => request.headers.get('authorization') ?? '',
    owner: (user) => user,
  });
  work.add(() => shutDown(handler));
  const sent: string[] = [];
  const send = (address: RequestInfo | URL, init?: RequestInit) => {
    if (typeof init?.body === 'string') sent.push(init.body);
    return handler(new Request(address, init));
  };
  const agent = remoteAgent(url, { ...options, fetch: send, headers: { authorization: 'ann' }, retryDelay: 1 });
  const get = (address: string, user = 'ann') => send(address, { headers: { authorization: user } });
  const post = (method: string, body: object) => {
    const headers = { authorization: 'ann', 'x-run-id': crypto.randomUUID(), 'content-type': 'application/json' };
    return send(url, { method, headers, body: JSON.stringify(body) });
  };
  return { model, sent, agent, get, post, send };
}

async function settled(chat: Conversation, count: number) {
  const isSettled = ({ status, exchanges }: Conversation['view']) =>
    exchanges.length === count && ['idle', 'failed'].includes(status);
  return firstValueFrom(chat.view$.pipe(filter(isSettled)));
}
const open = (...args: Parameters<typeof conversation>) => {
  const chat = conversation(...args);
  work.add(chat.view$.subscribe());
  return chat;
};
const addresses = (chat: Conversation) =>
  chat.view.exchanges.flatMap(({ messages }) =>
    messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'file' ? (part.url ?? '') : []))),
  );

describe('The files of a conversation', () => {
  it('are stored once, and shown again as they were', async () => {
    const model = scriptedModel(() => ['Here: ', { type: 'file', file: drawing }]);
    const chat = open(createAgent({ model }));
    const sizes: number[] = [];
    work.add(chat.saved$.subscribe((saved) => sizes.push(JSON.stringify(saved).length)));
    chat.send(prompt);
    const [{ data: first = '' }, { data: second = '' }] = [photo, drawing];
    expect(Math.max(...sizes)).toBeLessThan(first.length + second.length + 2_000);
    const again = open(createAgent({ model }), { saved: JSON.stringify(chat.save()) });
    expect(again.view).toEqual(chat.view);
    again.send('And now?');
    expect(filesIn(model.requests.at(-1)?.messages ?? [])).toEqual([photo, drawing]);
  });

  it('are addresses when a service has them, which it answers to their owner', async () => {
    const { agent, get } = createService();
    const chat = open(agent);
    chat.send(prompt);
    await settled(chat, 1);
    const saved = JSON.stringify(chat.save());
    expect(saved.length).toBeLessThan(4_000);
    const [photoAt = '', drawingAt = ''] = addresses(open(agent, { saved }));
    const response = await get(photoAt);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'x-content-type-options': 'nosniff',
    });
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array(30_000).fill(7));
    expect(new Uint8Array(await (await get(drawingAt)).arrayBuffer())).toEqual(new Uint8Array(30_000).fill(9));
    expect((await get(photoAt, 'eve')).status).toBe(404);
    expect((await get(`${photoAt}7`)).status).toBe(404);
  });

  it.each([
    ['stored while a prompt is sent', { base: emptyView }, false],
    ['addresses when its run has begun', { base: emptyView, hasBegun: true }, true],
    ['addresses while its run is resumed', { base: { ...emptyView, status: 'waiting' as const } }, true],
  ])('are %s', (_, state, isAddress) => {
    const packed = packFiles(
      { id: 'e', run: 'r', input: [prompt], messages: [], view: emptyView, ...state },
      ({ run, index }) => `${run}.${index}`,
    );
    expect(filesIn(packed.input)[0]?.url).toBe(isAddress ? 'r.0' : undefined);
  });

  it('that are not Base64 are not there', async () => {
    const { get, send } = createService();
    const id = crypto.randomUUID();
    const input = [{ role: 'user', parts: [{ type: 'file', mediaType: 'image/png', data: '***' }] }];
    const init = { method: 'POST', body: JSON.stringify({ input }), headers: { 'x-run-id': id, authorization: 'ann' } };
    await (await send(url, init)).text();
    expect((await get(`${url}?file=${id}.0`)).status).toBe(404);
  });

  it('are sent to a service once, also if the prompt is sent again', async () => {
    const { agent, model, sent } = createService();
    const chat = open(agent);
    chat.send(prompt);
    await settled(chat, 1);
    chat.regenerate();
    await firstValueFrom(
      chat.view$.pipe(filter(({ status, exchanges }) => status === 'idle' && exchanges[0]?.versions.length === 2)),
    );
    chat.send('And now?');
    await settled(chat, 2);
    expect(sent.filter((body) => body.includes(photo.data ?? ''))).toHaveLength(1);
    expect(filesIn(model.requests[1]?.messages ?? [])).toEqual([photo]);
    expect(filesIn(model.requests[2]?.messages ?? [])).toEqual([photo, drawing]);
  });

  it('that are too large are refused before they are sent, and the next prompt is answered', async () => {
    const { agent, sent, model } = createService({ maxBodyBytes: 10_000 });
    const chat = open(agent);
    chat.send(prompt);
    const { exchanges } = await settled(chat, 1);
    expect(exchanges[0]?.error?.['message']).toBe(
      'The files of this message have 0.1 MB, at most 0.1 MB can be sent. Attach fewer or smaller.',
    );
    expect(sent).toEqual([]);
    expect(JSON.stringify(chat.save()).length).toBeLessThan(2_000);
    chat.send('Hello?');
    expect((await settled(chat, 2)).status).toBe('idle');
    expect(sent.join('')).not.toContain(photo.data ?? '');
    expect(filesIn(model.requests[0]?.messages ?? [])).toEqual([]);
  });

  it.each([
    ['in a prompt, if there is no such run', 404, 'POST', (file: object) => ({ input: [file] })],
    ['in a prompt to a run', 400, 'PATCH', (file: object) => ({ input: [file] })],
    ['in a result', 400, 'POST', (file: object) => ({ resume: crypto.randomUUID(), results: { c: file } })],
  ])('are not fetched from another address %s', async (_, status, method, toBody) => {
    const { model, post } = createService();
    const file = { type: 'file', mediaType: 'image/png', url: `http://10.0.0.1/?file=${crypto.randomUUID()}.0` };
    const response = await post(method, toBody({ role: 'user', parts: [file] }));
    expect(response.status).toBe(status);
    expect(model.requests).toEqual([]);
  });
});
