import { fileURLToPath } from 'node:url';
import { firstValueFrom, lastValueFrom, Subject, timer } from 'rxjs';
import { conversation } from '../../../lib/chat/conversation.js';
import { remoteAgent } from '../../../lib/chat/remoteAgent.js';
import { migratePostgres } from '../../../lib/service/stores/postgres/index.js';
import { startPostgres } from '../../support/postgresServer.js';
import { RUN_ID_HEADER } from '../../../lib/transport/fromServerSentEvents.js';
import { postgresPorts } from './ports.js';
import { supervise } from './supervise.js';

export const pause = (milliseconds: number) => firstValueFrom(timer(milliseconds));

const workerScript = fileURLToPath(new URL('./worker.ts', import.meta.url));
const frontScript = fileURLToPath(new URL('./front.ts', import.meta.url));

/** A PostgreSQL server, and fronts and workers in processes of their own, which are started again when they end. */
export async function createStage({
  fronts: frontCount = 2,
  workers: workerCount = 1,
  delay = 15,
  maxConnections = 100,
  queues = ['rivulet'],
  releases = ['1'],
  faults = 0,
} = {}) {
  const server = await startPostgres({ maxConnections });
  const { url } = server;
  const { pool, close: closePool } = postgresPorts(url);
  await lastValueFrom(migratePostgres(pool), { defaultValue: undefined });
  await pool.query(
    'create table noted (kind text, key text, pid integer, queue text, at timestamptz default clock_timestamp())',
  );
  // Each process takes the next queue when it starts, and keeps it; a worker that starts again has another release.
  let started = 0;
  const releaseOf = () => releases[started++ % releases.length] ?? '1';
  const workers = supervise(workerScript, (index) => [
    ...[url, String(delay), queues[index % queues.length] ?? '', releaseOf(), String(faults)],
  ]);
  const fronts = supervise(frontScript, (index) => [url, queues[index % queues.length] ?? '', String(faults)]);
  const starting = Array.from({ length: frontCount + workerCount }, (_, index) =>
    (index < frontCount ? fronts : workers).start(),
  );
  await Promise.all(starting);
  /** The process that executes a run. */
  const executorOf = async () => {
    const { rows } = await pool.query<{ executor_id: string }>(
      "select executor_id from dbos.workflow_status where status = 'PENDING' order by updated_at desc limit 1",
    );
    return workers.members.find(({ name }) => name === rows[0]?.executor_id);
  };
  /** Kills it, and returns what resolves when another process is ready. */
  const killExecutor = async () => {
    const worker = await executorOf();
    return worker && { restarted: workers.kill(worker) };
  };
  /** Opens a page whose requests go to any front, and whose connections can be cut. */
  const open = (received = new Subject<number>()) => {
    const cuts = new Set<() => void>();
    const runs = new Set<string>();
    /** What was requested and received. */
    const trace: string[] = [];
    let next = 0;
    let events = 0;
    const fetchAnywhere: typeof fetch = async (_, init = {}) => {
      const cut = new AbortController();
      cuts.add(() => cut.abort());
      runs.add(new Headers(init.headers).get(RUN_ID_HEADER) ?? '');
      const front = fronts.members[next++ % fronts.members.length];
      if (!front) throw new TypeError('All fronts have ended.');
      const asked = `${new Date().toISOString()} ${front.name} ${new Headers(init.headers).get('last-event-id')}`;
      trace.push(asked);
      const response = await fetch(front.name, init);
      const headers = new Headers(response.headers);
      headers.delete('retry-after');
      const counted = new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, out) {
          out.enqueue(bytes);
          const text = new TextDecoder().decode(bytes);
          trace.push(`${asked}: ${text.slice(0, 300)}`);
          const lines = text.match(/^data:/gm)?.length ?? 0;
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
      /** The ids of the runs of the page. */
      runs,
      trace,
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
    fronts,
    workers,
    killExecutor,
    open,
    async close() {
      workers.close();
      fronts.close();
      await closePool();
      server.remove();
    },
  };
}
