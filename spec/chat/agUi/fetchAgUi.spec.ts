import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { agUiHandler, fetchAgUi, fromAgUi } from '../../../lib/agUi.js';
import { tool } from '../../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { OptionsOf } from '../../../lib/index.js';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import { toView } from '../../../lib/operators/toView.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
}

const request = { threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'Go.' } as const] };
const fetchFrom = (url: string, options: OptionsOf<typeof fetchAgUi> = {}) =>
  lastValueFrom(fetchAgUi(url, request, options).pipe(toArray()));
const send = (body: string): RequestListener => {
  return (_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
};

describe('fetchAgUi', () => {
  it('fetchAgUi runs an agent of another process, which a view shows', async () => {
    const add = tool({ name: 'add', description: 'Adds.', execute: () => ({ sum: 3 }) });
    const model = scriptedModel([['Let me see.', toolCall('add', { a: 1, b: 2 }, 'c1')], 'Three.']);
    const url = await serve(nodeListener(agUiHandler((tools) => createAgent({ model, tools: [add, ...tools] }))));
    const view = await lastValueFrom(fetchAgUi(url, request).pipe(fromAgUi(), toView()));
    expect(view).toMatchObject({
      status: 'idle',
      messages: [
        {
          role: 'model',
          parts: [
            { type: 'text', text: 'Let me see.' },
            { type: 'toolCall', status: 'completed', arguments: { a: 1, b: 2 }, result: { sum: 3 } },
            { type: 'text', text: 'Three.' },
          ],
        },
      ],
    });
  });

  it('fetchAgUi aborts the run when it is unsubscribed', async () => {
    let abort: (() => void) | undefined;
    const aborted = new Promise<void>((resolve) => (abort = resolve));
    const wait = tool({
      name: 'wait',
      description: 'Waits.',
      execute: (_, { signal }) => new Promise(() => signal.addEventListener('abort', () => abort?.())),
    });
    const model = scriptedModel([[toolCall('wait')]]);
    const url = await serve(nodeListener(agUiHandler(() => createAgent({ model, tools: [wait] }))));
    await firstValueFrom(fetchAgUi(url, request)); // the first event, and then it leaves
    await aborted;
  });

  it('fetchAgUi is cold, and asks for its headers at each subscription', async () => {
    const received: IncomingHttpHeaders[] = [];
    const url = await serve((incoming, response) => {
      received.push(incoming.headers);
      send('data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n')(incoming, response);
    });
    let count = 0;
    const events$ = fetchAgUi(url, request, { headers: () => ({ authorization: `token ${++count}` }) });
    expect(count).toBe(0);
    expect(await firstValueFrom(events$)).toMatchObject({ type: 'RUN_STARTED' });
    await firstValueFrom(events$);
    expect(received.map(({ authorization, accept }) => [authorization, accept])).toEqual([
      ['token 1', 'text/event-stream'],
      ['token 2', 'text/event-stream'],
    ]);
  });

  it('fetchAgUi reports a status, and something that is not an event', async () => {
    const busy = await serve((_, response) => response.writeHead(503).end('busy'));
    await expect(fetchFrom(busy)).rejects.toMatchObject({ code: 'http', status: 503 });
    for (const body of ['data: 5\n\n', 'data: {}\n\n', 'data: hello\n\n']) {
      const url = await serve(send(body));
      await expect(fetchFrom(url)).rejects.toMatchObject({ code: 'protocol', reason: 'frame' });
    }
  });
});
