import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { firstValueFrom, timer } from 'rxjs';
import { freePort } from '../../support/freePort.js';
import { createRandom } from '../attack/family.js';
import { createUser } from './pages.js';
import { startStore } from './storeServer.js';

// npm run crash [-- --seconds 60] [-- --seed 1] [-- --faults 40] [-- --users 2]: users with two tabs each, two processes
// with one slow store. Prompts, decisions sent twice, stops, reloads, cuts and SIGKILLs at random. Of the writes, one in `faults` is refused, loses its
// answer, or is not answered for 20 s. Exits with 1 if anything was lost, repeated or mixed up, or a slot is not freed.

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    faults: { type: 'string', default: '40' },
    users: { type: 'string', default: '2' },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const time = Number(values.seconds) * 1000;
const random = createRandom(seed);
const print = (line: string) => process.stdout.write(`${line}\n`);
const pause = (milliseconds: number) => firstValueFrom(timer(milliseconds));

const store = await startStore(seed, Number(values.faults));
const ports = [await freePort(), await freePort()];
const script = fileURLToPath(new URL('./instance.ts', import.meta.url));

const start = (port: number): Promise<ChildProcess> => {
  const child = fork(script, [String(port), String(store.port)], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return new Promise((resolve) => child.once('message', () => resolve(child)));
};
const instances = await Promise.all(ports.map(start));
const names = Array.from({ length: Number(values.users) }, (_, index) => `user-${index + 1}-`);
const users = names.map((name) => createUser(name, ports, random));
print(`seed ${seed}, ${values.seconds} s`);

const end = performance.now() + time;
let kills = 0;
/** Kills an instance at a random moment, and starts another one in its place. */
const killing = (async () => {
  while (performance.now() < end) {
    await pause(200 + random.integer(2500));
    const index = random.integer(instances.length);
    instances[index]?.kill('SIGKILL');
    kills++;
    instances[index] = await start(ports[index] ?? 0);
  }
})();
while (performance.now() < end) {
  await pause(10 + random.integer(60));
  users[random.integer(users.length)]?.act();
}
await killing;
store.endFaults();

const finished = await Promise.all(users.map((user) => user.finish(300_000)));
const problems = [
  ...store.violations,
  ...users.flatMap((user) => user.problems()),
  ...users.filter((_, index) => !finished[index]).map((user) => `the work does not end. ${user.describe()}`),
];
for (const user of users) user.close();
for (const instance of instances) instance.kill('SIGKILL');
store.close();

const prompts = users.reduce((sum, user) => sum + user.count(), 0);
const faulted = [...store.faultCounts].map(([fault, count]) => `${count} ${fault}`).join(', ');
print(
  `${prompts} prompts, ${store.executions.size} calls, ${kills} kills, faults: ${faulted || 'none'}, ${problems.length} problems`,
);
for (const problem of problems.slice(0, 20)) print(`  ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);
