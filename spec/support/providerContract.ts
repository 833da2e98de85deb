import { afterEach, describe, expect, it } from '@jest/globals';
import { concat, filter, firstValueFrom, lastValueFrom, NEVER, of, Subject, tap, toArray } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { ProviderError } from '../../lib/core/errors.js';
import type { RunEvent } from '../../lib/core/event.js';
import type { JsonObject } from '../../lib/core/json/json.js';
import { userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import type { Model, RequestSettings } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { providerContract, toolCall } from '../../lib/testing/index.js';
import type { Script } from '../../lib/testing/index.js';
import type { Dialect } from '../../lib/testing/server/dialects/dialect.js';
import { concatBytes, framingOf } from '../../lib/testing/server/framing.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn, ServeOptions } from '../../lib/testing/server/index.js';
import type { ServerEvent } from '../../lib/testing/server/serveModel.js';
import { describeCutResponses, textIn } from './cutResponses.js';
import { outcome } from './outcome.js';

/** A provider as the contract tests it. */
export interface ProviderUnderTest {
  /** The provider's name, as on the model. */
  readonly name: string;
  /** Makes a model for the loopback server. `baseUrl` ends in `/v1`: adapt it where the provider's own differs. */
  readonly make: (baseUrl: string, options: ModelOptions) => Model;
  /** The server's side of the wire. */
  readonly dialect: Dialect;
  /** The settings of the two-turn run, besides thinking. Default: none. */
  readonly settings?: RequestSettings;
  /** How the run requests thinking. Default: true. */
  readonly thinking?: RequestSettings['thinking'];
  /** A code that the provider documents as transient: as the first event it is retried. Default: not tested. */
  readonly transientCode?: string;
  /** Whether this wire returns thinking. Default: true. */
  readonly returnsThinking?: boolean;
  /** Whether the responses are HTTP: with a `Retry-After` header, and bytes that can be cut anywhere. Default: true. */
  readonly isHttp?: boolean;
}

/** A two-turn run: its requests as they were sent, and its events. */
export interface TwoTurns {
  /** The bodies of the two requests, in order. */
  readonly bodies: readonly JsonObject[];
  readonly headers: readonly Readonly<Record<string, string>>[];
  readonly paths: readonly string[];
  readonly events: readonly RunEvent[];
  /** The messages that the run added to the history. */
  readonly messages: readonly Message[];
}

const key = 'sk-a-key-that-no-error-may-reveal';
const question = { messages: [userMessage('How warm is it in Oslo and in Lisbon?')] };

/** The two tools of the run, which its requests must declare. */
const contractTools = [
  tool({
    name: 'temperature',
    description: 'The temperature of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: ({ city }) => ({ city: city ?? null, celsius: city === 'Oslo' ? -3 : 17 }),
  }),
  tool({
    name: 'season',
    description: 'The season now.',
    execute: () => {
      throw new Error('no calendar');
    },
  }),
];

/** The two tools in a request, as Chat Completions and the APIs like it declare them. */
export const declaredTools = [
  {
    type: 'function',
    function: {
      name: 'temperature',
      description: 'The temperature of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
  {
    type: 'function',
    function: {
      name: 'season',
      description: 'The season now.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    },
  },
];

/**
 * The script of the run: thinking, text, two parallel calls (the second has no arguments, and its tool fails), then the
 * answer.
 */
const contractScript: Script<ServedTurn> = [
  [
    { type: 'thinking', text: 'Two look-ups ' },
    { type: 'thinking', text: 'are needed.' },
    'Let me look.',
    toolCall('temperature', { city: 'Oslo' }),
    toolCall('season', {}),
    { type: 'finish', reason: 'toolCalls', usage: { input: 20, output: 10 } },
  ],
  ['It is cold.', { type: 'finish', reason: 'stop', usage: { input: 40, output: 5 } }],
];

/**
 * Runs `contractScript` through `createAgent` over real HTTP, with a required key and the system prompt 'Be brief.'.
 * The caller compares the body of the second request field by field.
 */
export async function runTwoTurns({ make, settings = {}, thinking = true }: ProviderUnderTest): Promise<TwoTurns> {
  const server = await serveModel(contractScript, { apiKey: key });
  try {
    const agent = createAgent({
      ...settings,
      thinking,
      model: make(server.url, { apiKey: key, retry: false }),
      system: 'Be brief.',
      tools: contractTools,
    });
    const events = await lastValueFrom(agent.stream(question.messages).pipe(toArray()));
    const result = events.find((event) => event.type === 'result');
    const { requests } = server;
    return {
      bodies: requests.map(({ body }) => body as JsonObject),
      headers: requests.map(({ headers }) => headers),
      paths: requests.map(({ path }) => path),
      events,
      messages: result?.result.messages ?? [],
    };
  } finally {
    await server.close();
  }
}

/** The first response of the run, as the dialect encodes it. */
function contractAnswer(dialect: Dialect) {
  const body = encodeTurn(dialect, [
    { type: 'thinking', text: 'Two look-ups ' },
    { type: 'thinking', text: 'are needed.' },
    { type: 'text', text: 'Let me look.' },
    { type: 'toolCallFragment', index: 0, id: 'call_1', name: 'temperature', arguments: '{"city":"Oslo"}', done: true },
    { type: 'toolCallFragment', index: 1, id: 'call_2', name: 'season', arguments: '{}', done: true },
    { type: 'finish', reason: 'toolCalls', usage: { input: 20, output: 10 } },
  ]);
  const calls = [
    { name: 'temperature', arguments: { city: 'Oslo' } },
    { name: 'season', arguments: {} },
  ];
  return { title: 'two calls', body, text: 'Let me look.', thinking: 'Two look-ups are needed.', calls };
}

/** The body of one response in a dialect. */
function encodeTurn(dialect: Dialect, chunks: readonly Chunk[]): string {
  const framing = framingOf(dialect, {});
  const writer = dialect.writer({ turn: 1, path: '', body: {} });
  const frames = [...chunks.flatMap((chunk) => writer.next(chunk)), ...writer.end()];
  return new TextDecoder().decode(concatBytes([...frames.map((frame) => framing.frame(frame)), framing.tail]));
}

const text = (value: string): Chunk => ({ type: 'text', text: value });
const silentAfter = (value: string) => [concat(of(text(value)), NEVER)];

/** All texts of an error, in which no key may appear. */
const allTexts = (error: unknown) =>
  [
    String(error),
    error instanceof Error ? error.stack : '',
    JSON.stringify(error, Object.getOwnPropertyNames(error ?? {})),
  ].join(' ');

/**
 * The contract of every provider over real sockets, whatever its wire. The spec of each provider calls it.
 *
 * Only the two tests of timeouts wait on the clock; all others wait for events of the server.
 */
export function describeProviderContract(provider: ProviderUnderTest): void {
  const { name, make, dialect, transientCode, returnsThinking = true, isHttp = true } = provider;

  describe(`${name}: the provider contract`, () => {
    const servers: LoopbackServer[] = [];
    afterEach(async () => {
      await Promise.all(servers.splice(0).map((server) => server.close()));
    });
    const serve = async (script: Script<ServedTurn>, options: ServeOptions = {}) => {
      const server = await serveModel(script, options);
      servers.push(server);
      return server;
    };
    const model = (server: LoopbackServer, options: ModelOptions = {}) =>
      make(server.url, { apiKey: key, retry: false, ...options });
    const happened = (server: LoopbackServer, type: ServerEvent['type'], request = 0) =>
      firstValueFrom(server.events.pipe(filter((event) => event.type === type && event.request === request)));

    it('the model has the name of its provider', () => {
      expect(make('http://127.0.0.1:1/v1', { apiKey: key }).provider).toBe(name);
    });

    it('the model closes the socket when it is unsubscribed while the server is silent during a response', async () => {
      const server = await serve(silentAfter('Hel'));
      const seen = new Subject<void>();
      const subscription = model(server)
        .stream(question)
        .pipe(
          filter(({ type }) => type === 'text'),
          tap(() => seen.next()),
        )
        .subscribe();
      await firstValueFrom(seen);
      subscription.unsubscribe();
      await happened(server, 'closed');
      expect(server.connections).toBe(0);
    });

    it('the model closes the socket when it is unsubscribed before the server responds', async () => {
      const server = await serve(['Hello'], { silent: 0 });
      const subscription = model(server).stream(question).subscribe();
      await happened(server, 'request');
      subscription.unsubscribe();
      await happened(server, 'closed');
      expect(server.connections).toBe(0);
    });

    it('the model closes the socket when its subscriber takes no more', async () => {
      const server = await serve(silentAfter('Hel'));
      const first = await firstValueFrom(
        model(server)
          .stream(question)
          .pipe(filter(({ type }) => type === 'text')),
      );
      expect(first).toMatchObject(text('Hel'));
      await happened(server, 'closed');
    });

    it('the model retries after a 429, with the delay of Retry-After, and announces each retry first', async () => {
      const server = await serve(['Hello'], { failFirst: { status: 429, times: 2, retryAfter: 0 } });
      // The model's own delay would be longer than the test.
      const { values, error } = await outcome(
        model(server, { retry: { initialDelay: isHttp ? 60_000 : 0, jitter: 0 } }).stream(question),
      );
      expect(error).toBeUndefined();
      expect(textIn(values)).toBe('Hello');
      expect(values.filter(({ type }) => type === 'finish')).toHaveLength(1);
      const error429 = { code: 'http', provider: name, status: 429, retryable: true };
      expect(values.filter(({ type }) => type === 'retry')).toEqual(values.slice(0, 2));
      expect(values.slice(0, 2)).toMatchObject([
        { type: 'retry', attempt: 1, delay: 0, error: error429 },
        { type: 'retry', attempt: 2, delay: 0, error: error429 },
      ]);
      expect(server.requests.map(({ body }) => body)).toEqual(
        Array.from({ length: 3 }, () => server.requests[0]?.body),
      );
    });

    it("the model does not retry after a 401, and reports the provider's message without the key", async () => {
      const body = dialect.errorBody({
        status: 401,
        type: 'authentication_error',
        message: `The key ${key} is not valid.`,
      });
      const server = await serve(['Hello'], { status: 401, body });
      const { values, error } = await outcome(model(server, { retry: { initialDelay: 0 } }).stream(question));
      expect(values).toEqual([]);
      expect(error).toMatchObject({
        code: 'http',
        provider: name,
        status: 401,
        retryable: false,
        message: expect.stringMatching(/The key \[key\] is not valid/) as unknown,
      });
      expect(allTexts(error)).not.toContain(key);
      expect(server.requests).toHaveLength(1);
    });

    it('the model sends its key where the provider expects it', async () => {
      const server = await serve(['Hello', 'Hello'], { apiKey: key });
      expect(await outcome(model(server).stream(question))).not.toHaveProperty('error');
      const { error } = await outcome(model(server, { apiKey: 'another' }).stream(question));
      expect(error).toMatchObject({ code: 'http', status: 401 });
    });

    it('the model reports a connection that is reset during the text, after the text', async () => {
      const server = await serve(silentAfter('Half an ans'));
      const answer = model(server, { retry: { initialDelay: 0 } }).stream(question);
      const { values, error } = await outcome(answer.pipe(tap(({ type }) => type === 'text' && void server.close())));
      expect(textIn(values)).toBe('Half an ans');
      expect(error).toMatchObject({ code: 'stream_interrupted', provider: name, retryable: true });
      expect(server.requests).toHaveLength(1);
    });

    it("the model reports an error event in a response with status 200, with the provider's message", async () => {
      const failure = new ProviderError(name, 'The engine is on fire.', { retryable: false });
      const server = await serve([['Half an ans', { error: failure }]]);
      const { values, error } = await outcome(model(server, { retry: { initialDelay: 0 } }).stream(question));
      expect(textIn(values)).toBe('Half an ans');
      expect(values.map(({ type }) => type)).not.toContain('finish');
      expect(error).toMatchObject({
        code: 'provider',
        provider: name,
        message: expect.stringContaining('The engine is on fire.') as unknown,
      });
      expect(server.requests).toHaveLength(1);
    });

    if (transientCode !== undefined)
      it('the model retries when the first event is a transient error', async () => {
        const failure = new ProviderError(name, 'Come back later.', { retryable: true, providerCode: transientCode });
        const server = await serve([[{ error: failure }], 'Hello']);
        const { values, error } = await outcome(model(server, { retry: { initialDelay: 0 } }).stream(question));
        expect(error).toBeUndefined();
        expect(textIn(values)).toBe('Hello');
        expect(server.requests).toHaveLength(2);
      });

    it('the model reports a silence during a response after timeout.each, after the text', async () => {
      const server = await serve(silentAfter('Hel'));
      const { values, error } = await outcome(model(server, { timeout: { each: 60 } }).stream(question));
      expect(textIn(values)).toBe('Hel');
      expect(error).toMatchObject({ code: 'timeout', phase: 'each', milliseconds: 60 });
      await happened(server, 'closed');
    });

    it('the model reports a silence before a response after timeout.first', async () => {
      const server = await serve(['Hello'], { silent: 0 });
      const { values, error } = await outcome(model(server, { timeout: { first: 60 } }).stream(question));
      expect(values).toEqual([]);
      expect(error).toMatchObject({ code: 'timeout', phase: 'first', milliseconds: 60 });
      if (server.requests.length > 0) await happened(server, 'closed'); // a busy machine connects later than that
    });

    it('the model sends one request for each subscriber, and none before', async () => {
      const server = await serve(['Hello', 'Hello']);
      const answer = model(server).stream(question);
      expect(server.requests).toHaveLength(0);
      const both = await Promise.all([outcome(answer), outcome(answer)]);
      expect(both.map(({ values }) => textIn(values))).toEqual(['Hello', 'Hello']);
      expect(server.requests).toHaveLength(2);
    });

    it('a run has two turns, with thinking and two parallel tools, one of which fails', async () => {
      const { events, bodies, messages } = await runTwoTurns(provider);
      expect(bodies).toHaveLength(2);
      const thinking = events.map((event) => (event.type === 'thinking' ? event.text : '')).join('');
      expect(thinking).toBe(returnsThinking ? 'Two look-ups are needed.' : '');
      expect(textIn(events)).toBe('Let me look.\nIt is cold.');
      const calls = events.filter((event) => event.type === 'toolCall');
      expect(calls).toMatchObject([
        { name: 'temperature', arguments: { city: 'Oslo' } },
        { name: 'season', arguments: {} },
      ]);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      expect(events.filter((event) => event.type === 'toolResult')).toEqual([
        { type: 'toolResult', id: calls[0]?.id, name: 'temperature', result: { city: 'Oslo', celsius: -3 } },
        { type: 'toolResult', id: calls[1]?.id, name: 'season', error: 'no calendar', code: 'failed' },
      ]);
      expect(messages.map(({ role }) => role)).toEqual(['model', 'user', 'model']);
      expect(events.filter((event) => event.type === 'turn')).toMatchObject([
        { turn: 1, finishReason: 'toolCalls', usage: { input: 20, output: 10 } },
        { turn: 2, finishReason: 'stop', usage: { input: 40, output: 5 } },
      ]);
      expect(events.at(-1)).toMatchObject({ type: 'result', result: { turns: 2, usage: { input: 60, output: 15 } } });
    });
  });
  describe(`${name}: the public provider contract`, () => {
    const contentType = dialect.contentType.split(';')[0] ?? '';
    const model = (options: ModelOptions) => make('http://127.0.0.1:1/v1', options);
    const { thinking, ...answer } = contractAnswer(dialect);
    const answers = [{ ...answer, ...(returnsThinking ? { thinking } : {}) }];
    it.each(providerContract({ provider: name, model, contentType, answers }))('the model $title', ({ run }) => run());
  });
  describeCutResponses({
    name,
    modelAt: ({ url }, options) => make(url, { apiKey: key, ...options }),
    maxCuts: isHttp ? 25 : 0,
  });
}
