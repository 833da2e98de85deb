import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { agentHandler } from '../../../../lib/service/http/agentHandler.js';
import { durableAgent } from '../../../../lib/service/stores/dbos/index.js';
import { postgresPorts } from '../../durable/ports.js';
import { createPlannedAgent, now } from './agent.js';
import type { Plan } from './agent.js';

// A front of `npm run bench:durable`: it sends requests to its own handler. Its argument is the URL of the database;
// without one, it executes the runs itself, with a store and a log in memory.

/** What a front is asked to do. */
export type Task =
  /** Executes runs, `atOnce` of them at a time. */
  | { readonly type: 'run'; readonly plan: Plan; readonly count: number; readonly atOnce: number }
  /** Starts a run, and answers when its first event of a type is there. */
  | { readonly type: 'open'; readonly id: string; readonly plan: Plan; readonly until: string }
  /** Sends one request. */
  | {
      readonly type: 'send';
      readonly id: string;
      readonly method: string;
      readonly path?: string;
      readonly body?: object;
    }
  | { readonly type: 'cpu' };

/** Its answer: milliseconds since 1970 when the task began, milliseconds, and microseconds of CPU time. */
export interface Done {
  readonly at: number;
  readonly wall: number;
  readonly cpu: number;
  readonly rss: number;
  readonly status?: number;
}

const [url] = process.argv.slice(2);
async function createFront() {
  if (url === undefined) return agentHandler(createPlannedAgent(), { limits: { maxRunsPerOwner: Infinity } });
  const { pool, store, log } = postgresPorts(url);
  const client = await DBOSClient.create({ systemDatabaseUrl: url, systemDatabasePool: pool });
  return agentHandler(durableAgent({ client, store, log }), { store, log });
}
const handler = await createFront();

const request = (id: string, method: string, body?: object, path = '') =>
  handler(
    new Request(`http://service.test/${path}`, {
      method,
      headers: { 'x-run-id': id },
      body: body === undefined ? null : JSON.stringify(body),
    }),
  );
const inputOf = (plan: Plan) => ({ input: JSON.stringify(plan) });

/** Reads a run to its end. As a page, it joins the run again if the connection is closed without an end. */
async function execute(plan: Plan): Promise<void> {
  const id = crypto.randomUUID();
  for (let attempt = 0; attempt < 100; attempt++) {
    const response = await request(id, 'POST', inputOf(plan));
    const text = await response.text();
    if (text.includes('"finishReason":"stop"')) return;
    if (text.includes('event: failed')) throw new Error(`A run has failed: ${text.slice(-500)}`);
  }
  throw new Error(`The run ${id} has no end.`);
}

async function perform(task: Task): Promise<number | undefined> {
  switch (task.type) {
    case 'run': {
      let left = task.count;
      const work = async () => {
        while (left-- > 0) await execute(task.plan);
      };
      await Promise.all(Array.from({ length: task.atOnce }, work));
      return undefined;
    }
    case 'open': {
      const response = await request(task.id, 'POST', inputOf(task.plan));
      const reader = response.body?.getReader();
      const decoder = new TextDecoder();
      let text = '';
      while (reader && !text.includes(task.until)) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`The run ended without ${task.until}: ${text}`);
        text += decoder.decode(value, { stream: true });
      }
      const drain = async (): Promise<void> => {
        while (reader && !(await reader.read()).done);
      };
      void drain();
      return undefined;
    }
    case 'send': {
      const response = await request(task.id, task.method, task.body, task.path);
      if (task.method === 'POST') void response.text();
      return response.status;
    }
    default:
      return undefined;
  }
}

process.on('message', (task: Task) => {
  const [at, before] = [now(), process.cpuUsage()];
  void perform(task).then((status) => {
    const { user, system } = task.type === 'cpu' ? process.cpuUsage() : process.cpuUsage(before);
    const { rss } = process.memoryUsage();
    const done: Done = { at, wall: now() - at, cpu: user + system, rss, ...(status === undefined ? {} : { status }) };
    process.send?.({ done });
  });
});
process.once('disconnect', () => process.exit());
process.send?.('ready');
