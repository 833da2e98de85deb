import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Access {
  readonly token: string;
  readonly port: number;
  readonly origins: readonly string[];
}

export interface Rejection {
  readonly status: number;
  readonly message: string;
}

const ownHosts = (port: number): readonly string[] => [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];

/** A page of another site can send requests to this machine, also under a name of its own (DNS rebinding). */
export function rejectForeign({ headers }: IncomingMessage, { port, origins }: Access): Rejection | undefined {
  const hosts = ownHosts(port);
  if (!hosts.includes(headers.host ?? ''))
    return { status: 421, message: 'The inspector answers at its own address only. Open the address that it printed.' };
  const { origin } = headers;
  const isKnown = origin === undefined || hosts.some((host) => origin === `http://${host}`) || origins.includes(origin);
  if (isKnown) return undefined;
  return { status: 403, message: `To inspect the runs of this page, start the inspector with --allow ${origin}` };
}

export function hasToken({ headers }: IncomingMessage, { token }: Access): boolean {
  const [sent, expected] = [headers.authorization ?? '', `Bearer ${token}`].map((text) => Buffer.from(text));
  return (
    sent?.length === expected?.length && sent !== undefined && expected !== undefined && timingSafeEqual(sent, expected)
  );
}

export function corsHeaders({ headers }: IncomingMessage, { origins }: Access): Readonly<Record<string, string>> {
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-headers': 'authorization, content-type, rivulet-source',
    'access-control-allow-methods': 'POST',
    ...(headers['access-control-request-private-network'] ? { 'access-control-allow-private-network': 'true' } : {}),
    vary: 'origin',
  };
}
