import { describe, expect, it } from '@jest/globals';
import { NEVER, concat, from, map, of, pipe, take } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { StreamInterruptedError } from '../../lib/core/errors.js';
import { decodeFrames } from '../../lib/protocol/decodeFrames.js';
import type { Frame, Wire } from '../../lib/protocol/wire.js';
import { observe } from '../support/observe.js';
import { finish, text, toyWire, utf8 } from './wires.js';

const run = (test: Parameters<TestScheduler['run']>[0]) => new TestScheduler((a, b) => expect(a).toEqual(b)).run(test);
/** A frame as it stands in the body of a toy server. */
const bytesOf = ({ data, unterminated }: Frame) => utf8(`data: ${data}${unterminated ? '' : '\n\n'}`);
const frames = {
  a: { data: '{"t":"a"}' },
  b: { data: '{"t":"b"}' },
  s: { data: '{"stop":true}' },
  e: { data: '{"end":true}' },
  d: { data: ' [DONE]' },
} satisfies Record<string, Frame>;
const chunks = { a: text('a'), b: text('b'), f: finish, u: { type: 'finish', reason: 'unspecified' } as const };
const decode = (wire: Wire = toyWire()) => pipe(map(bytesOf), decodeFrames(wire, { provider: 'toy' }));
const of_ = (...data: Frame[]) => observe(from(data).pipe(decode()));

describe('decodeFrames', () => {
  it('emits each chunk with its frame, and the finish at the end of the body', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(cold('-a-b-s-|', frames).pipe(decode())).toBe('-a-b---(f|)', chunks);
    });
  });

  it("emits the finish with the terminal mark, [DONE] or the decoder's own, and completes with the body", () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      for (const mark of ['d', 'e']) {
        const source = cold(`-a-s-${mark}--|`, frames);
        expectObservable(source.pipe(decode())).toBe('-a---f--|', chunks);
        expectSubscriptions(source.subscriptions).toBe('^-------!');
      }
      expectObservable(cold('-a-d|', frames).pipe(decode())).toBe('-a-u|', chunks);
    });
  });

  it('waits no longer than a second for a body that does not end after the mark', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-s-d-', frames);
      expectObservable(source.pipe(decode())).toBe('-a---f 999ms |', chunks);
      expectSubscriptions(source.subscriptions).toBe('^ 1004ms !');
    });
  });

  it('ignores whatever follows the mark: frames, nonsense, a reset', () => {
    run(({ cold, expectObservable }) => {
      expectObservable(
        cold('-s-d-a-x-d-#', { ...frames, x: { data: '<html>' } }, new StreamInterruptedError('toy', 'reset')).pipe(
          decode(),
        ),
      ).toBe('---f-------|', chunks);
    });
  });

  it('is an interruption when the body ends without finish reason and mark, after what came', () => {
    const { values, error } = of_(frames.a, { data: '{"t":"half', unterminated: true });
    expect(values).toEqual([text('a')]);
    expect(error).toMatchObject({ code: 'stream_interrupted', retryable: true });
    expect(of_()).toMatchObject({ error: { code: 'stream_interrupted' }, completed: false });
  });

  it('reads a last frame that is whole though nothing delimits it', () => {
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

  it('passes on a reset before the mark, after what came', () => {
    run(({ cold, expectObservable }) => {
      const reset = new StreamInterruptedError('toy', 'reset');
      expectObservable(cold('-a-b-#', frames, reset).pipe(decode())).toBe('-a-b-#', chunks, reset);
    });
  });

  it('reads a list of objects as one frame each, to the mark', () => {
    expect(of_({ data: '[{"t":"a"},{"t":"b"},{"stop":true},{"end":true},{"t":"c"}]' })).toMatchObject({
      values: [text('a'), text('b'), finish],
    });
  });

  it('is a protocol error when a frame is no JSON object, with what it was', () => {
    for (const data of ['<html>', '"text"', '[1]', 'null', '7', '{"t":']) {
      const { values, error } = of_(frames.a, { data }, frames.b);
      expect(values).toEqual([text('a')]);
      expect(error).toMatchObject({ code: 'protocol', reason: 'frame', received: data });
    }
  });

  it('turns what the decoder throws into an error, and leaves the source', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-x-a', { ...frames, x: { data: '{"t":"b","fail":"broken"}' } });
      expectObservable(source.pipe(decode())).toBe('-a-(b#)', chunks, new Error('broken'));
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
  });

  it('holds a decoder to one finish, last', () => {
    const eager: Wire = {
      ...toyWire(),
      decode: (emit) => ({ next: () => [finish, text('late'), finish].forEach(emit), end: () => emit(finish) }),
    };
    expect(observe(of(frames.a, frames.b).pipe(decode(eager)))).toMatchObject({ values: [finish], completed: true });
    const forgetful: Wire = { ...toyWire(), decode: () => ({ next: () => undefined, end: () => undefined }) };
    expect(observe(of(frames.a).pipe(decode(forgetful)))).toMatchObject({
      values: [],
      error: { code: 'stream_interrupted' },
    });
    expect(observe(of(frames.d).pipe(decode(forgetful)))).toMatchObject({ values: [chunks.u], completed: true });
  });

  it('feeds the decoder nothing more when its reader has what it wanted', () => {
    let fed = 0;
    const counting: Wire = {
      ...toyWire(),
      decode: (emit) => ({ next: () => (fed++, emit(text('x')), emit(text('y')), undefined), end: () => undefined }),
    };
    expect(observe(concat(of(frames.a, frames.b), NEVER).pipe(decode(counting), take(1))).values).toEqual([text('x')]);
    expect(fed).toBe(1);
  });

  it('has a decoder of its own for each subscriber', () => {
    const source = of(frames.a, frames.s).pipe(decode());
    for (let n = 0; n < 2; n++) expect(observe(source).values).toEqual([text('a'), finish]);
  });
});
