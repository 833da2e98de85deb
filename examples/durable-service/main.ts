// npm run example:durable [-- --fronts 2 --workers 2 --port 3000 --page angular]
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openDatabase } from './database.js';

const { values } = parseArgs({
  options: {
    fronts: { type: 'string', default: '2' },
    workers: { type: 'string', default: '2' },
    port: { type: 'string', default: process.env['PORT'] ?? '3000' },
    page: { type: 'string', default: 'plain' },
  },
});
if (values.page === 'angular' && !existsSync(new URL('../angular-chat/dist/index.html', import.meta.url)))
  throw new Error('The page is not built yet. Run: npm run build && npm run page --prefix examples/angular-chat');

const database = await openDatabase();
console.log(`Database: ${database.about}`);
const environment = { ...process.env, DATABASE_URL: database.url, PORT: values.port, PAGE: values.page };
const children = new Set<ChildProcess>();
let hasStarted = false;
let isLeaving = false;

const fileOf = (role: 'front' | 'worker') => fileURLToPath(new URL(`${role}.ts`, import.meta.url));
cluster.setupPrimary({ exec: fileOf('front') }); // the fronts share the port

/** Starts a process, and another one when it ends. The first start must succeed. */
const start = (role: 'front' | 'worker') =>
  new Promise<void>((resolve) => {
    const isFront = role === 'front';
    const child = isFront ? cluster.fork(environment).process : fork(fileOf(role), { env: environment });
    const { pid } = child;
    children.add(child);
    child.once('message', () => {
      console.log(`${role} ${pid}: ready`);
      resolve();
    });
    child.once('exit', (code, signal) => {
      children.delete(child);
      const next = hasStarted && !isLeaving;
      console.log(`${role} ${pid}: ended (${signal ?? code})${next ? ', another one starts' : ''}`);
      if (next) setTimeout(() => void start(role), 500);
      else if (!isLeaving) void leave(1);
    });
  });
const startAll = (role: 'front' | 'worker', count: string) =>
  Promise.all(Array.from({ length: Number(count) }, () => start(role)));

await start('worker'); // the first one creates the tables of DBOS
await Promise.all([startAll('worker', String(Number(values.workers) - 1)), startAll('front', values.fronts)]);
hasStarted = true;
console.log(`Open http://127.0.0.1:${values.port}/ in two browser windows. Kill a process with: kill -9 PID`);

/** Ends the fronts, then the workers, then the database. */
async function leave(code = 0): Promise<void> {
  if (isLeaving) return;
  isLeaving = true;
  const ended = [...children].map((child) => new Promise((resolve) => child.once('exit', resolve)));
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(ended);
  await database.close();
  process.exit(code);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void leave());
