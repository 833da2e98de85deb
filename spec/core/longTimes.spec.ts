import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { isObservable, NEVER, of, throwError } from 'rxjs';
import { askTool, createAgent, hedge, retryModel, smooth, tool, type Model } from '../../lib/index.js';
import { fetchAgUi } from '../../lib/agUi.js';
import { fromServerSentEvents, remoteChats } from '../../lib/chat/index.js';
import { MAX_TIMER_DELAY } from '../../lib/core/options.js';
import { idleTimeout } from '../../lib/protocol/idleTimeout.js';
import { retryRequest } from '../../lib/protocol/retryRequest.js';
import { openai } from '../../lib/providers/openai.js';
import { agentHandler, shareRun, toServerSentEvents } from '../../lib/service/index.js';
import { durableWorker } from '../../lib/service/stores/dbos/index.js';
import { postgresLog } from '../../lib/service/stores/postgres/index.js';
import { redisLog } from '../../lib/service/stores/redis/index.js';
import { createWakeUps } from '../../lib/service/stores/wakeUps.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';

const none = {} as never;
const silent: typeof fetch = () => new Promise(() => undefined);
const refusing: typeof fetch = () => Promise.reject(new TypeError('offline'));
const ask = (model: Model) => model.stream({ messages: [] });
const http = (options: object) => ask(openai('m', { apiKey: 'k', fetch: silent, ...options }));
const failing = scriptedModel(() => throwError(() => Object.assign(new Error('busy'), { retryable: true })));
const slow = scriptedModel(() => NEVER);
const calling = () => scriptedModel([[toolCall('work', {}, 'c1')], 'Done.']);
const stream = (options: object, more = {}) => createAgent({ model: slow, ...options }).stream('Hi', more);
const working = (work: object, options = {}, more = {}) =>
  stream({ model: calling(), tools: [tool({ name: 'work', description: 'Works.', ...work })], ...options }, more);
const slowly = { execute: () => NEVER };
const asking = (within: number) =>
  askTool({
    name: 'work',
    description: 'Asks.',
    execute: (_, { ask: question }) => question({ message: 'Hi?', schema: { type: 'object' }, within }),
  });
const request = { threadId: 't', runId: 'r', messages: [] };

/** What reaches a timer with a time in milliseconds, or refuses it. */
const uses: Readonly<Record<string, (time: number) => unknown>> = {
  'timeout.turn': (turn) => stream({ timeout: { turn } }),
  'timeout.run': (run) => stream({ timeout: { run } }),
  toolDeadline: (toolDeadline) => working(slowly, { toolDeadline }),
  patience: (patience) => working({}, {}, { patience, answers: NEVER }),
  'the patience of an agent': (patience) => working({}, { patience }, { answers: NEVER }),
  within: (within) => stream({ model: calling(), tools: [asking(within)] }, { patience: Infinity, answers: NEVER }),
  'retryDelay of fromServerSentEvents': (retryDelay) =>
    fromServerSentEvents('http://x', {}, { retryDelay, fetch: refusing }),
  'retryDelay of remoteChats': (retryDelay) => remoteChats('http://x', { retryDelay, fetch: refusing }).list(),
  'after of hedge': (after) => ask(hedge([slow, slow], { after })),
  'delay of retryModel': (delay) => ask(retryModel(failing, { delay })),
  'maxDelay of smooth': (maxDelay) => of({ type: 'text', text: 'Hello' } as const).pipe(smooth({ maxDelay })),
  'interval of smooth': (interval) => of({ type: 'text', text: 'Hello' } as const).pipe(smooth({ interval })),
  'first of idleTimeout': (first) => NEVER.pipe(idleTimeout({ first })),
  'each of idleTimeout': (each) => NEVER.pipe(idleTimeout({ each })),
  'timeout.connect': (connect) => http({ timeout: { connect } }),
  'timeout.body': (body) => http({ timeout: { body } }),
  'timeout.turn of a model': (turn) => http({ timeout: { turn } }),
  'delay of retryRequest': (time) => ask(failing).pipe(retryRequest({ initialDelay: time, maxDelay: time })),
  lease: (lease) => agentHandler(createAgent({ model: slow }), { lease }),
  heartbeat: (heartbeat) => NEVER.pipe(toServerSentEvents({ heartbeat })),
  grace: (grace) => {
    const run = shareRun(NEVER, { grace });
    run.events$.subscribe().unsubscribe();
    run.unsubscribe();
  },
  'delay of a script': (delay) => ask(scriptedModel([[{ delay }]])),
  'timeout of fetchAgUi': (time) =>
    fetchAgUi('http://x', request, { timeout: { first: time, each: time }, fetch: silent }),
  'pollInterval of a log': (pollInterval) => createWakeUps(NEVER, pollInterval).of('r', 'events'),
  'writeInterval of postgresLog': (writeInterval) => postgresLog(none, { writeInterval }),
  'writeInterval of redisLog': (writeInterval) => redisLog(none, { writeInterval }),
  recoveryInterval: (recoveryInterval) => durableWorker(none, { recoveryInterval } as never),
  'pollInterval of durableWorker': (pollInterval) =>
    durableWorker(none, { connect: () => none, dbos: { setConfig: () => 0 }, store: none, pollInterval } as never),
};

/** Uses a time for a moment. Returns the delays of the timers, or the refusal. */
async function delaysOf(use: (time: number) => unknown, time: number): Promise<readonly number[] | string> {
  const delays: number[] = [];
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const original = globalThis[name] as (...args: unknown[]) => never;
    jest.spyOn(globalThis, name).mockImplementation((...args: unknown[]) => {
      delays.push((args[1] as number | undefined) ?? 0);
      return original(...args);
    });
  }
  try {
    const used = use(time);
    const subscription = isObservable(used) ? used.subscribe({ error: () => undefined }) : undefined;
    await new Promise(setImmediate);
    subscription?.unsubscribe();
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return delays;
}

describe('times in milliseconds', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const refused = /^(lease|recoveryInterval|writeInterval of .*|pollInterval of durableWorker)$/;
  const rows = Object.entries(uses).flatMap(([name, use]) =>
    [Infinity, MAX_TIMER_DELAY + 1, 1e300].map((time) => ({ name, time, use })),
  );
  it.each(rows)('$name: $time does not overflow a timer', async ({ name, time, use }) => {
    const delays = await delaysOf(use, time);
    if (refused.test(name)) expect(delays).toMatch(/ at most \d+\.$/);
    else expect(typeof delays === 'string' ? delays : Math.max(0, ...delays)).toBeLessThanOrEqual(MAX_TIMER_DELAY);
  });

  it.each([Infinity, 1e300])('a question that is answered within %f has no end', async (within) => {
    const events: unknown[] = [];
    const waiting = uses['within']?.(within);
    const run = isObservable(waiting) ? waiting.subscribe((event) => events.push(event)) : undefined;
    await new Promise(setImmediate);
    run?.unsubscribe();
    expect(JSON.stringify(events)).toContain('"question":{"message":"Hi?"');
    expect(JSON.stringify(events)).not.toContain('expires');
  });

  /** Computed from constants, checked to be short, or of a server that is bounded. */
  const short = /^(delay|wait|(write|recovery|retry)Interval|time|limit|milliseconds)$/;
  it('no option reaches a timer of RxJS without a bound', () => {
    const found = readdirSync('lib', { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) =>
        [...readFileSync(`lib/${name}`, 'utf8').matchAll(/\b(?:timer|interval)\((?:0, )?([a-z]\w*(?:\.\w+)*)[),]/g)]
          .filter(([, argument = '']) => !short.test(argument))
          .map(([text]) => `${name}: ${text}`),
      );
    expect(found).toEqual([]);
  });
});
