import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom, of } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { anthropic } from '../../lib/providers/anthropic/anthropic.js';
import { google } from '../../lib/providers/google/google.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { openai } from '../../lib/providers/openai.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { openaiCompatible } from '../../lib/providers/openaiCompatible.js';
import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';

const servers: LoopbackServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

/** Returns a token for each request, as a library of a cloud does: token-1, token-2, ... */
function rotating() {
  let count = 0;
  return () => `token-${(count += 1)}`;
}

const vertex: ModelOptions['route'] = ({ body: { model, ...body } }) => ({
  path: `/models/${model as string}:streamRawPredict`,
  body: { ...body, anthropic_version: 'vertex-2023-10-16' },
});

interface Row {
  readonly cloud: string;
  /** The path of the base URL. */
  readonly base: string;
  readonly create: (baseUrl: string) => Model;
  readonly path: string;
  /** The headers of the two requests that a token is in, and those that must not be there. */
  readonly headers: readonly Readonly<Record<string, string | undefined>>[];
  readonly body?: Readonly<Record<string, unknown>>;
}

const bearers = [{ authorization: 'Bearer token-1' }, { authorization: 'Bearer token-2' }];
const key = { apiKey: 'the-key' };
const project = '/v1/projects/my-project/locations/global/publishers';

const rows: readonly Row[] = [
  {
    cloud: 'Azure, v1, with a token of Entra',
    base: '/openai/v1',
    create: (baseUrl) => openai('my-deployment', { baseUrl, apiKey: rotating() }),
    path: '/openai/v1/responses',
    headers: bearers,
    body: { model: 'my-deployment', store: false },
  },
  {
    cloud: 'Azure, v1, with a key',
    base: '/openai/v1',
    create: (baseUrl) => openai('my-deployment', { baseUrl, headers: { 'api-key': 'the-key' } }),
    path: '/openai/v1/responses',
    headers: Array<Row['headers'][number]>(2).fill({ 'api-key': 'the-key', authorization: undefined }),
  },
  {
    cloud: 'Azure, a deployment with api-version',
    base: '/openai/deployments/my-deployment?api-version=2024-10-21',
    create: (baseUrl) => openaiChat('my-deployment', { baseUrl, apiKey: () => of('token-1') }),
    path: '/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21',
    headers: Array<Row['headers'][number]>(2).fill({ authorization: 'Bearer token-1' }),
  },
  {
    cloud: 'Azure, Claude',
    base: '/anthropic/v1',
    create: (baseUrl) => anthropic('claude-sonnet-5', { baseUrl, ...key }),
    path: '/anthropic/v1/messages',
    headers: Array<Row['headers'][number]>(2).fill({ 'x-api-key': 'the-key', 'anthropic-version': '2023-06-01' }),
  },
  {
    cloud: 'Bedrock, Claude',
    base: '/anthropic/v1',
    create: (baseUrl) => anthropic('anthropic.claude-sonnet-5', { baseUrl, ...key }),
    path: '/anthropic/v1/messages',
    headers: Array<Row['headers'][number]>(2).fill({ 'x-api-key': 'the-key', 'anthropic-version': '2023-06-01' }),
    body: { model: 'anthropic.claude-sonnet-5', max_tokens: 128_000 },
  },
  {
    cloud: 'Bedrock, OpenAI',
    base: '/openai/v1',
    create: (baseUrl) => openai('openai.gpt-5.5', { baseUrl, ...key }),
    path: '/openai/v1/responses',
    headers: Array<Row['headers'][number]>(2).fill({ authorization: 'Bearer the-key' }),
    body: { model: 'openai.gpt-5.5' },
  },
  {
    cloud: 'Bedrock, other models',
    base: '/v1',
    create: (baseUrl) => openaiCompatible({ name: 'bedrock', baseUrl, ...key })('qwen.qwen3-32b'),
    path: '/v1/chat/completions',
    headers: Array<Row['headers'][number]>(2).fill({ authorization: 'Bearer the-key' }),
  },
  {
    cloud: 'Vertex, Gemini',
    base: `${project}/google`,
    create: (baseUrl) => {
      const token = rotating();
      return google('gemini-3.8-flash', { baseUrl, headers: () => ({ authorization: `Bearer ${token()}` }) });
    },
    path: `${project}/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse`,
    headers: bearers.map((bearer) => ({ ...bearer, 'x-goog-api-key': undefined })),
  },
  {
    cloud: 'Vertex, Claude',
    base: `${project}/anthropic`,
    create: (baseUrl) => {
      const token = rotating();
      const headers = () => Promise.resolve({ authorization: `Bearer ${token()}` });
      return anthropic('claude-sonnet-5', { baseUrl, headers, route: vertex });
    },
    path: `${project}/anthropic/models/claude-sonnet-5:streamRawPredict`,
    headers: bearers.map((bearer) => ({ ...bearer, 'x-api-key': undefined })),
    body: { model: undefined, anthropic_version: 'vertex-2023-10-16', stream: true },
  },
];

describe('the APIs of the clouds', () => {
  it.each(rows.map((row) => [row.cloud, row] as const))('%s', async (_, { base, create, path, headers, body = {} }) => {
    const server = await serveModel([[toolCall('clock')], 'It is nine.']);
    servers.push(server);
    const clock = tool({ name: 'clock', description: 'Tells the time.', execute: () => '9:00' });
    const agent = createAgent({ model: create(`http://127.0.0.1:${server.port}${base}`), tools: [clock] });
    expect(await lastValueFrom(agent.run('How late is it?'))).toMatchObject({ text: 'It is nine.', turns: 2 });
    expect(server.requests.map((request) => request.path)).toEqual([path, path]);
    const names = Object.keys(headers[0] ?? {});
    const sent = server.requests.map((request) =>
      Object.fromEntries(names.map((name) => [name, request.headers[name]])),
    );
    expect(sent).toEqual(headers);
    for (const request of server.requests)
      expect(Object.fromEntries(Object.keys(body).map((name) => [name, (request.body as typeof body)[name]]))).toEqual(
        body,
      );
  });

  it('the loopback refuses what Vertex refuses', async () => {
    const server = await serveModel(['Hello.']);
    servers.push(server);
    const ask = (route: ModelOptions['route']) => {
      const baseUrl = `http://127.0.0.1:${server.port}${project}/anthropic`;
      return lastValueFrom(createAgent({ model: anthropic('claude-sonnet-5', { baseUrl, ...key, route }) }).run('Hi'));
    };
    const path = '/models/claude-sonnet-5:streamRawPredict';
    await expect(ask(({ body }) => ({ path, body }))).rejects.toThrow('model: Extra inputs are not permitted');
    await expect(ask(({ body: { model: _, ...body } }) => ({ path, body }))).rejects.toThrow('anthropic_version');
  });

  it('a route is asked for the request that follows another one, too', async () => {
    const server = await serveModel(['Hello.'], { failFirst: { status: 503 } });
    servers.push(server);
    const baseUrl = `http://127.0.0.1:${server.port}${project}/anthropic`;
    const model = anthropic('claude-sonnet-5', {
      baseUrl,
      ...key,
      route: vertex,
      retry: { count: 1, initialDelay: 0 },
    });
    expect((await lastValueFrom(createAgent({ model }).run('Hi'))).text).toBe('Hello.');
    expect(server.requests.map((request) => request.path.endsWith(':streamRawPredict'))).toEqual([true, true]);
  });
});
