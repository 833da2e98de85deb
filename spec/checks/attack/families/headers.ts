import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { modelByName } from '../../../../lib/providers/registry/index.js';
import { assertTyped, key } from '../family.js';
import type { Family } from '../family.js';
import { bodyOf, eventsOf, wires } from '../wires.js';

const crlf = '\r\n';
const ok = ['HTTP/1.1 200 OK', 'content-type: text/event-stream', 'connection: close'];
const blocks = (...lines: readonly string[]) => [...lines, '', ''].join(crlf);

/** Heads of responses, each followed by the body of an answer. */
const table: Readonly<Record<string, string>> = {
  'six content encodings': blocks(...ok, `content-encoding: ${Array(6).fill('gzip').join(', ')}`),
  'gzip that is none': blocks(...ok, 'content-encoding: gzip'),
  'brotli that is none': blocks(...ok, 'content-encoding: br'),
  'an unknown encoding': blocks(...ok, 'content-encoding: x-evil'),
  'chunks that are none': blocks(...ok, 'transfer-encoding: chunked'),
  'two transfer encodings': blocks(...ok, 'transfer-encoding: gzip, chunked'),
  'a length that is too small': blocks(...ok, 'content-length: 10'),
  'a length that is too large': blocks(...ok, 'content-length: 100000'),
  'a negative length': blocks(...ok, 'content-length: -1'),
  'two lengths': blocks(...ok, 'content-length: 10', 'content-length: 20'),
  'a header of 100 kB': blocks(...ok, `x-long: ${'x'.repeat(100_000)}`),
  'five thousand headers': blocks(...ok, ...Array.from({ length: 5000 }, (_, at) => `x-${at}: 1`)),
  'names of prototypes': blocks(...ok, '__proto__: 1', 'constructor: 2', 'toString: 3'),
  'a NUL in a value': blocks(...ok, 'x-nul: a\0b'),
  'bytes that are not ASCII': blocks(...ok, 'x-bytes: \u00ff\u0080'),
  'no colon': blocks(...ok, 'nonsense'),
  'no content type': blocks('HTTP/1.1 200 OK', 'connection: close'),
  'an empty content type': blocks('HTTP/1.1 200 OK', 'content-type:', 'connection: close'),
  HTML: blocks('HTTP/1.1 200 OK', 'content-type: text/html', 'connection: close'),
  'a content type of 60,000 blanks': blocks(
    'HTTP/1.1 200 OK',
    `content-type: a${' '.repeat(10_000)}b`,
    'connection: close',
  ),
  'an unknown charset': blocks(
    'HTTP/1.1 200 OK',
    'content-type: text/event-stream; charset=utf-7',
    'connection: close',
  ),
  'no content': blocks('HTTP/1.1 204 No Content', 'connection: close'),
  'not modified': blocks('HTTP/1.1 304 Not Modified', 'connection: close'),
  'a redirect to a file': blocks('HTTP/1.1 302 Found', 'location: file:///etc/passwd', 'connection: close'),
  'a redirect to nothing': blocks('HTTP/1.1 307 Found', 'location: http://127.0.0.1:1/', 'connection: close'),
  'a redirect to no URL': blocks('HTTP/1.1 307 Found', 'location: http://[', 'connection: close'),
  'status 999': blocks('HTTP/1.1 999 Evil', 'connection: close'),
  'status 000': blocks('HTTP/1.1 000 Evil', 'connection: close'),
  'switching protocols': blocks('HTTP/1.1 101 Switching Protocols', 'upgrade: evil', 'connection: upgrade'),
  'a hundred early hints': blocks('HTTP/1.1 103 Early Hints', 'link: </a>').repeat(100) + blocks(...ok),
  'a retry after a thousand years': blocks('HTTP/1.1 429 Slow', 'retry-after: 31536000000', 'connection: close'),
  'a retry after nonsense': blocks(
    'HTTP/1.1 429 Slow',
    'retry-after: -1e999',
    'retry-after-ms: NaN',
    'connection: close',
  ),
  'HTTP/0.9': '',
  'another protocol': '\u0016\u0003\u0001\u0002\u0000',
};

/** Hostile heads of responses over real sockets: a typed error or an answer, and nothing that is not caught. */
export const headers: Family = {
  name: 'headers',
  async run(check, { isShort }) {
    for (const wire of isShort ? ['openai-chat', 'ollama'] : wires) {
      const { bytes } = await bodyOf(wire);
      for (const [name, head] of Object.entries(table))
        for (const end of ['end', 'resetAndDestroy'] as const)
          await check(`${wire}, ${name}, ${end}`, async () => {
            const server = createServer((socket) => {
              socket.on('error', () => undefined);
              socket.once('data', () => {
                socket.write(Buffer.from(head, 'latin1'));
                socket.write(bytes, () => (end === 'end' ? socket.end() : socket.resetAndDestroy()));
              });
            });
            await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
            const { port } = server.address() as AddressInfo;
            const baseUrl = `http://127.0.0.1:${port}/v1`;
            const model = modelByName(wire, {
              baseUrl,
              apiKey: key,
              retry: false,
              timeout: { first: 1000, each: 1000 },
            });
            try {
              const { error } = await eventsOf(model);
              if (error !== undefined) assertTyped(error);
              assert.ok(!JSON.stringify(error ?? '').includes(key));
            } finally {
              server.close();
            }
          });
    }
  },
};
