import 'reflect-metadata';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createAgent } from 'rivulet';
import { pageFiles } from '../page/files.js';
import { headersOf } from '../page/pageFile.js';
import { connect } from '../terminal/providers.js';
import { weather } from '../terminal/weather.js';
import { ChatModule } from './chat.module.js';
import { pay } from './payment.js';
import { startSession, userOf } from './session.js';
import { readFile, writeFile } from './userFiles.js';
import type { User } from './userFiles.js';

// npm run example:nest-service [-- PROVIDER]
const options = { provider: process.argv[2] ?? 'openai', model: undefined, baseUrl: undefined };
const { model, about } = await connect(options, process.env);
const tools = [weather, readFile, writeFile, pay];
const agent = createAgent({ model, system: 'Answer briefly, in plain text.', tools });

const chat = {
  context: ({ headers }: Request) => userOf(headers.get('cookie')),
  owner: ({ id }: User) => id,
  checkpoints: true, // what was paid is recorded before the agent goes on
  browser: { allowedHosts: ['127.0.0.1', '[::1]', 'localhost'] }, // the names of your service
};
@Module({ imports: [ChatModule.register(agent, chat)] })
class AppModule {}

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ['error', 'warn'] });
app.useBodyParser('json', { limit: 20_971_520 }); // as much as the handler accepts: a history, or photos in base64
const files = await pageFiles();
app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
  const file = files.get(request.url?.split('?', 1)[0] ?? '');
  if (!file) return next();
  startSession(request, response);
  response.writeHead(200, headersOf(file)).end(file.body);
});
app.enableShutdownHooks();
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1');
console.log(`Rivulet: ${about}\nOpen ${await app.getUrl()}`);
