// A process that answers requests. It has no model and no tools. DATABASE_URL, PORT and PAGE are its environment.
import { createServer } from 'node:http';
import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { durableAgent } from 'rivulet/dbos';
import { agentHandler, createService, keepChats, nodeListener } from 'rivulet/service';
import { builtPage } from '../angular-chat/server/page.js';
import { pageFiles } from '../page/files.js';
import { headersOf } from '../page/pageFile.js';
import { startSession, userOf } from './session.js';
import type { User } from './session.js';
import { databaseUrl, openStorage } from './storage.js';

const { pool, store, log, chats, close } = await openStorage(3);
const client = await DBOSClient.create({ systemDatabaseUrl: databaseUrl(), systemDatabasePool: pool });
const service = createService<User>({
  agent: durableAgent<User>({ client, store, log }),
  store,
  log,
  context: userOf,
  owner: ({ id }) => id,
  chats: keepChats(chats),
  browser: { allowedHosts: ['127.0.0.1', 'localhost'] }, // the names of your service
});
const answer = nodeListener(agentHandler(service));
const files = await (process.env['PAGE'] === 'angular' ? builtPage() : pageFiles());

const server = createServer((request, response) => {
  const path = request.url?.split('?', 1)[0] ?? '/';
  const file = files.get(path);
  response.setHeader('x-front', process.pid); // so that one sees which process has answered
  if (path === '/api/chat') answer(request, response);
  else if (path === '/ready') response.writeHead(204).end();
  else if (file) {
    startSession(request, response);
    response.writeHead(200, headersOf(file)).end(file.body);
  } else response.writeHead(404).end();
});
server.listen(Number(process.env['PORT'] ?? 3000), process.env['HOST'] ?? '127.0.0.1', () => process.send?.('ready'));

/** Closes the connections of the pages, which come back to another front. The runs go on. */
async function leave(): Promise<void> {
  server.close();
  await service.shutdown('abandon').forEach(() => undefined); // requests that are being answered
  server.closeAllConnections();
  await client.destroy();
  await close();
  process.exit();
}
process.once('SIGTERM', () => void leave());
// A terminal sends its signals to all processes: main.ts ends this one, once.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
