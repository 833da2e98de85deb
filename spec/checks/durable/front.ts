import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { agentHandler } from '../../../lib/service/http/agentHandler.js';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import { durableAgent } from '../../../lib/service/stores/dbos/index.js';
import { postgresPorts } from './ports.js';

// A process that answers requests. Its arguments are the URL of the database, the queue of its runs,
// and the share of statements that fail. It sends its own URL when it listens.

const [url = '', queue, faults = '0'] = process.argv.slice(2);
const { pool, store, log } = postgresPorts(url, Number(faults));
const client = await DBOSClient.create({ systemDatabaseUrl: url, systemDatabasePool: pool });
const server = createServer(nodeListener(agentHandler(durableAgent({ client, store, log, queue }), { store, log })));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}/`);
});
process.on('disconnect', () => process.exit(0)); // the check has ended
