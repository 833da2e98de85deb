import { describe, expect, it } from '@jest/globals';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { EMPTY, NEVER, concat, from, of, repeat, take, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { ProtocolError, ProviderError } from '../../lib/core/errors.js';
import { quoted, textError } from '../../lib/protocol/errorDetails.js';
import { createSseReader } from '../../lib/protocol/sse.js';
import type { Frame } from '../../lib/protocol/wire.js';
import { observe } from '../support/observe.js';
import { everyCut, framed, inPieces, utf8 } from './wires.js';

const toy = (maxEventLength?: number) =>
  framed((emit) => createSseReader({ provider: 'toy', maxEventLength, quote: quoted }, emit));
const frames = (pieces: readonly Uint8Array[], maxEventLength?: number) =>
  observe(from(pieces).pipe(toy(maxEventLength)));
const withErrors = framed((emit) => createSseReader({ provider: 'toy', toError: textError }, emit));
const ofText = (text: string) => frames([utf8(text)]);

describe('sse', () => {
  const body =
    '\uFEFF: hello\nevent: start\ndata: {"a":"é😀"}\n\ndata:one\r\ndata: two\r\nid: 7\r\nretry: 10\r\n\r\ndata: \n\nnonsense: x\ndata: cr\r\rdata: [DONE]\n\n';
  const expected: Frame[] = [
    { data: '{"a":"é😀"}', event: 'start' },
    { data: 'one\ntwo', id: '7' },
    { data: 'cr' },
    { data: '[DONE]' },
  ];

  it('sse reads events with any line end, and skips comments, blank data, unknown fields and a byte order mark', () => {
    const { values, completed } = ofText(body);
    expect(values).toEqual(expected);
    expect(completed).toBe(true);
  });

  it('sse emits the same frames for every cut in two, and byte by byte', () => {
    for (const pieces of [...everyCut(utf8(body)), inPieces(utf8(body), 1)])
      expect(frames(pieces).values).toEqual(expected);
  });

  it('sse emits the same frames however any events are cut', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, '').trim());
    const event = fc.record({
      data: fc.array(line, { minLength: 1, maxLength: 3 }),
      newline: fc.constantFrom('\n', '\r\n', '\r'),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 20 }), (events, cuts) => {
        const bytes = utf8(
          events
            .map(({ data, newline }) => `${data.map((part) => `data: ${part}${newline}`).join('')}${newline}`)
            .join(''),
        );
        const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const pieces = [0, ...places].map((place, at) => bytes.subarray(place, places[at] ?? bytes.length));
        const wanted = events.map(({ data }) => ({ data: data.join('\n') })).filter(({ data }) => data.trim() !== '');
        const { values, error } = frames(pieces);
        expect(error).toBeUndefined();
        expect(values).toEqual(wanted);
      }),
    );
  });

  it('sse reads any lines as eventsource-parser does, however they are cut', () => {
    const field = fc.constantFrom('data', 'event', 'id', 'retry', 'other', '');
    const separator = fc.constantFrom(':', ': ', ':  ', '', ' :');
    const line = fc
      .tuple(field, separator, fc.constantFrom('', 'a', ' b ', 'c:d', '7', '{"e":1}', '\0'))
      .map((all) => all.join(''));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.integer({ min: 1, max: 9 }), (lines, size) => {
        const text = `data: first\n\n${lines.join('\n')}\n\n`;
        const wanted: unknown[] = [];
        const parser = createParser({ onEvent: ({ data, event, id }) => wanted.push({ data, event, id }) });
        parser.feed(text);
        const { values, error } = frames(inPieces(utf8(text), size));
        expect(error).toBeUndefined();
        expect(values).toEqual(wanted.filter((frame) => (frame as Frame).data.trim() !== ''));
      }),
      { numRuns: 500 },
    );
  });

  it.each([': ping\n\n', ':\n', 'retry: 10\n\n', 'event: ping\n\n', '  \n \n', ''])(
    'sse has no event and no error for %j',
    (text) => {
      expect(ofText(text)).toMatchObject({ values: [], error: undefined, completed: true });
    },
  );

  it('sse says what came instead of events, with or without a quote of it', () => {
    const plain = framed((emit) => createSseReader({ provider: 'toy' }, emit));
    expect(observe(of(utf8('hello')).pipe(plain)).error).toMatchObject({
      message: 'toy sent no server-sent events, but something else. Check baseUrl, and any proxy in between.',
    });
    const quoting = framed((emit) => createSseReader({ provider: 'toy', quote: (text) => `: ${text.trim()}` }, emit));
    expect(observe(of(utf8('hello')).pipe(quoting)).error).toMatchObject({
      message: 'toy sent no server-sent events, but something else: hello. Check baseUrl, and any proxy in between.',
    });
  });

  it('sse keeps the lines of a text without events until it has 65,536 characters', () => {
    const lines: string[] = [];
    const quote = (text: string) => {
      lines.push(...text.split('\n'));
      return '';
    };
    const reader = framed((emit) => createSseReader({ provider: 'toy', quote }, emit));
    observe(of(utf8(`${'x'.repeat(40_000)}\n`.repeat(4))).pipe(reader));
    expect(lines.map(({ length }) => length)).toEqual([40_000, 40_000, 0]);
  });

  it('sse emits an event with its last byte, also where lines end in CR', () => {
    for (const end of ['\n\n', '\r\n\r\n', '\r\r', '\r\n\r']) {
      expect(observe(concat(of(utf8(`data: x${end}`)), NEVER).pipe(toy())).values).toEqual([{ data: 'x' }]);
    }
  });

  it('sse emits an event without a delimiter, at the end of the body, as unterminated', () => {
    for (const tail of ['data: b', 'data: b\n', 'data: b\r', 'data: b\r\n']) {
      expect(ofText(`data: a\n\n${tail}`).values).toEqual([{ data: 'a' }, { data: 'b', unterminated: true }]);
    }
    expect(frames([utf8('data: é').subarray(0, -1)]).values).toEqual([{ data: '\uFFFD', unterminated: true }]);
  });

  it('sse takes a body that is cut within its first field for an early end, not for another format', () => {
    for (const body of ['', '\n\n', ': keep-alive\n\n', 'da', 'data', 'event: x', 'ev', ': a\n\nid'])
      expect(ofText(body)).toMatchObject({ values: [], completed: true });
  });

  it('sse errors with the beginning of a body that contains no events', () => {
    for (const pieces of everyCut(utf8('<!doctype html>\n<title>Sign in</title>\n'))) {
      const { error, values } = frames(pieces);
      expect(values).toEqual([]);
      expect(error).toMatchObject({ code: 'protocol', reason: 'frame', provider: 'toy' });
      expect((error as ProtocolError).message).toContain('Sign in');
    }
  });

  it('sse finds an error in JSON outside of events, on one line or several, or in a field of its own', () => {
    const json = { error: { message: 'No capacity', type: 'overloaded_error' } };
    for (const text of [
      JSON.stringify(json),
      JSON.stringify(json, null, 2),
      `[${JSON.stringify(json)}]\n`,
      `data: a\n\n${JSON.stringify(json, null, 2)}\n`,
      `data: a\n\nerror: ${JSON.stringify(json.error)}\n\n`,
    ]) {
      const error = observe(of(utf8(text)).pipe(withErrors)).error as ProviderError;
      expect(error).toMatchObject({ code: 'provider', providerCode: 'overloaded_error', retryable: true });
      expect(error.message).toContain('No capacity');
    }
  });

  it('sse without toError fails for a body without events only: after events, a missing end mark is the error', () => {
    expect(ofText('{"error":"No capacity"}').error).toMatchObject({ code: 'protocol', reason: 'frame' });
    expect(ofText('data: a\n\n{"error":"No capacity"}\n')).toMatchObject({ values: [{ data: 'a' }], error: undefined });
  });

  it('sse rejects an event beyond the size limit: one line or many, in one piece or many', () => {
    const [long, many] = [utf8(`data: ${'x'.repeat(200)}\n\n`), utf8(`${'data: xxxxxxxxxx\n'.repeat(20)}\n`)];
    for (const pieces of [[long], inPieces(long, 7), [many], inPieces(many, 7)]) {
      const { error, values } = frames([utf8('data: a\n\n'), ...pieces], 100);
      expect(values).toEqual([{ data: 'a' }]);
      expect(error).toMatchObject({ code: 'protocol', reason: 'event_too_large' });
    }
    expect(frames(inPieces(utf8(`data: ${'x'.repeat(80)}\n\n`.repeat(50)), 7), 100).values).toHaveLength(50);
    for (const fits of [`data: ${'x'.repeat(8_190)}\n\n`, `: ${'c'.repeat(5_000)}\ndata: {"a":1}\n\n`]) {
      expect(frames([utf8(fits)], 8_190)).toMatchObject({ values: [{}], error: undefined });
    }
  });

  it('sse has its own state for each body', () => {
    const source = from([utf8('data: a\n'), utf8('\ndata: b')]).pipe(toy(), repeat(2), toArray());
    expect(observe(source).values[0]).toHaveLength(4);
  });

  it('an operator on sse unsubscribes its source with its subscriber', () => {
    new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-a-a-|', { a: utf8('data: x\n\n') });
      expectObservable(source.pipe(toy(), take(2))).toBe('-a-(a|)', { a: { data: 'x' } });
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
    expect(observe(EMPTY.pipe(toy())).completed).toBe(true);
  });

  it('an operator on sse forwards an error after the complete frames', () => {
    new TestScheduler((a, b) => expect(a).toEqual(b)).run(({ cold, expectObservable }) => {
      expectObservable(cold('-a-#', { a: utf8('data: x\n\ndata: half') }).pipe(toy())).toBe('-a-#', {
        a: { data: 'x' },
      });
    });
  });
});
