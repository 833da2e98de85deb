import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';

// Servers that fail, below HTTP: each fault writes bytes to the socket after the request has arrived.

/** A fault, and how a response that has it ends. */
export interface Fault {
  /** What the server does once it has read the request. */
  readonly respond: (socket: Socket) => void;
  /** The code of the error; of a timeout also its phase. */
  readonly code: string;
  /** The text that was received before. Default: none. */
  readonly text?: string;
  /** Whether `retryModel` starts the turn over. Default: true. */
  readonly isRetried?: boolean;
}

/** The key of all requests: no error may contain it. */
export const key = 'sk-fault-0123456789-secret';

const event = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const head = (status = '200 OK', type = 'text/event-stream', more = '') =>
  `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n${more}\r\n`;
const announcement = chunk(event({ role: 'assistant', content: '' }));
const hello = head() + announcement + chunk(event({ content: 'Hello ' }));

/** A complete response, from its status line to its end. */
export const completeResponse = `${hello}${chunk(event({ content: 'world' }))}${chunk(event({}, 'stop'))}${chunk('data: [DONE]\n\n')}0\r\n\r\n`;

/** Where the finish ends: from there on, the response is complete for its reader. */
export const finishOffset = completeResponse.indexOf('"stop"}]}') + '"stop"}]}'.length;

/** The text of the events in the first bytes of the complete response. The last one may lack its line ends. */
export const textWithin = (length: number): string => {
  const ends = ['Hello ', 'world'].map((text) => {
    const delta = event({ content: text }).trimEnd();
    return { text, end: completeResponse.indexOf(delta) + delta.length };
  });
  return ends.map(({ text, end }) => (end <= length ? text : '')).join('');
};

/** Writes again and again, as fast as the client reads, or with a pause. */
function repeat(socket: Socket, text: string, pause?: number): void {
  const write = () => {
    if (socket.destroyed) return;
    if (pause !== undefined) {
      socket.write(text);
      setTimeout(write, pause);
    } else if (socket.write(text)) setImmediate(write);
    else socket.once('drain', write);
  };
  write();
}

/** Sends a body without end that a gzip stream compresses to a thousandth. */
function bomb(socket: Socket, status?: string): void {
  socket.write(head(status, 'text/event-stream', 'content-encoding: gzip\r\n'));
  const line = Buffer.from('a'.repeat(1 << 20));
  let isFirst = true;
  const source = new Readable({
    read() {
      this.push(isFirst ? Buffer.from('data: ') : line);
      isFirst = false;
    },
  });
  const compressed = source.pipe(createGzip());
  compressed.on('data', (bytes: Buffer) => {
    socket.write(`${bytes.length.toString(16)}\r\n`);
    socket.write(bytes);
    if (!socket.write('\r\n')) {
      compressed.pause();
      socket.once('drain', () => compressed.resume());
    }
  });
  socket.once('close', () => {
    source.destroy();
    compressed.destroy();
  });
}

const answer =
  (status: string, body: string, more = '') =>
  (socket: Socket) =>
    socket.end(`${head(status, 'application/json', more)}${chunk(body)}0\r\n\r\n`);
const busy = JSON.stringify({ error: { message: `Too busy for ${key}.` } });

export const faults: Readonly<Record<string, Fault>> = {
  'a reset before the response': { respond: (socket) => socket.resetAndDestroy(), code: 'connection' },
  'a reset during the response': {
    respond: (socket) => socket.write(hello, () => setTimeout(() => socket.resetAndDestroy(), 100)),
    code: 'stream_interrupted',
    text: 'Hello ',
  },
  'an end before the response': { respond: (socket) => socket.end(), code: 'connection' },
  'a half-closed connection during the response': {
    respond: (socket) => socket.end(hello),
    code: 'stream_interrupted',
    text: 'Hello ',
  },
  'a body that ends without a finish': {
    respond: (socket) => socket.end(`${hello}0\r\n\r\n`),
    code: 'stream_interrupted',
    text: 'Hello ',
  },
  'silence before the headers': { respond: () => undefined, code: 'timeout connect' },
  'silence after the headers': { respond: (socket) => socket.write(head()), code: 'timeout body' },
  'silence after an announcement': { respond: (socket) => socket.write(head() + announcement), code: 'timeout body' },
  'silence in the middle of the response': {
    respond: (socket) => socket.write(hello),
    code: 'timeout each',
    text: 'Hello ',
  },
  'headers that arrive byte by byte': {
    respond(socket) {
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      repeat(socket, 'a', 20);
    },
    code: 'timeout connect',
  },
  'a body that arrives byte by byte': {
    respond(socket) {
      socket.write(`${head()}${chunk('data: {"choices":[')}`);
      repeat(socket, chunk(' '), 20);
    },
    code: 'timeout first',
  },
  'keep-alives without a content': {
    respond(socket) {
      socket.write(head());
      repeat(socket, chunk(': alive\n\n'), 20);
    },
    code: 'timeout first',
  },
  'keep-alives without an end': {
    respond(socket) {
      socket.write(hello);
      repeat(socket, chunk(': alive\n\n'), 20);
    },
    code: 'timeout turn',
    text: 'Hello ',
    isRetried: false,
  },
  'keep-alives as fast as the network': {
    respond(socket) {
      socket.write(hello);
      repeat(socket, chunk(': alive\n\n'.repeat(10_000)));
    },
    code: 'timeout turn',
    text: 'Hello ',
    isRetried: false,
  },
  'garbage instead of HTTP': { respond: (socket) => socket.end('\0\x01garbage\r\n\r\n'), code: 'connection' },
  'garbage instead of events': {
    respond: (socket) => socket.end(`${head()}${chunk('\0\xff garbage \u{1f4a9}\n'.repeat(100))}0\r\n\r\n`),
    code: 'protocol',
    isRetried: false,
  },
  'garbage in an event': {
    respond: (socket) => socket.end(`${hello}${chunk('data: {"choices": [garbage\n\n')}0\r\n\r\n`),
    code: 'protocol',
    text: 'Hello ',
    isRetried: false,
  },
  'a page of a proxy': { respond: answer('200 OK', '<html>'), code: 'protocol', isRetried: false },
  'an endless line': {
    respond(socket) {
      socket.write(hello + chunk('data: '));
      repeat(socket, chunk('a'.repeat(1 << 20)));
    },
    code: 'protocol',
    text: 'Hello ',
    isRetried: false,
  },
  'a gzip bomb': { respond: (socket) => bomb(socket), code: 'protocol', isRetried: false },
  'a gzip bomb as an error': { respond: (socket) => bomb(socket, '500 Error'), code: 'http' },
  'a 429': { respond: answer('429 Too Many Requests', busy, 'retry-after: 0\r\n'), code: 'http' },
  'a 503': { respond: answer('503 Service Unavailable', busy, 'retry-after: 0\r\n'), code: 'http' },
  'a 401 that repeats the key': { respond: answer('401 Unauthorized', busy), code: 'http', isRetried: false },
};

/** Sends so many bytes of comments in the middle of the complete response. */
export const respondAtLength =
  (bytes: number): Fault['respond'] =>
  (socket) => {
    const comments = chunk(': alive\n\n'.repeat(100_000));
    const after = completeResponse.slice(hello.length);
    let left = bytes;
    const write = () => {
      if (left <= 0) socket.end(after);
      else {
        left -= comments.length;
        socket.write(comments, write);
      }
    };
    socket.write(hello, write);
  };

/** A server that is told for each request what it does. */
export interface FaultyServer {
  readonly url: string;
  readonly requests: () => number;
  readonly close: () => Promise<void>;
}

/**
 * Starts a server.
 *
 * @param respondTo Returns what is done for a request, by its number from 0.
 */
export async function serveFaults(respondTo: (request: number) => Fault['respond']): Promise<FaultyServer> {
  let requests = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    let received = '';
    socket.on('error', () => undefined); // the client has left
    socket.on('close', () => sockets.delete(socket));
    socket.on('end', () => socket.end());
    socket.on('data', (bytes) => {
      received += bytes.toString();
      const [headers = '', body] = received.split('\r\n\r\n', 2);
      const length = Number(/content-length: (\d+)/i.exec(headers)?.[1]);
      if (body === undefined || Buffer.byteLength(body) < length) return;
      received = '';
      respondTo(requests++)(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: () => requests,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Sends the complete response. */
export const respondWell: Fault['respond'] = (socket) => socket.end(completeResponse);
