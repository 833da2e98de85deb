import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Who asks. It is stored with a run, and passed to the worker as JSON. */
export type User = { readonly id: string };

/**
 * The user of a request: each browser is one, by a cookie that nobody can guess. A service has a login here. No process
 * keeps anything about it, so every front knows every user.
 *
 * @throws Error if there is no cookie.
 */
export function userOf({ headers }: Request): User {
  const id = /(?:^|;\s*)session=([0-9a-f-]{36})/.exec(headers.get('cookie') ?? '')?.[1];
  if (id !== undefined) return { id };
  throw new Error('There is no session. Load the page again.');
}

/** Gives a browser that has no session a new one. */
export function startSession(request: IncomingMessage, response: ServerResponse): void {
  const hasSession = /(?:^|;\s*)session=/.test(request.headers.cookie ?? '');
  if (!hasSession) response.setHeader('set-cookie', `session=${randomUUID()}; HttpOnly; SameSite=Strict; Path=/`);
}
