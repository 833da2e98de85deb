import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult, OAuthClientProvider, OAuthTokens } from '@modelcontextprotocol/client';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { firstValueFrom, from, lastValueFrom, ReplaySubject, skip, skipUntil, Subject, toArray } from 'rxjs';
import { mcpSignIn, mcpTools } from '../../../lib/tools/mcp/index.js';
import { createAgent, toView } from '../../../lib/index.js';
import type { Checkpoint, RunEvent } from '../../../lib/index.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { inMemory, named, newClient, newServer } from './servers.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The time between two looks at the stored tokens, after a refusal, passes at once. */
const LOOKS = 250;
beforeEach(() => {
  const { setInterval } = globalThis;
  const passing = (call: () => void, milliseconds?: number) =>
    setInterval(call, milliseconds === LOOKS ? 0 : milliseconds);
  const passed = jest.spyOn(globalThis, 'setInterval').mockImplementation(passing);
  closers.push(async () => passed.mockRestore());
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

let repeats = 0;
function* endless(text: string) {
  for (repeats = 0; ; repeats++) yield text;
}

type Result = (repeated: string) => CallToolResult;

/** A server of tools with bearer tokens, made with the official server package, and its authorisation server. */
async function serve() {
  const valid = { access: '', refresh: '' };
  /** How the servers repeat what they have received, in an error. */
  const echo: { status?: number; grant?: 'json' | 'text'; isEndless?: boolean; result?: Result } = {};
  const calls: string[] = [];
  /** How many refreshes the authorisation server has received, and when it answers them. */
  const refreshes = new ReplaySubject<void>(Infinity);
  const awaited = { refreshes: 0 };
  const refused = new Subject<void>();
  const secrets: string[] = ['client-secret-1'];
  const issue = (): OAuthTokens => {
    valid.access = `access-secret-${secrets.length}`;
    valid.refresh = `refresh-secret-${secrets.length}`;
    secrets.push(valid.access, valid.refresh);
    return { access_token: valid.access, refresh_token: valid.refresh, token_type: 'Bearer', expires_in: 3600 };
  };
  const handler = createMcpHandler(() =>
    newServer({
      list: () => ({ tools: [named('mail')] }),
      call: ({ name }) => {
        if (echo.result) return echo.result(`Received ${valid.access}.`);
        calls.push(name);
        return { content: [{ type: 'text', text: 'Two mails.' }] };
      },
    }),
  );
  const url: string = await listen((request, response) => {
    const json = (status: number, value: unknown, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    const answer = async () => {
      const { pathname } = new URL(request.url ?? '/', url);
      if (pathname.startsWith('/.well-known/oauth-protected-resource'))
        return json(200, { resource: `${url}/mcp`, authorization_servers: [url] });
      if (pathname === '/.well-known/oauth-authorization-server')
        return json(200, {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        });
      const body = await textOf(request);
      if (pathname === '/token') {
        const form = new URLSearchParams(body);
        const repeated = `Refused: ${[...form.values()].join(' ')}`;
        if (echo.grant === 'json') return json(400, { error: 'invalid_grant', error_description: repeated });
        if (echo.grant === 'text') return response.writeHead(400).end(repeated);
        const isRefresh = form.get('grant_type') === 'refresh_token';
        if (isRefresh) refreshes.next();
        if (awaited.refreshes > 0) await firstValueFrom(refreshes.pipe(skip(awaited.refreshes - 1)));
        const isGranted = isRefresh ? form.get('refresh_token') === valid.refresh : form.get('code') === 'code-secret';
        if (isGranted) return json(200, issue());
        refused.next();
        return json(400, { error: 'invalid_grant' });
      }
      if (pathname !== '/mcp') return json(404, {});
      if (echo.isEndless) {
        response.writeHead(403, { 'content-type': 'text/plain' });
        return pipeline(Readable.from(endless(`${request.headers.authorization} `.repeat(100))), response, () => 0);
      }
      if (echo.status !== undefined)
        return response.writeHead(echo.status).end(`Refused: ${request.headers.authorization}`);
      if (valid.access === '' || request.headers.authorization !== `Bearer ${valid.access}`)
        return json(401, {}, { 'www-authenticate': 'Bearer error="invalid_token"' });
      const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
      const { method = 'GET' } = request;
      const received = await handler.fetch(
        new Request(`${url}/mcp`, { method, headers, ...(method === 'POST' ? { body } : {}) }),
      );
      response.writeHead(received.status, Object.fromEntries(received.headers));
      return response.end(Buffer.from(await received.arrayBuffer()));
    };
    void answer();
  });
  return { url, calls, secrets, valid, echo, issue, refused, awaited };
}

/** What a service keeps of a user, outside of the run: shared by its processes. */
interface Kept {
  tokens?: OAuthTokens | undefined;
  address?: URL;
  verifier?: string;
  /** Emits when a process reads the tokens. */
  readonly reads?: Subject<void>;
  /** Until when new tokens are being stored. */
  readonly stored?: () => Promise<unknown> | false;
}

const providerOf = (kept: Kept): OAuthClientProvider => ({
  redirectUrl: 'http://127.0.0.1/callback',
  clientMetadata: { redirect_uris: ['http://127.0.0.1/callback'] },
  state: () => 'state-of-a-session',
  clientInformation: () => ({ client_id: 'rivulet', client_secret: 'client-secret-1' }),
  tokens: () => {
    kept.reads?.next();
    return kept.tokens;
  },
  saveTokens: async (tokens) => {
    if (tokens.access_token !== kept.tokens?.access_token) await kept.stored?.();
    kept.tokens = tokens;
  },
  redirectToAuthorization: (address) => void (kept.address = address),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier ?? '',
  invalidateCredentials: (scope) => {
    if (scope === 'all' || scope === 'tokens') kept.tokens = undefined;
  },
});

/** One process of the service: an agent with a client of its own. */
async function startAgent(url: string, kept: Kept, callCount = 1, toolConcurrency = Infinity) {
  const client = newClient();
  const signIn = mcpSignIn(providerOf(kept));
  const { authProvider } = signIn;
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider, fetch: signIn.fetch }));
  closers.push(() => client.close());
  const tools = await firstValueFrom(mcpTools(client, { signIn }));
  const calls = Array.from({ length: callCount }, () => toolCall('mail'));
  const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : calls));
  return createAgent({ model, tools, toolConcurrency });
}

const typesOf = (events: readonly RunEvent[]) => events.map(({ type }) => type);

/** A run whose tokens were revoked after the tools had been listed. */
async function waitingRun() {
  const server = await serve();
  const kept: Kept = { tokens: server.issue() };
  const agent = await startAgent(server.url, kept);
  server.valid.access = '';
  server.valid.refresh = '';
  const events = await lastValueFrom(agent.stream('Read my mail.').pipe(toArray()));
  const last = events.at(-1);
  if (last?.type !== 'result') throw new Error('The run has no result.');
  const { result } = last;
  return { server, kept, events, result, checkpoint: JSON.stringify(result.checkpoint) };
}

describe('mcpTools with signIn', () => {
  it('lets a call wait when the refresh token has expired, with the address to open', async () => {
    const { server, kept, events, result, checkpoint } = await waitingRun();
    expect(typesOf(events)).toContain('toolWaiting');
    expect(typesOf(events)).not.toContain('toolStart');
    expect(result.finishReason).toBe('waiting');
    expect(kept.address?.href).toContain(`${server.url}/authorize?`);
    expect(kept.address?.searchParams.get('state')).toBe('state-of-a-session');
    expect(server.calls).toEqual([]);
    const details = { signIn: kept.address?.href };
    expect(events.find(({ type }) => type === 'toolWaiting')).toMatchObject({ name: 'mail', details });
    expect(result.waiting).toMatchObject([{ name: 'mail', details }]);
    expect((JSON.parse(checkpoint) as Checkpoint).open?.waiting).toMatchObject([{ name: 'mail', details }]);
    const shown = await lastValueFrom(from(events).pipe(toView()));
    expect(shown.messages.flatMap(({ parts }) => parts)).toContainEqual(
      expect.objectContaining({ type: 'toolCall', status: 'waiting', details }),
    );
  });

  it('executes the call with another client after the sign-in', async () => {
    const { server, kept, events, result, checkpoint } = await waitingRun();
    const callback = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      authProvider: providerOf(kept),
    });
    await callback.finishAuth('code-secret');
    const [id = ''] = (result.waiting ?? []).map((call) => call.id);
    const agent = await startAgent(server.url, kept);
    const resumed = await lastValueFrom(
      agent.resume(JSON.parse(checkpoint) as Checkpoint, { decisions: { [id]: { approve: true } } }).pipe(toArray()),
    );
    expect(server.calls).toEqual(['mail']);
    expect(resumed).toContainEqual(expect.objectContaining({ type: 'toolResult', result: 'Two mails.' }));
    const seen = JSON.stringify([events, checkpoint, resumed]);
    for (const secret of [...server.secrets, kept.verifier ?? '', 'code-secret']) {
      expect(secret).not.toBe('');
      expect(seen).not.toContain(secret);
    }
  });

  it('reports a denied sign-in to the model', async () => {
    const { server, result, checkpoint } = await waitingRun();
    server.issue();
    const agent = await startAgent(server.url, { tokens: { access_token: server.valid.access, token_type: 'Bearer' } });
    const [id = ''] = (result.waiting ?? []).map((call) => call.id);
    const decisions = { [id]: { approve: false, reason: 'The user did not sign in.' } as const };
    const resumed = await lastValueFrom(
      agent.resume(JSON.parse(checkpoint) as Checkpoint, { decisions }).pipe(toArray()),
    );
    expect(resumed).toContainEqual(expect.objectContaining({ type: 'toolResult', code: 'denied' }));
    expect(server.calls).toEqual([]);
  });

  it.each([1, 5])('refreshes once for %d concurrent calls, if each refresh token is accepted once', async (count) => {
    const server = await serve();
    const kept: Kept = { tokens: server.issue() };
    const agent = await startAgent(server.url, kept, count);
    for (let expiry = 1; expiry <= 3; expiry++) {
      server.valid.access = 'expired';
      const before = server.secrets.length;
      const { finishReason } = await lastValueFrom(agent.run('Read my mail.'));
      expect(finishReason).toBe('stop');
      expect(server.calls).toHaveLength(count * expiry);
      expect(server.secrets.length - before).toBe(2); // one access token and one refresh token
      expect(kept.tokens?.access_token).toBe(server.valid.access);
    }
  });

  it.each([0, 1, 4])(
    'refreshes at once in two processes of a user, whose new tokens are stored after %d looks, and stay',
    async (looks) => {
      const server = await serve();
      const reads = new Subject<void>();
      const looked = looks > 0 && firstValueFrom(reads.pipe(skipUntil(server.refused), skip(looks - 1)));
      const kept: Kept = { tokens: server.issue(), reads, stored: () => looked };
      const agents = [await startAgent(server.url, kept), await startAgent(server.url, kept)];
      server.valid.access = 'expired';
      server.awaited.refreshes = 2;
      const results = await Promise.all(agents.map((agent) => lastValueFrom(agent.run('Read my mail.'))));
      expect(results.map(({ finishReason, text }) => [finishReason, text])).toEqual([
        ['stop', 'Done.'],
        ['stop', 'Done.'],
      ]);
      expect([kept.tokens?.access_token, kept.tokens?.refresh_token]).toEqual(Object.values(server.valid));
      expect([server.calls.length, kept.address]).toEqual([2, undefined]);
    },
  );

  it('asks again if the approval comes before the sign-in, as an error for the model', async () => {
    const { server, kept, result, checkpoint } = await waitingRun();
    server.valid.access = kept.tokens?.access_token ?? 'none'; // so that the other process can list the tools
    kept.tokens ??= { access_token: server.valid.access, token_type: 'Bearer' };
    const agent = await startAgent(server.url, kept);
    server.valid.access = 'revoked';
    const [id = ''] = (result.waiting ?? []).map((call) => call.id);
    const decisions = { [id]: { approve: true } as const };
    const resumed = await lastValueFrom(
      agent.resume(JSON.parse(checkpoint) as Checkpoint, { decisions }).pipe(toArray()),
    );
    expect(resumed).toContainEqual(expect.objectContaining({ type: 'toolResult', code: 'failed' }));
    expect(server.calls).toEqual([]);
  });

  it.each([1, Infinity])('shares a sign-in between the calls of a turn, %d at a time', async (toolConcurrency) => {
    const server = await serve();
    const kept: Kept = { tokens: server.issue() };
    const agent = await startAgent(server.url, kept, 3, toolConcurrency);
    Object.assign(server.valid, { access: '', refresh: '' });
    const { waiting = [] } = await lastValueFrom(agent.run('Read my mail.'));
    const addresses = waiting.map(({ details }) => details?.['signIn']);
    expect(addresses).toEqual(Array.from({ length: 3 }, () => kept.address?.href));
  });

  it.each<[string, Awaited<ReturnType<typeof serve>>['echo']]>([
    ['the server, with 403', { status: 403 }],
    ['the server, with 500', { status: 500 }],
    ['the server, in an error without an end', { isEndless: true, status: 403 }],
    ['the server, as a text', { result: (text) => ({ content: [{ type: 'text', text }] }) }],
    [
      'the server, as an error of the tool',
      { result: (text) => ({ content: [{ type: 'text', text }], isError: true }) },
    ],
    ['the server, as structured content', { result: (text) => ({ content: [], structuredContent: { [text]: text } }) }],
    ['the authorisation server, as JSON', { grant: 'json' }],
    ['the authorisation server, as text', { grant: 'text' }],
  ])('keeps out of all events, and out of the console, what %s repeats of its request', async (_name, echo) => {
    const warned = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    closers.push(() => {
      warned.mockRestore();
      return Promise.resolve();
    });
    const server = await serve();
    const agent = await startAgent(server.url, { tokens: server.issue() });
    if (echo.grant) server.valid.access = 'revoked';
    Object.assign(server.echo, echo);
    const events = await lastValueFrom(agent.stream('Read my mail.').pipe(toArray()));
    const written = JSON.stringify([events, warned.mock.calls.flat().map(String)]);
    for (const secret of [...server.secrets, 'client-secret-1']) expect(written).not.toContain(secret);
    expect(server.calls).toEqual([]);
    expect(repeats).toBeLessThan(20_000);
    if (echo.status) expect(events).toContainEqual(expect.objectContaining({ type: 'toolResult', code: 'failed' }));
  });

  it('reads a result in which a number has the digits of a code that was sent', async () => {
    const server = await serve();
    server.valid.access = '1234567890';
    const agent = await startAgent(server.url, { tokens: { access_token: '1234567890', token_type: 'Bearer' } });
    server.echo.result = () => ({ content: [], structuredContent: { order: 12_345_678_901 } });
    const events = await lastValueFrom(agent.stream('Read my mail.').pipe(toArray()));
    expect(events).toContainEqual(expect.objectContaining({ type: 'toolResult', result: { order: 12_345_678_901 } }));
  });

  it('does not wait while the access token can be refreshed', async () => {
    const server = await serve();
    const agent = await startAgent(server.url, { tokens: server.issue() });
    server.valid.access = 'expired';
    const { finishReason, text } = await lastValueFrom(agent.run('Read my mail.'));
    expect([finishReason, text, server.calls]).toEqual(['stop', 'Done.', ['mail']]);
  });

  it.each([
    ['Bearer old', ['Bearer old', 'Bearer new']],
    ['Bearer new', ['Bearer new']],
    ['DPoP old', ['DPoP old']], // its proof is for one request: the client makes another
    ['DPoP new', ['DPoP new']], // the challenge with a nonce is for the client
    ['Basic old', ['Basic old']],
  ])('after 401 to %j has sent %j', async (authorization, sent) => {
    const requests: (string | null)[] = [];
    const refuse = (_: unknown, init?: RequestInit) => {
      requests.push(new Headers(init?.headers).get('authorization'));
      return Promise.resolve(new Response(null, { status: 401, headers: { 'dpop-nonce': `n${requests.length}` } }));
    };
    const tokens = { access_token: 'new', token_type: 'Bearer' };
    const { fetch: send } = mcpSignIn(providerOf({ tokens }), refuse);
    const response = await send('https://mail.example/mcp', { method: 'POST', headers: { authorization }, body: '{}' });
    expect(requests).toEqual(sent);
    expect(response.headers.get('dpop-nonce') ?? 'none').toBe(`n${sent.length}`);
  });

  const tokenEndpoint = (answers: Readonly<Record<string, Promise<Response>>>) => {
    const { fetch: send } = mcpSignIn(providerOf({}), (_, init) => {
      const form = init?.body as URLSearchParams;
      return answers[form.get('refresh_token') ?? ''] ?? Promise.reject(new Error('unknown'));
    });
    return (token: string) => {
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token });
      return send('https://auth.example/token', { method: 'POST', body });
    };
  };

  it('searches what a server sends with an error once, not for each spelling of each secret', async () => {
    const signIn = mcpSignIn(providerOf({}), () => Promise.resolve(Response.json({})));
    for (let index = 0; index < 15; index++) {
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: `refresh-${index}-0123456789` });
      await signIn.fetch('https://auth.example/token', { method: 'POST', body });
    }
    const COUNT = 300;
    const content = Array.from({ length: COUNT }, (_, index) => ({ type: 'text' as const, text: `a text ${index}` }));
    content.push({ type: 'text', text: 'refresh-3-0123456789' });
    const server = await inMemory({
      list: () => ({ tools: [named('mail')] }),
      call: () => ({ content, isError: true }),
    });
    closers.push(() => server.close());
    const [mail] = await firstValueFrom(mcpTools(server.client, { signIn }));
    if (!mail) throw new Error('No tool is listed.');
    const searched = jest.spyOn(String.prototype, 'indexOf');
    const context = { signal: new AbortController().signal } as never;
    const failed = (await lastValueFrom(mail.execute({}, context)).catch((thrown: unknown) => thrown)) as Error;
    const searches = searched.mock.calls.length;
    searched.mockRestore();
    expect(JSON.stringify([failed.message, Reflect.get(failed, 'content')])).not.toContain('refresh-3');
    expect(Reflect.get(failed, 'content')).toHaveLength(COUNT + 1);
    expect(searches).toBeLessThan(COUNT * 10);
  });

  it('refreshes the tokens of a new sign-in while an older refresh hangs or is refused', async () => {
    const issued = { access_token: 'access-new', refresh_token: 'refresh-new', token_type: 'Bearer' };
    let refuse: (response: Response) => void = () => undefined;
    const refused = new Promise<Response>((resolve) => (refuse = resolve));
    const refresh = tokenEndpoint({ old: refused, new: Promise.resolve(Response.json(issued)) });
    const older = refresh('old');
    const newer = refresh('new');
    refuse(Response.json({ error: 'invalid_grant' }, { status: 400 }));
    expect(await (await newer).json()).toEqual(issued);
    expect((await older).status).toBe(400);
    expect((await refresh('refresh-new')).status).toBe(200); // the refused one has not dropped what was received
  });

  it('ends a refresh that has no answer after a minute', async () => {
    jest.useFakeTimers();
    try {
      const refresh = tokenEndpoint({ old: new Promise<Response>(() => undefined) });
      const hanging = expect(refresh('old')).rejects.toThrow('The authorisation server has not answered for 60 s.');
      await jest.advanceTimersByTimeAsync(60_000);
      await hanging;
    } finally {
      jest.useRealTimers();
    }
  });
});
