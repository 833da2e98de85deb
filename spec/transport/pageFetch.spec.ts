import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { isObservable, of, retry, Subject, tap, type Observable } from 'rxjs';
import { HttpError } from '../../lib/core/errors.js';
import type { Reconnection } from '../../lib/core/connectionEvents.js';
import { fromServerSentEvents } from '../../lib/transport/fromServerSentEvents.js';
import type { FromServerSentEventsOptions, RunRequest } from '../../lib/transport/fromServerSentEvents.js';
import {
  addressOf,
  answerTimeout,
  contentTypeError,
  createRetryDelay,
  pageFetch,
  requireReconnection,
  statusError,
} from '../../lib/transport/pageFetch.js';
import { helloText } from '../../lib/transport/serverSentEvents.js';

/** What the server does with one request. */
type Answer = (signal: AbortSignal) => Promise<Response>;

const never = (signal: AbortSignal) =>
  new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
const silent: Answer = never;
const reset: Answer = () => Promise.reject(new TypeError('reset'));
const status = (code: number, retryAfter?: number): Answer => {
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  return () => Promise.resolve(new Response('<h1>no</h1>', { status: code, headers }));
};
const right: Answer = () => Promise.resolve(new Response('right'));

/** A response whose body sends the texts, and ends if `ends`. */
const stream =
  (texts: readonly string[], ends = false): Answer =>
  () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
        if (ends) controller.close();
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };

const hello = helloText({ heartbeat: 4000 });
const start = 'event: start\nid: 0\ndata: {}\n\n';
const event = 'id: 1\ndata: {"type":"text","text":"Hi"}\n\n';
const end = 'event: end\ndata: {}\n\n';
const whole = stream([hello, start, event, end], true);

interface Outcome {
  /** When the server received a request, in milliseconds. */
  readonly at: readonly number[];
  readonly reasons: readonly Reconnection['reason'][];
  readonly end: unknown;
}

/** A server that gives the answers in turn, the last one again and again. */
function serverOf(answers: readonly Answer[]) {
  const at: number[] = [];
  const sent: (string | null)[] = [];
  const began = Date.now();
  const fetch: typeof globalThis.fetch = (_, init) => {
    const answer = answers[Math.min(at.length, answers.length - 1)];
    at.push(Date.now() - began);
    sent.push(new Headers(init?.headers).get('authorization'));
    if (!answer || !init?.signal) throw new Error('The request has no signal.');
    return answer(init.signal);
  };
  return { at, sent, fetch };
}

/** Lets virtual time pass, with the turns that promises and streams need. */
async function pass(milliseconds: number) {
  for (let passed = 0; passed < milliseconds; passed += 500) {
    for (let turns = 0; turns < 6; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    await jest.advanceTimersByTimeAsync(500);
  }
  for (let turns = 0; turns < 6; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Begins virtual time. A delay has no jitter if `random` is 0. */
function begin(random = 0) {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  jest.spyOn(Math, 'random').mockReturnValue(random);
}

function endOf(thrown: unknown): string {
  if (thrown instanceof HttpError)
    return [thrown.name, thrown.status, thrown.retryAfter].filter((part) => part !== undefined).join(' ');
  return thrown instanceof Error ? thrown.name : String(thrown);
}

type Options = FromServerSentEventsOptions & Pick<RunRequest, 'headers'>;

/** Sends a request that is not a stream, as a stop or a write of a chat. */
async function play(answers: readonly Answer[], options: Options = {}, body = '', time = 100_000) {
  const { at, sent, fetch } = serverOf(answers);
  const reasons: Reconnection['reason'][] = [];
  let last: unknown = 'open';
  const all = { retries: 1, ...options, fetch };
  const subscription = pageFetch(all, '/chat', { method: 'PUT', body })
    .pipe(
      tap(([response]) => {
        if (!response.ok) throw statusError(response);
      }),
      retry({ delay: createRetryDelay(all, undefined, ({ reason }) => reasons.push(reason)) }),
    )
    .subscribe({ next: ([, text]) => (last = text), error: (thrown: unknown) => (last = endOf(thrown)) });
  await pass(time);
  subscription.unsubscribe();
  const outcome: Outcome = { at, reasons, end: last };
  return { ...outcome, sent };
}

/** Reads a run, as `remoteAgent` does. */
async function read(answers: readonly Answer[], options: Options = {}, time = 100_000) {
  const { at, sent, fetch } = serverOf(answers);
  const reasons: Reconnection['reason'][] = [];
  let last: unknown = 'open';
  const { headers, ...rest } = options;
  const subscription = fromServerSentEvents(
    '/chat',
    { headers },
    { retries: 1, joins: true, ...rest, fetch, onReconnect: ({ reason }) => reasons.push(reason) },
  ).subscribe({ complete: () => (last = 'right'), error: (thrown: unknown) => (last = endOf(thrown)) });
  await pass(time);
  subscription.unsubscribe();
  const outcome: Outcome = { at, reasons, end: last };
  return { ...outcome, sent };
}

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

type Row = readonly [string, readonly Answer[], Options, Outcome];
const tokens = () => {
  let asked = 0;
  return () => ({ authorization: String((asked += 1)) });
};

describe('a request of a page', () => {
  const rows: readonly Row[] = [
    ['right', [right], {}, { at: [0], reasons: [], end: 'right' }],
    ['no answer, then right', [silent, right], {}, { at: [0, 31_000], reasons: ['silent'], end: 'right' }],
    ['no answer', [silent], {}, { at: [0, 31_000], reasons: ['silent'], end: 'StreamInterruptedError' }],
    ['reset, then right', [reset, right], {}, { at: [0, 1000], reasons: ['offline'], end: 'right' }],
    ['reset', [reset], {}, { at: [0, 1000], reasons: ['offline'], end: 'ConnectionError' }],
    ['503, then right', [status(503), right], {}, { at: [0, 1000], reasons: ['busy'], end: 'right' }],
    ['502', [status(502)], {}, { at: [0, 1000], reasons: ['busy'], end: 'HttpError 502' }],
    ['429 with 10 s', [status(429, 10), right], {}, { at: [0, 10_000], reasons: ['busy'], end: 'right' }],
    ['429 with an hour', [status(429, 3600)], {}, { at: [0], reasons: [], end: 'HttpError 429 3600000' }],
    ['403', [status(403)], { headers: tokens() }, { at: [0], reasons: [], end: 'HttpError 403' }],
    ['404', [status(404)], {}, { at: [0], reasons: [], end: 'HttpError 404' }],
    ['413', [status(413)], {}, { at: [0], reasons: [], end: 'HttpError 413' }],
    ['401, then right', [status(401), right], { headers: tokens() }, { at: [0, 0], reasons: [], end: 'right' }],
    ['401', [status(401)], { headers: tokens() }, { at: [0, 0], reasons: [], end: 'HttpError 401' }],
    ['401 and fixed headers', [status(401)], { headers: {} }, { at: [0], reasons: [], end: 'HttpError 401' }],
    [
      '401 without retries, then right',
      [status(401), right],
      { headers: tokens(), retries: 0 },
      { at: [0, 0], reasons: [], end: 'right' },
    ],
    [
      '401 costs no retry',
      [status(401), reset, right],
      { headers: tokens() },
      { at: [0, 0, 1000], reasons: ['offline'], end: 'right' },
    ],
  ];
  it.each(rows)('pageFetch: %s', async (_, answers, options, outcome) => {
    begin();
    expect(await play(answers, options)).toMatchObject(outcome);
  });

  it.each(rows.filter(([title]) => title !== '404'))(
    'fromServerSentEvents: %s',
    async (_, answers, options, outcome) => {
      begin();
      const streamed = answers.map((answer) => (answer === right ? whole : answer));
      expect(await read(streamed, options)).toMatchObject(outcome);
    },
  );

  it('pageFetch gives a large body more time', async () => {
    begin();
    expect(await play([silent], { retries: 0 }, 'a'.repeat(200_000), 49_000)).toMatchObject({ end: 'open' });
    expect(await play([silent], { retries: 0 }, 'a'.repeat(200_000), 51_000)).toMatchObject({
      end: 'StreamInterruptedError',
    });
  });

  it.each([
    [0, 8000],
    [0.5, 6000],
    [1, 4000],
  ])('a delay before a retry has jitter: %d', async (random, delay) => {
    begin(random);
    const delays: number[] = [];
    const delayOf = createRetryDelay(
      {},
      () => true,
      (notice) => delays.push(notice.delay),
    );
    expect(isObservable(delayOf(new Error('broken'), 4))).toBe(true);
    expect(delays).toEqual([delay]);
  });

  it.each([
    ['a function', tokens],
    [
      'a Promise',
      () =>
        (
          (next) => () =>
            Promise.resolve(next())
        )(tokens()),
    ],
    [
      'an Observable',
      () =>
        (
          (next) => () =>
            of(next())
        )(tokens()),
    ],
  ])('headers are asked for each attempt: %s', async (_, create) => {
    begin();
    expect((await play([reset, right], { headers: create() })).sent).toEqual(['1', '2']);
    expect((await read([reset, whole], { headers: create() })).sent).toEqual(['1', '2']);
  });
});

/** A token that is renewed while the page tries again. */
const expired: Outcome = { at: [0, 1000, 3000, 7000], reasons: ['offline', 'busy', 'busy'], end: 'right' };

describe('a run that a page reads', () => {
  const half = hello.slice(0, 8);
  const broken = stream([hello, start, event], true);
  const failed = (retryable: boolean) =>
    `event: failed\nid: 2\ndata: ${JSON.stringify({ code: 'timeout', message: 'The run took too long.', retryable })}\n\n`;
  const failedRun: Outcome = { at: [0], reasons: [], end: 'RemoteRunError' };
  it.each<Row>([
    ['silence after events', [stream([hello, start, event]), whole], {}, again(11_000, 'silent')],
    ['silence after hello', [stream([hello]), whole], {}, again(11_000, 'silent')],
    ['silence after half of hello', [stream([half]), whole], {}, again(31_000, 'silent')],
    ['an end without an end mark', [stream([hello, start, event], true), whole], {}, again(1000, 'offline')],
    ['403 after events, then right', [broken, status(403), status(403), whole], { retries: 5 }, expired],
    ['a failed run, retryable', [stream([hello, start, event, failed(true)]), whole], {}, failedRun],
    ['a failed run, not retryable', [stream([hello, start, failed(false)]), whole], {}, failedRun],
    ['silence without heartbeat', [stream([start, event])], {}, { at: [0], reasons: [], end: 'open' }],
    [
      '401, progress, a break, then 401 again',
      [status(401), stream([hello, start, event], true), status(401), whole],
      { headers: tokens() },
      { at: [0, 0, 1000, 1000], reasons: ['offline'], end: 'right' },
    ],
  ])('fromServerSentEvents: %s', async (_, answers, options, outcome) => {
    begin();
    expect(await read(answers, options)).toMatchObject(outcome);
  });

  it('fromServerSentEvents does not repeat a request whose run the server cannot join', async () => {
    begin();
    const { at, end: thrown } = await read([silent], { joins: false });
    expect([at, thrown]).toEqual([[0], 'StreamInterruptedError']);
  });

  function again(at: number, reason: Reconnection['reason']): Outcome {
    return { at: [0, at], reasons: [reason], end: 'right' };
  }
});

/** Plays in a page whose events a spec sends. */
async function inPage(visibilityState: string, play: (send: (name: string) => void) => Promise<void>) {
  begin();
  const page = Object.assign(new EventTarget(), { visibilityState });
  const target = new EventTarget();
  const names = ['document', 'addEventListener', 'removeEventListener'] as const;
  const before = names.map((key) => [key, Object.getOwnPropertyDescriptor(globalThis, key)] as const);
  Object.defineProperties(globalThis, {
    document: { value: page, configurable: true },
    addEventListener: { value: target.addEventListener.bind(target), configurable: true },
    removeEventListener: { value: target.removeEventListener.bind(target), configurable: true },
  });
  try {
    await play((name) => (name === 'online' ? target : page).dispatchEvent(new Event(name)));
  } finally {
    for (const [key, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, key, descriptor);
      else Reflect.deleteProperty(globalThis, key);
    }
  }
}

describe('a page that wakes up', () => {
  it.each([
    ['online', reset, 'visible', 2],
    ['visibilitychange', reset, 'visible', 2],
    ['visibilitychange', reset, 'hidden', 1],
    ['online', status(503), 'visible', 1],
  ] as const)('%s ends the delay of an absent server', (name, answer, visibilityState, requests) =>
    inPage(visibilityState, async (send) => {
      const { at, fetch } = serverOf([answer, whole]);
      const run = fromServerSentEvents('/chat', {}, { retryDelay: 20_000, joins: true, fetch }).subscribe();
      await pass(1000);
      send(name);
      await pass(1000);
      run.unsubscribe();
      expect(at).toHaveLength(requests);
    }),
  );

  it.each([
    ['online', 'visible', 1000, 2],
    ['visibilitychange', 'visible', 5000, 2],
    ['visibilitychange', 'visible', 1000, 1], // a heartbeat is not missing yet
    ['visibilitychange', 'hidden', 5000, 1],
  ] as const)('%s while %s leaves a connection that is silent for %i ms: %i requests', (name, state, time, requests) =>
    inPage(state, async (send) => {
      const { at, fetch } = serverOf([stream([hello, start, event]), whole]);
      const run = fromServerSentEvents('/chat', {}, { joins: true, fetch }).subscribe();
      await pass(time);
      send(name);
      await pass(2000);
      run.unsubscribe();
      expect(at).toHaveLength(requests);
    }),
  );

  it('reconnect ends any delay', async () => {
    begin();
    const reconnect = new Subject<void>();
    const { at, fetch } = serverOf([status(503), whole]);
    const run = fromServerSentEvents('/chat', {}, { retryDelay: 20_000, joins: true, fetch, reconnect }).subscribe();
    await pass(1000);
    reconnect.next();
    await pass(1000);
    run.unsubscribe();
    expect(at).toEqual([0, 1000]);
  });
});

describe('what a person reads of a refused request', () => {
  const refused = (code: number, headers: Record<string, string> = {}, body?: string) =>
    statusError(new Response(null, { status: code, headers }), body);

  it.each([
    [401, 'You are not signed in (status 401).', false],
    [403, 'You are not allowed to do this (status 403).', false],
    [413, 'This is too large for the server (status 413).', false],
    [429, 'There are too many requests at the moment (status 429).', true],
    [499, 'The server refused the request (status 499).', false],
    [500, 'The server is not available at the moment (status 500).', true],
  ])('statusError(%d) is: %s', (code, message, retryable) => {
    expect(refused(code)).toMatchObject({ provider: 'the server', status: code, message, retryable });
    expect(refused(code, {}, '<h1>no</h1>').message).toBe(message);
  });

  it.each([
    ['a sentence', { message: 'Closed.' }, { message: 'Closed.', providerCode: undefined, params: undefined }],
    ['a long sentence', { message: 'x'.repeat(501) }, { message: 'x'.repeat(500) }],
    [
      'a code and values',
      { message: 'No.', code: 'full', params: { of: 3 } },
      { providerCode: 'full', params: { of: 3 } },
    ],
    ['an empty sentence', { message: '', code: '' }, { message: 'The server refused the request (status 400).' }],
    ['values that are a list', { message: 'No.', params: [1] }, { params: undefined }],
  ])('statusError has %s of the service', (_, error, expected) => {
    expect(refused(400, {}, JSON.stringify({ error }))).toMatchObject(expected);
  });

  it.each([
    ['60', 60_000, ''],
    ['61', 61_000, ' Try again in 2 minutes.'],
    ['3600', 3_600_000, ' Try again in 60 minutes.'],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000, ''],
    ['soon', undefined, ''],
    ['0', undefined, ''],
    ['-5', undefined, ''],
  ])('statusError after Retry-After: %s', (header, retryAfter, advice) => {
    jest.spyOn(Date, 'now').mockReturnValue(Date.UTC(2026, 0, 1));
    const error = refused(429, { 'retry-after': header });
    expect(error.retryAfter).toBe(retryAfter);
    expect(error.message).toBe(`There are too many requests at the moment (status 429).${advice}`);
  });

  it('contentTypeError names the type that came', () => {
    const typed = new Response(null, { headers: { 'content-type': 'text/html' } });
    expect(contentTypeError(typed, 'JSON').message).toBe('The server answered 200 with text/html instead of JSON.');
    expect(contentTypeError(new Response(null), 'JSON').message).toContain('with no content type instead');
  });

  it.each([
    ['/a', {}, '/a'],
    ['/a', { b: 'c d' }, '/a?b=c+d'],
    ['/a?x=1', { b: 'c', d: 'e' }, '/a?x=1&b=c&d=e'],
  ])('addressOf(%j, %j) is %j', (url, query, address) => {
    expect(addressOf(url, query)).toBe(address);
  });

  it('answerTimeout is 30 s, and a second for each 10,000 bytes', () => {
    expect([answerTimeout(), answerTimeout('a'.repeat(10_000))]).toEqual([30_000, 31_000]);
  });

  it.each(['retries', 'retryDelay'])('requireReconnection names %s when it is not a number from 0', (name) => {
    expect(() => requireReconnection({ [name]: -1 })).toThrow(name);
    expect(() => requireReconnection({ [name]: NaN })).toThrow(name);
    expect(() => requireReconnection({ [name]: 0 })).not.toThrow();
  });
});

describe('a redirect', () => {
  it.each(['GET', 'PATCH', 'DELETE', 'PUT', 'POST'])('is not followed with the token to another host: %s', (method) => {
    const sent: (RequestInit | undefined)[] = [];
    const fetch = (_: unknown, init?: RequestInit) => {
      sent.push(init);
      return never(init?.signal ?? AbortSignal.abort());
    };
    const options = { fetch, headers: { authorization: 'Bearer token' } };
    const request$: Observable<unknown> =
      method === 'POST' ? fromServerSentEvents('/run', options, options) : pageFetch(options, '/run', { method });
    request$.subscribe().unsubscribe();
    expect(sent).toMatchObject([{ method, redirect: 'manual', headers: options.headers }]);
  });
});
