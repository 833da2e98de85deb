import { firstValueFrom, tap } from 'rxjs';
import { userMessage } from '../../core/message.js';
import type { Model } from '../../core/model.js';
import type { ModelOptions } from '../../providers/httpModel.js';
import {
  conversation,
  expectAnswer,
  expectBeginning,
  expectSame,
  markers,
  read,
  withUnknownEvents,
} from './recordedAnswer.js';
import type { RecordedAnswer } from './recordedAnswer.js';
import { recordedResponse, recordedServer, type BodyOptions, type RecordedServer } from './recordedServer.js';
import type { Plain } from '../../core/typesOf.js';

/** One check of the provider contract, for any test runner. */
export interface ProviderContractCase {
  /** A sentence without its subject: `decodes a text`. */
  readonly title: string;
  /** Rejects with an Error that says what was expected and what happened. */
  readonly run: () => Promise<void>;
}

/** A provider, and what its server sends. */
export interface ProviderContractOptions {
  /** The provider's name, as on the model. */
  readonly provider: string;
  /** Creates the model. It must pass the options on to `httpModel`: the contract sets the key, `fetch` and `retry`. */
  readonly model: (options: ModelOptions) => Model;
  /** Recorded responses, the first without an error. A text, and several calls with thinking, cover the most. */
  readonly answers: readonly RecordedAnswer[];
  /** The content type of the responses. Default: `text/event-stream`. */
  readonly contentType?: string;
}

const key = 'key-of-the-provider-contract';

const MAX_POSITIONS = 40;

/**
 * Returns the checks that the model of every provider must pass, one test case each. They need no network: recorded
 * responses are answered from memory.
 *
 * <span class="informal">Run them in the spec of your own provider.</span>
 *
 * For each recorded response: it is decoded completely, however its bytes are cut; a response that ends early is an
 * interruption and exposes no incomplete call; events of unknown types are harmless. For the model: nothing is sent
 * before the subscription, and one request for each subscriber; the conversation is sent, with its calls and results;
 * the key is in a header and in no error; unsubscribing aborts the request; a 429 is retried, a 401 is not.
 *
 * ```ts
 * import { test } from 'node:test';
 * import { openaiCompatible } from 'rivulet';
 * import { providerContract } from 'rivulet/testing';
 *
 * const acme = openaiCompatible({ name: 'acme', baseUrl: 'https://api.acme.example/v1', apiKeyVariable: 'ACME_KEY' });
 * const body = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
 * const cases = providerContract({
 *   provider: 'acme',
 *   model: (options) => acme('large', options),
 *   answers: [{ title: 'a text', body, text: 'Hi' }],
 * });
 * for (const { title, run } of cases) test(`acme ${title}`, run);
 * ```
 *
 * With jest or vitest: `it.each(cases)('acme $title', ({ run }) => run())`.
 *
 * @param options The provider's name, its model, and recorded responses with what they contain.
 * @returns The cases. Each is independent of the others.
 */
export function providerContract(options: ProviderContractOptions): readonly Plain<ProviderContractCase>[] {
  const groups = [modelCases(options), ...options.answers.map((answer) => answerCases(options, answer))];
  return groups.flatMap((cases) => Object.entries(cases).map(([title, run]) => ({ title, run })));
}

type Cases = Readonly<Record<string, () => Promise<void>>>;

function answerCases(options: ProviderContractOptions, answer: RecordedAnswer): Cases {
  const { model, provider, contentType = 'text/event-stream' } = options;
  const { title, body } = answer;
  const bytes = encode(body);
  const count = Math.min(bytes.length - 1, MAX_POSITIONS);
  const positions = Array.from({ length: count }, (_, at) => Math.round(((at + 1) * bytes.length) / (count + 1)));
  const readBytes = (received: Uint8Array, bodyOptions: BodyOptions = {}) => {
    const server = recordedServer((request) => recordedResponse(received, contentType, request, bodyOptions));
    return read(model({ apiKey: key, retry: false, fetch: server.fetch }), answer);
  };
  return {
    [`decodes ${title}`]: async () => {
      expectAnswer(await readBytes(bytes), answer);
    },
    [`decodes ${title}, however its bytes are cut`]: async () => {
      expectAnswer(await readBytes(bytes, { cuts: [...bytes.keys()] }), answer);
      for (const cut of positions) expectAnswer(await readBytes(bytes, { cuts: [cut] }), answer);
    },
    [`reports an interruption, and exposes no incomplete call, if ${title} ends early`]: async () => {
      for (const [at, end] of positions.entries()) {
        const reading = await readBytes(bytes.slice(0, end), { then: at % 2 === 0 ? 'end' : 'reset' });
        expectBeginning(reading, answer, provider);
      }
    },
    [`decodes ${title} among events of an unknown type`]: async () => {
      expectAnswer(await readBytes(encode(withUnknownEvents(body, contentType))), answer);
    },
  };
}

function modelCases({ model, provider, answers, contentType = 'text/event-stream' }: ProviderContractOptions): Cases {
  const [answer] = answers;
  if (!answer) throw new TypeError('The provider contract needs at least one recorded answer.');
  const bytes = encode(answer.body);
  const serve = (bodyOptions: BodyOptions = {}, refuse: (number: number) => Response | undefined = () => undefined) =>
    recordedServer((request, number) => refuse(number) ?? recordedResponse(bytes, contentType, request, bodyOptions));
  const make = ({ fetch }: RecordedServer, retry: ModelOptions['retry'] = false) =>
    model({ apiKey: key, retry, fetch });
  return {
    'has the name of its provider': () =>
      Promise.resolve().then(() => expectSame('the name of the provider', make(serve()).provider, provider)),

    'sends nothing before it is subscribed, and one request for each subscriber': async () => {
      const server = serve();
      const made = make(server);
      const stream = made.stream({ messages: [userMessage('Hello')] });
      expectSame('requests before the subscription', server.requests.length, 0);
      for (const count of [1, 2]) {
        await read({ ...made, stream: () => stream }, answer);
        expectSame('requests', server.requests.length, count);
      }
    },

    'sends the conversation, with its calls and results': async () => {
      const server = serve();
      const made = make(server);
      if (made.capabilities?.tools === false) return;
      await read(made, answer, conversation());
      const body = server.requests[0]?.body ?? '';
      for (const text of markers) expectSame(`the request contains "${text}"`, body.includes(text), true);
    },

    'sends its key in a header, and nowhere else': async () => {
      const server = serve();
      await read(make(server), answer);
      const [request] = server.requests;
      const values = [...(request?.headers.values() ?? [])];
      const isInHeader = values.some((value) => value.includes(key));
      expectSame('a header contains the key', isInHeader, true);
      expectSame('the URL or the body contains the key', `${request?.url}${request?.body}`.includes(key), false);
    },

    'aborts its request when it is unsubscribed, and emits nothing more': async () => {
      const server = serve({ then: 'silence' });
      let emitted = 0;
      const stream = make(server).stream({ messages: [userMessage('Hello')] });
      await firstValueFrom(stream.pipe(tap(() => (emitted += 1))), { defaultValue: undefined });
      await Promise.resolve();
      expectSame('the request is aborted', server.requests[0]?.aborted, true);
      expectSame('emitted chunks', emitted, 1);
    },

    'retries a request that is refused with 429': async () => {
      const busy = () => new Response('{}', { status: 429, headers: { 'retry-after': '0' } });
      const server = serve({}, (number) => (number === 1 ? busy() : undefined));
      expectAnswer(await read(make(server, { initialDelay: 0 }), answer), answer);
      expectSame('requests', server.requests.length, 2);
    },

    'reports a 401 without its key, and does not retry': async () => {
      const body = JSON.stringify({ error: { message: `Wrong key: ${key}` } });
      const headers = { 'content-type': 'application/json' };
      const server = serve({}, () => new Response(body, { status: 401, headers }));
      const { error } = await read(make(server, { initialDelay: 0 }), answer);
      expectSame('the status', (error as { readonly status?: unknown } | undefined)?.status, 401);
      expectSame('the error contains the key', `${String(error)}${JSON.stringify(error)}`.includes(key), false);
      expectSame('requests', server.requests.length, 1);
    },
  };
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
