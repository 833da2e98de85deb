import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult, Client, OAuthClientProvider, ServerContext, Tool } from '@modelcontextprotocol/client';
import { createMcpHandler, inputRequired, ProtocolError } from '@modelcontextprotocol/server';
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { firstValueFrom, lastValueFrom, of, toArray } from 'rxjs';
import { createAgent } from '../../../lib/index.js';
import type { JsonObject, JsonValue } from '../../../lib/index.js';
import { isDeeperThan } from '../../../lib/core/json/depth.js';
import { isRecord } from '../../../lib/core/json/json.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { mcpSignIn, mcpTools } from '../../../lib/tools/mcp/index.js';
import type { McpSignIn } from '../../../lib/tools/mcp/index.js';
import { KnownSecrets } from '../../../lib/tools/mcp/knownSecrets.js';
import { named, newClient, newServer } from './servers.js';

const origin = 'https://mcp.example';

/** With characters that are spelled in several ways. */
const issued = {
  access_token: 'access/secret+1~A=',
  refresh_token: 'refresh/secret+1~B=',
  id_token: 'id/secret+1~C=',
};
const registered = {
  client_secret: 'client/secret+1~D=',
  registration_access_token: 'registration/secret+1~E=',
};
const code = 'code/secret+1~F=';
const stored = { access_token: 'stored/secret+1~G=', refresh_token: 'unused/secret+1~H=', token_type: 'Bearer' };

type Answer = (context: ServerContext) => CallToolResult | InputRequiredResult | Promise<CallToolResult>;

/** An MCP server with its authorisation server, and a client that has signed in at it. */
async function signedIn() {
  const server: { answer: Answer; tool: Tool } = { answer: () => ({ content: [] }), tool: named('mail') };
  const handler = createMcpHandler(() =>
    newServer({
      list: () => ({ tools: [server.tool] }),
      call: (_, context) => server.answer(context) as CallToolResult,
    }),
  );
  const documents: Record<string, object> = {
    '/.well-known/oauth-protected-resource/mcp': { resource: `${origin}/mcp`, authorization_servers: [origin] },
    '/.well-known/oauth-authorization-server': {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    },
    '/token': { ...issued, token_type: 'Bearer' },
  };
  const serverFetch = async (address: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(address, init);
    const { pathname } = new URL(request.url);
    if (pathname === '/register')
      return Response.json({ ...((await request.json()) as object), client_id: 'rivulet', ...registered });
    if (pathname !== '/mcp')
      return Response.json(documents[pathname] ?? {}, { status: pathname in documents ? 200 : 404 });
    return request.headers.has('authorization') ? handler.fetch(request) : new Response(null, { status: 401 });
  };
  const kept: { tokens?: Awaited<ReturnType<OAuthClientProvider['tokens']>>; client?: JsonObject; verifier: string } = {
    verifier: '',
  };
  const provider: OAuthClientProvider = {
    redirectUrl: 'https://app.example/callback',
    clientMetadata: { redirect_uris: ['https://app.example/callback'] },
    clientInformation: () => kept.client as never,
    saveClientInformation: (client) => void (kept.client = client as never),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: () => undefined,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
  };
  const signIn = mcpSignIn(provider, serverFetch);
  const { authProvider, fetch } = signIn;
  const transport = () => new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { authProvider, fetch });
  const options = {
    capabilities: { elicitation: { form: {}, url: {} }, sampling: {} },
    versionNegotiation: { mode: 'auto' },
  } as const;
  await expect(newClient(options).connect(transport())).rejects.toMatchObject({ name: 'UnauthorizedError' });
  await transport().finishAuth(code);
  const client = newClient(options);
  await client.connect(transport());
  const { tokens } = kept;
  kept.tokens = stored; // another process has stored its own
  await signIn.authProvider.tokens();
  kept.tokens = tokens;
  return { server, client, signIn, secrets: { ...issued, ...registered, ...stored, code, verifier: kept.verifier } };
}

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });
const base64 = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64');
const uri = 'file:///a';

/** Where a server can repeat a text. */
const places: Readonly<Record<string, (value: string, context: ServerContext) => ReturnType<Answer>>> = {
  'a text': text,
  'an error of the tool': (value) => ({ ...text(value), isError: true }),
  'structured content': (value) => ({ content: [], structuredContent: { [value]: { nested: [value] } } }),
  'the text of a resource': (value) => ({ content: [{ type: 'resource', resource: { uri, text: value } }] }),
  'the address of a resource': (value) => ({ content: [{ type: 'resource', resource: { uri: value, text: '' } }] }),
  'a link': (value) => ({
    content: [{ type: 'resource_link', uri: `${uri}?${value}`, name: value, title: value, description: value }],
  }),
  'the bytes of a resource': (value) => ({
    content: [{ type: 'resource', resource: { uri, blob: base64(`1${value}`) } }],
  }),
  'bytes in lines': (value) => ({
    content: [{ type: 'resource', resource: { uri, blob: base64(`12${value}`).replace(/.{8}/g, '$&\r\n') } }],
  }),
  'an image': (value) => ({ content: [{ type: 'image', mimeType: 'image/png', data: base64(`${value}12`) }] }),
  'a sound': (value) => ({ content: [{ type: 'audio', mimeType: 'audio/wav', data: base64(`12${value}`) }] }),
  'the message of an error': (value) => {
    throw new ProtocolError(-32_603, value, {});
  },
  'the data of an error': (value) => {
    throw new ProtocolError(-32_603, 'Failed.', { [value]: [value], blob: base64(`1${value}`) });
  },
  'a question': (value) => {
    const properties = { seat: { type: 'string' as const, title: value, description: value, enum: [value] } };
    const seat = inputRequired.elicit({ message: value, requestedSchema: { type: 'object', properties } });
    return inputRequired({ inputRequests: { seat } });
  },
  'an address to open': (value) => {
    const url = `https://a.example/?a=${value}`;
    return inputRequired({
      inputRequests: { seat: inputRequired.elicitUrl({ message: value, url }) },
    });
  },
  'the message of its progress': async (value, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? '';
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, message: value } });
    return text('Done.');
  },
  'what it asks of the application': (value) =>
    inputRequired({
      inputRequests: {
        answer: {
          method: 'sampling/createMessage',
          params: { messages: [{ role: 'user', content: { type: 'text', text: value } }], maxTokens: 9 },
        },
      },
    }),
};

const escaped = (value: string, pattern: RegExp) =>
  value.replace(pattern, (found) => `\\u00${found.charCodeAt(0).toString(16)}`);

/** How a server can write a text. */
const spellings: readonly ((value: string) => string)[] = [
  (value) => value,
  (value) => `Received Bearer ${value}, thanks.`,
  encodeURIComponent,
  (value) => encodeURIComponent(value).replace(/%../g, (one) => one.toLowerCase()),
  (value) => new URLSearchParams({ value }).toString(),
  (value) => JSON.stringify({ value }).replaceAll('/', '\\/'),
  (value) => escaped(JSON.stringify({ value }), /=/g),
  (value) => JSON.stringify({ value }).replaceAll('+', '\\u002B'),
  base64,
  (value) => `data:text/plain;base64,${base64(`1${value}2`)}`,
  (value) => `data:text/plain;base64,${base64(`12${value}34`)}`,
  (value) => Buffer.from(`12${value}`).toString('base64url'),
];

/** Not searched for in the message of an error. */
const mixedSpellings: typeof spellings = [
  (value) => escaped(JSON.stringify({ value }), /\+/g),
  (value) => escaped(JSON.stringify({ value }), /[+=~]/g).replaceAll('/', '\\/'),
  (value) => escaped(JSON.stringify({ value }), /(?<=:")./g).replaceAll('+', '\\u002B'),
  (value) => `The file:\n${base64(`${'x'.repeat(40)}${value}${'y'.repeat(60)}`).replace(/.{20}/g, '$&\r\n')}`,
];

const stringsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  if (value instanceof Error)
    return stringsOf({ ...Object.fromEntries(Object.entries(value)), message: value.message, stack: value.stack });
  return isRecord(value) || Array.isArray(value)
    ? Object.entries(value).flatMap(([name, inner]) => [name, ...stringsOf(inner)])
    : [];
};

const decode = (value: string, by: (text: string) => unknown) => {
  try {
    return String(by(value));
  } catch {
    return '';
  }
};

/** Whatever reads a text: a browser, JSON, a program that opens the file. */
const readings = (value: string): readonly string[] => [
  value,
  decode(value.replace(/%(?![\da-f]{2})/gi, '%25'), decodeURIComponent),
  value.replace(/\\u(....)/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))).replaceAll('\\/', '/'),
  ...(value.replace(/\s/g, '').match(/[\w+/-]{8,}/g) ?? []).flatMap((run) =>
    [0, 1, 2, 3].map((start) => Buffer.from(run.slice(start), 'base64').toString('latin1')),
  ),
];

const leaksIn = (value: unknown, secrets: Readonly<Record<string, string>>): readonly string[] => {
  const all = stringsOf(value).flatMap(readings).join('\n');
  return Object.keys(secrets).filter((name) => name !== 'token_type' && all.includes(secrets[name] ?? ''));
};

describe('KnownSecrets', () => {
  const { warn } = console;
  let server: Awaited<ReturnType<typeof signedIn>>['server'];
  let client: Client;
  let signIn: McpSignIn;
  let secrets: Readonly<Record<string, string>>;
  beforeAll(async () => {
    console.warn = () => undefined; // the client says that these tokens have no issuer
    ({ server, client, signIn, secrets } = await signedIn());
  });
  afterAll(async () => {
    console.warn = warn;
    await client.close();
  });
  const repeated = (spelled = [...spellings, ...mixedSpellings]) => {
    const values = Object.values(secrets).filter((value) => value !== 'Bearer');
    const texts = values.flatMap((value) => spelled.map((spell) => spell(value)));
    expect(texts.filter((each) => leaksIn([each], secrets).length !== 1)).toEqual([]);
    return texts.join(' ');
  };

  const eventsOf = async (answer: Answer) => {
    const sample = jest.fn((params: JsonObject) =>
      of<JsonObject>({ role: 'assistant', content: [], model: typeof params }),
    );
    const tools = await firstValueFrom(mcpTools(client, { signIn, requests: { 'sampling/createMessage': sample } }));
    const agent = createAgent({
      model: scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('mail')])),
      tools,
      onToolError: (thrown) => void errors.push(thrown),
    });
    const errors: unknown[] = [];
    server.answer = (context) => (sample.mock.calls.length > 0 ? text('Done.') : answer(context));
    const events = await lastValueFrom(agent.stream('Read my mail.').pipe(toArray()));
    return { events, errors, asked: sample.mock.calls };
  };

  it.each(Object.entries(places))(
    'KnownSecrets hides all secrets in %s, however they are spelled',
    async (name, place) => {
      const value = repeated(name === 'the message of an error' ? [...spellings] : undefined);
      const seen = await eventsOf((context) => place(value, context));
      expect(leaksIn(seen, secrets)).toEqual([]);
      expect(leaksIn(seen, { replacement: '[key]' })).toEqual(['replacement']);
    },
  );

  it('KnownSecrets searches the data of an error as that of a result: once, and for nothing else', async () => {
    const other = `sk-ant-api03-${'aB3'.repeat(20)}`;
    const { errors } = await eventsOf(() => {
      throw new ProtocolError(-32_603, 'Failed.', { note: `${issued.access_token} ${other}` });
    });
    expect(errors).toMatchObject([{ data: { note: `[key] ${other}` } }]);
  });

  it('KnownSecrets takes no header of a call of MCP for a secret: the name of a tool, its arguments', async () => {
    const [name, order, key] = ['get_forecast_next_10_days', '7f3c1a52-91f0-4c3b-9a0e-5d2b8c6f1e44', 'Zk9-header-8Xq2'];
    const headers = { 'mcp-name': name, 'mcp-param-order': order, 'x-api-key': key };
    await signIn.fetch(`${origin}/mcp`, { method: 'POST', headers, body: '{"jsonrpc":"2.0"}' });
    const { events } = await eventsOf(() => text(`${name} ${order} ${key}`));
    expect(JSON.stringify(events)).toContain(`"${name} ${order} [key]"`);
  });

  it('KnownSecrets hides all secrets in the definition of a tool, however they are spelled', async () => {
    const value = repeated();
    const inputSchema = { type: 'object' as const, properties: { [value]: { description: value, enum: [value] } } };
    server.tool = { name: 'mail', title: value, description: value, annotations: { title: value }, inputSchema };
    const filter = jest.fn(() => true);
    const tools = await firstValueFrom(mcpTools(client, { signIn, filter }));
    server.tool = named('mail');
    expect(leaksIn([tools, filter.mock.calls], secrets)).toEqual([]);
    expect(tools).toMatchObject([
      { definition: { annotations: { title: expect.stringContaining('[key]') as unknown } } },
    ]);
  });

  it('KnownSecrets leaves the Base64 of a file valid, also if its text is a secret', () => {
    const known = new KnownSecrets();
    known.add(['Bearer abcdefghijkl', stored.access_token]);
    const hide = (data: string) => known.hide({ data, mimeType: 'image/png' }).data;
    for (const before of ['', '1', '12'])
      expect(atob(hide(btoa(`${before}${stored.access_token}\xff`)))).toBe(`${before}[key]\xff`);
    expect(atob(hide('abcdefghijkl'))).toBe('[key]');
    expect(known.hide({ data: 'abcdefghijkl', blob: 'WMabcdefghijkl==' })).toEqual({
      data: '[key]',
      blob: btoa('[key]'),
    });
  });

  it('KnownSecrets leaves what has no secret: files, numbers, short words, fields with any name', () => {
    const known = new KnownSecrets();
    known.addFrom({ access_token: '1234567890', token_type: 'Bearer', code: 'words', client_id: 'my-client-id' });
    const value = JSON.parse(
      '{"__proto__":[1234567890,"Bearer words of my-client-id"],"blob":"AAAA\\n","n":null}',
    ) as object;
    expect(JSON.stringify(known.hide(value))).toBe(JSON.stringify(value));
  });

  it('KnownSecrets changes the spelling of a text only if it has a secret, and JSON stays valid', () => {
    const known = new KnownSecrets();
    known.add([issued.access_token]);
    const json = String.raw`{"a":"\\u002b \u0022 \u005c \u003c \/","b":"${'x'.repeat(20)}"\n}`;
    expect(known.hide(json)).toBe(json);
    const secret = escaped(issued.access_token, /[+=]/g).replaceAll('/', '\\/');
    const hidden = known.hide(json.replace('xx', secret));
    expect(JSON.parse(hidden.replaceAll('\\n', ''))).toEqual(
      JSON.parse(json.replaceAll('\\n', '').replace('xx', '[key]')),
    );
  });

  it('KnownSecrets reads a value of any depth, and omits what is deeper than 500 levels', () => {
    const known = new KnownSecrets();
    known.add([code]);
    let deep: JsonValue = code;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(isDeeperThan(known.hide(deep), 500)).toBe(false);
  });

  it('KnownSecrets knows the newest 30 secrets, and what is used stays new', () => {
    const known = new KnownSecrets();
    for (let count = 10; count < 60; count++) known.add([`refreshed-${count}`, code]);
    expect(known.hide([code, 'refreshed-59', 'refreshed-31', 'refreshed-30'])).toEqual([
      '[key]',
      '[key]',
      '[key]',
      'refreshed-30',
    ]);
  });

  it('KnownSecrets hides a token of 16 KB, and what is longer does not fail', () => {
    const token = (length: number) =>
      Array.from({ length }, (_, index) => (index * index).toString(36))
        .join('')
        .slice(0, length);
    const known = new KnownSecrets();
    const long = token(200_000).slice(20_000);
    known.addFrom({ access_token: token(16_384), x_token: long });
    const [isHidden, rest = ''] = known.hide(`${token(16_384)} ${long.slice(0, 20_000)}`).split(' ');
    expect([isHidden, rest.slice(0, 5), rest.length]).toEqual(['[key]', '[key]', 5 + 20_000 - 16_384]);
  });

  it('KnownSecrets prepares its search once while there are no new secrets', () => {
    const known = new KnownSecrets();
    known.add(['an access token', 'a refresh token']);
    const created = jest.spyOn(globalThis, 'RegExp');
    for (let use = 0; use < 5; use++) {
      known.add(['Bearer an access token', '']);
      expect(known.hide('an access token')).toBe('[key]');
    }
    expect(created).toHaveBeenCalledTimes(1);
    created.mockRestore();
  });

  it('KnownSecrets hides what is within the beginning of another secret', () => {
    const known = new KnownSecrets();
    const inner = 'access-secret-1';
    known.add([`${inner}; ${'b'.repeat(100)}; ${code}; end`, inner, code]);
    expect(known.hide(`${inner}; ${'b'.repeat(100)}; ${code}; other`)).toBe(`[key]; ${'b'.repeat(100)}; [key]; other`);
  });
});
