import { afterEach, describe, expect, it } from '@jest/globals';
import { createOpenAI } from '@ai-sdk/openai';
import { filter, firstValueFrom, lastValueFrom, materialize, take, toArray } from 'rxjs';
import type { ObservableNotification } from 'rxjs';
import { createAgent, tool, userMessage } from 'rivulet';
import type { Chunk, Model, OptionsOf } from 'rivulet';
import { fromAiSdk } from 'rivulet/ai-sdk';
import { toolCall } from 'rivulet/testing';
import { serveFrames, serveModel } from 'rivulet/testing/server';
import type { LoopbackServer } from 'rivulet/testing/server';

const apiKey = 'sk-a-secret-key';
const question = { messages: [userMessage('How warm is it in Oslo and in Lisbon?')] };

let server: LoopbackServer;
const serving = (promise: Promise<LoopbackServer>) => promise.then((started) => (server = started));
const chat = (options?: OptionsOf<typeof fromAiSdk>): Model =>
  fromAiSdk(createOpenAI({ baseURL: server.url, apiKey }).chat('gpt-5'), { retry: false, ...options });
const notifications = (model: Model) => lastValueFrom(model.stream(question).pipe(materialize(), toArray()));

afterEach(() => server.close());

describe('fromAiSdk with the published @ai-sdk/openai (V3), over real HTTP', () => {
  it('fromAiSdk streams text, usage and metadata, and has the provider and the name of the model', async () => {
    await serving(
      serveModel([
        ['A river', ' flows.', { type: 'finish', reason: 'stop', usage: { input: 20, output: 10, cachedInput: 8 } }],
      ]),
    );
    const model = chat();
    expect(model).toMatchObject({ provider: 'openai.chat', name: 'gpt-5' });
    expect(await lastValueFrom(model.stream(question).pipe(toArray()))).toEqual([
      { type: 'metadata', metadata: { responseId: expect.any(String), model: 'gpt-5' } },
      { type: 'text', text: 'A river' },
      { type: 'text', text: ' flows.' },
      {
        type: 'finish',
        reason: 'stop',
        rawReason: 'stop',
        usage: { input: 20, output: 10, total: 30, cachedInput: 8, reasoning: 0 },
      },
    ]);
  });

  it('fromAiSdk sends one request for each subscription, and none before', async () => {
    await serving(serveModel(['One.', 'Two.']));
    const stream = chat()
      .stream(question)
      .pipe(filter((chunk) => chunk.type === 'text'));
    expect(server.requests).toHaveLength(0);
    expect(await firstValueFrom(stream)).toMatchObject({ text: 'One.' });
    expect(await firstValueFrom(stream)).toMatchObject({ text: 'Two.' });
    expect(server.requests).toHaveLength(2);
  });

  it('fromAiSdk runs two tool calls of one turn, and sends their results with their calls', async () => {
    await serving(
      serveModel([['Let me look.', toolCall('temperature', { city: 'Oslo' }), toolCall('season')], ['It is cold.']], {
        apiKey,
        cut: 7,
      }),
    );
    const agent = createAgent({
      model: chat(),
      system: 'Be brief.',
      tools: [
        tool({
          name: 'temperature',
          description: 'Of a city.',
          parameters: { type: 'object', properties: { city: { type: 'string' } } },
          execute: () => ({ celsius: -3 }),
        }),
        tool({
          name: 'season',
          description: 'Now.',
          execute: () => {
            throw new Error('no calendar');
          },
        }),
      ],
      temperature: 0.5,
      stopSequences: ['END'],
      maxOutputTokens: 99,
      providerOptions: { openai: { user: 'u1' } },
    });
    const events = await lastValueFrom(agent.stream('How warm?').pipe(toArray()));
    expect(events.filter(({ type }) => type === 'toolCall')).toEqual([
      { type: 'toolCall', id: 'call_1_1', name: 'temperature', arguments: { city: 'Oslo' } },
      { type: 'toolCall', id: 'call_1_2', name: 'season', arguments: {} },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'result', result: { finishReason: 'stop', turns: 2 } });
    const [first, second] = server.requests.map(({ body }) => body);
    expect(first).toMatchObject({
      stop: ['END'],
      user: 'u1',
      tools: [
        { type: 'function', function: { name: 'temperature' } },
        { type: 'function', function: { name: 'season' } },
      ],
    });
    expect(second).toMatchObject({
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'How warm?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          tool_calls: [
            { id: 'call_1_1', type: 'function', function: { name: 'temperature', arguments: '{"city":"Oslo"}' } },
            { id: 'call_1_2', type: 'function', function: { name: 'season', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1_1', content: '{"celsius":-3}' },
        { role: 'tool', tool_call_id: 'call_1_2', content: 'no calendar' },
      ],
    });
  });

  it('fromAiSdk closes the socket when it is unsubscribed, during the text and before the response begins', async () => {
    await serving(serveModel(['one two three', 'never'], { silent: 2, forRequest: [{}, { silent: 0 }] }));
    await firstValueFrom(
      chat()
        .stream(question)
        .pipe(
          filter((chunk) => chunk.type === 'text'),
          take(1),
        ),
    );
    await firstValueFrom(server.events.pipe(filter(({ type, request }) => type === 'closed' && request === 0)));
    const waiting = chat().stream(question).subscribe();
    await firstValueFrom(server.events.pipe(filter(({ type, request }) => type === 'request' && request === 1)));
    waiting.unsubscribe();
    await firstValueFrom(server.events.pipe(filter(({ type, request }) => type === 'closed' && request === 1)));
    expect(server.requests).toHaveLength(2);
  });

  it('fromAiSdk reports the text of a refusal, and retries a transient one', async () => {
    await serving(serveModel(['Hello.'], { failFirst: { status: 429, retryAfter: 0 } }));
    const refused = await notifications(chat());
    expect(refused).toMatchObject([
      {
        kind: 'E',
        error: {
          code: 'http',
          status: 429,
          retryable: true,
          providerCode: 'rate_limit_exceeded',
          retryAfter: 0,
          requestId: 'req_1',
        },
      },
    ]);
    await server.close();
    await serving(serveModel(['Hello.'], { failFirst: { status: 429, retryAfter: 0 } }));
    expect((await notifications(chat({ retry: {} }))).at(-1)).toMatchObject({ kind: 'C' });
    await server.close();
    await serving(serveModel(['Hello.'], { apiKey: 'another' }));
    const [unauthorized] = await notifications(chat({ retry: {} }));
    expect(unauthorized).toMatchObject({
      kind: 'E',
      error: {
        code: 'http',
        status: 401,
        retryable: false,
        message: expect.stringContaining('Incorrect API key provided'),
      },
    });
    expect(server.requests).toHaveLength(1);
  });

  it('fromAiSdk errors after the text, for an error inside the stream and for a broken connection', async () => {
    await serving(
      serveModel([['Half', { error: new Error('The engine stalled.') }], 'Half of it.'], {
        forRequest: [{}, { reset: 2 }],
      }),
    );
    const texts = (one: ObservableNotification<Chunk>) => one.kind !== 'N' || one.value.type === 'text';
    expect((await notifications(chat())).filter(texts)).toMatchObject([
      { kind: 'N', value: { text: 'Half' } },
      { kind: 'E', error: { code: 'provider', message: expect.stringContaining('The engine stalled.') } },
    ]);
    expect((await notifications(chat())).filter(texts)).toMatchObject([
      { kind: 'N', value: { text: 'Half of it.' } },
      { kind: 'E', error: { code: 'stream_interrupted', retryable: true } },
    ]);
  });

  it('fromAiSdk errors for a body that ends too early, and exposes no partial call', async () => {
    const delta = (content: unknown) =>
      `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', choices: [{ index: 0, delta: content }] })}\n\n`;
    const begun = {
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'season', arguments: '{"a"' } }],
    };
    await serving(serveFrames([delta({ role: 'assistant', content: 'Hm' }), delta(begun)]));
    const seen = await notifications(chat());
    expect(seen.at(-1)).toMatchObject({ kind: 'E', error: { code: 'stream_interrupted' } });
  });

  it('fromAiSdk requests structured output with the schema', async () => {
    await serving(serveModel(['{"a":1}']));
    const output = {
      type: 'object',
      properties: { a: { type: 'number' } },
      required: ['a'],
      additionalProperties: false,
    };
    await lastValueFrom(chat().stream({ ...question, output }));
    expect(server.requests[0]?.body).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { schema: output } },
    });
  });
});
