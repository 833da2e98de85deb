import { catchError, defer, firstValueFrom, of, type Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import type { Connections } from './connections.js';
import { RequestError } from './requestError.js';

export interface GateOptions {
  /**
   * The names of the hosts at which the service can be reached, without ports: `['chat.example.org']`. A request with
   * another `Host` is answered with 421, so that no page of a stranger can reach a service on your machine by a name
   * that it lets point there (DNS rebinding). Default: any host.
   */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * The origins whose pages may use the service, besides its own: `['https://app.example.org']`. They get the CORS
   * headers, also for a preflight, and may send the user's cookies. With this option, or with `allowedHosts`, a request
   * of a page of another origin is answered with 403. Default: none, and no request is rejected for its origin.
   */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** Answers with what `answer` emits, or what `fail` returns for a thrown value. */
export type Gate = (
  request: Request,
  answer: () => Observable<Response>,
  fail: (thrown: unknown) => Response,
) => Promise<Response>;

/** @throws ConfigurationError `options` if an origin is not one. */
export function createGate({ allowedHosts, allowedOrigins }: GateOptions, connections: Connections): Gate {
  const hosts = allowedHosts && new Set(allowedHosts.map((name) => name.toLowerCase()));
  const origins = new Set(allowedOrigins?.map(requireOrigin));
  const isChecked = (allowedHosts ?? allowedOrigins) !== undefined;
  const check = (request: Request): Response | undefined => {
    if (!isChecked) return undefined;
    if (hosts && !hosts.has(hostOf(request).replace(/:\d*$/, '')))
      throw new RequestError(421, 'This service does not have that name.');
    const origin = request.headers.get('origin');
    if (origin === null) return undefined;
    const isAllowed = origins.has(origin);
    if (!isAllowed && !isOwn(origin, hostOf(request)))
      throw new RequestError(403, 'Pages of this origin may not use the service.');
    const isPreflight = request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
    return isPreflight && isAllowed
      ? new Response(null, { status: 204, headers: preflightHeaders(request) })
      : undefined;
  };
  const admit = ({ headers }: Request, response: Response): Response => {
    response.headers.append('vary', 'origin');
    const origin = headers.get('origin');
    if (origin === null || !origins.has(origin)) return response;
    response.headers.set('access-control-allow-origin', origin);
    response.headers.set('access-control-allow-credentials', 'true');
    response.headers.set('access-control-expose-headers', 'retry-after, x-vercel-ai-ui-message-stream');
    return response;
  };
  return (request, answer, fail) => {
    const answered = defer(() => {
      const preflight = check(request);
      return preflight ? of(preflight) : answer();
    }).pipe(catchError((thrown: unknown) => of(fail(thrown))));
    return firstValueFrom(answered, { defaultValue: undefined }).then((response) => {
      const known = connections.add(response ?? new Response(null, { status: 500 })); // `chats` has emitted nothing
      return origins.size === 0 ? known : admit(request, known);
    });
  };
}

/** The origin is allowed, so it may send the headers that it asks for: tokens have any name. */
const preflightHeaders = ({ headers }: Request): Readonly<Record<string, string>> => ({
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': headers.get('access-control-request-headers') ?? 'content-type',
  'access-control-max-age': '600',
});

/** A browser always sends `Host`. A server that has none puts it into the URL. */
const hostOf = ({ headers, url }: Request): string => (headers.get('host') ?? new URL(url).host).toLowerCase();

/** A page without an origin (`null`) was not loaded from the service. */
const isOwn = (origin: string, host: string): boolean => URL.canParse(origin) && new URL(origin).host === host;

function requireOrigin(origin: string): string {
  if (URL.canParse(origin) && new URL(origin).origin === origin) return origin;
  throw new ConfigurationError(
    'options',
    `The option \`allowedOrigins\` contains "${origin}", which is not an origin.`,
    'Write the scheme, the host and the port without a path: https://app.example.org or http://localhost:4200.',
  );
}
