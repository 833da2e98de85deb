import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { agentHandler, nodeListener } from 'rivulet';
import type { Agent } from 'rivulet';
import { pageFiles } from '../page/files.js';
import type { PageFile } from '../page/files.js';

/** A service that listens. */
export interface Service {
  readonly url: string;
  /** Stops the runs, and the service when their readers know it. */
  readonly close: () => Promise<void>;
}

/**
 * Serves an agent at `/api/chat`, and the page that talks to it.
 *
 * @param agent The agent. Its key stays here.
 * @param port The port of 127.0.0.1. Default: any free one.
 * @param page Returns the files of the page by their paths. Default: examples/page.
 */
export async function serve(
  agent: Agent,
  port = 0,
  page: () => Promise<ReadonlyMap<string, PageFile>> = pageFiles,
): Promise<Service> {
  const chat = agentHandler(agent);
  const answer = nodeListener(chat);
  const files = await page();
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '/';
    const file = files.get(path);
    if (path === '/api/chat') answer(request, response);
    else if (file) response.writeHead(200, { 'content-type': file.type }).end(file.body);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.keepAliveTimeout = 1; // a connection ends after its response
      await chat.shutdown().forEach(() => undefined);
      await new Promise((closed) => {
        server.close(closed); // when the ends of the runs are sent
        server.closeIdleConnections();
      });
    },
  };
}
