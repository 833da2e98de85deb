import { afterEach, describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { userMessage } from '../../lib/core/message.js';
import { providerDataOf } from '../../lib/core/providerPart.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { fallback } from '../../lib/models/fallback.js';
import { hedge } from '../../lib/models/hedge.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { openai } from '../../lib/providers/openai.js';
import { modelByName } from '../../lib/providers/registry/index.js';
import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';

// Runs over real HTTP on loopback. Every wait is for an event of the server or the run.
describe('models made of models over real sockets', () => {
  const servers: LoopbackServer[] = [];
  const serve = async (...args: Parameters<typeof serveModel>) => {
    const server = await serveModel(...args);
    servers.push(server);
    return server;
  };
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

  const optionsFor = (server: LoopbackServer, provider: string) =>
    ({ apiKey: 'sk-secret', baseUrl: server.urlFor(provider), retry: false }) as const;
  const modelOn = (server: LoopbackServer, provider = 'openai-chat') =>
    modelByName(provider, optionsFor(server, provider));
  const endOf = (server: LoopbackServer, request = 0) =>
    firstValueFrom(
      server.events.pipe(filter((event) => event.request === request && /finished|closed|reset/.test(event.type))),
    );
  const textOf = (model: Model) => lastValueFrom(createAgent({ model }).run('Hi'));

  it.each([0, 1])('hedge with after: %i closes the connections of the models that have lost', async (after) => {
    const [silent, talking, quick] = [
      await serve(['never'], { silent: 0 }),
      await serve(['never'], { silent: 1 }), // only its role: no content
      await serve(['Hello']),
    ];
    const models = [silent, talking, quick].map((server) => modelOn(server));
    const { text } = await textOf(hedge(models, { after }));
    expect(text).toBe('Hello');
    expect(await Promise.all([silent, talking, quick].map((server) => endOf(server)))).toMatchObject([
      { type: 'closed' },
      { type: 'closed' },
      { type: 'finished' },
    ]);
    expect(silent.connections + talking.connections).toBe(0);
  });

  it('hedge closes the connections of all models when it is unsubscribed', async () => {
    const both = [await serve(['never'], { silent: 0 }), await serve(['never'], { silent: 1 })];
    const subscription = hedge(
      both.map((server) => modelOn(server)),
      { after: 0 },
    )
      .stream({ messages: [userMessage('Hi')] })
      .subscribe();
    await Promise.all(both.map((server) => firstValueFrom(server.events)));
    subscription.unsubscribe();
    expect(await Promise.all(both.map((server) => endOf(server)))).toMatchObject([
      { type: 'closed' },
      { type: 'closed' },
    ]);
  });

  it('retryModel starts over after an interruption in the middle of a response', async () => {
    const server = await serve(() => 'Once upon a time.', { forRequest: [{ endEarly: 2 }] });
    const model = retryModel(modelOn(server), { delay: 1 });
    const events = await lastValueFrom(createAgent({ model }).stream('Hi').pipe(toArray()));
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'retry',
        error: expect.objectContaining({ code: 'stream_interrupted' }) as unknown,
      }),
    );
    expect(events.at(-1)).toMatchObject({ result: { text: 'Once upon a time.', finishReason: 'stop' } });
    expect(server.requests).toHaveLength(2);
  });

  it('retryModel counts the usage of a void attempt, as far as the provider has reported it', async () => {
    const frames = [
      { type: 'message_start', message: { usage: { input_tokens: 20, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
    ];
    const server = await serve(() => ['Hello.', { type: 'finish', reason: 'stop', usage: { input: 20, output: 4 } }], {
      forRequest: [{ raw: frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`) }],
    });
    const agent = createAgent({ model: retryModel(modelOn(server, 'anthropic'), { delay: 1 }) });
    const events = await lastValueFrom(agent.stream('Hi').pipe(toArray()));
    const [retract] = events.filter((event) => event.type === 'retract');
    expect(retract).toEqual({ type: 'retract', usage: { input: 20, output: 1, total: 21 } });
    expect(events.at(-1)).toMatchObject({ result: { text: 'Hello.', usage: { input: 40, output: 5, total: 45 } } });
  });

  it('fallback answers from another server, on another wire, when the first one is gone', async () => {
    const [gone, other] = [await serve(['never']), await serve(['Hello'])];
    const unreachable = modelOn(gone);
    await gone.close();
    expect(await textOf(fallback([unreachable, modelOn(other, 'anthropic')]))).toMatchObject({
      text: 'Hello',
      metadata: { answeredBy: { provider: 'anthropic' } },
    });
  });

  it('fallback encodes the request for the model that answers, with the data of its provider only', async () => {
    const first = await serve([[toolCall('f')], [toolCall('f')], 'Done.'], {
      forRequest: [undefined, { endEarly: 2 }],
    });
    const second = await serve([[toolCall('f')]]);
    const f = tool({ name: 'f', description: '', execute: () => 1 });
    const stored = openai('gpt-6.1-terra', { ...optionsFor(first, 'openai'), session: true });
    const model = fallback([stored, modelOn(second, 'google')]);
    const agent = createAgent({ model, tools: [f] });
    const events = await lastValueFrom(agent.stream('Go.').pipe(toArray()));

    const answers = events.flatMap((event) => (event.type === 'turn' ? [event.metadata?.['answeredBy']] : []));
    expect(answers).toMatchObject([{ provider: 'openai' }, { provider: 'google' }, { provider: 'openai' }]);
    const [toSecond] = second.requests.map(({ body }) => JSON.stringify(body));
    const [message] = events.flatMap((event) => (event.type === 'message' ? [event.message] : []));
    const responseId = message && providerDataOf(message, 'openai').at(-1)?.['id'];
    if (typeof responseId !== 'string') throw new Error('the first provider has sent no id');
    expect(responseId).not.toBe('');
    // The history of the first provider is in the request of the second one, and its data is not.
    expect(toSecond).toContain('"functionCall"');
    expect(toSecond).not.toContain(responseId);
    // The first provider continues from its own response, with what the other one has added since.
    expect(first.requests[2]?.body).toMatchObject({ previous_response_id: responseId });
    expect(events.at(-1)).toMatchObject({ result: { text: 'Done.', turns: 3 } });
  });
});
