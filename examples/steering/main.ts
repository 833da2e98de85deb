import { lastValueFrom, map, take, tap, timer } from 'rxjs';
import WebSocket from 'ws';
import { createAgent } from 'rivulet';
import { openai, webSocketTransport } from 'rivulet/openai';
import { serveModel } from 'rivulet/testing/server';
import { openGateway } from './gateway.js';

// A response that the user steers while it is written. `npm run example:steering` is offline: a loopback server behind a
// gateway for WebSockets. With OPENAI_API_KEY, it asks OpenAI.

const isOnline = process.env['OPENAI_API_KEY'] !== undefined;
const server = await serveModel(
  [
    'Week 1: interview ten users, and write down what they do today. Week 2: draw the pages. Week 3: build a prototype. '.split(
      /(?<= )/,
    ),
    'For one developer in two weeks: interview three users on Monday, and build the one page that they need most. '.split(
      /(?<= )/,
    ),
  ],
  { delay: 150 },
);
const gateway = await openGateway('interrupts');
const sockets = webSocketTransport(isOnline ? WebSocket : gateway.webSocket);
const model = openai('gpt-6-astra', {
  fetch: sockets.fetch,
  session: true, // only a stored response can be steered
  ...(isOnline ? {} : { baseUrl: server.urlFor('openai'), apiKey: 'none' }),
});

const prompts = timer(2000).pipe(
  take(1),
  map(() => 'For one developer, in two weeks.'),
  tap((prompt) => process.stdout.write(`\n\n> ${prompt}\n`)),
);
process.stdout.write('> Plan the project.\n\n');
await lastValueFrom(
  createAgent({ model })
    .stream('Plan the project.', { prompts, whenPrompted: sockets.steer })
    .pipe(
      tap((event) => {
        if (event.type === 'text') process.stdout.write(event.text);
        if (event.type === 'turn')
          process.stdout.write(`\n[turn ${event.turn} ended: ${event.rawReason ?? event.finishReason}]\n`);
      }),
    ),
);
sockets.close();
await gateway.close();
await server.close();
