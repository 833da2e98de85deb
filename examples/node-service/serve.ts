import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { agentHandler, nodeListener } from 'rivulet';
import type { Agent } from 'rivulet';
import { pageFiles } from '../page/files.js';

/** A service that listens. */
export interface Service {
  readonly url: string;
  /** Stops the runs, then the service. */
  readonly close: () => Promise<void>;
}

/**
 * Serves an agent at `/api/chat`, and the page that talks to it.
 *
 * @param agent The agent. Its key stays here.
 * @param port The port of 127.0.0.1. Default: any free one.
 */
export async function serve(agent: Agent, port = 0): Promise<Service> {
  const chat = agentHandler(agent);
  const answer = nodeListener(chat);
  const files = await pageFiles();
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '/';
    if (path === '/api/chat') return answer(request, response);
    const file = files.get(path);
    if (!file) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': file.type }).end(file.body);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      await chat.shutdown().forEach(() => undefined);
      server.close();
      server.closeAllConnections();
    },
  };
}
