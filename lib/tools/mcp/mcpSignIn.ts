import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { asyncScheduler, defer, EMPTY, filter, firstValueFrom, identity, lastValueFrom, noop, of, repeat } from 'rxjs';
import { nonEmptyString, objectOrEmpty, tryParseJson } from '../../core/json/json.js';
import { readStream } from '../../protocol/post.js';
import { readBeginning } from '../../protocol/readBeginning.js';
import { findSecrets, replaceRanges, secretsOf, spellings } from '../../protocol/secrets.js';
import { withBody } from '../../protocol/withBody.js';
import { settled } from '../../core/settled.js';
import { answerWithin } from '../../core/timeLimit.js';
import { KnownSecrets } from './knownSecrets.js';

/** What connects the sign-in of a user with the transport and the tools of an MCP server. */
export interface McpSignIn {
  /** For the option `authProvider` of the transport. */
  readonly authProvider: OAuthClientProvider;
  /** For the option `fetch` of the transport: a refresh of the tokens is shared by the requests that need it. */
  readonly fetch: typeof fetch;
  /** The address to open, since the server has required a sign-in; undefined before. */
  readonly address: string | undefined;
}

/**
 * Prepares the client of an MCP server that requires a sign-in (OAuth 2.1).
 *
 * <span class="informal">A call that is not authorised waits, with the address to open.</span>
 *
 * The tokens stay with your provider: no event, checkpoint or error contains one. An access token that has expired is
 * refreshed once, whatever the number of calls that find out at the same time: a server that accepts each refresh token
 * once would reject the others, and the user would have to sign in again. Calls that need a sign-in within a minute
 * share one: their addresses are the same.
 *
 * ```ts
 * const signIn = mcpSignIn(providerOf(user)); // your OAuthClientProvider, with the tokens of this user
 * const client = new Client({ name: 'my-app', version: '1.0.0' });
 * const { authProvider, fetch } = signIn;
 * await client.connect(new StreamableHTTPClientTransport(url, { authProvider, fetch }));
 * const tools = await firstValueFrom(mcpTools(client, { signIn }));
 * ```
 *
 * @param provider The user's provider of the official client. Its `redirectToAuthorization` is still called.
 * @param fetch Sends the requests. Default: the global `fetch`.
 * @returns What the transport needs, and the option `signIn` of `mcpTools`. Create it for each user.
 */
export function mcpSignIn(provider: OAuthClientProvider, fetch: typeof globalThis.fetch = globalThis.fetch): McpSignIn {
  let address: string | undefined;
  let pending: Pending | undefined;
  const secrets = new KnownSecrets();
  const accessToken = async () => (await authProvider.tokens())?.access_token;
  const replaced: Partial<OAuthClientProvider> = {
    redirectToAuthorization: async (url) => {
      address = url.href;
      pending = { address, accessToken: await accessToken(), begun: asyncScheduler.now() };
      return provider.redirectToAuthorization(url);
    },
    codeVerifier: () => {
      pending = undefined; // the user comes back
      return provider.codeVerifier();
    },
  };
  // Not a copy: a provider may be an instance of a class, with getters and private fields.
  const authProvider = new Proxy(provider, {
    get(target, key) {
      const value: unknown = Reflect.get(Object.hasOwn(replaced, key) ? replaced : target, key);
      if (typeof value !== 'function') return value;
      const call = value.bind(target) as Call;
      return secretMember.test(String(key)) ? noteSecrets(secrets, call) : call;
    },
  });
  const signIn: McpSignIn = {
    authProvider,
    fetch: shareRefresh(authProvider, noteFetch(secrets, fetch)),
    get address() {
      return address;
    },
  };
  states.set(signIn, {
    secrets,
    pendingAddress: async () => {
      const isOpen = pending && asyncScheduler.now() - pending.begun < PENDING_TIME;
      return isOpen && pending?.accessToken === (await accessToken()) ? pending?.address : undefined;
    },
  });
  return signIn;
}

interface Pending {
  readonly address: string;
  /** The token that was not accepted. The user may sign in in another process, which stores another one. */
  readonly accessToken: string | undefined;
  readonly begun: number;
}

/** Milliseconds for which calls share a sign-in, or wait for a refresh: a link may be used up, or expire. */
const PENDING_TIME = 60_000;

interface SignInState {
  readonly secrets: KnownSecrets;
  /** The address of a sign-in that was begun a moment ago, and is not completed. */
  pendingAddress(): Promise<string | undefined>;
}

const states = new WeakMap<McpSignIn, SignInState>();

export const stateOf = (signIn: McpSignIn | undefined): SignInState | undefined => signIn && states.get(signIn);

/** What stores secrets, or returns them. */
const secretMember = /^(?:save)?(?:tokens|clientInformation|codeVerifier)$/i;

type Call = (...args: unknown[]) => unknown;

const noteSecrets =
  (secrets: KnownSecrets, call: Call): Call =>
  (...args) => {
    for (const arg of args) secrets.addFrom(arg);
    const returned = call(...args);
    settled(returned).subscribe({ next: (value) => secrets.addFrom(value), error: noop }); // the client gets the error
    return returned;
  };

function noteFetch(secrets: KnownSecrets, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const headers = [...new Headers(init?.headers)].filter(([name]) => !name.startsWith('mcp-')); // names, arguments
    secrets.add(secretsOf('', Object.fromEntries(headers)));
    const { body } = init ?? {};
    if (body instanceof URLSearchParams) secrets.addFrom(body);
    const response = await fetch(input, init);
    if (response.status >= 400) return redact(secrets, response);
    // A message of MCP may have an answer without an end.
    const isMessage = typeof body === 'string' && body.includes('"jsonrpc"');
    if (body && !isMessage) secrets.addFrom(tryParseJson(await response.clone().text()));
    return response;
  };
}

/** The client writes what a server refuses with to the console, too. */
async function redact(secrets: KnownSecrets, response: Response): Promise<Response> {
  const { body } = response;
  const beginning = body ? readBeginning(readStream(body, identity), (read) => of(read)) : EMPTY;
  const text = await lastValueFrom(beginning, { defaultValue: '' });
  const redacted = replaceRanges(text, findSecrets(text, spellings(secrets.values)));
  return withBody(response, redacted === '' ? null : redacted);
}

/** Concurrent refreshes of a token are one request. A request with an older token is sent again with the new one. */
function shareRefresh(provider: OAuthClientProvider, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  /** The last answer of the authorisation server. */
  let latest: { accessToken: string; refreshToken: string; response: Response } | undefined;
  const refreshing = new Map<string, Promise<Response>>();
  const jsonOf = async (response: Response) => objectOrEmpty(tryParseJson(await response.clone().text()));

  /** Another process may have refreshed the tokens of the user a moment ago, and be about to store them. */
  const tokensOtherThan = (refreshToken: string) => {
    const stored = defer(async () => provider.tokens()).pipe(
      repeat({ count: 5, delay: 250 }),
      filter((tokens) => ![undefined, refreshToken].includes(tokens?.refresh_token)),
    );
    return firstValueFrom(stored, { defaultValue: undefined });
  };

  const refresh = async (refreshToken: string, send: () => Promise<Response>): Promise<Response> => {
    if (latest?.refreshToken === refreshToken) return latest.response.clone();
    const answers = defer(send).pipe(answerWithin('The authorisation server', PENDING_TIME));
    const shared =
      refreshing.get(refreshToken) ??
      lastValueFrom(answers, { defaultValue: Response.error() })
        .then(async (answer) => {
          const isRefused = (await jsonOf(answer))['error'] === 'invalid_grant';
          const newer = isRefused && (await tokensOtherThan(refreshToken));
          const response = newer ? Response.json(newer) : answer;
          const tokens = response.ok ? await jsonOf(response) : {};
          const accessToken = nonEmptyString(tokens['access_token']);
          // Without a new refresh token, the old one stays valid (RFC 6749, section 6).
          const next = nonEmptyString(tokens['refresh_token']) ?? refreshToken;
          if (accessToken !== undefined) latest = { accessToken, refreshToken: next, response };
          return response;
        })
        .finally(() => refreshing.delete(refreshToken));
    refreshing.set(refreshToken, shared);
    return (await shared).clone();
  };

  return async (input, init = {}) => {
    const { body } = init;
    const send = (headers = init.headers) => fetch(input, { ...init, ...(headers && { headers }) });
    const refreshToken = body instanceof URLSearchParams ? refreshTokenOf(body) : undefined;
    if (refreshToken !== undefined) return refresh(refreshToken, send);
    const response = await send();
    const headers = new Headers(init.headers);
    const [scheme, token] = headers.get('authorization')?.split(' ') ?? [];
    if (response.status !== 401 || token === undefined) return response;
    if (token === latest?.accessToken) latest = undefined; // it has expired, or was revoked
    const current = (await provider.tokens())?.access_token;
    // A DPoP token has a proof for one request (RFC 9449): the client makes another.
    const canRepeat = scheme === 'Bearer' && (body === undefined || typeof body === 'string');
    if (!canRepeat || current === undefined || current === token) return response;
    headers.set('authorization', `Bearer ${current}`);
    return send(headers);
  };
}

const refreshTokenOf = (form: URLSearchParams): string | undefined =>
  form.get('grant_type') === 'refresh_token' ? (form.get('refresh_token') ?? undefined) : undefined;
