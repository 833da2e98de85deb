import { describe, expect, it } from '@jest/globals';
import { NEVER, concat, from, map, of, pipe, take, throwError } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { inspect } from 'node:util';
import { ProviderError, StreamInterruptedError } from '../../lib/core/errors.js';
import type { ProtocolError } from '../../lib/core/errors.js';
import { isDeeperThan } from '../../lib/core/json/depth.js';
import { decodeFrames, isAnswerContent } from '../../lib/protocol/decodeFrames.js';
import { ndjson } from '../../lib/protocol/ndjson.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { Frame, Wire } from '../../lib/protocol/wire.js';
import { observe } from '../support/observe.js';
import { finish, text, toyWire, utf8 } from './wires.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);
/** A frame as it appears in the body of a toy server. */
const bytesOf = ({ data, unterminated }: Frame) => utf8(`data: ${data}${unterminated ? '' : '\n\n'}`);
const frames = {
  a: { data: '{"t":"a"}' },
  b: { data: '{"t":"b"}' },
  s: { data: '{"stop":true}' },
  e: { data: '{"end":true}' },
  d: { data: ' [DONE]' },
} satisfies Record<string, Frame>;
const chunks = { a: text('a'), b: text('b'), f: finish, u: { type: 'finish', reason: 'unspecified' } as const };
const decode = (wire: Wire = toyWire(), debug = false) =>
  pipe(map(bytesOf), decodeFrames(wire, { provider: 'toy', redaction: () => ({ provider: 'toy', debug }) }));
const of_ = (...data: Frame[]) => observe(from(data).pipe(decode()));

/** An event of several `data` lines. */
const lines = (data: string): Frame => ({ data: data.replaceAll('\n', '\ndata: ') });

describe('decodeFrames', () => {
  it('decodeFrames emits each chunk with its frame, and the finish at the end of the body', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(cold('-a-b-s-|', frames).pipe(decode())).toBe('-a-b---(f|)', chunks);
    });
  });

  it("decodeFrames emits the finish with [DONE] or the decoder's own mark, and completes with the body", () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      for (const mark of ['d', 'e']) {
        const source = cold(`-a-s-${mark}--|`, frames);
        expectObservable(source.pipe(decode())).toBe('-a---f--|', chunks);
        expectSubscriptions(source.subscriptions).toBe('^-------!');
      }
      expectObservable(cold('-a-d|', frames).pipe(decode())).toBe('-a-u|', chunks);
    });
  });

  it('decodeFrames waits one second at most for the end of a body after the terminal mark', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-s-d-', frames);
      expectObservable(source.pipe(decode())).toBe('-a---f 999ms |', chunks);
      expectSubscriptions(source.subscriptions).toBe('^ 1004ms !');
    });
  });

  it('decodeFrames ignores whatever follows the terminal mark: frames, invalid frames, a reset', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(
        cold('-s-d-a-x-d-#', { ...frames, x: { data: '<html>' } }, new StreamInterruptedError('toy', 'reset')).pipe(
          decode(),
        ),
      ).toBe('---f-------|', chunks);
    });
  });

  it('decodeFrames errors with an interruption when the body ends without finish reason and terminal mark', () => {
    const { values, error } = of_(frames.a, { data: '{"t":"half', unterminated: true });
    expect(values).toEqual([text('a')]);
    expect(error).toMatchObject({ code: 'stream_interrupted', retryable: true });
    expect(of_()).toMatchObject({ error: { code: 'stream_interrupted' }, completed: false });
  });

  it('decodeFrames reads a last frame that is complete but not delimited', () => {
    expect(of_(frames.a, { ...frames.s, unterminated: true })).toMatchObject({
      values: [text('a'), finish],
      completed: true,
    });
    expect(of_(frames.a, frames.s, { data: '[DON', unterminated: true })).toMatchObject({
      values: [text('a'), finish],
      completed: true,
    });
    expect(of_(frames.a, { data: '[DONE]', unterminated: true })).toMatchObject({
      values: [text('a'), chunks.u],
      completed: true,
    });
  });

  it('decodeFrames forwards a reset before the terminal mark, after the chunks', () => {
    run(({ cold, expectObservable }) => {
      const reset = new StreamInterruptedError('toy', 'reset');
      expectObservable(cold('-a-b-#', frames, reset).pipe(decode())).toBe('-a-b-#', chunks, reset);
    });
  });

  it('decodeFrames reads an array of objects as one frame each, up to the terminal mark', () => {
    expect(of_({ data: '[{"t":"a"},{"t":"b"},{"stop":true},{"end":true},{"t":"c"}]' })).toMatchObject({
      values: [text('a'), text('b'), finish],
    });
  });

  it('decodeFrames errors with a protocol error when a frame is not a JSON object, which contains it with debug', () => {
    for (const data of ['<html>', '"text"', '[1]', 'null', '7', '{"t":']) {
      const { values, error } = of_(frames.a, { data }, frames.b);
      expect(values).toEqual([text('a')]);
      expect(error).toMatchObject({ code: 'protocol', reason: 'frame' });
      expect(error).not.toHaveProperty('received');
      const debugged = observe(from([frames.a, { data }]).pipe(decode(toyWire(), true)));
      expect(debugged.error).toMatchObject({ code: 'protocol', reason: 'frame', received: data });
    }
  });

  it('decodeFrames reads events that are separated by one line feed, and a terminal mark after the last one', () => {
    for (const data of [
      '{"t":"a"}\n{"t":"b"}\n{"stop":true}\n[DONE]\n{"t":"c"}',
      '{"t":"a"}\n\n{"t":"b"}\n{"stop":true}\n[DONE]',
    ])
      expect(of_(lines(data))).toMatchObject({ values: [text('a'), text('b'), finish], completed: true });
    expect(of_(lines('{"t":\n"a"}'), lines('{"stop":true}\n[DONE]')).values).toEqual([text('a'), finish]);
  });

  it.each([': keepalive', ': OPENROUTER PROCESSING', ':', 'ping', 'keep-alive', ': one\n: two'])(
    'decodeFrames skips the keep-alive %j that is sent as data',
    (data) => {
      const end = lines('{"stop":true}\n[DONE]');
      expect(of_(lines(data), frames.a, lines(data), lines(`${data}\n{"t":"b"}`), end).values).toEqual([
        text('a'),
        text('b'),
        finish,
      ]);
      const jsonLines = from([utf8(`${data}\n{"t":"a"}\n${data}\n{"stop":true}\n[DONE]\n`)]);
      expect(observe(jsonLines.pipe(decodeFrames(toyWire(ndjson), { provider: 'toy' }))).values).toEqual([
        text('a'),
        finish,
      ]);
    },
  );

  it('decodeFrames errors without a retry when a page is labelled as lines of JSON, also when it has no line end', () => {
    for (const page of ['<html>Sign in</html>', '<html>\n</html>\n', 'Sign in']) {
      const { error } = observe(from([utf8(page)]).pipe(decodeFrames(toyWire(ndjson), { provider: 'toy' })));
      expect(error).toMatchObject({ code: 'protocol', reason: 'frame', retryable: false });
    }
    const cut = observe(from([utf8('{"t":')]).pipe(decodeFrames(toyWire(ndjson), { provider: 'toy' })));
    expect(cut.error).toMatchObject({ code: 'stream_interrupted', retryable: true });
  });

  it('decodeFrames errors with what the decoder throws, and unsubscribes the source', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-x-a', { ...frames, x: { data: '{"t":"b","fail":"broken"}' } });
      expectObservable(source.pipe(decode())).toBe('-a-(b#)', chunks, new Error('broken'));
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
  });

  it('decodeFrames emits a finish of its own after a terminal mark, if the decoder emits none', () => {
    const silent: Wire = { ...toyWire(), decode: () => ({ next: () => undefined, end: () => undefined }) };
    expect(observe(of(frames.d).pipe(decode(silent)))).toMatchObject({ values: [chunks.u], completed: true });
    expect(observe(of(frames.a).pipe(decode(silent)))).toMatchObject({
      values: [],
      error: { code: 'stream_interrupted' },
    });
  });

  it('decodeFrames passes no frame to the decoder after the unsubscription', () => {
    let fed = 0;
    const counting: Wire = {
      ...toyWire(),
      decode: (emit) => ({
        next() {
          fed++;
          emit(text('x'));
          emit(text('y'));
          return undefined;
        },
        end: () => undefined,
      }),
    };
    expect(observe(concat(of(frames.a, frames.b), NEVER).pipe(decode(counting), take(1))).values).toEqual([text('x')]);
    expect(fed).toBe(1);
  });

  it.each([5_000, 100_000])('decodeFrames refuses arrays with %d levels', (levels) => {
    const data = `${'['.repeat(levels)}1${']'.repeat(levels)}`;
    const { error } = observe(of({ data }).pipe(decode()));
    expect(error).toMatchObject({
      code: 'protocol',
      reason: 'frame',
      message: expect.stringContaining('nested more than 500 levels deep'),
    });
  });

  it.each([500, 5_000, 100_000])(
    'decodeFrames passes at most 532 levels of a frame with %d to the decoder',
    (levels) => {
      const received: unknown[] = [];
      const wire: Wire = {
        ...toyWire(),
        decode: () => ({ next: (frame) => void received.push(frame), end: () => undefined }),
      };
      const data = `${'{"t":'.repeat(levels)}1${'}'.repeat(levels)}`;
      observe(of({ data }).pipe(decode(wire)));
      expect(received).toHaveLength(1);
      expect(isDeeperThan(received, 1 + Math.min(levels, 532))).toBe(false);
      expect(isDeeperThan(received, Math.min(levels, 532))).toBe(true);
    },
  );

  it('decodeFrames creates a decoder for each subscriber', () => {
    const source = of(frames.a, frames.s).pipe(decode());
    for (let n = 0; n < 2; n++) expect(observe(source).values).toEqual([text('a'), finish]);
  });

  it('decodeFrames removes the secrets from errors of the source, of the framing and of the decoder', () => {
    const secrets = ['sk-s3cret/+"quoted"', 'token-123'];
    const repeated = secrets
      .flatMap((secret) => [`Bearer ${secret}`, encodeURIComponent(secret), JSON.stringify(secret)])
      .join(' ');
    const cause = Object.assign(new Error(repeated), { config: { headers: { authorization: secrets[0] } } });
    const data = { error: { message: repeated, deep: [{ [secrets[0] ?? '']: secrets }] } };
    const sources = [
      throwError(() => new TypeError(repeated, { cause })),
      throwError(() => new ProviderError('toy', repeated, { retryable: false, data })),
      of(utf8(repeated)),
      of(utf8(`data: ${repeated}\n\n`)),
      of(utf8(`data: ${JSON.stringify({ fail: repeated })}\n\n`)),
    ];
    for (const source of sources) {
      const { error } = observe(
        source.pipe(decodeFrames(toyWire(), { provider: 'toy', redaction: () => ({ provider: 'toy', secrets }) })),
      );
      expect(error).toBeInstanceOf(Error);
      const shown = `${inspect(error, { depth: 10, showHidden: true })}${JSON.stringify(error)}`;
      expect(shown).toContain('[key]');
      for (const secret of ['s3cret', 'token-123']) expect(shown).not.toContain(secret);
    }
  });
});

describe('isAnswerContent', () => {
  it.each<[boolean, Chunk]>([
    [true, { type: 'text', text: 'a' }],
    [false, { type: 'text', text: '' }],
    [true, { type: 'thinking', text: 'a' }],
    [false, { type: 'thinking', text: '' }],
    [false, { type: 'metadata', metadata: {} }],
    [false, { type: 'retract' }],
    [false, { type: 'provider', provider: 'toy', data: {} }],
    [true, finish],
  ])('isAnswerContent is %s for %j', (is, chunk) => {
    expect(isAnswerContent(chunk)).toBe(is);
  });

  it('decodeFrames reports the first content of an answer once', () => {
    let contents = 0;
    const source = from([{ data: '{"t":""}' }, frames.a, frames.b, frames.d]).pipe(map(bytesOf));
    const options = { provider: 'toy', onContent: () => contents++ };
    observe(source.pipe(decodeFrames(toyWire(), options)));
    expect(contents).toBe(1);
  });

  it.each(['ping', 'PONG', 'keep-alive', 'keepalive', 'heartbeat', ': note'])(
    'decodeFrames skips the event %s',
    (data) => {
      expect(of_(frames.a, { data }, frames.s, frames.d).error).toBeUndefined();
    },
  );

  it.each(['pinging', 'a ping', 'x: note', 'x{'])('decodeFrames rejects the event %s', (data) => {
    expect(of_(frames.a, { data }, frames.s, frames.d).error).toMatchObject({ code: 'protocol' });
  });

  it('decodeFrames quotes at most 1,000 characters of an event that is not JSON', () => {
    const { error } = observe(of({ data: 'x'.repeat(2000) }).pipe(decode(toyWire(), true)));
    expect((error as ProtocolError).received).toHaveLength(1000);
  });
});
