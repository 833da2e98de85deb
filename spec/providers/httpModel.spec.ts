import { afterEach, describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import {
  VirtualTimeScheduler,
  asyncScheduler,
  catchError,
  finalize,
  ignoreElements,
  lastValueFrom,
  of,
  repeat,
  retry,
  take,
  toArray,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { TimeoutError } from '../../lib/core/timeoutError.js';
import type { JsonValue } from '../../lib/core/json/json.js';
import { modelMessage, systemMessage, userMessage } from '../../lib/core/message.js';
import type { Part } from '../../lib/core/message.js';
import type { ModelRequest } from '../../lib/core/model.js';
import type { Wire } from '../../lib/protocol/wire.js';
import { ndjson } from '../../lib/protocol/ndjson.js';
import { httpModel } from '../../lib/providers/httpModel.js';
import type { HttpModelDefinition, ModelOptions } from '../../lib/providers/httpModel.js';
import { readOpenText } from '../../lib/providers/shared/openText.js';
import { extractTextCalls } from '../../lib/providers/shared/textCalls.js';
import { openTool } from '../checks/conformance/case.js';
import { everyCut, fetchOf, finish, inPieces, serve, signal, text, toyWire, utf8 } from '../protocol/wires.js';
import { observe } from '../support/observe.js';

const definition: HttpModelDefinition = {
  provider: 'toy',
  name: 'toy-1',
  baseUrl: 'https://toy.test/v1',
  apiKey: { variable: 'TOY_API_KEY' },
  wire: toyWire(),
};
const hello: ModelRequest = { messages: [userMessage('Hello')] };
const body = 'data: {"t":"é"}\n\n: alive\n\ndata: {"t":"b"}\n\ndata: {"stop":true}\n\ndata: [DONE]\n\n';
const whole = [text('é'), text('b'), finish];
const model = (options: ModelOptions, over: Partial<HttpModelDefinition> = {}) =>
  httpModel({ ...definition, ...over }, { apiKey: 'k-123', ...options });
const read = (options: ModelOptions, request = hello, over: Partial<HttpModelDefinition> = {}) =>
  lastValueFrom(model(options, over).stream(request).pipe(toArray()));
const failure = (options: ModelOptions, request = hello, over: Partial<HttpModelDefinition> = {}) =>
  lastValueFrom(
    model(options, over)
      .stream(request)
      .pipe(
        ignoreElements(),
        catchError((error: unknown) => of(error as Error)),
      ),
  );
const sent = (fetch: ReturnType<typeof fetchOf>, at = 0) => {
  const call = fetch.calls[at];
  return {
    url: call?.url,
    headers: call?.init.headers as Record<string, string>,
    body: JSON.parse(call?.init.body as string) as unknown,
  };
};
/** A fetch that fails a few times, and then succeeds. */
const fetchAfter = (...failures: (() => Response | Promise<never>)[]) => {
  const good = fetchOf([utf8(body)]);
  const calls: number[] = [];
  const fetch = (async (...args: Parameters<typeof good>) => {
    calls.push(calls.length);
    return failures.shift()?.() ?? good(...args);
  }) as typeof good;
  return Object.assign(fetch, { calls });
};

/** How a response that stalls ends. Its timers run on a clock that is as fast as the promises allow. */
async function stalledFailure(respond: () => Response, timeout: ModelOptions['timeout']): Promise<Error> {
  const scheduler = new VirtualTimeScheduler();
  const now = asyncScheduler.now.bind(asyncScheduler);
  Object.assign(asyncScheduler, { now: () => scheduler.now(), schedule: scheduler.schedule.bind(scheduler) });
  try {
    const outcome = failure({ fetch: async () => respond(), timeout, retry: false });
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    scheduler.flush();
    return await outcome;
  } finally {
    asyncScheduler.now = now;
    Reflect.deleteProperty(asyncScheduler, 'schedule');
  }
}

describe('httpModel', () => {
  it('httpModel checks its options at the first request, until they are valid, and not again', async () => {
    let checks = 0;
    const options = Object.defineProperty({ timeout: {}, fetch: fetchOf([utf8(body)]) }, 'baseUrl', {
      enumerable: true,
      get: () => void (checks += 1),
    });
    const once = httpModel(definition, options);
    expect(checks).toBe(0);
    await lastValueFrom(once.stream(hello).pipe(catchError(() => of(undefined))));
    const first = checks;
    await lastValueFrom(once.stream(hello).pipe(catchError(() => of(undefined))));
    expect(checks - first).toBeLessThan(first);
    const invalid = model({ retry: 'often' } as never).stream(hello);
    for (let at = 0; at < 2; at++) {
      expect(await lastValueFrom(invalid.pipe(catchError((error: unknown) => of(error))))).toMatchObject({
        name: 'ConfigurationError',
      });
    }
  });

  it('httpModel does not merge a message that has options for its provider, so that they are not lost', async () => {
    const countOf = async (provider: string) => {
      const fetch = fetchOf([utf8(body)]);
      const withOptions = { ...userMessage('A long document.'), providerOptions: { [provider]: { cache: true } } };
      await read({ fetch }, { messages: [withOptions, userMessage('Hello')] });
      return sent(fetch).body;
    };
    expect(await countOf('toy')).toMatchObject({ count: 2 });
    expect(await countOf('another')).toMatchObject({ count: 1 });
  });

  afterEach(() => {
    delete process.env['TOY_API_KEY'];
  });

  it('httpModel streams chunks, for every cut of the bytes, with one finish at the end', async () => {
    for (const pieces of [[utf8(body)], inPieces(utf8(body), 1), ...everyCut(utf8(body))])
      expect(await read({ fetch: fetchOf(pieces) })).toEqual(whole);
  });

  it('httpModel streams newline-delimited JSON as well as server-sent events', async () => {
    const lines = utf8(body.replaceAll('data: ', '').replace(': alive', '').replace('\n[DONE]\n\n', '{"end":true}'));
    const fetch = fetchOf(inPieces(lines, 1), { headers: { 'content-type': 'application/x-ndjson' } });
    expect(await read({ fetch }, hello, { wire: toyWire(ndjson) })).toEqual(whole);
    expect(sent(fetch).headers['accept']).toBe('application/x-ndjson');
  });

  it('httpModel sends the request of its wire', async () => {
    const fetch = fetchOf([utf8(body)]);
    await read({ fetch });
    expect(sent(fetch)).toEqual({
      url: 'https://toy.test/v1/chat',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', authorization: 'Bearer k-123' },
      body: { model: 'toy', stream: true, count: 1, nested: { a: 1, b: [1, 2] } },
    });
  });

  it('httpModel is cold: it sends nothing before the subscription, and one request for each subscription, retry and repeat', async () => {
    const fetch = fetchOf([utf8(body)]);
    const chunks = model({ fetch }).stream(hello);
    expect(fetch.calls).toHaveLength(0);
    expect(await lastValueFrom(chunks.pipe(repeat(2), toArray()))).toEqual([...whole, ...whole]);
    expect(fetch.calls).toHaveLength(2);
    const cut = fetchOf([utf8('data: {"t":"a"}\n\n')]);
    expect(await failure({ fetch: cut })).toMatchObject({ code: 'stream_interrupted' });
    await lastValueFrom(
      model({ fetch: cut })
        .stream(hello)
        .pipe(
          retry(2),
          catchError(() => of(1)),
        ),
    );
    expect(cut.calls).toHaveLength(4);
  });

  it('httpModel reads the key from the options, or from the environment at the time of the request', async () => {
    const fetch = fetchOf([utf8(body)]);
    const chunks = httpModel(definition, { fetch, apiKey: ' ' }).stream(hello);
    process.env['TOY_API_KEY'] = 'from-environment\n';
    await lastValueFrom(chunks);
    process.env['TOY_API_KEY'] = 'changed';
    await lastValueFrom(chunks);
    await read({ fetch, apiKey: 'given' }, hello, { authorize: (key) => ({ 'x-api-key': key }) });
    expect(fetch.calls.map((_, at) => sent(fetch, at).headers)).toMatchObject([
      { authorization: 'Bearer from-environment' },
      { authorization: 'Bearer changed' },
      { 'x-api-key': 'given' },
    ]);
    expect(sent(fetch, 2).headers).not.toHaveProperty('authorization');
  });

  it('httpModel reports a missing key and what to do, before any request', async () => {
    const fetch = fetchOf([utf8(body)]);
    const error = await failure({ fetch, apiKey: '' });
    expect(error).toMatchObject({ code: 'configuration', subject: 'apiKey' });
    expect(error.message).toContain('TOY_API_KEY');
    expect(error.message).toContain('{ apiKey }');
    expect(fetch.calls).toHaveLength(0);
  });

  it('httpModel requires no key for a provider without one, nor where a header carries one', async () => {
    const fetch = fetchOf([utf8(body)]);
    await read({ fetch, apiKey: undefined }, hello, { apiKey: undefined });
    await read({ fetch, apiKey: undefined, headers: { Authorization: 'Basic abc' } });
    expect(sent(fetch).headers).not.toHaveProperty('authorization');
    expect(sent(fetch, 1).headers).toHaveProperty('authorization', 'Basic abc');
  });

  it("httpModel lets the user's headers win, in any case", async () => {
    const fetch = fetchOf([utf8(body)]);
    await read({
      fetch,
      headers: { Authorization: 'Bearer other', 'Content-Type': 'application/json; charset=utf-8', 'X-Mine': '1' },
    });
    expect(sent(fetch).headers).toEqual({
      accept: 'text/event-stream',
      'content-type': 'application/json; charset=utf-8',
      authorization: 'Bearer other',
      'x-mine': '1',
    });
  });

  it.each([
    ['https://a.test/v1/', 'https://a.test/v1/chat'],
    ['https://a.test', 'https://a.test/chat'],
    ['https://a.test/deployments/x//?api-version=1&b=2', 'https://a.test/deployments/x/chat?api-version=1&b=2'],
    ['/api/llm', '/api/llm/chat'],
    ['/', '/chat'],
  ])('httpModel joins the base URL %j and the path', async (baseUrl, url) => {
    const fetch = fetchOf([utf8(body)]);
    await read({ fetch, baseUrl });
    expect(sent(fetch).url).toBe(url);
  });

  it('httpModel joins the queries of the base URL and the path', async () => {
    const fetch = fetchOf([utf8(body)]);
    const wire = { ...toyWire(), encode: () => ({ path: '/m:stream?alt=sse', body: {} }) };
    await read({ fetch, baseUrl: 'https://a.test/v1?x=1' }, hello, { wire });
    expect(sent(fetch).url).toBe('https://a.test/v1/m:stream?x=1&alt=sse');
  });

  it("httpModel merges the user's fields for this provider over the body", async () => {
    const fetch = fetchOf([utf8(body)]);
    const mine = { nested: { b: [3], c: null }, tier: 'flex', stream: undefined as unknown as null };
    await read({ fetch }, { ...hello, providerOptions: { toy: mine, other: { nested: 1 } } });
    expect(sent(fetch).body).toEqual({ model: 'toy', count: 1, nested: { a: 1, b: [3], c: null }, tier: 'flex' });
  });

  it('httpModel reports an invalid request as an error, before it is sent', async () => {
    const fetch = fetchOf([utf8(body)]);
    const orphan: ModelRequest = {
      messages: [{ role: 'user', parts: [{ type: 'toolResult', id: 'c1', name: 'f', result: 1 }] }],
    };
    expect(await failure({ fetch }, orphan)).toMatchObject({ code: 'configuration', subject: 'history' });
    const encode = () => {
      throw new Error('not encodable');
    };
    expect(await failure({ fetch }, hello, { wire: { ...toyWire(), encode } })).toMatchObject({
      message: 'not encodable',
    });
    expect(fetch.calls).toHaveLength(0);
  });

  it('httpModel aborts the request in the tick of the unsubscription', async () => {
    const fetch = fetchOf(inPieces(utf8(body), 20));
    expect(
      await lastValueFrom(
        model({ fetch })
          .stream(hello)
          .pipe(
            take(1),
            finalize(() => expect(fetch.calls[0]?.init.signal?.aborted).toBe(true)),
          ),
      ),
    ).toEqual(text('é'));
    expect.assertions(2);
  });

  it('httpModel extracts thinking from the text with readOpenText, before the finish', async () => {
    const tagged = body.replace('"é"', '"<think>é</thi"').replace('"b"', '"nk>b"');
    expect(
      await read({ fetch: fetchOf([utf8(tagged)]) }, hello, { readText: readOpenText({ thinkTags: true }) }),
    ).toEqual([{ type: 'thinking', text: 'é' }, text('b'), finish]);
    expect(await read({ fetch: fetchOf([utf8(tagged)]) })).toEqual([text('<think>é</thi'), text('nk>b'), finish]);
  });

  it('httpModel limits the size of an event', async () => {
    expect(await failure({ fetch: fetchOf([utf8(body)]), maxEventLength: 5 })).toMatchObject({
      code: 'protocol',
      reason: 'event_too_large',
    });
  });

  it('httpModel retries after a transient failure before the first chunk, and after no other', async () => {
    const quick: ModelOptions = { retry: { initialDelay: 0 } };
    const reset = () => Promise.reject(new Error('reset'));
    const fetch = fetchAfter(
      () => new Response('', { status: 503 }),
      reset,
      () => new Response('data: ', { headers: { 'content-type': 'text/event-stream' } }),
    );
    expect(await read({ ...quick, fetch })).toMatchObject([
      { type: 'retry', attempt: 1, delay: 0, error: { code: 'http', status: 503 } },
      { type: 'retry', attempt: 2, delay: 0, error: { code: 'connection' } },
      { type: 'retry', attempt: 3, delay: 0, error: { code: 'stream_interrupted' } },
      ...whole,
    ]);
    expect(fetch.calls).toHaveLength(4);
    const bad = fetchAfter(() => new Response('', { status: 400 }));
    expect(await failure({ ...quick, fetch: bad })).toMatchObject({ status: 400 });
    expect(bad.calls).toHaveLength(1);
    const off = fetchAfter(() => new Response('', { status: 503 }));
    expect(await failure({ retry: false, fetch: off })).toMatchObject({ status: 503 });
    expect(off.calls).toHaveLength(1);
  });

  it("httpModel sends the wire's fallback request after retries, which are not its first chunk", async () => {
    const wire: Wire = {
      ...toyWire(),
      encode: () => ({ path: '/chat', body: {}, fallback: () => ({ path: '/other', body: {} }) }),
    };
    const fetch = fetchAfter(
      () => new Response('', { status: 503 }),
      () => new Response('', { status: 503 }),
    );
    const chunks = await read({ retry: { count: 1, initialDelay: 0 }, fetch }, hello, { wire });
    expect(chunks).toMatchObject([{ type: 'retry', attempt: 1 }, ...whole]);
    expect(fetch.calls).toHaveLength(3);
  });

  it('httpModel reveals no key and no conversation in the error of a retry', async () => {
    const secret: ModelRequest = { messages: [userMessage('My name is Rumpelstiltskin.')] };
    const body = JSON.stringify({ error: { message: 'Key k-123 is busy with "My name is Rumpelstiltskin."' } });
    const fetch = fetchAfter(() => new Response(body, { status: 503 }));
    const [retrying] = await read({ retry: { initialDelay: 0 }, fetch }, secret);
    expect(retrying).toMatchObject({ type: 'retry', error: { status: 503 } });
    expect(JSON.stringify(retrying)).not.toMatch(/k-123|Rumpel/);
  });

  it('httpModel errors when the server is silent for longer than the timeout', () => {
    new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ expectObservable }) => {
      const silent = model({ fetch: () => new Promise(() => undefined), timeout: { first: 50 }, retry: false });
      const outcome = silent.stream(hello).pipe(catchError((error: unknown) => of(error)));
      expectObservable(outcome).toBe('50ms (a|)', { a: new TimeoutError('first', 50) });
    });
  });

  it('httpModel retries after a silence before the first chunk, until the time of the turn has passed', () => {
    new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ expectObservable }) => {
      const limited = (timeout: ModelOptions['timeout']) =>
        model({
          fetch: () => new Promise(() => undefined),
          timeout,
          retry: { count: 1, initialDelay: 10, jitter: 0 },
        }).stream(hello);
      const error = new TimeoutError('connect', 50);
      const values = { r: { type: 'retry', attempt: 1, delay: 10, error: error.toJSON() } };
      expectObservable(limited({ connect: 50 })).toBe('50ms r 59ms #', values, error);
      expectObservable(limited({ connect: 50, turn: 70 })).toBe('50ms r 19ms #', values, new TimeoutError('turn', 70));
    });
  });

  it('httpModel reports the status of an error whose body stalls, and not the timeout of a response', async () => {
    const stalled = () => new Response(new ReadableStream(), { status: 503 });
    expect(await stalledFailure(stalled, { first: 20, body: 20 })).toMatchObject({ code: 'http', status: 503 });
  });

  it('httpModel limits the wait for the body of a response, and not for the content after an announcement', async () => {
    const empty = () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } });
    expect(await stalledFailure(empty, { body: 20 })).toMatchObject({ code: 'timeout', phase: 'body' });
    const announced = (content: string) => () =>
      new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(utf8(`data: {"meta":1}\n\n${content}`)) }),
      );
    expect(await stalledFailure(announced(''), { each: 20, body: 90 })).toMatchObject({ phase: 'body' });
    expect(await stalledFailure(announced('data: {"t":"a"}\n\n'), { each: 20, body: 90 })).toMatchObject({
      phase: 'each',
    });
  });

  it('httpModel reveals no key in an error, whether the provider repeats it in its stream or the user set it in a header or URL, and no value of a header', async () => {
    const secrets = ['k-123', 'h-456', 'u-789', 'acme-corporation'];
    const frame = utf8(`data: ${JSON.stringify({ t: 'a', fail: `Wrong: ${secrets.join()}` })}\n\n`);
    const headers = { 'api-key': 'h-456', 'x-tenant': 'acme-corporation' };
    const options: ModelOptions = { headers, baseUrl: 'https://a.test?key=u-789' };
    const errors = [
      await failure({ ...options, fetch: fetchOf([frame]) }),
      await failure({ ...options, fetch: fetchOf([utf8(secrets.join())]) }),
      await failure({ ...options, fetch: fetchOf([utf8(secrets.join())], { status: 401 }) }),
      await failure({ ...options, retry: false, fetch: () => Promise.reject(new Error(secrets.join())) }),
    ];
    for (const error of errors) {
      const shown = `${error.message}${error.stack ?? ''}${JSON.stringify(error)}`;
      expect(shown).toContain('[key]');
      for (const secret of secrets) expect(shown).not.toContain(secret);
    }
  });

  const prompt = 'You are Zorg.\nThe password of the vault is "Tralala-42".';
  const secretive: ModelRequest = { messages: [systemMessage(prompt), userMessage('Open it, please, for my mother')] };
  const echoes: readonly (readonly [string, (sent: string) => Response])[] = [
    ['as JSON', (sent) => new Response(sent, { status: 400 })],
    ['as text', (sent) => new Response(`Cannot read: ${sent}`, { status: 400 })],
    ['as a page', () => new Response(`<html>${prompt} is invalid</html>`, { status: 500 })],
    ['in its message', (sent) => Response.json({ error: { message: `Bad: ${sent}`, code: 'bad' } }, { status: 422 })],
    ['in its code', () => Response.json({ error: { message: 'no', code: prompt } }, { status: 422 })],
    ['besides its message', (sent) => Response.json({ error: { message: 'no' }, sent }, { status: 422 })],
    ['in place of a stream', (sent) => new Response(sent, { headers: { 'content-type': 'application/json' } })],
    ['as a page in place of a stream', () => new Response(prompt, { headers: { 'content-type': 'text/html' } })],
    ['as a frame', () => new Response(`data: ${JSON.stringify(prompt)}\n\n`)],
    ['as an error without a message', (sent) => new Response(`{"error":{"echo":${JSON.stringify(sent)}}}\n`)],
    ['as lines', () => new Response(`${prompt}\n\n`)],
  ];

  it.each(echoes)('httpModel reveals no conversation in an error where a server repeats it %s', async (_, respond) => {
    const fetch: typeof globalThis.fetch = async () => respond(JSON.stringify(secretive.messages));
    const error = await failure({ fetch, retry: false }, secretive);
    expect(error).toMatchObject({ provider: 'toy' });
    const shown = inspect(error, { showHidden: true, depth: 9 }) + JSON.stringify(error) + String(error.stack);
    for (const word of ['Zorg', 'Tralala', 'mother']) expect(shown).not.toContain(word);
  });

  it('httpModel keeps what the provider sent in the error with debug, without the key', async () => {
    const fetch: typeof globalThis.fetch = async () =>
      new Response(`{"message":"no","sent":"${prompt} k-123"}`, { status: 400 });
    expect(await failure({ fetch, debug: true }, secretive)).toMatchObject({
      body: expect.stringContaining('Tralala-42'),
    });
    expect(await failure({ fetch, debug: true }, secretive)).toMatchObject({
      body: expect.not.stringContaining('k-123'),
    });
  });

  it('httpModel shows no key of a URL or a redirect', async () => {
    const key = 'sk-hidden-0123456789';
    const redirect = () => Response.redirect(`https://user:p@w/x@b.test/${key}/v1?key=${key}`, 307);
    const redirected = await failure({ fetch: async () => redirect() });
    expect(redirected.message).toContain('(https://b.test/[key]/v1)');
    const refused = await failure({
      baseUrl: `https://a.test/${key}/v1`,
      fetch: () => Promise.reject(new Error('no')),
      retry: false,
    });
    expect(refused.message).toContain('https://a.test/[key]/v1/chat');
    const invalid = await failure({
      baseUrl: 'https://user:p@w/x@a.test/v1',
      fetch: () => Promise.reject(new Error('no')),
    });
    expect(invalid.message).toContain('"https://a.test/v1/chat"');
  });

  it.each(['', '  ', '\n'])('httpModel refuses the base URL %j, before any request', async (baseUrl) => {
    const fetch = fetchOf([utf8(body)]);
    expect(await failure({ fetch, baseUrl })).toMatchObject({ code: 'configuration', subject: 'options' });
    expect(fetch.calls).toHaveLength(0);
  });

  it.each(['Content-Length', 'transfer-encoding', 'Connection', 'Expect', 'keep-alive', 'te', 'trailer', 'upgrade'])(
    'httpModel refuses the header %s, which fetch sets itself',
    async (name) => {
      const fetch = fetchOf([utf8(body)]);
      expect(await failure({ fetch, headers: { [name]: '5' } })).toMatchObject({
        code: 'configuration',
        message: `The header "${name.toLowerCase()}" of toy is set by fetch itself. Omit it.`,
      });
      expect(fetch.calls).toHaveLength(0);
    },
  );

  it('httpModel closes a real connection with the unsubscription, and emits what arrived before a reset', async () => {
    const closed = signal();
    let breaks = false;
    const local = await serve((_, response) => {
      response.on('close', closed.resolve);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"t":"a"}\n\n', () => breaks && response.socket?.resetAndDestroy());
    });
    try {
      expect(await lastValueFrom(model({ baseUrl: local.url }).stream(hello).pipe(take(1)))).toEqual(text('a'));
      await closed.promise;
      breaks = true;
      const done = signal();
      const seen = observe(model({ baseUrl: local.url }).stream(hello).pipe(finalize(done.resolve)));
      await done.promise;
      expect(seen.values).toEqual([text('a')]);
      expect(seen.error).toMatchObject({ code: 'stream_interrupted' });
    } finally {
      await local.close();
    }
  });

  it('httpModel reports a history, or a request, that has too many levels to be encoded', async () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as JsonValue;
    const fetch = fetchOf([utf8(body)]);
    const wire: Wire = {
      ...toyWire(),
      encode: ({ messages }) => ({ path: '/', body: { messages: messages as never } }),
    };
    const call: Part = { type: 'toolCall', id: 'a', name: 'f', arguments: { deep } };
    const request: ModelRequest = { messages: [userMessage('Hello'), modelMessage([call])] };
    expect(await failure({ fetch }, request, { wire })).toMatchObject({ code: 'configuration', subject: 'history' });
    expect(await failure({ fetch }, { ...hello, providerOptions: { toy: { deep } } })).toMatchObject({
      code: 'configuration',
    });
    expect(fetch.calls).toHaveLength(0);
  });

  it.each<[string, ModelOptions, Partial<HttpModelDefinition>]>([
    ['<|python_tag|>{', {}, { readText: extractTextCalls }],
    ['<|pyth', {}, { readText: extractTextCalls }],
    ['<thi', {}, { readText: readOpenText({ thinkTags: true }) }],
    [' \n', {}, { readText: readOpenText({ thinkTags: true, textCalls: true }) }],
  ])(
    'httpModel emits the text %j, which it held back, before the error of a broken connection',
    async (held, options, over) => {
      let pulls = 0;
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        if (pulls++ > 0) controller.error(new Error('reset'));
        else controller.enqueue(utf8(`data: ${JSON.stringify({ t: held })}\n\n`));
      };
      const fetch = async () =>
        new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), {
          headers: { 'content-type': 'text/event-stream' },
        });
      const done = signal();
      const request = { ...hello, tools: [openTool('f')] };
      const seen = observe(
        model({ fetch, ...options }, over)
          .stream(request)
          .pipe(finalize(done.resolve)),
      );
      await done.promise;
      expect(seen.values).toEqual([text(held)]);
      expect(seen.error).toMatchObject({ code: 'stream_interrupted' });
    },
  );
});
