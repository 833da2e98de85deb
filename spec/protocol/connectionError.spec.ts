import { describe, expect, it } from '@jest/globals';
import { causes, connectionError, describeThrown, notAResponse } from '../../lib/protocol/connectionError.js';
import { freePort } from '../support/freePort.js';
import { failureOf, requestTo } from './wires.js';

describe('connectionError', () => {
  it('connectionError contains the reason, which fetch hides in the cause, and not the query of the URL', async () => {
    const port = await freePort();
    const error = await failureOf(requestTo({ url: `http://127.0.0.1:${port}/chat?key=hidden` }));
    expect(error).toMatchObject({ code: 'connection', retryable: true });
    expect(error.message).toMatch(`127.0.0.1:${port}/chat`);
    expect(error.message).toMatch('ECONNREFUSED');
    expect(error.message).not.toMatch('hidden');
  });

  it('connectionError shows no content of a cause that is not an error', async () => {
    for (const cause of [{ headers: { 'x-secret': 'abc' } }, ['abc'], { name: 'Odd', input: 'abc' }]) {
      const error = await failureOf(
        requestTo({ fetch: () => Promise.reject(new TypeError('fetch failed', { cause })) }),
      );
      expect(error.message).toContain('fetch failed');
      expect(error.message).not.toContain('abc');
    }
  });

  it.each(['\u2026', '\u0007', '\u007f', '\n'])(
    'connectionError reports the name, and not the value, of a header with %j',
    async (character) => {
      const error = await failureOf(requestTo({ headers: { authorization: `Bearer sk-é${character}x` } }));
      expect(error).toMatchObject({ code: 'configuration', subject: 'options', retryable: false });
      expect(error.message).toContain('"authorization"');
      expect(error.message).not.toContain('sk-');
    },
  );

  it.each(['/api/llm/chat', 'http://user:pw@127.0.0.1:9/', 'not a url', 'localhost:11434/v1/chat/completions'])(
    'connectionError reports the URL %s, which cannot be sent, without its password',
    async (url) => {
      const error = await failureOf(requestTo({ url }));
      expect(error).toMatchObject({ code: 'configuration', subject: 'options', retryable: false });
      expect(error.message).toContain('not an http(s) URL');
      expect(error.message).not.toContain('pw');
    },
  );

  it.each([[undefined], [null], ['text'], [{}]])('notAResponse reports a fetch that returns %j', async (value) => {
    const fetch = (() => Promise.resolve(value)) as unknown as typeof globalThis.fetch;
    const error = await failureOf(requestTo({ fetch }));
    expect(error).toMatchObject({ code: 'configuration', subject: 'options' });
    expect(error.message).toContain('instead of a Response');
  });

  const request = { provider: 'toy', url: 'https://toy.test/v1/chat?key=hidden', headers: {} };
  it.each([
    [
      request,
      'No connection to toy at https://toy.test/v1/chat: down. ' +
        'Check the network, baseUrl, and any proxy in between (in a browser, CORS).',
    ],
    [
      { ...request, url: 'ftp://toy.test' },
      'toy cannot be reached at "ftp://toy.test": not an http(s) URL. Check baseUrl.',
    ],
    [
      { ...request, headers: { 'x-key': 'a\nb' } },
      'The header "x-key" cannot be sent to toy: it contains characters that HTTP does not allow. ' +
        'Check the API key and headers for line breaks and copied quotes.',
    ],
  ])('connectionError says what to do: %j', (sent, message) => {
    expect(connectionError(sent, new Error('down')).message).toBe(message);
  });

  it.each(['xhttps://toy.test', 'https+x://toy.test', 'https://user@toy.test', 'https://:pw@toy.test'])(
    'connectionError: %s is not a URL that can be sent',
    (url) => {
      expect(connectionError({ ...request, url }, new Error('down')).code).toBe('configuration');
    },
  );

  it('notAResponse says what to do', () => {
    expect(notAResponse(request, 7).message).toBe(
      'The fetch option of toy returned 7 instead of a Response. Pass a function like the global fetch.',
    );
  });

  const coded = (message: string, code: unknown, more: object = {}) =>
    Object.assign(new Error(message), { code, ...more });
  const nested = (depth: number): Error =>
    new Error(`level ${depth}`, depth === 9 ? undefined : { cause: nested(depth + 1) });
  it.each([
    ['a message', new Error('down'), 'down'],
    ['a code that the message does not have', coded('down', 'E1'), 'down (E1)'],
    ['a code that the message has', coded('down E1', 'E1'), 'down E1'],
    ['no code that is not a text', coded('down', 7), 'down'],
    ['the cause', new Error('a', { cause: new Error('b') }), 'a: b'],
    ['a cause with the same text once', new Error('a', { cause: new Error('a') }), 'a'],
    ['the errors instead of the cause', coded('a', undefined, { errors: [new Error('b'), new Error('c')] }), 'a: b: c'],
    ['four errors', coded('a', undefined, { errors: ['b', 'c', 'd', 'e', 'f'] }), 'a: b: c: d: e'],
    ['five levels', nested(1), 'level 1: level 2: level 3: level 4: level 5'],
    ['a text', 'down', 'down'],
    ['null', null, 'null'],
    ['nothing', undefined, 'undefined'],
  ])('causes has %s', (_, thrown, text) => {
    expect(causes(thrown)).toBe(text);
  });

  const unreadable = new Proxy(new Error('x'), {
    get: () => {
      throw new Error('y');
    },
  });
  it.each([
    ['an object without a message', { key: 'secret' }, 'no message'],
    ['an empty message', { message: '', name: '' }, 'no message'],
    ['null', null, 'null'],
    ['an empty text', '', ''],
  ])('describeThrown: %s', (_, thrown, text) => {
    expect(describeThrown(thrown)).toBe(text);
  });

  it('describeThrown reads what throws when it is read', () => {
    expect(typeof describeThrown(unreadable)).toBe('string');
  });
});
