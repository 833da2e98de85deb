import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { delay, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { RivuletError } from '../../lib/core/errors.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { toolCall } from '../../lib/testing/index.js';
import type { Script } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn, ServeOptions } from '../../lib/testing/server/index.js';

/** The part of zone.js's `Zone` that is used here. */
interface ZoneType {
  readonly name: string;
  fork(spec: { readonly name: string }): ZoneType;
  run<T>(work: () => T): T;
}
const currentZone = () => (globalThis as unknown as { Zone: { readonly current: ZoneType } }).Zone.current;

/**
 * Loads zone.js. In jest, the classes of events and the promises of `fetch` belong to the realm of all spec files: they
 * are not patched, so that this file changes no other.
 */
beforeAll(async () => {
  const { fetch } = globalThis;
  Object.assign(globalThis, { __Zone_disable_EventTarget: true, __Zone_disable_on_property: true, fetch: undefined });
  await import('zone.js');
  globalThis.fetch = fetch;
});

describe('under zone.js', () => {
  const servers: LoopbackServer[] = [];
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));
  const serve = async (script: Script<ServedTurn>, options: ServeOptions = {}) => {
    const server = await serveModel(script, options);
    servers.push(server);
    return openaiChat('toy', { apiKey: 'k', baseUrl: server.url, retry: { initialDelay: 1 }, timeout: { each: 60 } });
  };
  const ask = (model: Model) => model.stream({ messages: [userMessage('Hello')] });

  /** Subscribes in a zone, and records each notification with the name of the zone in which it arrives. */
  const notifications = <T extends { readonly type: string }>(source: Observable<T>) =>
    new Promise<string[]>((resolve) => {
      const log: string[] = [];
      const note = (kind: string) => log.push(`${kind} in ${currentZone().name}`);
      const end = (kind: string) => {
        note(kind);
        resolve(log);
      };
      currentZone()
        .fork({ name: 'subscriber' })
        .run(() =>
          source.subscribe({
            next: ({ type }) => note(type),
            error: (error: unknown) => end(`error ${(error as RivuletError).code}`),
            complete: () => end('complete'),
          }),
        );
    });
  const inZone = (...kinds: readonly string[]) => kinds.map((kind) => `${kind} in subscriber`);

  it('a model emits its chunks and completes in the zone of the subscriber', async () => {
    const model = await serve([['Hello', ' there']]);
    expect(await notifications(ask(model))).toEqual(inZone('metadata', 'text', 'text', 'finish', 'complete'));
  });

  it('a model emits after a retry in the zone of the subscriber', async () => {
    const model = await serve(['Hello'], { failFirst: { status: 503, times: 2 } });
    expect(await notifications(ask(model))).toEqual(inZone('retry', 'retry', 'metadata', 'text', 'finish', 'complete'));
  });

  it('a model errors in the zone of the subscriber: an HTTP error, a broken connection, a timeout', async () => {
    const refused = await serve(['Hello'], { status: 401 });
    expect(await notifications(ask(refused))).toEqual(inZone('error http'));
    const broken = await serve(['Hello'], { endEarly: 2 });
    expect((await notifications(ask(broken))).at(-1)).toBe('error stream_interrupted in subscriber');
    const silent = await serve(['Hello'], { silent: 2 });
    expect((await notifications(ask(silent))).at(-1)).toBe('error timeout in subscriber');
  });

  it.each([
    ['a value', () => 3],
    ['a Promise', () => Promise.resolve(3)],
    ['an Observable', () => of(1, 3).pipe(delay(1))],
    [
      'an async generator',
      async function* () {
        yield await Promise.resolve(1);
        yield 3;
      },
    ],
  ])('a run emits in the zone of the subscriber when its tool returns %s', async (_, execute) => {
    const model = await serve([[toolCall('add', {})], 'Three.']);
    const add = tool({ name: 'add', description: 'Adds.', execute: execute as () => number });
    const log = await notifications(createAgent({ model, tools: [add] }).stream('Add 1 and 2.'));
    expect(log).toEqual(expect.arrayContaining(inZone('toolCall', 'toolResult', 'turn', 'text', 'result', 'complete')));
    expect(log.filter((entry) => !entry.endsWith('in subscriber'))).toEqual([]);
  });
});
