import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { HttpError, ProviderError } from '../../lib/core/errors.js';
import { redactThrown } from '../../lib/protocol/redact.js';

const key = 'sk-proj-ABCDEFGHIJKLMNOP';
const redacted = (text: string, secret = key) =>
  (redactThrown(new Error(text), { provider: 'toy', secrets: [secret] }) as Error).message;

describe('redactThrown', () => {
  it('redactThrown removes a key from messages, from errors of another realm, and from the keys of data', () => {
    expect(redacted(`Incorrect API key provided: ${key}.`)).toBe('Incorrect API key provided: [key].');
    const foreign = runInNewContext(`new Error('bad ${key}')`) as Error;
    expect((redactThrown(foreign, { provider: 'toy', secrets: [key] }) as Error).message).toBe('bad [key]');
    const error = new ProviderError('toy', 'x', { retryable: false, data: { [key]: { said: key } } });
    expect(JSON.stringify(redactThrown(error, { provider: 'toy', secrets: [key], debug: true }))).not.toContain(
      'ABCDEF',
    );
  });

  it.each([4, 9, 15, 23])(
    'redactThrown removes a key that was cut after %i characters, at the end and before an ellipsis',
    (length) => {
      const cut = key.slice(0, length);
      expect(redacted(`said ${cut}`)).toBe('said [key]');
      expect(redacted(`said "${cut}..." here`)).toBe('said "[key]..." here');
    },
  );

  it.each([
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4', '[key]'],
    ['token-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4 x', 'token-[key] x'],
    ['a=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0', 'a=[key]'],
    [
      'eyJ.short and api.example.com/some-long-name.and-another-one',
      'eyJ.short and api.example.com/some-long-name.and-another-one',
    ],
  ])('redactThrown removes a JSON Web Token of %s', (text, expected) => {
    expect(redacted(text)).toBe(expected);
  });

  it('redactThrown keeps the cause of an error only with `debug`', () => {
    const error = () => new Error('outer', { cause: new Error('said by the server') });
    expect(redactThrown(error(), { provider: 'toy' })).not.toHaveProperty('cause');
    expect(redactThrown(error(), { provider: 'toy', debug: true })).toMatchObject({
      cause: { message: 'said by the server' },
    });
  });

  it('redactThrown removes a secret that is the name of a field', () => {
    const error = new ProviderError('toy', 'x', { retryable: false, data: { list: [{ [key]: 1 }] } });
    expect(redactThrown(error, { provider: 'toy', secrets: [key], debug: true })).toMatchObject({
      data: { list: [{ '[key]': 1 }] },
    });
  });

  it('redactThrown cuts a text that is too long for a message, without `debug`', () => {
    const error = () => new Error('long '.repeat(10_000));
    const { message } = redactThrown(error(), { provider: 'toy' }) as Error;
    expect([message.length, message.slice(-8)]).toEqual([10_003, 'long ...']);
    expect((redactThrown(error(), { provider: 'toy', debug: true }) as Error).message).toHaveLength(50_000);
  });

  it.each([
    ['test', 'The latest test model.', 'The latest [key] model.'],
    ['any', 'try many, or any.', 'try many, or [key].'],
    ['x', 'does not exist', 'does not exist'],
  ])('redactThrown removes a short key (%s) where it is a word, not within one', (secret, text, expected) => {
    expect(redacted(text, secret)).toBe(expected);
  });

  it('redactThrown takes the characters of a pattern literally', () => {
    expect(redacted('a.*b and axxb', 'a.*b')).toBe('[key] and axxb');
  });

  it("redactThrown keeps the identity of an error and the provider's name, where a key is the same word", () => {
    const details = { provider: 'toy', status: 404, retryable: false, body: 'toy http' };
    expect(
      redactThrown(new HttpError('toy answered 404: toy http.', details), {
        provider: 'toy',
        secrets: ['toy', 'http', ''],
      }),
    ).toMatchObject({
      code: 'http',
      provider: 'toy',
      name: 'HttpError',
      message: 'toy answered 404: toy [key].',
    });
  });

  it('redactThrown returns a new error for one that cannot be changed', () => {
    const frozen = Object.freeze(new Error(`bad ${key}`));
    expect(redactThrown(frozen, { provider: 'toy', secrets: [key] })).toEqual(new Error('bad [key]'));
  });

  it.each([
    ['a cycle', (data: Record<string, unknown>) => (data['self'] = data)],
    [
      'null and numbers',
      (data: Record<string, unknown>) => Object.assign(data, { none: null, count: 3, no: undefined }),
    ],
    ['a list', (data: Record<string, unknown>) => (data['list'] = [1, [null], 'x'])],
    [
      'an object without a prototype',
      (data: Record<string, unknown>) => Object.assign(data, { bare: Object.create(null) as object }),
    ],
  ])('redactThrown keeps what is not a key in data: %s', (_, change) => {
    const [data, expected] = [{ said: key }, { said: '[key]' }];
    change(data);
    change(expected);
    const error = Object.assign(new Error('x'), { data });
    const result = redactThrown(error, { provider: 'toy', secrets: [key], debug: true }) as typeof error;
    expect(result.data).toMatchObject(_ === 'a cycle' ? { said: '[key]' } : expected);
    expect(Object.keys(result.data)).toEqual(Object.keys(expected));
  });

  it('redactThrown hides the key in an object without a prototype, and leaves one of a class as it is', () => {
    const bare = Object.assign(Object.create(null) as object, { said: key });
    const [date, map] = [new Date(0), new Map([['a', 1]])];
    const error = Object.assign(new Error('x'), { data: { bare, date, map } });
    redactThrown(error, { provider: 'toy', secrets: [key], debug: true });
    expect(error.data.bare).toEqual({ said: '[key]' });
    expect([error.data.date, error.data.map]).toEqual([date, map]);
    expect(error.data.date).toBe(date);
  });

  it('redactThrown keeps an error whose field cannot be changed, and has no key', () => {
    const error = Object.defineProperty(new Error('x'), 'fixed', { value: 'ordinary' });
    expect(redactThrown(error, { provider: 'toy', secrets: [key] })).toBe(error);
    const secret = Object.defineProperty(new Error('x'), 'fixed', { value: key });
    expect(redactThrown(secret, { provider: 'toy', secrets: [key] })).not.toBe(secret);
  });

  it.each([
    ['a text', `saw ${key}`, 'saw [key]'],
    ['nothing', undefined, undefined],
    ['null', null, null],
    ['a number', 7, 7],
  ])('redactThrown takes whatever is thrown: %s', (_, thrown, expected) => {
    expect(redactThrown(thrown, { provider: 'toy', secrets: [key] })).toBe(expected);
  });

  it('redactThrown keeps a text of 10,000 characters', () => {
    const text = 'long '.repeat(2_000);
    expect((redactThrown(new Error(text), { provider: 'toy' }) as Error).message).toBe(text);
  });
});
