import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Agent } from 'rivulet';
import { agentHandler, createService, keepChats, memoryStore, nodeListener } from 'rivulet/service';
import type { ServiceOptions } from 'rivulet/service';
import { headersOf } from '../page/pageFile.js';
import type { PageFile } from '../page/pageFile.js';

/** Options of `serve`. Those of `createService` may be passed, too. */
export interface ServeOptions extends ServiceOptions {
  /** The port of 127.0.0.1. Default: any free one. */
  readonly port?: number;
  /** Returns the files of the page by their paths. */
  readonly page: () => Promise<ReadonlyMap<string, PageFile>>;
}

/**
 * Serves an agent at `/api/chat`, and the page that talks to it. The agent's key stays here.
 *
 * @returns The URL, and a function that stops the runs, and the service when their readers know it.
 */
export async function serve(agent: Agent, { port = 0, page, ...options }: ServeOptions) {
  const browser = { allowedHosts: ['127.0.0.1', 'localhost'] }; // no name of a stranger leads here
  const chats = keepChats(memoryStore()); // for all devices of a user, until the service ends
  const service = createService({ agent, browser, chats, ...options });
  const answer = nodeListener(agentHandler(service));
  const files = await page();
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '/';
    const file = files.get(path);
    if (path === '/api/chat') answer(request, response);
    else if (file) response.writeHead(200, headersOf(file)).end(file.body);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const close = async () => {
    server.keepAliveTimeout = 1; // a connection ends after its response
    await service.shutdown().forEach(() => undefined);
    await new Promise((closed) => server.close(closed).closeIdleConnections());
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close };
}
