import { describe, expect, it } from '@jest/globals';
import { catchError, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { contentTypeError, retryAfter, statusError } from '../../lib/protocol/errorResponse.js';
import { failureOf, fetchOf, requestTo, utf8 } from './wires.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);
const messageOf = (source: Observable<never>) =>
  source.pipe(catchError((error: unknown) => of(error instanceof Error && error.message)));
const responding = (body: string, init: ResponseInit) => requestTo({ fetch: fetchOf([utf8(body)], init) });

describe('statusError', () => {
  it("statusError has the provider's message and code, the id of the request, and the body", async () => {
    const body = JSON.stringify({
      error: { message: 'Incorrect API key provided.', type: 'invalid_request_error', code: 'invalid_api_key' },
    });
    expect(await failureOf(responding(body, { status: 401, headers: { 'x-request-id': 'req_1' } }))).toMatchObject({
      code: 'http',
      status: 401,
      retryable: false,
      providerCode: 'invalid_api_key',
      requestId: 'req_1',
      body,
      message: 'toy answered 401: Incorrect API key provided (invalid_api_key). Check the API key and its permissions.',
    });
  });

  it.each(['{"error":', '{"error":{"metadata":', '['])('statusError reads a body of 5,000 times %j', async (level) => {
    const closing = level.replace(/[^[{]/g, '').replaceAll('{', '}').replaceAll('[', ']');
    const body = `${level.repeat(5_000)}1${closing.repeat(5_000)}`;
    expect(await failureOf(responding(body, { status: 400 }))).toMatchObject({ code: 'http', status: 400 });
    expect(await failureOf(responding(body, { headers: { 'content-type': 'text/html' } }))).toMatchObject({
      code: expect.stringMatching('protocol|provider'),
    });
  });

  it('statusError reads an error that was sent as an event', async () => {
    for (const before of ['data: ', 'event: error\ndata:']) {
      const body = `${before}{"error":{"message":"Bad model","code":"no_model"}}\n\n`;
      expect(await failureOf(responding(body, { status: 404 }))).toMatchObject({
        providerCode: 'no_model',
        message: expect.stringContaining('404: Bad model (no_model).'),
      });
    }
  });

  it.each([
    ['<html>\n  Bad gateway</html>', '', '502: Bad gateway.'],
    ['', 'Bad Gateway', '502: Bad Gateway.'],
    ['{}', '', '502: no explanation.'],
    ['{"echo":"You are Zorg"}', 'Bad Gateway', '502: Bad Gateway.'],
    ['', '', '502: no explanation.'],
  ])('statusError for the body %j and the status text %j says %j', async (body, statusText, message) => {
    expect((await failureOf(responding(body, { status: 502, statusText }))).message).toContain(message);
  });

  it.each([
    ['', '502: no explanation. Try'],
    [' {"error":{"message":"  Cut in the mid', '502: Cut in the mid. Try'],
    ['x {"error":{"message":"Cut', '502: no explanation. Try'],
    ['{"error":{"message":"1.5 is too hot. Cool down."}}', '502: 1.5 is too hot. Cool down. Try'],
    ['\n event: error\n data:{"error":{"message":"Bad"}}', '502: Bad. Try'],
  ])('statusError reads the reason of %j', async (body, message) => {
    expect((await failureOf(responding(body, { status: 502 }))).message).toContain(message);
  });

  it.each([
    [500, 'Try again later.'],
    [499, 'Change the request.'],
    [400, 'Change the request.'],
    [405, "Check the model's name and baseUrl."],
    [408, 'Try again later.'],
    [403, 'Check the API key and its permissions.'],
  ])('statusError for %i says: %s', async (status, next) => {
    expect((await failureOf(responding('', { status }))).message).toContain(next);
  });

  it('statusError has the first id of the request, and none of an empty header', async () => {
    const idOf = async (headers: Record<string, string>) =>
      (await failureOf(responding('', { status: 500, headers }))) as unknown as { requestId?: string };
    expect(await idOf({ 'x-request-id': '', 'cf-ray': 'c' })).toMatchObject({ requestId: 'c' });
    expect((await idOf({})).requestId).toBe(undefined);
  });

  it.each([
    [401, 'Check the API key and its permissions.'],
    [402, 'Check the credit of the account.'],
    [404, "Check the model's name and baseUrl."],
    [409, 'Try again later.'],
    [413, 'Send less: a shorter history, smaller files.'],
    [422, 'Change the request.'],
    [429, 'Wait, send fewer requests at a time, or ask for a higher limit.'],
    [503, 'Try again later.'],
  ])('statusError for %i says what to do next', async (status, next) => {
    expect((await failureOf(responding('', { status }))).message).toContain(next);
  });

  it('statusError reports a redirect with its target, and without its query', async () => {
    const headers = { location: 'https://elsewhere.test/v1?key=secret' };
    expect(await failureOf(responding('', { status: 307, headers }))).toMatchObject({
      code: 'http',
      status: 307,
      message: expect.stringContaining('set baseUrl to their target (https://elsewhere.test/v1)'),
    });
  });

  it('statusError is retryable for 408, 409, 429 and server errors', async () => {
    for (const status of [400, 401, 403, 404, 422, 501, 408, 409, 429, 500, 503, 529]) {
      const retryable = [408, 409, 429].includes(status) || status >= 500;
      expect((await failureOf(responding('', { status }))).retryable).toBe(retryable);
    }
  });

  it('statusError reads no more than 64 KiB of a body, and what arrived of one that breaks', async () => {
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(utf8('x'.repeat(1000))) });
    const error = await failureOf(requestTo({ fetch: async () => new Response(endless, { status: 500 }) }));
    expect(error.body).toHaveLength(64 * 1024);
    let pulls = 0;
    const pull = (controller: ReadableStreamDefaultController) =>
      pulls++ ? controller.error(new Error('reset')) : controller.enqueue(utf8('half'));
    const broken = new ReadableStream({ pull }, { highWaterMark: 0 });
    expect(await failureOf(requestTo({ fetch: async () => new Response(broken, { status: 500 }) }))).toMatchObject({
      status: 500,
      body: 'half',
    });
  });

  it('statusError has the delay that the server asks for', async () => {
    expect(await failureOf(responding('', { status: 429, headers: { 'retry-after': '2' } }))).toMatchObject({
      retryAfter: 2000,
    });
    expect(await failureOf(responding('', { status: 429 }))).toMatchObject({ retryAfter: undefined });
  });
});

describe('contentTypeError', () => {
  it.each([
    ['text/html', '<html>Sign in</html>'],
    ['application/json; charset=utf-8', '{"choices":[]}'],
    ['application/x-ndjson', '{}'],
    ['image/png', 'png'],
  ])(
    'contentTypeError reports %s in place of a stream, with the text of the body, but JSON only in `received`',
    async (type, body) => {
      const error = await failureOf(responding(body, { headers: { 'content-type': type } }));
      expect(error).toMatchObject({ code: 'protocol', reason: 'content_type', received: body, retryable: false });
      expect(error.message.includes(body.replace(/<.*?>/g, ''))).toBe(!body.startsWith('{'));
      expect(error.message).toContain(type);
      expect(error.message).toContain('baseUrl');
    },
  );

  it("contentTypeError is the provider's error when that came in place of a stream, with status 200", async () => {
    const body = '{"error":{"message":"Too busy","code":503}}';
    const error = await failureOf(responding(body, { headers: { 'content-type': 'application/json' } }));
    expect(error).toMatchObject({ code: 'provider', providerCode: '503', retryable: true });
    expect(error.message).toContain('Too busy');
  });
});

describe('the body of an error response', () => {
  it('a body that never ends delays the error by five seconds at most, and what arrived is shown', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const body = cold('-a', { a: utf8('{"error":"Quota gone') });
      expectObservable(messageOf(statusError('toy', new Response('', { status: 403 }), body))).toBe('5s (m|)', {
        m: 'toy answered 403: Quota gone. Check the API key and its permissions.',
      });
      const page = cold('-a', { a: utf8('<html>Sign in') });
      const html = new Response('', { headers: { 'content-type': 'text/html' } });
      expectObservable(messageOf(contentTypeError('toy', html, page, 'text/event-stream'))).toBe('5s (m|)', {
        m: 'toy answered 200 with text/html instead of text/event-stream: "Sign in". Check baseUrl, and any proxy in between.',
      });
      for (const { subscriptions } of [body, page]) expectSubscriptions(subscriptions).toBe('^ 4999ms !');
    });
  });

  it('the body is unsubscribed with the error', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const body = cold('-a', { a: utf8('x') });
      expectObservable(statusError('toy', new Response('', { status: 500 }), body), '^--!').toBe('---');
      expectSubscriptions(body.subscriptions).toBe('^--!');
    });
  });
});

describe('retryAfter', () => {
  const delay = (headers: Record<string, string>, json?: unknown) => retryAfter(new Headers(headers), json);

  it('retryAfter reads milliseconds, or else seconds', () => {
    expect(delay({ 'retry-after': '2' })).toBe(2000);
    expect(delay({ 'retry-after': '0' })).toBe(0);
    expect(delay({ 'retry-after': '0.5' })).toBe(500);
    expect(delay({ 'retry-after': '2', 'retry-after-ms': '1500' })).toBe(1500);
    expect(delay({ 'retry-after': '2', 'retry-after-ms': 'x' })).toBe(2000);
  });

  it('retryAfter compares a date with the clock of RxJS, which a test can set', () => {
    const delays: (number | undefined)[] = [];
    new TestScheduler(() => undefined).run(({ cold }) => {
      cold('30s a 2m a').subscribe(() => delays.push(delay({ 'retry-after': 'Thu, 01 Jan 1970 00:01:30 GMT' })));
    });
    expect(delays).toEqual([60_000, 0]);
  });

  it("retryAfter reads the delay in the details of Google's errors", () => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.Help' },
      null,
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' },
    ];
    const error = { code: 429, message: 'Quota', status: 'RESOURCE_EXHAUSTED', details };
    for (const json of [{ error }, [{ error }]]) expect(delay({}, json)).toBe(34_500);
  });

  it('retryAfter ignores what is not a delay', () => {
    for (const value of ['soon', '-1', '', '1 s', 'Thu, 99 Foo'])
      expect(delay({ 'retry-after': value })).toBeUndefined();
    for (const json of [undefined, null, 'x', [], { error: 'x' }, { error: { details: 'x' } }])
      expect(delay({}, json)).toBeUndefined();
  });
});
