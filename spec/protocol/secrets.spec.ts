import { describe, expect, it } from '@jest/globals';
import {
  displayUrl,
  findSecrets,
  headerValues,
  replaceRanges,
  secretsOf,
  spellings,
} from '../../lib/protocol/secrets.js';

const key = 'sk-proj-ABCDEFGHIJKLMNOP';
const hidden = (text: string, secret = key) => replaceRanges(text, findSecrets(text, spellings([secret])));

describe('findSecrets', () => {
  it.each([
    ['a mask', 'provided: sk-proj-****************MNOP. See', 'provided: [key]****************[key]. See'],
    ['an ellipsis', 'key sk-proj...MNOP here', 'key [key]...[key] here'],
    ['the last half', 'ends with EFGHIJKLMNOP, sorry', 'ends with [key], sorry'],
    ['the middle', 'has j-ABCDEFGHIJKLM in it', 'has [key] in it'],
    ['twice', `${key}${key} ${key}`, '[key][key] [key]'],
    ['in base64', `saw ${btoa(key)}.`, 'saw [key].'],
    ['in base64 of a URL', `saw ${btoa('a?b>c~defghi')} and YT9iPmN-ZGVmZ2hp`, 'saw [key] and [key]', 'a?b>c~defghi'],
    ['for a URL', `?key=${encodeURIComponent('a/b+c=defghij')}`, '?key=[key]', 'a/b+c=defghij'],
  ])('findSecrets finds the parts that a server shows of a key: %s', (_, text, expected, secret = key) => {
    expect(hidden(text, secret)).toBe(expected);
  });

  it.each([
    ['a short one, as a word', 'pass abc1234.', 'pass [key].', 'abc1234'],
    ['a short one, not within a word', 'pass xabc1234 abc1234x abc1234-', 'pass xabc1234 abc1234x abc1234-', 'abc1234'],
    ['a part of a short one', 'pass abc123.', 'pass abc123.', 'abc1234'],
    ['eight characters within a word', 'pass xabcd1234x', 'pass x[key]x', 'abcd1234'],
    ['with a scheme and spaces', 'saw abcd1234', 'saw [key]', '  Bearer  abcd1234 '],
    ['with its scheme, which is not hidden', 'Bearer abcd1234', 'Bearer [key]', 'Bearer abcd1234'],
    ['that has the name of a scheme in it', 'saw my token abc.', 'saw [key].', 'my token abc'],
    ['as JSON', 'saw {"k":"ab\\"cd\\\\efgh"}', 'saw {"k":"[key]"}', 'ab"cd\\efgh'],
    [
      'twelve characters of a long one',
      `saw ${'k'.repeat(4)}MNOPQRSTUVWX.`,
      'saw kkkk[key].',
      'ABCDEFGHIJKLMNOPQRSTUVWX',
    ],
    ['eleven in the middle of a long one', 'saw GHIJKLMNOPQ.', 'saw GHIJKLMNOPQ.', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
    ['eight at the beginning', 'saw ABCDEFGH.', 'saw [key].', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
    ['eight at the end', 'saw QRSTUVWX.', 'saw [key].', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
    ['seven at the beginning', 'saw ABCDEFG.', 'saw ABCDEFG.', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
    ['a part at the end of a text that was cut', 'saw ABCD', 'saw [key]', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
    ['a part at the beginning of a text', 'UVWX is wrong', '[key] is wrong', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
    ['three characters at the end of a text', 'saw ABC', 'saw ABC', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
    ['the end of a key at the end of a text', 'saw UVWX', 'saw UVWX', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
  ])('findSecrets hides %s', (_, text, expected, secret) => {
    expect(hidden(text, secret)).toBe(expected);
  });

  it.each([
    ['a short secret within a word', 'xabc1234x', 'x[key]x', 'abc1234'],
    ['no part at the end of a text', 'saw ABCD', 'saw ABCD', 'ABCDEFGHIJKLMNOPQRSTUVWX'],
  ])('findSecrets hides in a recording %s', (_, text, expected, secret) => {
    expect(replaceRanges(text, findSecrets(text, spellings([secret]), 'recording'))).toBe(expected);
  });

  it('spellings has the longest first, each once, and none of an empty secret', () => {
    const all = spellings(['  ', 'Bearer ', '\uD800', 'abcd', 'abcdefgh']);
    expect(all.map(({ length }) => length)).toEqual([...all.map(({ length }) => length)].sort((a, b) => b - a));
    expect(new Set(all).size).toBe(all.length);
    expect(all).toContain('abcd');
    expect(all).not.toContain('');
  });

  it('findSecrets does not take the words of a key for the key', () => {
    const text = 'The project MNOP of sk-pro users: a proj-ABC.';
    expect(hidden(text)).toBe(text);
  });
});

describe('secretsOf', () => {
  it('secretsOf finds keys in headers, in the query and in the password of the URL', () => {
    const headers = {
      Authorization: 'Bearer a',
      'x-api-key': 'b',
      'Proxy-Authorization': 'c',
      accept: 'd',
      cookie: '',
    };
    expect(secretsOf('https://user:pw@a.test/v1?key=e&model=f&api-key=g#key=h', headers)).toEqual([
      'Bearer a',
      'b',
      'c',
      'e',
      'g',
      'pw',
    ]);
    expect(secretsOf('/v1/chat', {})).toEqual([]);
  });

  it.each([
    'X-Auth',
    'x-token',
    'Private-Token',
    'x-vault-token',
    'x-goog-api-key',
    'api_key',
    'Ocp-Apim-Subscription-Key',
    'cf-access-client-secret',
    'x-amz-security-token',
  ])('secretsOf takes the value of the header %s for a key', (name) => {
    expect(secretsOf('', { [name]: 'v' })).toEqual(['v']);
  });

  it.each([
    ['the password of Basic', { authorization: `Basic ${btoa('ann:pa:ss')}` }, [`Basic ${btoa('ann:pa:ss')}`, 'pa:ss']],
    ['the password of basic', { authorization: `basic  ${btoa('ann:p')}` }, [`basic  ${btoa('ann:p')}`, 'p']],
    ['no password of a text that is not base64', { authorization: 'Basic abcde' }, ['Basic abcde']],
    ['the values of cookies', { cookie: 'session=abcdefgh; theme=dark' }, ['session=abcdefgh; theme=dark', 'abcdefgh']],
    ['a cookie whose value has a sign', { cookie: 's=abcd=efgh' }, ['s=abcd=efgh', 'abcd=efgh']],
    ['no short cookie', { cookie: 's=abcdefg' }, ['s=abcdefg']],
    ['one value once', { 'x-token': 'abcdefgh' }, ['abcdefgh']],
  ])('secretsOf finds %s', (_, headers, secrets) => {
    expect(secretsOf('', headers)).toEqual(secrets);
  });

  it.each([
    ['a password with a sign that is escaped', 'https://u:a%2Fb@h.test', ['a%2Fb', 'a/b']],
    ['a password that is not a valid escape', 'https://u:a%b@h.test', ['a%b']],
    ['all ends of a password with @', 'https://u:p@ss@h.test', ['p@ss', 'p']],
    ['a password with a slash', 'https://u:p/s@h.test', ['p/s']],
    ['a user without a password', 'https://user@h.test/@scope', ['user']],
    ['none of a port and a scope', 'https://h.test:80/@scope', []],
    ['none of an address', 'http://[::1]:80/@scope', []],
    ['none without a user', 'https://h.test/@scope', []],
  ])('secretsOf finds %s in a URL', (_, url, secrets) => {
    expect(secretsOf(url, {})).toEqual(secrets);
  });

  it('secretsOf takes the value of any header for a key if it has the shape of one', () => {
    const value = 'tn_9f8e7d6c5b4a39281706';
    expect(secretsOf('', { 'x-tenant': value, 'x-team': 'blue' })).toEqual([value]);
  });

  it.each(['accept', 'x-max-tokens', 'idempotency-key', 'x-cache-key', 'author', 'x-request-id'])(
    'secretsOf does not take the value of the header %s for a key',
    (name) => {
      expect(secretsOf('', { [name]: 'v' })).toEqual([]);
    },
  );

  it.each([
    ['https://user:p@ss@a.test/v1', 'p@ss'],
    ['https://user:p/ss@a.test/v1', 'p/ss'],
    ['https://user:p/s@s@a.test/v1', 'p/s@s'],
    ['https://user:p%40ss@a.test', 'p@ss'],
    ['https://a.test/sk-abcdefgh12/v1', 'sk-abcdefgh12'],
    ['https://a.test/v1/550e8400-e29b-41d4-a716-446655440000', '550e8400-e29b-41d4-a716-446655440000'],
    ['https://a.test/v1/0123456789abcdef0123456789abcdef/x', '0123456789abcdef0123456789abcdef'],
    ['/proxy/my-secret-token-42/v1', 'my-secret-token-42'],
  ])('secretsOf finds the password or key in %s', (url, secret) => {
    expect(secretsOf(url, {})).toContain(secret);
  });

  it.each([
    'https://a.test:8080/@scope/v1beta/models/gemini-2.5-flash:streamGenerateContent',
    'http://[::1]:11434/v1',
    'localhost:11434',
    'https://my.openai.azure.com/openai/deployments/gpt-4o-2024-08-06',
  ])('secretsOf finds nothing in %s', (url) => {
    expect(secretsOf(url, {})).toEqual([]);
    expect(displayUrl(url)).toBe(url);
  });
});

describe('headerValues', () => {
  it('headerValues returns the values of headers, but not short ones and those that an error may name', () => {
    const headers = {
      'x-tenant': 'acme-corporation',
      'x-team': 'blue',
      'anthropic-beta': 'context-1m-2025-08-07',
      'user-agent': 'support-desk/1.0',
      'Content-Type': 'application/json',
    };
    expect(headerValues(headers)).toEqual(['acme-corporation']);
    expect(headerValues()).toEqual([]);
  });
});

describe('displayUrl', () => {
  it.each([
    ['https://user:p/s@s@a.test/v1?key=e#f', 'https://a.test/v1'],
    ['https://token@a.test/v1', 'https://a.test/v1'],
    ['//user:pw@a.test/v1', '//a.test/v1'],
    ['user:pw@a.test/v1', 'a.test/v1'],
    ['https://a.test/sk-abcdefgh12/v1', 'https://a.test/[key]/v1'],
    ['https://a.test/' + 'key'.repeat(10_000) + '!', 'https://a.test/[key]'],
  ])('displayUrl shows %s without what is secret', (url, expected) => {
    expect(displayUrl(url)).toBe(expected);
  });
});
