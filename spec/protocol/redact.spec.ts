import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { ProviderError } from '../../lib/core/errors.js';
import { redactThrown } from '../../lib/protocol/redact.js';

const key = 'sk-proj-ABCDEFGHIJKLMNOP';
const cleaned = (text: string, secret = key) => (redactThrown(new Error(text), [secret], 'toy') as Error).message;

describe('redactThrown', () => {
  it('removes a key wherever it stands, also of an error of another realm, and in the keys of its data', () => {
    expect(cleaned(`Incorrect API key provided: ${key}.`)).toBe('Incorrect API key provided: [key].');
    const foreign = runInNewContext(`new Error('bad ${key}')`) as Error;
    expect((redactThrown(foreign, [key], 'toy') as Error).message).toBe('bad [key]');
    const error = new ProviderError('toy', 'x', { retryable: false, data: { [key]: { said: key } } });
    expect(JSON.stringify(redactThrown(error, [key], 'toy'))).not.toContain('ABCDEF');
  });

  it.each([4, 9, 15, 23])(
    'removes a key that was cut after %i characters, at the end and before an ellipsis',
    (length) => {
      const cut = key.slice(0, length);
      expect(cleaned(`said ${cut}`)).toBe('said [key]');
      expect(cleaned(`said "${cut}..." here`)).toBe('said "[key]..." here');
    },
  );

  it.each([
    ['test', 'The latest test model.', 'The latest [key] model.'],
    ['any', 'try many, or any.', 'try many, or [key].'],
    ['x', 'does not exist', 'does not exist'],
  ])('takes a short key (%s) for a word, not for a piece of one', (secret, text, expected) => {
    expect(cleaned(text, secret)).toBe(expected);
  });

  it('takes characters of a pattern for themselves', () => {
    expect(cleaned('a.*b and axxb', 'a.*b')).toBe('[key] and axxb');
  });
});
