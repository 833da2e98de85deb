import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createParser } from 'eventsource-parser';
import { WebSocket, WebSocketServer } from 'ws';
import { isRecord } from '../../lib/core/json/json.js';
import type { WebSocketClass } from '../../lib/providers/openaiResponses/webSocketTransport.js';

/** A server of the Responses API over WebSockets, in front of a loopback server. */
export interface WebSocketGateway {
  /** A class of WebSockets that connect to the gateway, and with it to the server of their URL. */
  readonly webSocket: WebSocketClass;
  /** What the clients sent, for each connection. */
  readonly connections: readonly unknown[][];
  /** Ends all connections, as a network that breaks. */
  breakAll(): void;
  close(): Promise<void>;
}

/** Starts a gateway. Each `response.create` is a POST to the loopback server, whose events become messages. */
export async function openGateway(): Promise<WebSocketGateway> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connections: unknown[][] = [];
  server.on('connection', (socket, { url, headers }) => {
    const target = new URL(url ?? '', 'http://localhost').searchParams.get('target') ?? '';
    const { authorization = '' } = headers;
    const received: unknown[] = [];
    connections.push(received);
    socket.on('message', (data: Buffer) => {
      const event: unknown = JSON.parse(data.toString());
      received.push(event);
      answer(socket, target, authorization, event).catch(() => socket.terminate());
    });
  });
  return {
    connections,
    webSocket: class extends WebSocket {
      constructor(url: string, options: { readonly headers: Readonly<Record<string, string>> }) {
        super(`ws://127.0.0.1:${port}/?target=${encodeURIComponent(url.replace(/^ws/, 'http'))}`, options);
      }
    },
    breakAll: () => server.clients.forEach((socket) => socket.terminate()),
    close: async () => {
      server.clients.forEach((socket) => socket.terminate());
      server.close();
      await once(server, 'close');
    },
  };
}

async function answer(socket: WebSocket, target: string, authorization: string, event: unknown): Promise<void> {
  const { type, ...body } = isRecord(event) ? event : {};
  if (type !== 'response.create' || 'stream' in body || 'background' in body)
    throw new Error(`The client sent ${JSON.stringify(event)}.`);
  const controller = new AbortController();
  socket.once('close', () => controller.abort());
  const response = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ ...body, stream: true }),
    signal: controller.signal,
  });
  if (!response.ok) {
    const refusal: unknown = await response.json();
    socket.send(JSON.stringify({ type: 'error', status: response.status, ...(isRecord(refusal) ? refusal : {}) }));
    return;
  }
  let last = '';
  const parser = createParser({
    onEvent({ data }) {
      last = data;
      socket.send(data);
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  if (!/"type":"(?:response\.(?:completed|failed|incomplete)|error)"/.test(last)) socket.terminate();
}
