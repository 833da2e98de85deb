import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { conversation, remoteAgent } from '../../lib/chat/index.js';
import { observe } from '../support/observe.js';

const MINUTE = 60_000;

/** The tries of a stop, and how often each of them sends its request. */
const MOST = 20 * 6;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
});
afterEach(() => {
  jest.useRealTimers();
});

async function pass(milliseconds: number) {
  await jest.advanceTimersByTimeAsync(milliseconds);
  await new Promise((resolve) => setImmediate(resolve));
}

/** A service that runs prompts, or refuses them, and refuses every stop. */
function createService(refuse: () => Response, hasRuns: boolean) {
  const times: number[] = [];
  const started = 'event: start\nid: 0\ndata: {}\n\nid: 1\ndata: {"type":"text","text":"Hello"}\n\n';
  const run = () =>
    new ReadableStream<Uint8Array>({ start: (body) => body.enqueue(new TextEncoder().encode(started)) });
  const fetch = (_: unknown, { method }: { readonly method?: string } = {}): Promise<Response> => {
    const isRun = method === 'POST' && hasRuns;
    if (!isRun) times.push(Date.now());
    const answer = isRun ? new Response(run(), { headers: { 'content-type': 'text/event-stream' } }) : refuse();
    return Promise.resolve(answer);
  };
  return { times, fetch: fetch as typeof globalThis.fetch };
}

const statuses = [401, 403, 429, 503];
/** Seconds: none, soon, in ten minutes, and later than a timer can wait. */
const waits = [undefined, '1', '600', '3000000'];
const situations = ['a stop is refused', 'everything is refused'] as const;

const cases = situations.flatMap((situation) =>
  statuses.flatMap((status) => waits.map((wait) => ({ situation, status, wait }))),
);

describe('a service that refuses for good', () => {
  it.each(cases)('$situation with $status (Retry-After: $wait) is not asked without end, nor before', async (row) => {
    const headers = row.wait === undefined ? {} : { 'retry-after': row.wait };
    const refuse = () => Response.json({ error: { message: 'No.' } }, { status: row.status, headers });
    const { times, fetch } = createService(refuse, row.situation === 'a stop is refused');
    const chat = conversation(remoteAgent('http://service.test/chat', { fetch }));
    const { subscription } = observe(chat.view$);
    chat.send('Go.');
    await pass(100);
    chat.stop();
    for (let minute = 0; minute < 15; minute += 1) await pass(MINUTE);
    const asked = times.length;
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(MOST);
    for (let hour = 0; hour < 6; hour += 1) await pass(60 * MINUTE);
    const soon = Number(row.wait ?? 0) < 60;
    expect(times.length - asked).toBeLessThanOrEqual(soon ? 0 : 20);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // The stop itself is sent at once, whatever the run was told.
    if (!soon) expect(gaps.slice(1).filter((gap) => gap < 600_000)).toEqual([]);
    subscription.unsubscribe();
  });
});
