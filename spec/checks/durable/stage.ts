import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { firstValueFrom, lastValueFrom, Subject, timer } from 'rxjs';
import { conversation } from '../../../lib/chat/conversation.js';
import { remoteAgent } from '../../../lib/chat/remoteAgent.js';
import { agentHandler } from '../../../lib/service/agentHandler.js';
import { durableAgent } from '../../../lib/stores/dbos/index.js';
import { migratePostgres } from '../../../lib/stores/postgres/index.js';
import { startPostgres } from '../../support/postgresServer.js';
import { postgresPorts } from './ports.js';

export const pause = (milliseconds: number) => firstValueFrom(timer(milliseconds));

interface Worker {
  readonly process: ChildProcess;
  readonly id: string;
}

const script = fileURLToPath(new URL('./worker.ts', import.meta.url));

/** A PostgreSQL server, fronts in this process, and workers in processes of their own. */
export async function createStage({ fronts: frontCount = 2, delay = 15, maxConnections = 100 } = {}) {
  const server = await startPostgres({ maxConnections });
  const { url } = server;
  const ports = Array.from({ length: frontCount }, () => postgresPorts(url));
  const [{ pool }] = ports as [ReturnType<typeof postgresPorts>];
  await lastValueFrom(migratePostgres(pool), { defaultValue: undefined });
  await pool.query('create table noted (kind text, key text, pid integer, at timestamptz default clock_timestamp())');
  const workers: Worker[] = [];
  const startWorker = () =>
    new Promise<void>((resolve) => {
      const process = fork(script, [url, String(delay)], {
        execArgv: ['--import', 'tsx'],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      process.once('message', (id: string) => {
        workers.push({ process, id });
        resolve();
      });
    });
  await startWorker(); // the first one creates the tables of DBOS
  const client = await DBOSClient.create({ systemDatabaseUrl: url });
  const fronts = ports.map(({ store, log }) => agentHandler(durableAgent({ client, store, log }), { store, log }));
  /** The process that executes a run. */
  const executorOf = async () => {
    const { rows } = await pool.query<{ executor_id: string }>(
      "select executor_id from dbos.workflow_status where status = 'PENDING' order by updated_at desc limit 1",
    );
    return workers.find(({ id }) => id === rows[0]?.executor_id);
  };
  const killExecutor = async () => {
    const worker = await executorOf();
    if (!worker) return false;
    workers.splice(workers.indexOf(worker), 1);
    worker.process.kill('SIGKILL');
    return true;
  };
  /** Opens a page whose requests go to any front, and whose connections can be cut. */
  const open = (received = new Subject<number>()) => {
    const cuts = new Set<() => void>();
    let next = 0;
    let events = 0;
    const fetchAnywhere: typeof fetch = async (_, init = {}) => {
      const cut = new AbortController();
      cuts.add(() => cut.abort());
      const front = fronts[next++ % fronts.length];
      const request = new Request('http://service.test/', { ...init, signal: null });
      const response = (await front?.(request)) ?? Response.error();
      const headers = new Headers(response.headers);
      headers.delete('retry-after');
      const counted = new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, out) {
          out.enqueue(bytes);
          const lines = new TextDecoder().decode(bytes).match(/^data:/gm)?.length ?? 0;
          for (let line = 0; line < lines; line++) received.next(++events);
        },
      });
      const body = response.body?.pipeThrough(counted, { signal: cut.signal });
      return new Response(body ?? null, { status: response.status, headers });
    };
    const agent = remoteAgent('http://service.test/', { fetch: fetchAnywhere, retries: 500, retryDelay: 20 });
    const page = conversation(agent);
    const reading = page.view$.subscribe();
    return {
      page,
      received,
      cut: () => {
        for (const end of cuts) end();
        cuts.clear();
      },
      close: () => reading.unsubscribe(),
    };
  };
  return {
    server,
    pool,
    client,
    fronts,
    ports,
    workers,
    startWorker,
    killExecutor,
    open,
    async close() {
      for (const { process } of workers) process.kill('SIGKILL');
      await client.destroy();
      await Promise.all(ports.map((port) => port.pool.end()));
      server.remove();
    },
  };
}
