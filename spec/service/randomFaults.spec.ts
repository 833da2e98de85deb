import { describe, expect, it } from '@jest/globals';
import { concat, concatMap, defer, delay, ignoreElements, map, of, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { createRandom } from '../checks/attack/family.js';
import { mapStore } from '../support/stores.js';
import { inVirtualTime } from '../support/virtualTime.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

/**
 * Writes that fail at random, over many runs of a few owners with one slot each: PostgreSQL refuses them (its disk is
 * full, the statement was cancelled, a conflict), the connection breaks before or after they are done, or nothing
 * answers for 20 s. Nothing is lost, nothing is done twice, and every slot is free in the end. FAULT_RUNS=10000 takes
 * minutes.
 */
const RUNS = Number(process.env['FAULT_RUNS'] ?? 40);
const OWNERS = ['ann', 'bob', 'eve', 'joe'];
const refusals = ['53100', '57014', '40001', 'ECONNRESET'];
type Random = ReturnType<typeof createRandom>;
type Calls<P> = { readonly [K in keyof P]: P[K] };

const failed = (code: string) => throwError(() => Object.assign(new Error(`The write has failed: ${code}`), { code }));

/** A port whose writes have a fault, one in 25. */
function faultyPort<P extends object>(port: P, writes: readonly (keyof P)[], random: Random, seen: { count: number }) {
  const broken = (work: () => Observable<unknown>) => {
    seen.count += 1;
    const kind = random.integer(8);
    const code = refusals[random.integer(refusals.length)] ?? 'ECONNRESET';
    if (kind < 5) return failed(code);
    if (kind < 7) return concat(work().pipe(ignoreElements()), failed('ECONNRESET')); // done, but the answer is lost
    return timer(20_000).pipe(concatMap(() => failed('ECONNRESET')));
  };
  const faulty = Object.fromEntries(
    writes.map((name) => {
      const call = port[name] as (...args: readonly unknown[]) => Observable<unknown>;
      return [
        name,
        (...args: readonly unknown[]) =>
          defer(() => (random.integer(25) === 0 ? broken(() => call(...args)) : call(...args))),
      ];
    }),
  );
  return { ...port, ...faulty } as Calls<P>;
}

function openService(seed: number) {
  const random = createRandom(seed);
  const faults = { count: 0 };
  const records = mapStore();
  const log = { ...memoryLog({ maxBytes: Infinity }), isShared: true };
  const paid = new Map<string, number>();
  const parameters = { type: 'object', properties: { word: { type: 'string' } } } as const;
  const wordOf = (args: unknown) => (args as { readonly word: string }).word;
  const look = tool({
    name: 'look',
    description: 'Looks.',
    parameters,
    execute: (args) => of(`seen ${wordOf(args)}`).pipe(delay(50)),
  });
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    atMostOnce: true,
    parameters,
    execute: (args) =>
      defer(() => {
        const word = wordOf(args);
        paid.set(word, (paid.get(word) ?? 0) + 1);
        return timer(50).pipe(map(() => `paid ${word}`));
      }),
  });
  const model = scriptedModel(
    ({ messages }) => {
      const part = messages[0]?.parts[0];
      const word = part?.type === 'text' ? part.text : '';
      const results = messages.filter(({ parts }) => parts.some(({ type }) => type === 'toolResult')).length;
      const steps = [
        ['Look. ', { delay: 20 }, toolCall('look', { word }, `${word}-look`)],
        ['Pay. ', { delay: 20 }, toolCall('pay', { word }, `${word}-pay`)],
      ];
      return steps[results] ?? ['All ', { delay: 20 }, `${word}.`];
    },
    { keep: 0 },
  );
  const handler = agentHandler<string>(createAgent({ model, tools: [look, pay], prefix: '' }), {
    store: faultyPort({ ...records }, ['put'], random, faults),
    log: faultyPort(log, ['append', 'end'], random, faults),
    checkpoints: true,
    context: (request) => request.headers.get('x-user') ?? '',
    owner: (user) => user,
    limits: { maxRunsPerOwner: 1 },
  });
  return { handler, records: records.records, paid, faults };
}

const after = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** A page that starts a run, and comes back until it has the end. Returns what is wrong. */
async function visit({ handler }: ReturnType<typeof openService>, user: string, run: string, word: string) {
  let isStarted = false;
  for (let tries = 0; tries < 40; tries += 1) {
    const response = await handler(
      new Request('http://service.test/', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-run-id': run, 'x-user': user },
        body: JSON.stringify(isStarted ? {} : { input: word, history: [] }),
      }),
    );
    const text = await response.text();
    if (response.status === 200) isStarted = true;
    if (/^event: end$/m.test(text)) return undefined;
    if (/^event: failed$/m.test(text)) return `${word} has failed: ${text.slice(-300)}`;
    if (![200, 429, 503].includes(response.status)) return `${word}: status ${response.status}`;
    await after(2000);
  }
  return `${word} does not end`;
}

describe('writes that fail at random', () => {
  it(
    'lose nothing, do nothing twice, and leave every slot free',
    async () => {
      const service = openService(7);
      const wrong = await inVirtualTime(async () => {
        const found: string[] = [];
        const note = (problem: string | undefined) => {
          if (problem !== undefined) found.push(problem);
        };
        await Promise.all(
          OWNERS.map(async (user) => {
            for (let n = 0; n < RUNS / OWNERS.length; n += 1) {
              const run = crypto.randomUUID();
              const word = `${user}${n}`;
              note(await visit(service, user, run, word));
              const record = service.records.get(run)?.record;
              const results = record?.result?.messages
                .flatMap(({ parts }) => parts)
                .filter((part) => part.type === 'toolResult');
              const text = `Look. Pay. All ${word}.`;
              if (record?.state !== 'ended' || record.result?.text !== text)
                note(`${word} is ${JSON.stringify(record?.result?.text ?? record)}`);
              if (results?.length !== 2) note(`${word} has ${results?.length} results`);
              if ((service.paid.get(word) ?? 0) > 1) note(`${word} has paid ${service.paid.get(word)} times`);
            }
          }),
        );
        await after(60_000); // leases end
        return found;
      });
      expect(wrong).toEqual([]);
      expect(service.faults.count).toBeGreaterThan(RUNS / 4);
    },
    RUNS * 200 + 5000,
  );
});
