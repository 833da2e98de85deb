import { catchError, concatMap, defer, from, map, of, share, type Observable } from 'rxjs';
import { isRecord, type JsonObject } from '../../core/json/json.js';
import { anyResult, fromRequest, type McpSession } from './client.js';
import { stateOf, type McpSignIn } from './mcpSignIn.js';

type Need = false | JsonObject;

const asked = new WeakMap<McpSignIn, Observable<Need>>();

/** False, or the details with the address. Calls share the sign-in: only the last one begun can be completed. */
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
    map((need) => stateOf(signIn)?.secrets.hide(need) ?? need),
  );
}

/** Checked by name, since the client is not imported at runtime. */
const isUnauthorized = (error: unknown): boolean => isRecord(error) && error['name'] === 'UnauthorizedError';
