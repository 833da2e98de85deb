import { describe, expect, it } from '@jest/globals';
import { createAgent } from '../../lib/agent/createAgent.js';
import { modelByName, registeredProviders } from '../../lib/providers/registry/index.js';
import { serveModel } from '../../lib/testing/server/index.js';

const words = ['Rivers', 'run', 'towards', 'the', 'sea'];
const encoder = new TextEncoder();

/** Returns the frames of a response of a provider. */
async function framesOf(provider: string): Promise<{ readonly frames: readonly string[]; readonly type: string }> {
  const server = await serveModel([words]);
  try {
    let answer = '';
    let type = '';
    const recordBody: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      answer = await response.clone().text();
      type = response.headers.get('content-type') ?? '';
      return response;
    };
    const model = modelByName(provider, { apiKey: 'key', baseUrl: server.urlFor(provider), fetch: recordBody });
    await new Promise<void>((complete, error) =>
      createAgent({ model }).stream('Go on.').subscribe({ error, complete }),
    );
    return { frames: answer.match(type.includes('ndjson') ? /.*\n/g : /[\s\S]*?\n\n/g) ?? [], type };
  } finally {
    await server.close();
  }
}

/** A `fetch` whose response has a body that the test writes. */
function controlledResponse(type: string) {
  let feed: ReadableStreamDefaultController<Uint8Array> | undefined;
  let requests = 0;
  const fake: typeof fetch = () => {
    requests += 1;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (feed = controller) });
    return Promise.resolve(new Response(body, { headers: { 'content-type': type } }));
  };
  return {
    fetch: fake,
    requests: () => requests,
    send: (text: string) => feed?.enqueue(encoder.encode(text)),
    end: () => feed?.close(),
  };
}

/** Runs the microtasks, but no timer, message or I/O. */
async function flushMicrotasks(): Promise<void> {
  const macrotasks: string[] = [];
  const [soon, timer] = [setImmediate(() => macrotasks.push('immediate')), setTimeout(() => macrotasks.push('timer'))];
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => macrotasks.push('message');
  port2.postMessage('');
  for (let hop = 0; hop < 30; hop++) await Promise.resolve();
  clearImmediate(soon);
  clearTimeout(timer);
  port1.close();
  expect(macrotasks).toEqual([]);
}

describe.each(registeredProviders().map(({ name }) => name))('a run with a model of %s', (provider) => {
  it('a delta is emitted in the macrotask of its bytes, and no request is sent before subscription', async () => {
    const { frames, type } = await framesOf(provider);
    const server = controlledResponse(type);
    const model = modelByName(provider, { apiKey: 'key', baseUrl: 'http://127.0.0.1:1', fetch: server.fetch });
    const agent = createAgent({ model });
    const run = agent.stream('Go on.');
    void agent.run('Go on.');
    await flushMicrotasks();
    expect(server.requests()).toBe(0);

    let text = '';
    let seen = '';
    const subscription = run.subscribe((event) => event.type === 'text' && (text += event.text));
    await flushMicrotasks();
    expect(server.requests()).toBe(1);
    for (const frame of frames) {
      server.send(frame);
      await flushMicrotasks();
      seen += frame;
      expect(text).toBe(words.filter((word) => seen.includes(word)).join(''));
    }
    expect(text).toBe(words.join(''));
    subscription.unsubscribe();
    expect(server.requests()).toBe(1);
  });
});
