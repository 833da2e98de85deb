import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, openaiChat, tool } from 'rivulet';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';

let server: LoopbackServer;
const { stackTraceLimit } = Error;
beforeAll(async () => {
  server = await serveModel([['Hello ', 'world']]);
  Error.stackTraceLimit = 500;
});
afterAll(async () => {
  Error.stackTraceLimit = stackTraceLimit;
  await server.close();
});

/** How often `Subscriber.next` of RxJS is on the stack: once for each subscriber that a delta passes. */
const subscribersOnTheStack = (): number => (new Error().stack ?? '').match(/Subscriber\.next /g)?.length ?? 0;

describe('the path of a delta', () => {
  it('has 11 subscribers from the network read to the subscriber of a run with tools', async () => {
    const clock = tool({ name: 'clock', description: 'The time.', execute: () => 'noon' });
    const model = openaiChat('any', { apiKey: 'any', baseUrl: server.url });
    const depths: number[] = [];
    const run = createAgent({ model, tools: [clock] }).stream('Hi');
    await new Promise<void>((resolve, reject) => {
      run.subscribe({
        next: ({ type }) => type === 'text' && depths.push(subscribersOnTheStack()),
        error: reject,
        complete: resolve,
      });
    });
    expect(depths).toEqual([11, 11]);
  });
});
