import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { recordFetch } from 'rivulet/recording';
import { mcpSignIn } from '../../lib/tools/mcp/mcpSignIn.js';

/** Status lines that `fetch` accepts, and `new Response` does not. */
const lines = ['200 \u2713', '400 \u2713', '600 X', '999 X', '403 Forbidden', '200 OK'];

/** What makes a response of another one. */
const fetches: Readonly<Record<string, () => typeof fetch>> = {
  recordFetch: () => recordFetch().fetch,
  mcpSignIn: () => mcpSignIn({ tokens: () => undefined } as unknown as OAuthClientProvider).fetch,
};

async function fieldsOf(response: Response) {
  const { status, statusText, ok, headers } = response;
  const copy = response.clone();
  const type = headers.get('content-type');
  return {
    status,
    statusText,
    ok,
    type,
    text: await response.text(),
    again: [copy.status, copy.ok, await copy.text()],
  };
}

describe('withBody', () => {
  it.each(Object.keys(fetches).flatMap((name) => lines.map((line) => [name, line] as const)))(
    'keeps, for %s, a response with the status line "%s"',
    async (name, line) => {
      const raw = `HTTP/1.1 ${line}\r\ncontent-type: text/x\r\ncontent-length: 5\r\nconnection: close\r\n\r\nHello`;
      let requests = 0;
      const server = createServer((socket) =>
        socket.once('data', () => {
          requests++;
          socket.end(Buffer.from(raw));
        }),
      ).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      try {
        const expected = await fieldsOf(await fetch(url));
        expect(expected.text).toBe('Hello');
        expect(await fieldsOf(await fetches[name]!()(url))).toEqual(expected);
        expect(requests).toBe(2);
      } finally {
        server.close();
      }
    },
  );
});
