import { catchError, map, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { isRecord } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { anyResult, fromRequest } from './client.js';
import type { McpClient } from './client.js';
import type { McpSignIn } from './mcpSignIn.js';

/**
 * Emits false, or the address to open. The client refreshes an expired token by itself; other errors are met and
 * reported by the call.
 */
export function needsSignIn(client: McpClient, signIn: McpSignIn): Observable<false | JsonObject> {
  return fromRequest((signal) => client.request({ method: 'tools/list', params: {} }, anyResult, { signal })).pipe(
    map(() => false as const),
    catchError((error: unknown) => of(isUnauthorized(error) && { signIn: signIn.address ?? '' })),
  );
}

/** By its name, since the client is not imported at runtime. */
const isUnauthorized = (error: unknown): boolean => isRecord(error) && error['name'] === 'UnauthorizedError';
