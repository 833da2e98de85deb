import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { setImmediate as nextTick } from 'node:timers/promises';
import { Subject } from 'rxjs';
import type { StreamEvent } from '../../../lib/core/event.js';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import { runResponse } from '../../../lib/service/http/runResponse.js';
import { shareRun } from '../../../lib/service/runs/shareRun.js';

/**
 * node --expose-gc --import tsx spec/checks/bench/slowReader.ts [MB] [characters per delta ...]: what a client costs that
 * connects and reads nothing of a long answer. The client is another process. Prints JSON, for each length of a delta:
 *
 * - `log`: the heap of the run without a reader, in bytes per character of the text;
 * - `reader`: the bytes that the client adds to it, in the heap and outside of it (buffers of sockets);
 * - `left`: the bytes that remain when the client has vanished and the run is over;
 * - `subscribers`, `connections`: what is left then.
 */
const megabytes = Number(process.argv[2] ?? 100);
const deltaLengths = process.argv.length > 3 ? process.argv.slice(3).map(Number) : [5, 1];
const length = megabytes * 2 ** 20;

const words = Array.from({ length: 20_000 }, (_, index) => index.toString(36)).join(' ');
const textAt = (index: number, size: number) => {
  const start = (index * 7919) % (words.length - size);
  return words.slice(start, start + size);
};

async function usedMemory() {
  for (let i = 0; i < 3; i++) {
    await nextTick();
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Emits the text in deltas, as fast as the run takes them; sockets are served in between. */
async function emitText(source: Subject<StreamEvent>, deltaLength: number): Promise<void> {
  const count = length / deltaLength;
  for (let index = 0; index < count; index++) {
    source.next({ type: 'text', text: textAt(index, deltaLength) } as StreamEvent);
    if (index % 10_000 === 0) await nextTick();
  }
}

/** A client in another process: it sends a request, prints a line when the response begins, and reads no more. */
const client = (port: number) => {
  const program = `
    const socket = require('node:net').connect(${port}, '127.0.0.1', () => socket.write('POST / HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n'));
    socket.once('readable', () => console.log('connected'));
    setInterval(() => undefined, 60_000); // a socket that nobody reads does not keep a process alive
  `;
  return spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
};

/** The memory of a run after its last delta, with or without the client, and what remains when it is over. */
async function measureRun(deltaLength: number, withClient: boolean) {
  const source = new Subject<StreamEvent>();
  const run = shareRun(source);
  run.start();
  const server = createServer(nodeListener(() => Promise.resolve(runResponse(run)))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const start = await usedMemory();
  let leave = () => Promise.resolve();
  if (withClient) {
    const request = once(server, 'request') as Promise<[unknown, ServerResponse]>;
    const reader = client((server.address() as AddressInfo).port);
    const [, response] = await request;
    await once(createInterface({ input: reader.stdout }), 'line');
    leave = async () => {
      const closed = once(response, 'close');
      reader.kill('SIGKILL');
      await closed;
    };
  }
  await emitText(source, deltaLength);
  const used = (await usedMemory()) - start;
  await leave();
  run.unsubscribe();
  const connections = await new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
  server.close();
  return { used, subscribers: Number(source.observed), connections };
}

const measured = [];
for (const deltaLength of deltaLengths) {
  await measureRun(deltaLength, true); // warms up: compiled code, the pools of the sockets
  const start = await usedMemory();
  const alone = await measureRun(deltaLength, false);
  const { used, subscribers, connections } = await measureRun(deltaLength, true);
  const left = (await usedMemory()) - start;
  const log = Number((alone.used / length).toFixed(3));
  measured.push({ deltaLength, log, reader: used - alone.used, left, subscribers, connections });
}
process.stdout.write(`${JSON.stringify(measured)}\n`);
