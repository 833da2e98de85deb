import { catchError, map, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { isRecord } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { anyResult, fromRequest } from './client.js';
import type { McpClient } from './client.js';
import type { McpSignIn } from './mcpSignIn.js';

/**
 * Asks the server for the first page of its tools. Emits false, or the details of the call that waits for the sign-in:
 * the address to open. The client refreshes an expired access token by itself.
 *
 * Other errors are not decided here: the call itself meets them, and reports them.
 */
export function needsSignIn(client: McpClient, signIn: McpSignIn): Observable<false | JsonObject> {
  return fromRequest((signal) => client.request({ method: 'tools/list', params: {} }, anyResult, { signal })).pipe(
    map(() => false as const),
    catchError((error: unknown) => of(isUnauthorized(error) && { signIn: signIn.address ?? '' })),
  );
}

/** By its name, since the client is not imported at runtime. */
const isUnauthorized = (error: unknown): boolean => isRecord(error) && error['name'] === 'UnauthorizedError';
