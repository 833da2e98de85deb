import type { Observable } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import { userMessage } from '../../lib/core/message.js';
import type { Model } from '../../lib/core/model.js';
import type { TimeoutError } from '../../lib/core/timeoutError.js';
import { fallback } from '../../lib/models/fallback.js';
import { retryModel } from '../../lib/models/retryModel.js';
import type { ModelOptions } from '../../lib/providers/httpModel.js';
import { openaiChat } from '../../lib/providers/openaiChat.js';
import { completeResponse, faults, finishOffset, key, respondAtLength, respondWell, serveFaults } from './faults.js';
import type { Fault } from './faults.js';

/**
 * A program for a child process: models meet the faults over real sockets, and what happened is printed as JSON,
 * together with what would have ended the process, and with what remains of sockets and memory.
 */
interface Outcome {
  /** The code of the error, with the phase of a timeout; `complete` if there was none. */
  readonly end: string;
  /** The text that is valid at the end. */
  readonly text: string;
  /** The text before the first `retract`. */
  readonly retracted?: string;
  readonly milliseconds: number;
  readonly leaksKey: boolean;
}

const timeout = { connect: 1500, first: 2000, body: 1500, each: 1500, turn: 4000 };
const modelOf = (url: string, options: ModelOptions = {}) =>
  openaiChat('any', { apiKey: key, baseUrl: url, retry: false, timeout, maxEventLength: 1 << 20, ...options });
const question = { messages: [userMessage('Hi')] };

function outcomeOf(source: Observable<Chunk>): Promise<Outcome> {
  const start = performance.now();
  let text = '';
  let retracted: string | undefined;
  let leaksKey = false;
  const look = (value: unknown) => (leaksKey ||= JSON.stringify(value).includes(key));
  return new Promise((resolve) => {
    const end = (how: string) =>
      resolve({
        end: how,
        text,
        ...(retracted === undefined ? {} : { retracted }),
        milliseconds: Math.round(performance.now() - start),
        leaksKey,
      });
    source.subscribe({
      next(chunk) {
        look(chunk);
        if (chunk.type === 'text') text += chunk.text;
        if (chunk.type === 'retract') {
          retracted ??= text;
          text = '';
        }
      },
      error(thrown: unknown) {
        const { code, phase = '', message, stack } = thrown as Partial<TimeoutError>;
        look([thrown, message, stack]);
        end(`${code ?? message} ${phase}`.trim());
      },
      complete: () => end('complete'),
    });
  });
}
const run = (model: Model) => outcomeOf(model.stream(question));
const retried = (model: Model) => retryModel(model, { count: 1, delay: 1 });

/** The fault alone, with `retryModel` and a server that recovers, and with `fallback` and another server. */
async function meet({ respond }: Fault): Promise<readonly Outcome[]> {
  const [failing, recovering, healthy] = await Promise.all([
    serveFaults(() => respond),
    serveFaults((request) => (request === 0 ? respond : respondWell)),
    serveFaults(() => respondWell),
  ]);
  const outcomes = await Promise.all([
    run(modelOf(failing.url)),
    run(retried(modelOf(recovering.url))),
    run(fallback([modelOf(failing.url), modelOf(healthy.url)])),
  ]);
  await Promise.all([failing, recovering, healthy].map((server) => server.close()));
  return outcomes;
}

/** The response breaks at every offset, in four runs at a time; the second request of each succeeds. */
async function breakEverywhere(end: 'reset' | 'end'): Promise<readonly Outcome[]> {
  const respond =
    (offset: number): Fault['respond'] =>
    (socket) => {
      const bytes = completeResponse.slice(0, offset);
      if (end === 'end') socket.end(bytes);
      else if (offset === 0) socket.resetAndDestroy();
      else socket.write(bytes, () => setImmediate(() => socket.resetAndDestroy()));
    };
  const outcomes: Outcome[] = [];
  let next = 0;
  const work = async () => {
    let offset = 0;
    const server = await serveFaults((request) => (request % 2 === 0 ? respond(offset) : respondWell));
    while ((offset = next++) < finishOffset) outcomes[offset] = await run(retried(modelOf(server.url)));
    await server.close();
  };
  await Promise.all([work(), work(), work(), work()]);
  return outcomes;
}

/** Many runs at once, while most requests fail: with a recovery, and without one. */
async function storm(runs: number): Promise<object> {
  const failures = ['a 429', 'a 503', 'a reset before the response'].map(
    (name) => faults[name]?.respond ?? respondWell,
  );
  const failure = (request: number) => failures[request % failures.length] ?? respondWell;
  const passing = await serveFaults((request) => (request % 4 === 3 ? respondWell : failure(request)));
  const lasting = await serveFaults(failure);
  const all = (url: string, count: number) =>
    Promise.all(
      Array.from({ length: runs }, () =>
        run(modelOf(url, { retry: { count, initialDelay: 1, maxDelay: 5 }, timeout: { turn: 60_000 } })),
      ),
    );
  const [recovered, failed] = [await all(passing.url, 100), await all(lasting.url, 3)];
  const requests = lasting.requests();
  await Promise.all([passing.close(), lasting.close()]);
  const countEnds = (outcomes: readonly Outcome[]) => [...new Set(outcomes.map(({ end }) => end))].sort();
  return { recovered: countEnds(recovered), failed: countEnds(failed), requests };
}

const uncaught: string[] = [];
process.on('uncaughtException', (error) => uncaught.push(`${error.name}: ${error.message}`));
process.on('unhandledRejection', (reason) => uncaught.push(`unhandled: ${String(reason)}`));
const collectGarbage = (globalThis as { gc?: () => void }).gc ?? (() => undefined);
const used = () => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};
const sockets = () => process.getActiveResourcesInfo().filter((name) => name.includes('TCP')).length;

const outcomes: Record<string, unknown> = { warmUp: await storm(5) };
const [memoryBefore, socketsBefore] = [used(), sockets()];
for (const [name, fault] of Object.entries(faults)) outcomes[name] = await meet(fault);
const refused = await serveFaults(() => respondWell);
await refused.close();
const other = await serveFaults(() => respondWell);
const unreachable = modelOf(refused.url);
outcomes['refused'] = [
  await run(unreachable),
  await run(retried(unreachable)),
  await run(fallback([unreachable, modelOf(other.url)])),
];
await other.close();
outcomes['resets'] = await breakEverywhere('reset');
outcomes['ends'] = await breakEverywhere('end');
outcomes['storm'] = await storm(100);

const gigabyte = await serveFaults(() => respondAtLength(2 ** 30));
let most = 0;
const sampling = setInterval(() => {
  const { heapUsed, external } = process.memoryUsage();
  most = Math.max(most, (heapUsed + external) / 2 ** 20);
}, 20);
outcomes['gigabyte'] = await run(modelOf(gigabyte.url, { timeout: {} }));
clearInterval(sampling);
await gigabyte.close();

// What undici raises, and sockets that close, take some ticks.
setTimeout(() => {
  const left = {
    most: Math.round(most),
    megabytes: Math.round(used() - memoryBefore),
    sockets: sockets() - socketsBefore,
  };
  process.stdout.write(JSON.stringify({ outcomes, uncaught, left }));
  process.exit();
}, 300);
