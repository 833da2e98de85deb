import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { agUiHandler } from '../../lib/agUi.js';
import { uiChatHandler } from '../../lib/service/uiChat/index.js';
import type { Tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { HandledAgent } from '../../lib/service/handledAgent.js';
import { nodeListener } from '../../lib/service/http/nodeListener.js';
import type { Service } from '../../lib/service/service.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';

export type Handler = (request: Request) => Promise<Response>;

/** Sends a request about a run to `agentHandler`. */
export const postRun = (handler: Handler, id: string, body: unknown) =>
  handler(
    new Request('http://service.test', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'x-run-id': id },
    }),
  );

/** The options that the three handlers share. */
export type SharedOptions = Omit<ServiceOptions, 'owner' | 'context'> & {
  readonly context?: (request: Request) => unknown;
  readonly owner?: (context: unknown) => string;
  /** The tools of the agent, for `uiChatHandler`. */
  readonly tools?: readonly Tool[];
};

/** One of the protocols of a service: how to create its handler, and a request that starts a run. */
export interface ServiceProtocol {
  /** The handler of a service that has other protocols too. */
  readonly over: <C>(service: Service<C>) => Handler;
  readonly handler: (agent: HandledAgent, options?: SharedOptions) => Handler;
  readonly body: (text: string) => unknown;
  readonly headers: () => Readonly<Record<string, string>>;
}

const json = { 'content-type': 'application/json' };

const all = {
  agentHandler: {
    over: (service) => agentHandler(service),
    handler: (agent, options) => agentHandler(agent, options),
    body: (input) => ({ input }),
    headers: () => ({ ...json, 'x-run-id': crypto.randomUUID() }),
  },
  agUiHandler: {
    over: (service) => agUiHandler(service),
    handler: (agent, options) => agUiHandler(() => agent, options),
    body: (content) => ({ threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content }] }),
    headers: () => json,
  },
  uiChatHandler: {
    over: (service) => uiChatHandler(service, { grace: 60_000 }),
    handler: (agent, options) => uiChatHandler(agent as HandledAgent<undefined>, options as object),
    body: (text) => ({ id: 'chat', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }] }),
    headers: () => json,
  },
} satisfies Readonly<Record<string, ServiceProtocol>>;

/** The protocols, by the names of their handlers. */
export const protocols: Readonly<Record<keyof typeof all, ServiceProtocol>> = all;

export const protocolNames = Object.keys(all) as readonly (keyof typeof all)[];

/** Servers on free ports of the loopback interface. */
export function createServers() {
  const servers: Server[] = [];
  const handlers: Handler[] = [];
  const listen = async (listener: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> => {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  return {
    listen,
    serve: (handler: Handler) => {
      handlers.push(handler);
      return listen(nodeListener(handler));
    },
    close: () => {
      for (const handler of handlers.splice(0)) shutDown(handler);
      for (const server of servers.splice(0)) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

/** Ends the runs of a handler: their timers would keep the process alive for minutes. */
export function shutDown(handler: object): void {
  const { shutdown } = handler as Partial<ReturnType<typeof agentHandler>>;
  shutdown?.('abandon').subscribe();
}

/** A request that starts a run. */
export const startRequest = (
  { body, headers }: ServiceProtocol,
  more: Readonly<Record<string, string>> = {},
  text = 'Hi',
): Request =>
  new Request('http://service.test/api/chat', {
    method: 'POST',
    headers: { ...headers(), ...more },
    body: JSON.stringify(body(text)),
  });

/** Sends a request that starts a run. */
export const ask = (
  url: string,
  { body, headers }: ServiceProtocol,
  text = 'Hi',
  more: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { ...headers(), ...more }, body: JSON.stringify(body(text)) });
