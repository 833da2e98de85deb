import { describe, expect, it } from '@jest/globals';
import { TestScheduler } from 'rxjs/testing';
import { retryAfter } from '../../lib/protocol/errorResponse.js';

const wait = (headers: Record<string, string>, json?: unknown) => retryAfter(new Headers(headers), json);

describe('retryAfter', () => {
  it('reads seconds and milliseconds, the finer one first', () => {
    expect(wait({ 'retry-after': '2' })).toBe(2000);
    expect(wait({ 'retry-after': '0' })).toBe(0);
    expect(wait({ 'retry-after': '0.5' })).toBe(500);
    expect(wait({ 'retry-after': '2', 'retry-after-ms': '1500' })).toBe(1500);
    expect(wait({ 'retry-after': '2', 'retry-after-ms': 'x' })).toBe(2000);
  });

  it('measures a date by the clock of RxJS, which a test can set', () => {
    const waits: (number | undefined)[] = [];
    new TestScheduler(() => undefined).run(({ cold }) => {
      cold('30s a 2m a').subscribe(() => waits.push(wait({ 'retry-after': 'Thu, 01 Jan 1970 00:01:30 GMT' })));
    });
    expect(waits).toEqual([60_000, 0]);
  });

  it("reads the delay in the details of Google's errors", () => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.Help' },
      null,
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' },
    ];
    const error = { code: 429, message: 'Quota', status: 'RESOURCE_EXHAUSTED', details };
    for (const json of [{ error }, [{ error }]]) expect(wait({}, json)).toBe(34_500);
  });

  it('knows nothing where nothing can be understood', () => {
    for (const value of ['soon', '-1', '', '1 s', 'Thu, 99 Foo'])
      expect(wait({ 'retry-after': value })).toBeUndefined();
    for (const json of [undefined, null, 'x', [], { error: 'x' }, { error: { details: 'x' } }])
      expect(wait({}, json)).toBeUndefined();
  });
});
