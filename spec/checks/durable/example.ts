import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { filter, firstValueFrom, map, Subject, take, timeout, timer } from 'rxjs';
import { conversation } from '../../../lib/chat/conversation.js';
import { persist } from '../../../lib/chat/persist.js';
import { remoteAgent } from '../../../lib/chat/remoteAgent.js';
import type { SavedConversation } from '../../../lib/chat/savedConversation.js';
import { freePort } from '../../support/freePort.js';
import { startPostgres } from '../../support/postgresServer.js';

// npm run durable:example [-- --short] [-- --postgres embedded] [-- --outage]: starts examples/durable-service as its user does, opens a
// conversation in two readers over HTTP, on two fronts, and kills processes in the middle of an answer: the worker with
// SIGKILL, the worker with SIGTERM, a front with SIGKILL. Both readers must end with the whole answer, and the model
// may be asked once more than in an undisturbed run. Another user must not read the run. `--outage` stops the database
// for three seconds instead.

const { values } = parseArgs({
  options: {
    postgres: { type: 'string', default: '' },
    outage: { type: 'boolean' },
    short: { type: 'boolean' },
    trace: { type: 'boolean' },
  },
});
const started = performance.now();
const print = (line: string) =>
  process.stdout.write(`${((performance.now() - started) / 1000).toFixed(1).padStart(5)} s  ${line}\n`);
const problems: string[] = [];
const expect = (isTrue: boolean, problem: string) => {
  if (!isTrue) problems.push(problem);
  print(`${isTrue ? 'ok' : 'PROBLEM'}: ${problem}`);
};

const server = values.outage ? await startPostgres() : undefined;
const database = server && { DATABASE_URL: server.url };
const port = await freePort();
const main = fileURLToPath(new URL('../../../examples/durable-service/main.ts', import.meta.url));
const program = spawn(process.execPath, ['--import', 'tsx', main, '--port', String(port)], {
  env: { ...process.env, ...database, OPENAI_API_KEY: '', POSTGRES: values.postgres },
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.once('exit', () => program.kill('SIGTERM'));
const lines = new Subject<string>();
createInterface({ input: program.stdout }).on('line', (line) => {
  if (values.trace) print(`  ${line}`);
  lines.next(line);
});
/** Waits for a line of the program, and returns what the expression has captured. */
const line = (pattern: RegExp, limit = 300_000) =>
  firstValueFrom(
    lines.pipe(
      map((text) => pattern.exec(text)),
      filter((match) => match !== null),
      timeout(limit),
    ),
  ).then(([, captured = '']) => captured);
const asks: string[] = [];
lines.subscribe((text) => {
  const worker = /^worker (\d+): asks the model/.exec(text)?.[1];
  if (worker !== undefined) asks.push(worker);
});
await line(/^Open (http)/);
print('started');

const url = `http://127.0.0.1:${port}`;
const page = await fetch(url);
const cookie = page.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
expect((await page.text()).includes('<script type="importmap">'), 'the page of examples/page is served');

/** A tab: its requests go to any front but `other`. `front` is the one that sends its events. */
function openTab(storage: Map<string, string>, other: () => string = () => '') {
  let front = '';
  const fetchElsewhere: typeof fetch = async (input, init = {}) => {
    for (;;) {
      const response = await fetch(new URL(input as string, url), {
        ...init,
        headers: { ...(init.headers as Record<string, string>), cookie },
      });
      const found = response.headers.get('x-front') ?? '';
      if (found !== other()) {
        front = found;
        return response;
      }
      await response.body?.cancel();
    }
  };
  const agent = remoteAgent('/api/chat', { fetch: fetchElsewhere, retries: 100, retryDelay: 100 });
  const chat = conversation(agent, { saved: storage.get('chat') ?? null });
  const stored = persist(
    chat,
    { getItem: (key) => storage.get(key) ?? null, setItem: (key, text) => void storage.set(key, text) },
    'chat',
  );
  chat.view$.subscribe();
  return { chat, stored, front: () => front };
}
type Tab = ReturnType<typeof openTab>;

/** What a person sees of the last answer. */
const answerOf = ({ chat }: Tab) =>
  chat.view.exchanges
    .at(-1)
    ?.messages.flatMap(({ parts }) => parts)
    .map((part) => {
      if (part.type === 'text') return part.text;
      return part.type === 'toolCall'
        ? { name: part.name, status: part.status, result: part.result ?? null }
        : part.type;
    });
const textOf = (tab: Tab) => JSON.stringify(answerOf(tab) ?? []);
const hasEnded = ({ chat }: Tab) =>
  firstValueFrom(
    chat.view$.pipe(
      filter(({ status }) => ['idle', 'failed', 'stopped'].includes(status)),
      timeout(300_000),
    ),
  );

/** Ends a process. Returns what is reported when it has ended. */
type Disturb = (tabs: readonly [Tab, Tab]) => Promise<unknown>;

/** Asks in one tab, joins in another one, and does something when the last response of the model has begun. */
async function ask(disturb?: Disturb) {
  const storage = new Map<string, string>();
  const first = openTab(storage);
  first.stored.subscribe();
  const begins = asks.length;
  first.chat.send('How much warmer is Cairo than London?');
  const until = (pattern: RegExp) =>
    firstValueFrom(
      first.chat.view$.pipe(
        filter(() => pattern.test(textOf(first))),
        take(1),
        timeout(300_000),
      ),
    );
  await until(/look up/);
  const second = openTab(storage, first.front);
  await until(/In Cairo it/);
  const atDisturbance = { first: textOf(first), second: textOf(second) };
  const saved = JSON.parse(storage.get('chat') ?? '{}') as Partial<SavedConversation>;
  const runId = saved.exchanges?.at(-1)?.run ?? '';
  const began = performance.now();
  const leaving = disturb?.([first, second]).then(() => performance.now() - began);
  await Promise.all([hasEnded(first), hasEnded(second)]);
  return {
    first,
    second,
    runId,
    isOpen: atDisturbance.first !== textOf(first),
    asks: asks.length - begins,
    workers: new Set(asks.slice(begins)).size,
    leavingTime: (await leaving) ?? 0,
  };
}
const kill = (pid: string | undefined, signal: NodeJS.Signals) => {
  const ended = line(new RegExp(`^\\w+ ${pid}: ended`));
  process.kill(Number(pid), signal);
  return ended;
};

const undisturbed = await ask();
const whole = answerOf(undisturbed.first);
print(`the answer: ${JSON.stringify(whole)}`);
expect(undisturbed.asks === 3, 'the model is asked three times');
expect(isDeepStrictEqual(answerOf(undisturbed.second), whole), 'the second reader has the same answer');
expect(undisturbed.first.front() !== undisturbed.second.front(), 'the readers are on two fronts');

/** A disturbance, and how often the model is asked then. */
interface Case {
  readonly name: string;
  readonly asks: number;
  readonly disturb: Disturb;
}
const cases: readonly Case[] = [
  { name: 'the worker is killed (SIGKILL)', asks: 4, disturb: () => kill(asks.at(-1), 'SIGKILL') },
  { name: 'the worker leaves (SIGTERM)', asks: 4, disturb: () => kill(asks.at(-1), 'SIGTERM') },
  { name: 'a front is killed (SIGKILL)', asks: 3, disturb: ([first]) => kill(first.front(), 'SIGKILL') },
  { name: 'a front leaves (SIGTERM)', asks: 3, disturb: ([, second]) => kill(second.front(), 'SIGTERM') },
];
const outage: Case = {
  name: 'the database is away for three seconds',
  asks: 4,
  async disturb() {
    server?.kill();
    await firstValueFrom(timer(3000));
    server?.start();
  },
};
for (const { name, asks: expected, disturb } of server ? [outage] : cases.slice(0, values.short ? 1 : undefined)) {
  const restarted = line(/^(?:worker|front) (\d+): ready/);
  const outcome = await ask(disturb);
  await restarted;
  expect(outcome.isOpen, `${name}: in the middle of the answer`);
  expect(isDeepStrictEqual(answerOf(outcome.first), whole), `${name}: the first reader has the whole answer`);
  expect(isDeepStrictEqual(answerOf(outcome.second), whole), `${name}: the second reader has the whole answer`);
  expect(outcome.asks === expected, `${name}: the model is asked ${expected} times`);
  print(`${name}: after ${outcome.leavingTime.toFixed(0)} ms`);
  if (expected > 3) expect(outcome.workers === 2, `${name}: another worker continues the run`);
}

const stranger = { cookie: `session=${randomUUID()}`, 'x-run-id': undisturbed.runId };
for (const [method, body] of [['POST', '{}'], ['POST', '{}'], ['DELETE'], ['DELETE']] as const) {
  const response = await fetch(`${url}/api/chat`, { method, headers: stranger, body: body ?? null });
  const text = `${response.status} ${await response.text()}`;
  expect(/^404|run_not_found/.test(text) && !text.includes('Cairo'), `another user has no such run (${method})`);
}

const leaving = performance.now();
program.kill('SIGTERM');
await once(program, 'exit');
print(`all processes have ended ${(performance.now() - leaving).toFixed(0)} ms after SIGTERM`);
print(`${problems.length} problems`);
server?.remove();
process.exit(problems.length === 0 ? 0 : 1);
