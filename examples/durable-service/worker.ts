// A process that executes runs. DATABASE_URL, PAGE, PROVIDER and the key of a provider are its environment.
import { DBOS } from '@dbos-inc/dbos-sdk';
import { observeRun } from 'rivulet';
import { durableWorker } from 'rivulet/dbos';
import { traceAgent } from 'rivulet/opentelemetry';
import { openAgent } from './agent.js';
import { connect, databaseUrl, openStorage } from './storage.js';

const { pool, store, log } = await openStorage(4);
const { agent, about } = await openAgent();
const name = `worker ${process.pid}`;
const worker = durableWorker(traceAgent(agent, { name: 'durable-service' }), {
  dbos: DBOS,
  databaseUrl: databaseUrl(),
  pool,
  connect,
  store,
  log,
  observe: (run$, { id }) =>
    run$.pipe(
      observeRun({ runEnd: (end) => console.log(`${name}: ${id} ${end.result?.finishReason ?? end.outcome}`) }),
    ),
  onError: (thrown) => console.error(`${name}:`, thrown),
});
worker.run.subscribe({
  next: () => {
    console.log(`${name}: ${about}`);
    process.send?.('ready');
  },
  error: (thrown: unknown) => {
    console.error(`${name}: other workers execute its runs now.`, thrown);
    process.exit(1); // the supervisor starts another one
  },
});
process.once('SIGTERM', () => worker.shutdown().subscribe({ complete: () => process.exit() }));
// A terminal sends its signals to all processes: main.ts ends this one, once.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.once('disconnect', () => process.exit()); // main.ts has ended
