import { DBOS } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import { durableWorker } from '../../../../lib/service/stores/dbos/index.js';
import { postgresPorts } from '../../durable/ports.js';
import { createPlannedAgent } from './agent.js';

// A worker of `npm run bench:durable`. Its argument is the URL of the database. It answers `cpu` with its CPU time.

const [url = ''] = process.argv.slice(2);
const { pool, store, log } = postgresPorts(url);
const connect = () => new pg.Client({ connectionString: url });
const worker = durableWorker(createPlannedAgent() as never, {
  dbos: DBOS,
  databaseUrl: url,
  pool,
  connect,
  store,
  log,
  onError: console.error,
});
worker.run.subscribe({
  next: () => process.send?.('ready'),
  error: (thrown: unknown) => {
    console.error(thrown);
    process.exit(1);
  },
});
process.on('message', () => process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage().rss }));
process.once('disconnect', () => process.exit());
