import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { concat, lastValueFrom, map, of, take, timer } from 'rxjs';
import type * as agents from '../../../../lib/index.js';
import type { Chunk } from '../../../../lib/core/chunk.js';
import { messageText } from '../../../../lib/core/message.js';
import type { Message } from '../../../../lib/core/message.js';
import type * as dbos from '../../../../lib/service/stores/dbos/index.js';
import type * as services from '../../../../lib/service/index.js';
import type * as postgres from '../../../../lib/service/stores/postgres/index.js';
import type * as testing from '../../../../lib/testing/index.js';
import { now } from './agent.js';

// A front or a worker of `npm run bench:live`. Its arguments are its role, the folder of the build that it uses, the URL
// of the database, the size of its pool, and `shared` if DBOS uses that pool too.

/** A front executes so many runs at once, each with so many deltas. */
export interface LiveTask {
  readonly runs: number;
  readonly deltas: number;
  /** Milliseconds between two deltas. */
  readonly delay: number;
}
/** Its answer. */
export interface LiveDone {
  /** The milliseconds from each delta to its reader. */
  readonly delays: readonly number[];
  /** The CPU microseconds of the process since its start. */
  readonly cpu: number;
}

const [role, root = '.', url = '', max = '10', sharing] = process.argv.slice(2);
const require = createRequire(join(root, 'package.json'));
const { exports: entries } = require('./package.json') as { exports: Record<string, { import: { default: string } }> };
const load = async (name: string): Promise<object> => {
  const file = entries[name]?.import.default;
  return file === undefined ? {} : ((await import(pathToFileURL(join(root, file)).href)) as object);
};
/** An older build has the names of the service in its root. */
const library = Object.assign(
  {},
  ...(await Promise.all(['.', './service', './dbos', './postgres', './testing'].map(load))),
) as typeof agents & typeof services & typeof dbos & typeof postgres & typeof testing;

const pool = new pg.Pool({ connectionString: url, max: Number(max) });
pool.on('error', () => undefined); // the database ends
const connect = () => new pg.Client({ connectionString: url });
await lastValueFrom(library.migratePostgres(pool), { defaultValue: undefined });
const store = library.postgresStore(pool);
const log = library.postgresLog(pool, { notifications: library.pgNotifications(connect) });
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** A model whose deltas say when they were emitted. */
const model = library.scriptedModel(
  ({ messages: [prompt] }: { readonly messages: readonly Message[] }) => {
    const { deltas, delay } = JSON.parse(prompt ? messageText(prompt) : '{}') as LiveTask;
    const texts = timer(Math.random() * delay, delay).pipe(
      take(deltas),
      map((): Chunk => ({ type: 'text', text: `<${now().toFixed(1)}> two words ` })),
    );
    return concat(texts, of<Chunk>({ type: 'finish', reason: 'stop', usage: { input: 5, output: 5 } }));
  },
  { keep: 0 },
);

async function startWorker(): Promise<void> {
  const worker = library.durableWorker(library.createAgent({ model }), {
    ...{ dbos: DBOS, databaseUrl: url, connect, store, log, concurrency: 1000, onError: console.error },
    ...(sharing === 'shared' ? { pool } : {}),
  });
  await new Promise<void>((resolve, reject) => worker.run.subscribe({ next: () => resolve(), error: reject }));
  process.on('message', () => process.send?.({ delays: [], cpu: cpu() } satisfies LiveDone));
}

async function startFront(): Promise<void> {
  const client = await DBOSClient.create({
    systemDatabaseUrl: url,
    ...(sharing === 'shared' ? { systemDatabasePool: pool } : {}),
  });
  const handler = library.agentHandler(library.durableAgent({ client, store, log }), {
    store,
    log,
    onError: console.error,
  });
  /** Reads a run to its end. Returns the delays of its deltas. */
  const execute = async (task: LiveTask): Promise<number[]> => {
    const body = JSON.stringify({ input: JSON.stringify(task) });
    const headers = { 'x-run-id': crypto.randomUUID() };
    const response = await handler(new Request('http://service.test/', { method: 'POST', headers, body }));
    const delays: number[] = [];
    let rest = '';
    if (response.body)
      for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
        const at = now();
        // The text of the last message repeats the deltas.
        for (const [, line = ''] of (rest + bytes).matchAll(/^data: (\{"type":"text".*)\n/gm))
          for (const [, sent] of line.matchAll(/<([\d.]+)>/g)) delays.push(at - Number(sent));
        rest = bytes.slice(bytes.lastIndexOf('\n') + 1);
      }
    if (delays.length !== task.deltas) console.error(`${delays.length} of ${task.deltas} deltas: ${response.status}`);
    return delays;
  };
  process.on('message', (task: LiveTask) => {
    void Promise.all(Array.from({ length: task.runs }, () => execute(task))).then((delays) =>
      process.send?.({ delays: delays.flat(), cpu: cpu() } satisfies LiveDone),
    );
  });
}

await (role === 'worker' ? startWorker() : startFront());
process.once('disconnect', () => process.exit());
process.send?.('ready');
