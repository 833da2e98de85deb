import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, Subject, timer, toArray } from 'rxjs';
import { createAgent, tool } from 'rivulet';
import type { Agent } from 'rivulet';
import { inspectRuns, readRecording } from 'rivulet/recording';
import { inVirtualTime, scriptedModel, toolCall } from 'rivulet/testing';
import { busyAgent, recordVirtually } from './runs.js';

const address = 'http://127.0.0.1:4983/#token';

/** A `fetch` that answers with a status, or rejects with none. */
function inspectorOf(status: number | undefined) {
  const requests: { readonly url: string; readonly headers: Headers; readonly body: string }[] = [];
  const fetch = (url: unknown, init?: RequestInit) => {
    requests.push({ url: String(url), headers: new Headers(init?.headers), body: init?.body as string });
    return status === undefined
      ? Promise.reject(new TypeError('fetch failed'))
      : Promise.resolve(new Response(null, { status }));
  };
  const types = () =>
    requests.flatMap(({ body }) =>
      body
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => (JSON.parse(line) as { readonly type: string }).type),
    );
  return { requests, fetch: fetch as typeof globalThis.fetch, types };
}

const agentOf = (...answers: string[]) => createAgent({ model: scriptedModel(answers) }) as unknown as Agent;
const hold = (agent: Agent) => lastValueFrom(agent.stream('Hi').pipe(toArray()));
/** Does something at several times of the clock, in milliseconds. */
async function atTimes(times: readonly number[], act: () => Promise<void>): Promise<void> {
  const clock = Date.now;
  const start = clock();
  try {
    for (const time of times) {
      Date.now = () => start + time;
      await act();
    }
  } finally {
    Date.now = clock;
  }
}
const settle = () => lastValueFrom(timer(0));

describe('inspectRuns', () => {
  it('inspectRuns returns the agent itself without an address', () => {
    const agent = busyAgent();
    expect(inspectRuns(agent, undefined)).toBe(agent);
  });

  it('inspectRuns sends a run to the inspector, with the token of its address, and changes no event', async () => {
    const inspector = inspectorOf(204);
    const events = await hold(inspectRuns(agentOf('Hello'), address, { fetch: inspector.fetch, name: 'support' }));
    await settle();
    expect(events).toEqual(await hold(agentOf('Hello')));
    const [first] = inspector.requests;
    expect(first?.url).toBe('http://127.0.0.1:4983/api/entries');
    expect(first?.headers.get('authorization')).toBe('Bearer token');
    expect(first?.headers.get('rivulet-source')).toHaveLength(21);
    expect(inspector.types().slice(0, 3)).toEqual(['recording', 'start', 'agent']);
    expect(inspector.types().at(-1)).toBe('end');
  });

  it('inspectRuns copies nothing of a run once the inspector has refused, and asks again after two seconds', async () => {
    const inspector = inspectorOf(undefined);
    const inspected = inspectRuns(agentOf('1', '2', '3'), address, { fetch: inspector.fetch });
    const bodies: (readonly string[])[] = [];
    await atTimes([0, 1999, 2000], async () => {
      await hold(inspected);
      await settle();
      bodies.push(inspector.requests.map(({ body }) => body));
    });
    const [first = []] = bodies;
    expect(first).toHaveLength(1);
    expect(bodies).toEqual([first, first, [...first, '']]);
  });

  it('inspectRuns records the next runs when an inspector has started', async () => {
    const later = inspectorOf(204);
    const refusing = inspectorOf(undefined);
    let inspector = refusing;
    const fetch: typeof globalThis.fetch = (...args) => inspector.fetch(...args);
    const inspected = inspectRuns(agentOf('1', '2', '3'), address, { fetch });
    const sent: number[] = [];
    await atTimes([0, 3000, 3001], async () => {
      await hold(inspected);
      await settle();
      inspector = later;
      sent.push(later.types().length);
    });
    expect(sent.slice(0, 2)).toEqual([0, 0]); // the second run asks, and is not recorded
    expect(later.types().at(-1)).toBe('end');
  });

  it('inspectRuns removes secrets, and with content: false also texts', async () => {
    const inspector = inspectorOf(204);
    const options = { fetch: inspector.fetch, secrets: ['tiger-lily'], content: false };
    await hold(inspectRuns(agentOf('It is tiger-lily.'), address, options));
    await settle();
    const sent = inspector.requests.map(({ body }) => body).join('');
    expect(sent).not.toContain('tiger-lily');
    expect(sent).not.toContain('It is');
    expect(sent).toContain('·····');
  });

  it('inspectRuns follows no redirect, which could send the run to another host', async () => {
    const requests: RequestInit[] = [];
    const fetch = (_url: unknown, init: RequestInit = {}) => {
      requests.push(init);
      return Promise.resolve(new Response(null, { status: 204 }));
    };
    await hold(inspectRuns(agentOf('Hello'), address, { fetch: fetch }));
    await settle();
    expect(requests.map(({ redirect }) => redirect)).toContain('error');
    expect(requests.filter(({ redirect }) => redirect !== 'error')).toEqual([]);
  });

  it('inspectRuns aborts a request that the inspector does not answer', async () => {
    const signals: (AbortSignal | null | undefined)[] = [];
    const fetch = (_url: unknown, init?: RequestInit) => {
      signals.push(init?.signal);
      return new Promise<Response>(() => undefined);
    };
    // The request is sent by a Promise, which is not virtual: after the virtual time has passed.
    inVirtualTime(() => inspectRuns(agentOf('Hello'), address, { fetch: fetch }).stream('Hi'));
    await settle();
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  it('inspectRuns says in the end of a run how many entries a full queue has dropped', async () => {
    const bodies: string[] = [];
    const answer = new Subject<void>();
    const fetch = async (_url: unknown, init?: RequestInit) => {
      bodies.push(init?.body as string);
      if (bodies.length === 1) await firstValueFrom(answer);
      return new Response(null, { status: 204 });
    };
    const long = tool({ name: 'long', description: 'l', execute: () => 'y'.repeat(900_000) });
    const calls = Array.from({ length: 8 }, () => [toolCall('long')]);
    const create = () => createAgent({ model: scriptedModel([...calls, 'Done']), tools: [long] }) as unknown as Agent;
    await hold(inspectRuns(create(), address, { fetch: fetch }));
    await settle();
    answer.next();
    await settle();
    await settle();
    const lines = bodies.join('').trim().split('\n');
    const { runs } = readRecording(lines);
    expect(runs[0]?.end?.dropped).toBeGreaterThan(0);
    const { lines: all } = recordVirtually(create());
    expect(lines.length + (runs[0]?.end?.dropped ?? 0)).toBe(all.length);
  });

  it('inspectRuns reports a wrong token once, and the run goes on', async () => {
    const inspector = inspectorOf(401);
    const reported = new Subject<unknown>();
    const all = lastValueFrom(reported.pipe(toArray()));
    const { config } = await import('rxjs');
    config.onUnhandledError = (error: unknown) => reported.next(error);
    try {
      const inspected = inspectRuns(agentOf('1', '2'), address, { fetch: inspector.fetch });
      expect((await hold(inspected)).at(-1)).toMatchObject({ type: 'result' });
      await settle();
      await hold(inspected);
      await settle();
      reported.complete();
      expect(await all).toMatchObject([{ code: 'configuration', subject: 'options' }]);
      expect(inspector.requests).toHaveLength(1);
    } finally {
      config.onUnhandledError = null;
    }
  });

  it.each([
    ['https://inspector.example/#token', '"inspector.example" is another one'],
    ['http://127.0.0.1:4983/', 'has no token'],
    ['here', 'is not a URL of HTTP'],
    ['ftp://127.0.0.1/#token', 'is not a URL of HTTP'],
  ])('inspectRuns rejects the address %s', (wrong, message) => {
    expect(() => inspectRuns(busyAgent(), wrong)).toThrow(message);
  });
});
