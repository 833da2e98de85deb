import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createOpenAI } from '@ai-sdk/openai';
import { catchError, lastValueFrom, map, of } from 'rxjs';
import { fromAiSdk } from '../../lib/providers/aiSdk/aiSdk.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';

/**
 * A program for a child process: each model meets each faulty server, and the error codes are printed as JSON, together
 * with what would have ended the process.
 */
const sse = { 'content-type': 'text/event-stream' };
const faults: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'six content encodings': (response) => {
    // The body stays open: undici reads on, although it has rejected. (If the connection then breaks, undici raises an
    // uncaught SocketError, which no caller of `fetch` can prevent.)
    response.writeHead(200, { ...sse, 'content-encoding': Array(6).fill('gzip').join(', ') }).write('x');
  },
  'an unfinished gzip body': (response) => {
    response.writeHead(200, { ...sse, 'content-encoding': 'gzip' });
    response.write(gzipSync('data: {}\n\n').subarray(0, 12), () => response.socket?.resetAndDestroy());
  },
  'a gzip body that is not gzip': (response) => {
    response.writeHead(500, { ...sse, 'content-encoding': 'gzip' }).end('not gzip');
  },
  'a reset before the response': (response) => response.socket?.resetAndDestroy(),
  'a reset during the response': (response) => {
    response.writeHead(200, sse).write(': hello\n\n', () => response.socket?.resetAndDestroy());
  },
  'a redirect': (response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
};

const uncaught: string[] = [];
process.on('uncaughtException', (error) => uncaught.push(`${error.name}: ${error.message}`));
process.on('unhandledRejection', (reason) => uncaught.push(`unhandled: ${String(reason)}`));

const outcomes: Record<string, unknown> = {};
for (const [name, respond] of Object.entries(faults)) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => respond(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const models = [
    openaiChat('gpt-test', { apiKey: 'none', baseUrl: baseURL, retry: false }),
    fromAiSdk(createOpenAI({ apiKey: 'none', baseURL }).chat('gpt-test'), { retry: false }),
  ];
  const codes = models.map((model) =>
    lastValueFrom(
      model.stream({ messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] }).pipe(
        map(({ type }) => type as unknown),
        catchError((error: unknown) => of((error as { readonly code: string }).code)),
      ),
    ),
  );
  outcomes[name] = await Promise.all(codes);
}
// What undici raises, it raises some ticks after the abort.
setTimeout(() => {
  process.stdout.write(JSON.stringify({ outcomes, uncaught }));
  process.exit();
}, 200);
