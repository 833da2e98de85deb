import { describe, expect, it } from '@jest/globals';
import { encodingError, joinUrl, mergeHeaders, mergeJson } from '../../lib/protocol/request.js';

describe('joinUrl', () => {
  it.each([
    ['https://a.test/v1', '/chat', 'https://a.test/v1/chat'],
    ['https://a.test/v1//', '//chat/', 'https://a.test/v1/chat'],
    [' https://a.test ', '/chat', 'https://a.test/chat'],
    ['https://a.test/x/?api-version=1', '/chat', 'https://a.test/x/chat?api-version=1'],
    ['https://a.test/v1?x=1', '/m:stream?alt=sse', 'https://a.test/v1/m:stream?x=1&alt=sse'],
    ['https://a.test/v1#top', '/chat', 'https://a.test/v1/chat'],
    ['/api/llm', '/chat', '/api/llm/chat'],
    ['/', '/chat', '/chat'],
    ['https://a.test', 'models//m', 'https://a.test/models//m'],
    ['https://a.test?', '/chat?', 'https://a.test/chat'],
    ['', '/chat', '/chat'],
  ])('joinUrl(%j, %j) is %j', (base, path, url) => {
    expect(joinUrl(base, path)).toBe(url);
  });
});

describe('mergeHeaders', () => {
  it('mergeHeaders ignores case, and lets the last value win', () => {
    const headers = mergeHeaders({ Accept: 'a', 'X-One': '1' }, undefined, { accept: 'b' }, { ACCEPT: 'c' });
    expect(headers).toEqual({ accept: 'c', 'x-one': '1' });
  });

  it('mergeHeaders ignores a header that is undefined', () => {
    const headers = { accept: undefined as unknown as string };
    expect(mergeHeaders({ accept: 'a' }, headers)).toEqual({ accept: 'a' });
  });
});

describe('mergeJson', () => {
  it('mergeJson merges objects deeply, replaces everything else, and removes what is undefined', () => {
    const body = { a: 1, list: [1, 2], nested: { kept: true, removed: 1, inner: { x: 1 } }, plain: { y: 1 } };
    const overrides = {
      a: null,
      list: [3],
      nested: { removed: undefined as unknown as null, inner: { z: 2 } },
      plain: 'text',
    };
    expect(mergeJson(body, overrides)).toEqual({
      a: null,
      list: [3],
      nested: { kept: true, inner: { x: 1, z: 2 } },
      plain: 'text',
    });
    expect(body).toEqual({ a: 1, list: [1, 2], nested: { kept: true, removed: 1, inner: { x: 1 } }, plain: { y: 1 } });
  });

  it('mergeJson keeps a field named __proto__ as data', () => {
    const merged = mergeJson({ a: 1 }, JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, never>);
    expect(Object.keys(merged)).toEqual(['a', '__proto__']);
    expect('polluted' in {}).toBe(false);
  });
});

describe('encodingError', () => {
  it('encodingError says what to change when a request is too deep or too long for JSON', () => {
    expect(encodingError(new RangeError('Maximum call stack size exceeded'), 'toy')).toMatchObject({
      code: 'configuration',
      subject: 'history',
      message:
        'The request to toy cannot be encoded as JSON: Maximum call stack size exceeded. ' +
        'Shorten the history, and pass messages, schemas and options with fewer levels of objects and arrays.',
    });
  });

  it.each([[new TypeError('cyclic')], [null], [undefined], ['text']])('encodingError leaves %s', (thrown) => {
    expect(encodingError(thrown, 'toy')).toBe(thrown);
  });
});
