import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concat, NEVER, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { fetchAgUi } from '../../lib/agUi.js';
import { createAgent } from '../../lib/agent/createAgent.js';
import { chatCopies, conversation, fromServerSentEvents, remoteAgent, remoteChats } from '../../lib/chat/index.js';
import { errorText } from '../../lib/core/errors.js';
import { isRecord } from '../../lib/core/json/json.js';
import { scriptedModel } from '../../lib/testing/index.js';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
});
afterEach(() => {
  jest.useRealTimers();
});

async function pass(milliseconds: number) {
  for (const time of [0, milliseconds, 0, 0]) {
    await jest.advanceTimersByTimeAsync(time);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function savedChat() {
  const chat = conversation(createAgent({ model: scriptedModel(['Hello.']) }));
  const shown = chat.view$.subscribe();
  chat.send('Hi');
  shown.unsubscribe();
  return chat.save();
}

/** A network, and the number of its requests that nobody has aborted. */
function createNetwork(respond: (signal: AbortSignal) => Promise<Response>) {
  let open = 0;
  let sent = 0;
  const send: typeof fetch = (_, init) => {
    const { signal } = init ?? {};
    if (!signal) throw new Error('A request without a signal cannot be ended.');
    open += 1;
    sent += 1;
    signal.addEventListener('abort', () => (open -= 1));
    return respond(signal);
  };
  return { send, open: () => open, sent: () => sent };
}

/** What the network does: nothing arrives, at various places. */
const faults = {
  'no answer': (signal: AbortSignal) =>
    new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  'an answer without a body': () => silent(200),
  'a refusal without a body': () => silent(503),
};

/** Headers, and then nothing. */
const silent = (status: number) =>
  Promise.resolve(
    new Response(new ReadableStream<Uint8Array>(), { status, headers: { 'content-type': 'text/event-stream' } }),
  );

const URL = 'http://service.test/chat';
const saved = savedChat();
const changed = { saved$: concat(of(saved), NEVER) };
const notifiers = { stop: NEVER, cancel: NEVER };
const run = { ...notifiers, id: 'a'.repeat(32), earlier: [], fragments: true, context: undefined } as const;
const messages = [{ id: '1', role: 'user', content: 'Go.' }] as const;

interface Settings {
  readonly fetch: typeof fetch;
  readonly headers?: () => Promise<Record<string, string>>;
  readonly retries: number;
}
const agentWith = (settings: Settings) => remoteAgent(URL, settings);
const chatsWith = (settings: Settings) => remoteChats(URL, settings);
const storage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
const copiesWith = (settings: Settings) => chatCopies(chatsWith(settings), storage);

/** Every request that a page sends, except those whose failure is not an error: `badNetwork.spec.ts` has them. */
const requests: Readonly<Record<string, (settings: Settings) => Observable<unknown>>> = {
  'remoteAgent: start': (settings) => agentWith(settings).stream('Hi', { ...run, history: [] }),
  'remoteAgent: decide': (settings) => agentWith(settings).resume(undefined, { ...run, decisions: {} }),
  'remoteAgent: join': (settings) => agentWith(settings).join?.(run.id, notifiers) ?? NEVER,
  'remoteAgent: stop': (settings) => agentWith(settings).stop?.(run.id) ?? NEVER,
  'remoteChats: list': (settings) => chatsWith(settings).list(),
  'remoteChats: open': (settings) => chatsWith(settings).open('chat'),
  'remoteChats: rename': (settings) => chatsWith(settings).rename('chat', 'Weather'),
  'remoteChats: delete': (settings) => chatsWith(settings).delete('chat'),
  'remoteChats: restore': (settings) => chatsWith(settings).restore('chat', saved),
  'remoteChats: keep': (settings) => chatsWith(settings).keep(changed, { id: 'chat' }),
  'chatCopies: fetch': (settings) => copiesWith(settings).fetch('chat'),
  fromServerSentEvents: ({ headers, ...options }) => fromServerSentEvents(URL, { headers }, options),
  fetchAgUi: ({ fetch }) => fetchAgUi(URL, { threadId: 't', runId: 'r', messages }, { fetch }),
};

function observe(source: Observable<unknown>) {
  const seen: { values: unknown[]; error?: unknown } = { values: [] };
  const subscription = source.subscribe({
    next: (value) => seen.values.push(value),
    error: (error: unknown) => (seen.error = error),
  });
  return { seen, leave: () => subscription.unsubscribe() };
}

const isSilent = /^The server does not answer. Try again when the connection is back.$/;

describe('each request of a page has a limit', () => {
  const cells = Object.keys(requests).flatMap((request) =>
    (Object.keys(faults) as (keyof typeof faults)[]).map((fault) => ({ request, fault })),
  );
  it.each(cells)('$request: $fault', async ({ request, fault }) => {
    const network = createNetwork(faults[fault]);
    const { seen, leave } = observe(requests[request]?.({ fetch: network.send, retries: 0 }) ?? NEVER);
    const isStatusEnough = request === 'fetchAgUi' && fault === 'a refusal without a body';
    await pass(29_000);
    expect([network.sent(), seen.error === undefined]).toEqual([1, !isStatusEnough]);
    await pass(2000);
    expect(errorText(seen.error)).toMatch(isStatusEnough ? /^the AG-UI server answered 503/ : isSilent);
    expect(isRecord(seen.error) && seen.error['retryable']).toBe(true);
    await pass(600_000);
    expect([network.open(), network.sent()]).toEqual([0, 1]);
    leave();
  });

  it.each(Object.keys(requests).filter((name) => name !== 'fetchAgUi'))(
    '%s: a token that never comes',
    async (name) => {
      const network = createNetwork(faults['no answer']);
      const headers = () => new Promise<never>(() => undefined);
      const { seen } = observe(requests[name]?.({ fetch: network.send, headers, retries: 0 }) ?? NEVER);
      await pass(31_000);
      expect([network.sent(), errorText(seen.error)]).toEqual([0, expect.stringMatching(isSilent)]);
    },
  );

  it.each([
    ['the default', undefined, 300_000],
    ['its own limit', { first: 10, each: 20_000 }, 20_000],
    ['none', { first: Infinity, each: Infinity }, Infinity],
  ])('fetchAgUi ends a response that is silent in its middle: %s', async (_, timeout, limit) => {
    const data = 'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n';
    const network = createNetwork(() => {
      const body = new ReadableStream<Uint8Array>({ start: (out) => out.enqueue(new TextEncoder().encode(data)) });
      return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
    });
    const { seen, leave } = observe(
      fetchAgUi(URL, { threadId: 't', runId: 'r', messages }, { fetch: network.send, timeout }),
    );
    await pass(Math.min(limit, 3_600_000) - 1000);
    expect([seen.values.length, seen.error]).toEqual([1, undefined]);
    await pass(2000);
    expect([network.open(), seen.error === undefined]).toEqual(limit === Infinity ? [1, true] : [0, false]);
    leave();
  });

  it('fetchAgUi refuses a limit that is not a number', () => {
    const run = { threadId: 't', runId: 'r', messages };
    expect(() => fetchAgUi(URL, run, { timeout: { first: -1 } })).toThrow('timeout.first is -1.');
    expect(() => fetchAgUi(URL, run, { timeout: { each: NaN } })).toThrow('timeout.each is NaN.');
  });
});
