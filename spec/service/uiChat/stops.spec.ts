import { describe, expect, it } from '@jest/globals';
import { tap, timer } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { tool } from '../../../lib/core/tool.js';
import { uiChatHandler } from '../../../lib/service/uiChat/index.js';
import type { HandledAgent } from '../../../lib/service/handledAgent.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { lateStore, mapStore } from '../../support/stores.js';
import { inVirtualTime } from '../../support/virtualTime.js';

/*
 * A stop (`DELETE`) at each stage of a message of useChat, whatever its request waits for then. Due in each row: once
 * the stop is confirmed, the message does nothing; the next message, which is sent at once, is answered in full.
 */
const SLOW = 4000;
const api = 'http://service.test/api/chat';
const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));
const message = (text: string) => ({ id: text, role: 'user', parts: [{ type: 'text', text }] });

interface Stage {
  /** What is slow. */
  readonly body?: number;
  readonly context?: number;
  readonly store?: number;
  readonly model?: number;
  /** Whether the message waits for earlier work of its chat. */
  readonly isQueued?: boolean;
}
const stages: Readonly<Record<string, Stage>> = {
  'while its body arrives': { body: SLOW },
  'while the client is identified': { context: SLOW },
  'while it waits for earlier work of its chat': { store: SLOW, isQueued: true },
  'while its record is written': { store: SLOW },
  'before the first event': { model: SLOW },
  'in a tool': {},
};

/** @param stopContext How long the identification of the request to stop takes, in milliseconds. */
async function walk({ body = 0, context = 0, store = 0, model = 0, isQueued = false }: Stage, stopContext: number) {
  const acted: string[] = [];
  const work = tool({
    ...{ name: 'work', description: 'Works.' },
    execute: () => timer(2 * SLOW).pipe(tap(() => acted.push('late'))),
  });
  const agent = createAgent({
    tools: [work],
    model: scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      if (JSON.stringify(last).includes('c1')) return 'Done.';
      return JSON.stringify(last).includes('Next')
        ? ['All ', { delay: 3 * SLOW }, 'of it.']
        : [{ delay: model }, toolCall('work', {}, 'c1')];
    }),
  });
  const handler = uiChatHandler(agent as HandledAgent<string>, {
    ...{ grace: 600_000, heartbeat: false, owner: String, onError: () => undefined },
    store: lateStore(mapStore(), () => store / 2),
    context: ({ headers }) => pause(Number(headers.get('x-time'))).then(() => 'ann'),
  });
  const post = async (texts: readonly string[], bodyTime = 0, time = 0) => {
    const sent = JSON.stringify({ id: 'chat', messages: texts.map(message) });
    const stream = new ReadableStream<Uint8Array>({
      async start(controller) {
        await pause(bodyTime);
        controller.enqueue(new TextEncoder().encode(sent));
        controller.close();
      },
    });
    const headers = { 'content-type': 'application/json', 'x-time': String(time) };
    const response = await handler(
      new Request(api, { method: 'POST', headers, body: stream, duplex: 'half' } as RequestInit),
    );
    return response.text();
  };
  const stop = async () => {
    const headers = { 'x-time': String(stopContext) };
    const { status } = await handler(new Request(`${api}/chat/stream`, { method: 'DELETE', headers }));
    return status;
  };
  const earlier = isQueued ? post(['Earlier']) : undefined;
  const first = post(['First'], body, context);
  await pause(1000);
  const stopping = stop();
  const next = post(['First', 'Next']);
  const status = await stopping;
  const texts = await Promise.all([first, next, earlier]);
  await pause(20 * SLOW);
  return {
    ...{ status, acted, isStopped: texts[0].includes('"abort"') },
    next: [texts[1].includes('of it.'), texts[1].includes('"abort"')],
  };
}

describe('a stop of useChat', () => {
  it('is needed: without it, the tool does its work', async () => {
    const acted: string[] = [];
    const work = tool({ name: 'work', description: 'Works.', execute: () => acted.push('done') });
    const model = scriptedModel([[toolCall('work', {}, 'c1')], 'Done.']);
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ id: 'chat', messages: [message('First')] });
    const handler = uiChatHandler(createAgent({ model, tools: [work] }), { heartbeat: false });
    await (await handler(new Request(api, { method: 'POST', headers, body }))).text();
    expect(acted).toEqual(['done']);
  });

  it.each([0, 2000])('of which the client is identified in %i ms stops what came before it', async (time) => {
    const rows = await inVirtualTime(() =>
      Promise.all(Object.entries(stages).map(async ([name, stage]) => [name, await walk(stage, time)] as const)),
    );
    const due = { status: 204, acted: [], isStopped: true, next: [true, false] };
    expect(rows).toEqual(Object.keys(stages).map((name) => [name, due]));
  });
});
