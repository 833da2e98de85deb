import { describe, expect, it } from '@jest/globals';
import { joinUrl, mergeHeaders, mergeJson } from '../../lib/protocol/request.js';

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
