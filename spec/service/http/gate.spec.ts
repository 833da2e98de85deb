import { request as httpRequest } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { agentHandler } from '../../../lib/service/http/agentHandler.js';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import { scriptedModel } from '../../../lib/testing/index.js';
import { createServers, protocolNames, protocols } from '../../support/services.js';
import type { SharedOptions } from '../../support/services.js';

const { serve, close } = createServers();
afterEach(close);

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** Sends a request with any `Host`, which `fetch` does not allow. */
const send = (
  url: string,
  headers: Readonly<Record<string, string>>,
  { method = 'POST', body = '' }: { readonly method?: string; readonly body?: string } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    sent.on('error', reject).end(body);
  });

describe.each(protocolNames)('%s and the page that sends a request', (name) => {
  const { handler, body, headers } = protocols[name];
  const start = async (options: SharedOptions) => {
    const model = scriptedModel(() => ['Hello.']);
    const url = await serve(handler(createAgent({ model }), options));
    const ask = (more: Readonly<Record<string, string>>) =>
      send(url, { ...headers(), ...more }, { body: JSON.stringify(body('Hi')) });
    return { model, url, ask, own: new URL(url).origin };
  };
  const app = 'https://app.example.org';

  it('answers 421 to a name that it does not have (DNS rebinding), and starts no run', async () => {
    const { ask, model } = await start({ browser: { allowedHosts: ['LocalHost', '127.0.0.1'] } });
    const refused = await ask({ host: 'rebound.example:3000', origin: 'http://rebound.example:3000' });
    expect([refused.status, model.requests.length]).toEqual([421, 0]);
    expect((await ask({})).body).toContain('Hello.');
    expect((await ask({ host: 'localhost:3000' })).body).toContain('Hello.');
  });

  it.each([
    ['another site', { origin: 'https://evil.example' }, 403],
    ['another port', { origin: 'http://127.0.0.1:1' }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
    ['its own page', {}, 200],
    ['an allowed origin', { origin: app }, 200],
  ])('is asked by %s', async (_, more, status) => {
    const { ask, model } = await start({ browser: { allowedHosts: ['127.0.0.1'], allowedOrigins: [app] } });
    expect((await ask(more)).status).toBe(status);
    expect(model.requests.length).toBe(status === 200 ? 1 : 0);
  });

  it('is asked by its own page', async () => {
    const { ask, own } = await start({ browser: { allowedHosts: ['127.0.0.1'] } });
    expect((await ask({ origin: own })).body).toContain('Hello.');
  });

  it('answers the preflight of an allowed origin, and lets its page read', async () => {
    const { ask, url } = await start({ browser: { allowedOrigins: [app] } });
    const preflight = (origin: string) =>
      send(
        url,
        { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,x-run-id' },
        { method: 'OPTIONS' },
      );
    const { status, headers: allowed } = await preflight(app);
    expect([status, allowed]).toMatchObject([
      204,
      {
        'access-control-allow-origin': app,
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers': 'content-type,x-run-id',
        vary: 'origin',
      },
    ]);
    const refused = await preflight('https://evil.example');
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, undefined]);
    const answer = await ask({ origin: app });
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': app, vary: 'origin' });
  });

  it('refuses no page by default, and lets none of another origin read', async () => {
    const { ask } = await start({});
    const answer = await ask({ origin: app, host: 'any.example' });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, undefined]);
  });

  it.each(['https://app.example.org/', 'app.example.org', '*'])('does not accept %s as an origin', (origin) => {
    const agent = createAgent({ model: scriptedModel([]) });
    expect(() => handler(agent, { browser: { allowedOrigins: [origin] } })).toThrow(`contains "${origin}"`);
  });
});

describe('agentHandler and the headers of a request', () => {
  const answerOf = async (
    options: SharedOptions,
    headers: Readonly<Record<string, string>>,
    method = 'DELETE',
  ): Promise<Response> => {
    const handler = agentHandler(createAgent({ model: scriptedModel([]) }), options);
    return handler(new Request('http://service.test/', { method, headers }));
  };
  const messageFor = async (options: SharedOptions, headers: Readonly<Record<string, string>>) =>
    ((await (await answerOf(options, headers)).json()) as { readonly error: { readonly message: string } }).error
      .message;
  const app = 'https://app.example';
  const preflight = { origin: app, 'access-control-request-method': 'POST' };

  it('says which of the host and the origin is wrong', async () => {
    const options = { browser: { allowedHosts: ['service.test'] } };
    expect(await messageFor(options, { host: 'rebound.example' })).toBe('This service does not have that name.');
    expect(await messageFor(options, { origin: app })).toBe('Pages of this origin may not use the service.');
  });

  it.each([
    ['[::1]', '[::1]:3000', true],
    ['[::1]', '[::2]:3000', false],
    ['a.example', 'A.example:80', true],
    ['a.example', 'a.example', true],
    ['a.example', 'a.example:', true],
    ['a.example', 'a.example.evil:80', false],
  ])('with the allowed host %s, answers %s: %s', async (allowed, host, isAllowed) => {
    const { status } = await answerOf({ browser: { allowedHosts: [allowed] } }, { host });
    expect(status).toBe(isAllowed ? 400 : 421);
  });

  it('takes the name of the URL for the host of a request that names none', async () => {
    expect((await answerOf({ browser: { allowedHosts: ['service.test'] } }, {})).status).toBe(400);
    expect((await answerOf({ browser: { allowedHosts: ['other.test'] } }, {})).status).toBe(421);
  });

  it('answers a preflight for 10 minutes, and allows the type of the content if no header is named', async () => {
    const { status, headers } = await answerOf({ browser: { allowedOrigins: [app] } }, preflight, 'OPTIONS');
    expect([status, headers.get('access-control-max-age'), headers.get('access-control-allow-headers')]).toEqual([
      204,
      '600',
      'content-type',
    ]);
    expect(headers.get('access-control-expose-headers')).toBe('retry-after, x-vercel-ai-ui-message-stream');
  });

  it.each([
    ['an OPTIONS request other than a preflight', { origin: app }, 'OPTIONS', 405],
    ['another request with the headers of a preflight', preflight, 'DELETE', 400],
  ])('passes on %s', async (_, headers, method, status) => {
    expect((await answerOf({ browser: { allowedOrigins: [app] } }, headers, method)).status).toBe(status);
  });

  it('answers no preflight without allowed origins, and does not vary', async () => {
    const { status, headers } = await answerOf({}, preflight, 'OPTIONS');
    expect([status, headers.get('vary')]).toEqual([405, null]);
  });

  it('explains what an origin is', () => {
    const create = () =>
      agentHandler(createAgent({ model: scriptedModel([]) }), { browser: { allowedOrigins: ['app.example'] } });
    expect(create).toThrow(
      expect.objectContaining({ subject: 'options', message: expect.stringContaining('Write the scheme') as unknown }),
    );
  });
});

describe('nodeListener over HTTP/2', () => {
  it('passes on the name of the host', async () => {
    const agent = createAgent({ model: scriptedModel(['Hello.']) });
    const listener = nodeListener(agentHandler(agent, { browser: { allowedHosts: ['127.0.0.1'] } }));
    const server = createHttp2Server((request, response) => listener(request, response as never));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const statusFor = (authority: string) =>
      new Promise((resolve) => {
        const stream = session.request({
          ':method': 'DELETE',
          ':authority': authority,
          'x-run-id': crypto.randomUUID(),
        });
        stream.on('response', (headers) => resolve(headers[':status'])).end();
      });
    expect(await statusFor('rebound.example')).toBe(421);
    expect(await statusFor('127.0.0.1')).toBe(404);
    session.destroy();
    server.close();
  });
});
