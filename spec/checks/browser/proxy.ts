import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout } from 'node:timers/promises';

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
  /** Holds all bytes, in both directions, until `thaw`. A connection that is held when it ends is destroyed. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** From now on, each piece of bytes is held for up to so many milliseconds. */
  readonly delay: (longest: number) => void;
  readonly close: () => Promise<void>;
}

/** Opens a proxy on a free port of 127.0.0.1. */
export async function openProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const [sent, received]: [Buffer[], Buffer[]] = [[], []];
  let longest = 0;
  let thawed = Promise.resolve();
  let thaw = (): void => undefined;
  /** Passes bytes on when the network lets them. */
  const slow = () =>
    new Transform({
      transform(bytes: Buffer, _, done) {
        void setTimeout(longest * Math.random())
          .then(() => thawed)
          .then(() => done(null, bytes));
      },
    });
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
    client
      .on('data', (bytes: Buffer) => void sent.push(bytes))
      .pipe(slow())
      .pipe(service);
    service
      .on('data', (bytes: Buffer) => void received.push(bytes))
      .pipe(slow())
      .pipe(client);
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
    freeze() {
      thaw();
      thawed = new Promise((resolve) => (thaw = resolve));
    },
    thaw: () => thaw(),
    delay: (milliseconds) => (longest = milliseconds),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutAll();
      }),
  };
}
