import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, lastValueFrom, of, take, tap, toArray } from 'rxjs';
import { createAgent } from '../../../lib/agent.js';
import { HttpError } from '../../../lib/core/errors.js';
import { userMessage } from '../../../lib/core/message.js';
import { tool } from '../../../lib/core/tool.js';
import { retryModel } from '../../../lib/models/retryModel.js';
import { openaiResponses } from '../../../lib/providers/openaiResponses/openaiResponses.js';
import type { ResponsesOptions } from '../../../lib/providers/openaiResponses/openaiResponses.js';
import { webSocketTransport } from '../../../lib/providers/openaiResponses/webSocketTransport.js';
import type { WebSocketTransport } from '../../../lib/providers/openaiResponses/webSocketTransport.js';
import { toolCall } from '../../../lib/testing/index.js';
import { responses } from '../../../lib/testing/server/dialects/responses/responses.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, Script, ServedTurn, ServeOptions } from '../../../lib/testing/server/index.js';
import { describeProviderContract } from '../../support/providerContract.js';
import { openGateway } from '../../support/webSocketGateway.js';
import type { WebSocketGateway } from '../../support/webSocketGateway.js';

const shared = await openGateway();
const contractTransport = webSocketTransport(shared.webSocket);
afterAll(async () => {
  contractTransport.close();
  await shared.close();
});

describeProviderContract({
  name: 'openai-responses',
  make: (baseUrl, options) =>
    openaiResponses('gpt-6.1-terra', { baseUrl, ...options, fetch: options.fetch ?? contractTransport.fetch }),
  dialect: responses,
  isHttp: false,
});

describe('webSocketTransport', () => {
  const closing: (() => unknown)[] = [];
  afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

  async function open(script: Script<ServedTurn>, options: ServeOptions = {}, settings: ResponsesOptions = {}) {
    const server = await serveModel(script, options);
    const gateway = await openGateway();
    const sockets = webSocketTransport(gateway.webSocket);
    closing.push(
      () => sockets.close(),
      () => gateway.close(),
      () => server.close(),
    );
    const model = openaiResponses('gpt-6.1-terra', {
      baseUrl: server.urlFor('openai-responses'),
      apiKey: 'none',
      fetch: sockets.fetch,
      ...settings,
    });
    return { server, gateway, sockets, model };
  }
  type Opened = { server: LoopbackServer; gateway: WebSocketGateway; sockets: WebSocketTransport };
  const typesOf = ({ gateway }: Pick<Opened, 'gateway'>) =>
    gateway.connections.map((messages) => messages.map((message) => (message as { type: string }).type));
  const ask = { messages: [userMessage('Hi')] };
  const work = tool({ name: 'work', description: 'Works.', execute: () => of('worked') });

  it('webSocketTransport sends all turns of a run over one connection, each with only what is new', async () => {
    const opened = await open([[toolCall('work', {}, 'c1')], [toolCall('work', {}, 'c2')], 'Done.']);
    const { text } = await lastValueFrom(createAgent({ model: opened.model, tools: [work] }).run('Work.'));
    expect(text).toContain('Done.');
    expect(typesOf(opened)).toEqual([['response.create', 'response.create', 'response.create']]);
    expect(opened.gateway.connections[0]?.[2]).toMatchObject({
      previous_response_id: 'resp_2',
      input: [{ type: 'function_call_output', call_id: 'c2' }],
    });
    expect(opened.gateway.connections[0]?.[0]).not.toHaveProperty('stream');
  });

  it('webSocketTransport opens a connection for each of several requests at once, and reuses them', async () => {
    const opened = await open(() => 'Hello.');
    const one = () => lastValueFrom(opened.model.stream(ask).pipe(toArray()));
    await Promise.all([one(), one(), one()]);
    await one();
    expect(typesOf(opened).map(({ length }) => length)).toEqual([2, 1, 1]);
  });

  it('webSocketTransport closes the connection when the reader leaves, and the provider stops', async () => {
    const opened = await open(['One', 'Two'], { delay: 5, cut: Infinity, silent: 5 });
    await firstValueFrom(opened.model.stream(ask).pipe(take(1)));
    await firstValueFrom(opened.server.events.pipe(filter(({ type }) => type === 'closed')));
    expect(opened.server.connections).toBe(0);
  });

  it('webSocketTransport fails with the status of an error that comes first', async () => {
    const { model } = await open(['Hello.'], { status: 401 });
    const error = await lastValueFrom(model.stream(ask)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ status: 401, retryable: false });
  });

  it('webSocketTransport sends the whole conversation again if the server no longer has the response', async () => {
    const opened = await open([[toolCall('work', {}, 'c1')], 'Done.'], {
      forRequest: [
        undefined,
        { status: 400, body: { error: { code: 'previous_response_not_found', message: 'It is gone.' } } },
      ],
    });
    const { text } = await lastValueFrom(createAgent({ model: opened.model, tools: [work] }).run('Work.'));
    expect(text).toContain('Done.');
    expect(opened.gateway.connections[0]?.[2]).not.toHaveProperty('previous_response_id');
  });

  it('webSocketTransport fails with an interruption if the connection breaks, which retryModel repeats', async () => {
    const opened = await open(['Hello.', 'Hello again.'], { forRequest: [{ silent: 6 }] });
    const chunks: string[] = [];
    const run = lastValueFrom(
      createAgent({ model: retryModel(opened.model, { delay: 0 }) })
        .stream('Hi')
        .pipe(toArray()),
    );
    await firstValueFrom(
      opened.server.events.pipe(
        filter(({ type }) => type === 'frame'),
        take(6),
        toArray(),
      ),
    );
    opened.gateway.breakAll();
    for (const { type } of await run) chunks.push(type);
    expect(chunks).toContain('retry');
    expect(chunks.at(-1)).toBe('result');
    expect(opened.gateway.connections).toHaveLength(2);
  });

  it('webSocketTransport sends a background response, and the request for its rest, over HTTP', async () => {
    const opened = await open(['Hello.']);
    const request = { ...ask, providerOptions: { 'openai-responses': { background: true } } };
    const chunks = await lastValueFrom(opened.model.stream(request).pipe(toArray()));
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    expect(opened.gateway.connections).toEqual([]);
  });

  it('webSocketTransport closes the connection of a body that is cancelled, and reads no more of it', async () => {
    const { sockets, server } = await open(['Hello.'], { delay: 5, silent: 6 });
    const body = JSON.stringify({ model: 'm', input: 'Hi', stream: true });
    const url = `${server.urlFor('openai-responses')}/responses`;
    const response = await sockets.fetch(url, { method: 'POST', body });
    const closed = firstValueFrom(server.events.pipe(filter(({ type }) => type === 'closed')));
    await response.body?.cancel();
    await closed;
    expect(server.connections).toBe(0);
  });

  it('webSocketTransport fails the response that is being received when it is closed', async () => {
    const { model, sockets } = await open(['Hello.'], { silent: 6 }, { retry: false });
    const closing = tap(({ type }: { readonly type: string }) => {
      if (type === 'text') sockets.close();
    });
    const failed = lastValueFrom(model.stream(ask).pipe(closing)).catch((thrown: unknown) => thrown);
    expect(await failed).toMatchObject({ code: 'stream_interrupted' });
  });

  it('webSocketTransport fails as a request without a response does if nobody listens', async () => {
    const server = await serveModel([]);
    await server.close();
    const gateway = await openGateway();
    await gateway.close();
    const sockets = webSocketTransport(gateway.webSocket);
    const model = openaiResponses('m', { baseUrl: server.url, apiKey: 'none', fetch: sockets.fetch, retry: false });
    const error = await lastValueFrom(model.stream(ask)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'connection', retryable: true });
  });
});
