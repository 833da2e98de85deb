import { describe, expect, it } from '@jest/globals';
import { concatMap, defer, NEVER, of, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import type { RunLog } from '../../lib/service/ports/runLog.js';
import type { RunRecord, RunStore } from '../../lib/service/ports/runStore.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { askTool } from '../../lib/tools/askTool.js';
import { followingId } from '../../lib/transport/randomId.js';
import { createRandom } from '../checks/attack/family.js';
import { mapStore } from '../support/stores.js';
import { inVirtualTime } from '../support/virtualTime.js';

/**
 * Several devices stop and answer a run that waits, through processes that are killed meanwhile. Due in each world: a
 * stop that was confirmed holds, so nothing is done after it and nothing waits in the end; a stop is confirmed if it is
 * repeated; and without a stop, the answers are used. STOP_WORLDS=1000 takes a minute.
 */
const WORLDS = Number(process.env['STOP_WORLDS'] ?? 60);
const LEASE = 3000;
/** A stop travels to another process through the log. */
const WAY = 500;
type Random = ReturnType<typeof createRandom>;

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

function createWorld(
  random: Random,
  { isQuestion, patience }: { readonly isQuestion: boolean; readonly patience: number },
) {
  const store = mapStore();
  const log: RunLog = { ...memoryLog(), isShared: true };
  /** When the tool has done its work. */
  const acted: number[] = [];
  const act = () =>
    timer(random.integer(3000)).pipe(
      concatMap(() => {
        acted.push(Date.now());
        return of('acted');
      }),
    );
  const act$ = isQuestion
    ? askTool({
        ...{ name: 'act', description: 'Asks, and acts.' },
        execute: (_, { ask }) =>
          ask({
            message: 'Sure?',
            schema: { type: 'object', properties: { sure: { type: 'boolean' } } } as const,
          }).pipe(concatMap(act)),
      })
    : tool({ name: 'act', description: 'Acts.', needsApproval: true, execute: act });
  const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('act', {}, 'c1')]));
  const start = () => {
    const life = { isDead: false };
    const mortal = <P extends object>(port: P, isLate: boolean): P =>
      Object.fromEntries(
        Object.entries(port).map(([name, call]: [string, unknown]) => {
          if (typeof call !== 'function') return [name, call];
          const work = call as (...args: readonly unknown[]) => Observable<unknown>;
          const late = (...args: readonly unknown[]) =>
            timer(random.integer(200)).pipe(concatMap(() => (life.isDead ? NEVER : work(...args))));
          const alive = (...args: readonly unknown[]) => defer(() => (life.isDead ? NEVER : work(...args)));
          return [name, isLate ? late : alive];
        }),
      ) as P;
    const handler = agentHandler(createAgent({ model, tools: [act$] }), {
      store: mortal<RunStore>({ ...store }, true),
      log: mortal(log, false),
      ...{ checkpoints: true, lease: LEASE, patience, grace: 600_000, onError: () => undefined },
    });
    const send = async (method: string, id: string, body?: object) => {
      const request = new Request('http://service.test', {
        ...{ method, headers: { 'x-run-id': id, 'content-type': 'application/json' } },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const response = await Promise.race([handler(request), pause(20_000)]);
      return life.isDead ? undefined : response;
    };
    return { send, kill: () => (life.isDead = true) };
  };
  return { store, acted, start };
}
type World = ReturnType<typeof createWorld>;

/** The run that continues all others. One whose process was killed may not have taken the checkpoint yet. */
function lastOf(world: World, id: string): RunRecord | undefined {
  return world.store.records.has(followingId(id))
    ? lastOf(world, followingId(id))
    : world.store.records.get(id)?.record;
}

/** Acts at random, and returns what is wrong. */
async function live(seed: number): Promise<readonly string[]> {
  const random = createRandom(seed);
  const isQuestion = random.integer(2) === 0;
  const world = createWorld(random, { isQuestion, patience: random.integer(2) * 600_000 });
  const processes = [world.start(), world.start()];
  const any = () => processes[random.integer(processes.length)];
  const first = crypto.randomUUID();
  await any()?.send('POST', first, { input: 'Go.' });
  for (let tries = 0; lastOf(world, first)?.state !== 'waiting' && tries < 100; tries += 1) await pause(250);
  const answers = isQuestion ? { results: { 'c1/1': { sure: true } } } : { decisions: { c1: { approve: true } } };
  let confirmed = Infinity;
  const done = { isAnswered: false, isStopped: false };
  const wrong: string[] = [];
  const stop = async () => {
    done.isStopped = true;
    const { id } = lastOf(world, first) ?? { id: first };
    for (let tries = 0; tries < 10; tries += 1) {
      const status = (await any()?.send('DELETE', id))?.status;
      if (status === 204) {
        confirmed = Math.min(confirmed, Date.now());
        return;
      }
      if (status === 404) return;
      if (status !== undefined && status !== 503) wrong.push(`a stop has status ${status}`);
      await pause(2000);
    }
    wrong.push('a stop is not confirmed');
  };
  const answer = async () => {
    const { id } = lastOf(world, first) ?? { id: first };
    const response = await any()?.send('POST', followingId(id), { resume: id, ...answers });
    if (response?.status === 200) done.isAnswered = true;
  };
  const crash = async () => {
    const at = random.integer(processes.length);
    processes[at]?.kill();
    processes[at] = world.start();
  };
  const actions = [stop, stop, answer, crash];
  await Promise.all(
    Array.from({ length: 1 + random.integer(5) }, async () => {
      const action = actions[random.integer(actions.length)];
      await pause(random.integer(1500));
      await action?.();
    }),
  );
  await pause(3 * LEASE);
  // A page comes back, and joins the last run.
  const page = world.start();
  for (let tries = 0; tries < 5; tries += 1) {
    const last = lastOf(world, first);
    if (last) await page.send('POST', last.id, {});
    await pause(2 * LEASE);
  }
  const last = lastOf(world, first);
  if (last?.state === 'running') wrong.push('the last run does not end');
  if (confirmed < Infinity && last?.state === 'waiting') wrong.push('it waits after a confirmed stop');
  if (world.acted.some((time) => time > confirmed + WAY)) wrong.push('the tool acts after a confirmed stop');
  if (!done.isStopped && done.isAnswered && last?.result?.finishReason !== 'stop')
    wrong.push(`an answer is lost: ${last?.state}`);
  if (world.acted.length > 1 && !isQuestion) wrong.push(`the tool has acted ${world.acted.length} times`);
  return wrong.map((problem) => `${seed}: ${problem}`);
}

describe('stops of a run that waits, from devices and processes that compete', () => {
  it(
    'hold once they are confirmed',
    async () => {
      const wrong: string[] = [];
      for (let seed = 1; seed <= WORLDS; seed += 1) wrong.push(...(await inVirtualTime(() => live(seed))));
      expect(wrong).toEqual([]);
    },
    30_000 + WORLDS * 200,
  );
});
