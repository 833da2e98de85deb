import { describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { failureOf, requestTo } from './wires.js';

describe('connectionError', () => {
  it('connectionError contains the reason, which fetch hides in the cause, and not the query of the URL', async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
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
});
