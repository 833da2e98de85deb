import { describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, map } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { filePart, userMessage } from '../../lib/core/message.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { conversation } from '../../lib/chat/conversation.js';
import { remoteAgent } from '../../lib/chat/remoteAgent.js';
import { Observable } from 'rxjs';
import { observe } from '../support/observe.js';

const url = 'http://localhost/chat';
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('remoteAgent', () => {
  it('remoteAgent sends the files of a prompt once', async () => {
    const handler = agentHandler(createAgent({ model: scriptedModel(['One', 'Two', 'Three']) }));
    const bodies: string[] = [];
    const recording: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      bodies.push(await request.clone().text());
      return handler(request);
    };
    const chat = conversation(remoteAgent(url, { fetch: recording }));
    const view = chat.view$.subscribe();
    const picture = filePart(new Uint8Array(3000), 'image/png');
    chat.send(userMessage([{ type: 'text', text: 'What is this?' }, picture]));
    chat.send(userMessage([picture]));
    chat.send('And this?');
    await firstValueFrom(chat.view$.pipe(filter(({ status, queued }) => status === 'idle' && queued.length === 0)));
    expect(bodies.map((body) => body.split('image/png').length - 1)).toEqual([1, 1, 0]);
    expect(JSON.parse(bodies[2] ?? '')).toMatchObject({
      history: [{ input: [{ parts: [{ text: 'What is this?' }] }] }, { input: [] }],
    });
    view.unsubscribe();
    await firstValueFrom(handler.shutdown(), { defaultValue: undefined });
  });

  it('remoteAgent tells the view that the connection is opened again', async () => {
    const handler = agentHandler(createAgent({ model: scriptedModel(['One']) }));
    let attempts = 0;
    const broken: typeof fetch = (input, init) => {
      attempts += 1;
      return attempts < 3 ? Promise.reject(new TypeError('offline')) : handler(new Request(input, init));
    };
    const chat = conversation(remoteAgent(url, { fetch: broken, retryDelay: 1 }));
    const seen = observe(chat.view$.pipe(map(({ exchanges }) => exchanges[0]?.reconnecting)));
    chat.send('a');
    expect(chat.save().exchanges[0]?.hasBegun).toBe(false);
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'idle')));
    expect(seen.values.filter((notice, at) => notice !== seen.values[at - 1])).toEqual([
      { attempt: 1, delay: 1, at: expect.any(Number), reason: 'offline' },
      { attempt: 2, delay: expect.any(Number), at: expect.any(Number), reason: 'offline' },
      undefined,
    ]);
    seen.subscription.unsubscribe();
    await firstValueFrom(handler.shutdown(), { defaultValue: undefined });
  });

  it('remoteAgent asks again to stop a run if the server is busy or cannot be reached', async () => {
    const model = scriptedModel(() => new Observable<Chunk>((out) => out.next({ type: 'text', text: 'Par' })));
    const handler = agentHandler(createAgent({ model }));
    let attempts = 0;
    const busy: typeof fetch = (input, init) => {
      if (init?.method !== 'DELETE') return handler(new Request(input, init));
      attempts += 1;
      if (attempts === 1) return Promise.reject(new TypeError('offline'));
      return attempts === 2 ? Promise.resolve(new Response(null, { status: 503 })) : handler(new Request(input, init));
    };
    const chat = conversation(remoteAgent(url, { fetch: busy, retryDelay: 1 }));
    const view = chat.view$.subscribe();
    chat.send('a');
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'streaming')));
    chat.stop();
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'stopped')));
    expect(attempts).toBe(3);
    await settled();
    view.unsubscribe();
  });

  it.each([0, 5])('remoteAgent stops a run with fresh headers after a 401: %d retries', async (retries) => {
    const model = scriptedModel(() => new Observable<Chunk>((out) => out.next({ type: 'text', text: 'Par' })));
    const handler = agentHandler(createAgent({ model }));
    let token = 0;
    const refused: (string | null)[] = [];
    const guarded: typeof fetch = (input, init) => {
      const request = new Request(input, init);
      if (request.method !== 'DELETE' || refused.length > 0) return handler(request);
      refused.push(request.headers.get('authorization'));
      return Promise.resolve(new Response(null, { status: 401 }));
    };
    const headers = () => Promise.resolve({ authorization: String((token += 1)) });
    const chat = conversation(remoteAgent(url, { fetch: guarded, headers, retries }));
    const view = chat.view$.subscribe();
    chat.send('a');
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'streaming')));
    chat.stop();
    await firstValueFrom(chat.view$.pipe(filter(({ status }) => status === 'stopped')));
    expect([refused, token]).toEqual([['2'], 3]);
    await settled();
    view.unsubscribe();
  });
});
