import pg from 'pg';
import { lastValueFrom, map, timer } from 'rxjs';
import { createAgent } from 'rivulet';
import { keepChats } from 'rivulet/service';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { builtPage } from '../../../examples/angular-chat/server/page.js';
import { serve } from '../../../examples/node-service/serve.js';
import { migratePostgres, postgresStore } from '../../../lib/service/stores/postgres/index.js';
import { registerTool } from './register.js';

// The service of `asking.ts` as a process that may be killed: its arguments are its port and the address of PostgreSQL.
// It sends the steps that it does to its parent.

const [port = '', connectionString = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString });
await lastValueFrom(migratePostgres(pool), { defaultValue: undefined });

const register = registerTool((name, key) => {
  process.send?.([name, key]);
  return timer(200).pipe(map(() => `${name} done`));
});
const model = scriptedModel(
  ({ messages }) => {
    const [result] = (messages.at(-1)?.parts ?? []).flatMap((part) =>
      part.type === 'toolResult' ? [part.result] : [],
    );
    if (result !== undefined) return ['Registered: ', `${(result as { name: string }).name}.`];
    return ['Please fill in the form.', toolCall('register', {}, `call-${messages.length}`)];
  },
  { keep: 0 },
);
await serve(createAgent({ model, tools: [register] }), {
  port: Number(port),
  page: builtPage,
  store: postgresStore(pool),
  chats: keepChats(postgresStore(pool, { kind: 'chat' })),
  checkpoints: true,
});
process.send?.('ready');
