import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { ConfigurationError, errorText, HttpError } from '../../lib/core/errors.js';

describe('errorText', () => {
  const refuses = {
    toJSON() {
      throw new Error('no');
    },
    toString() {
      throw new Error('no');
    },
  };
  const broken = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no');
    },
  });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();

  it.each<[string, unknown, string]>([
    ['an Error', new Error('boom'), 'boom'],
    ['an Error without words', new TypeError(), 'TypeError'],
    ['an Error of another realm', runInNewContext('new Error("from there")'), 'from there'],
    ['a text', 'boom', 'boom'],
    ['a plain object', { code: 7 }, '{"code":7}'],
    ['undefined', undefined, 'undefined'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an Error whose message is no text', Object.assign(new Error('x'), { message: { a: 1 } }), 'Error'],
    ['what refuses to be read', refuses, 'something was thrown that cannot be read'],
    ['an Error whose message throws', broken, 'something was thrown that cannot be read'],
    ['a revoked proxy', proxy, 'something was thrown that cannot be read'],
    [
      'a circle without prototype',
      (() => {
        const circle = Object.create(null) as Record<string, unknown>;
        circle['self'] = circle;
        return circle;
      })(),
      'something was thrown that cannot be read',
    ],
  ])('tells %s', (_, thrown, text) => {
    expect(errorText(thrown)).toBe(text);
  });
});

describe('errors', () => {
  it('are told apart by code, and say what to do next', () => {
    expect(new ConfigurationError('apiKey', 'There is no key.', 'Set X.')).toMatchObject({
      code: 'configuration',
      name: 'ConfigurationError',
      message: 'There is no key. Set X.',
      retryable: false,
    });
    expect(new HttpError('no', { provider: 'p', status: 429, retryable: true, body: '', retryAfter: 5 })).toMatchObject(
      {
        code: 'http',
        status: 429,
        retryAfter: 5,
        retryable: true,
      },
    );
  });
});
