import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A TCP proxy in front of the service. It keeps a copy of the traffic and can end all connections. */
export interface Proxy {
  /** The service's URL, through the proxy. */
  readonly url: string;
  /** All bytes in both directions so far, as text. */
  readonly traffic: () => string;
  /** The requests so far: `POST /api/chat`. */
  readonly requests: () => readonly string[];
  /** Destroys all connections. New ones are accepted. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
}

/** Opens a proxy on a free port of 127.0.0.1. */
export async function openProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const [sent, received]: [Buffer[], Buffer[]] = [[], []];
  const server = createServer((client) => {
    const service = connect(Number(port), hostname);
    const cut = () => {
      client.destroy();
      service.destroy();
    };
    for (const socket of [client, service]) {
      sockets.add(socket);
      socket.on('error', cut).on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    client.on('data', (bytes: Buffer) => void sent.push(bytes)).pipe(service);
    service.on('data', (bytes: Buffer) => void received.push(bytes)).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    traffic: () => Buffer.concat([...sent, ...received]).toString(),
    requests: () =>
      [
        ...Buffer.concat(sent)
          .toString()
          .matchAll(/([A-Z]+ \/\S*) HTTP\/1\.1\r\n/g),
      ].map(([, request]) => request ?? ''),
    cut: cutAll,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutAll();
      }),
  };
}
