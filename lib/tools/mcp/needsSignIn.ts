import { catchError, concatMap, defer, from, map, of, share, type Observable } from 'rxjs';
import { isRecord, type JsonObject } from '../../core/json/json.js';
import { anyResult, fromRequest, type McpSession } from './client.js';
import { stateOf, type McpSignIn } from './mcpSignIn.js';

type Need = false | JsonObject;

const asked = new WeakMap<McpSignIn, Observable<Need>>();

/**
 * Emits false, or the details of the call that waits: the address to open. The calls of a turn share the sign-in:
 * each would begin its own, and only the last can be completed. The call itself reports other errors.
 */
export function needsSignIn(session: McpSession, signIn: McpSignIn): Observable<Need> {
  const shared = asked.get(signIn) ?? defer(() => ask(session, signIn)).pipe(share());
  asked.set(signIn, shared);
  return shared;
}

function ask(session: McpSession, signIn: McpSignIn): Observable<Need> {
  const request = fromRequest((signal) =>
    session.send((client) => client.request({ method: 'tools/list', params: {} }, anyResult, { signal })),
  );
  return from(stateOf(signIn)?.pendingAddress() ?? of(undefined)).pipe(
    concatMap((address) => (address === undefined ? request.pipe(map(() => false as const)) : of({ signIn: address }))),
    catchError((error: unknown) => of(isUnauthorized(error) && { signIn: signIn.address ?? '' })),
  );
}

/** Checked by name, since the client is not imported at runtime. */
const isUnauthorized = (error: unknown): boolean => isRecord(error) && error['name'] === 'UnauthorizedError';
