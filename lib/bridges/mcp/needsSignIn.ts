import { catchError, map, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { isRecord } from '../../core/json/json.js';
import { anyResult, fromRequest } from './client.js';
import type { McpClient } from './client.js';

/**
 * Asks the server for the first page of its tools, and emits whether a sign-in is required. The client refreshes an
 * expired access token by itself.
 *
 * Other errors are not decided here: the call itself meets them, and reports them.
 */
export function needsSignIn(client: McpClient): Observable<boolean> {
  return fromRequest((signal) => client.request({ method: 'tools/list', params: {} }, anyResult, { signal })).pipe(
    map(() => false),
    catchError((error: unknown) => of(isUnauthorized(error))),
  );
}

/** By its name, since the client is not imported at runtime. */
const isUnauthorized = (error: unknown): boolean => isRecord(error) && error['name'] === 'UnauthorizedError';
