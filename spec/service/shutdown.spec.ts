import { describe, expect, it } from '@jest/globals';
import { defer, delay, dematerialize, map, materialize, NEVER, throwError, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { tool } from '../../lib/core/tool.js';
import { createService } from '../../lib/service/createService.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { protocolNames, protocols, startRequest } from '../support/services.js';
import type { ServiceProtocol } from '../support/services.js';
import { lateStore, mapStore } from '../support/stores.js';
import { inVirtualTime } from '../support/virtualTime.js';
import { ignorePrintedErrors } from '../support/printedErrors.js';

ignorePrintedErrors();

interface State {
  readonly script: readonly (string | { readonly delay: number } | ReturnType<typeof toolCall>)[];
  readonly put?: number;
  readonly read?: number;
  readonly append?: number;
  readonly isEarly?: boolean;
}

/** Delays of the ports, and what the model does, for each state of a run in which the service is ended. */
const states: Readonly<Record<string, State>> = {
  'in a text': { script: ['one ', { delay: 5000 }, 'two'] },
  'in a tool': { script: [toolCall('slow', {}, 'c1')] },
  'while it waits': { script: [toolCall('pay', {}, 'c1')] },
  'while its end is written': { script: ['Hi.'], put: 3000 },
  'while its start is written': { script: ['Hi.'], put: 3000, isEarly: true },
  'with a reader that is behind': { script: ['Hi.'], read: 3000 },
  'while a slow log writes': { script: ['one ', { delay: 500 }, 'two'], append: 2000 },
};
const after = <T>(milliseconds: number, value: T) =>
  new Promise<T>((resolve) => setTimeout(() => resolve(value), milliseconds));
const tools = [
  tool({ name: 'slow', description: 'S.', execute: () => timer(5000).pipe(map(() => 'ok')) }),
  tool({ name: 'pay', description: 'P.', needsApproval: true, execute: () => 'ok' }),
];

type How = 'finish' | 'stop' | 'abandon';

async function walk(how: How, isShared: boolean, state: State, protocol: ServiceProtocol): Promise<readonly string[]> {
  const seen = { isClosed: false, late: new Set<string>() };
  const slow = (port: object, times: Record<string, number | undefined>) =>
    Object.fromEntries(
      Object.entries(port as Record<string, (...args: unknown[]) => Observable<unknown>>).map(([name, call]) => [
        name,
        typeof call !== 'function'
          ? call
          : (...args: unknown[]) =>
              defer(() => {
                if (seen.isClosed) seen.late.add(name);
                const time = times[name];
                return time ? call(...args).pipe(materialize(), delay(time), dematerialize()) : call(...args);
              }),
      ]),
    );
  const { put, read, append, script, isEarly = false } = state;
  const service = createService({
    agent: createAgent({
      tools,
      model: scriptedModel(({ messages }) => (messages.length > 1 ? ['Done.'] : [...script])),
    }),
    store: { ...mapStore(), ...slow(mapStore(), { put }) },
    log: { ...memoryLog(), ...slow(memoryLog(), { read, append, end: append }), isShared },
    checkpoints: true,
  });
  const handler = protocol.over(service);
  const post = () => handler(startRequest(protocol));
  const opening = post();
  await after(isEarly ? 1000 : (put ?? 0) + 1000, undefined);
  const ended = new Promise<string>((resolve) =>
    service.shutdown(how).subscribe({ complete: () => resolve('complete'), error: () => resolve('failed') }),
  );
  const prompt = await Promise.race([post(), after(40_000, undefined)]);
  const reading = { isOver: false };
  const text = opening.then((response) => response.text()).then(() => (reading.isOver = true));
  const end = await Promise.race([ended, after(30_000, 'hangs')]);
  seen.isClosed = true;
  await after(500, undefined);
  const wasOver = reading.isOver;
  await Promise.race([text, after(60_000, undefined)]);
  return [
    ...(prompt?.status === 503 && prompt.headers.has('retry-after') ? [] : [`a late prompt gets ${prompt?.status}`]),
    ...(end === 'complete' ? [] : [`shutdown ${end}`]),
    ...(wasOver ? [] : ['a reader is not over']),
    ...[...seen.late].map((name) => `${name} is called after it`),
  ];
}

describe('shutdown x every state of a run', () => {
  const cases = protocolNames.flatMap((name) =>
    (['finish', 'stop', 'abandon'] as const).map((how) => [name, how] as const),
  );

  it.each(cases)(
    '%s: %s refuses prompts, ends the readers, then completes, and calls no port after that',
    async (protocol, how) => {
      const rows = Object.entries(states).flatMap(([name, state]) =>
        [true, false].map((isShared) => ({ name: `${name}, shared log: ${isShared}`, isShared, state })),
      );
      const walked = await inVirtualTime(() =>
        Promise.all(
          rows.map(
            async ({ name, isShared, state }) => [name, await walk(how, isShared, state, protocols[protocol])] as const,
          ),
        ),
      );
      expect(walked.filter(([, wrong]) => wrong.length > 0)).toEqual([]);
    },
  );
});

interface Failure {
  readonly fail: () => Observable<never>;
  /** The longest time of a shutdown, in milliseconds, with that of the run: 5 s. */
  readonly longest: number;
}

/** A call that is not answered takes 9 s. A store that refuses the end of a run is asked again for a lease, 30 s. */
const failures: Readonly<Record<'silent' | 'refusing', Failure>> = {
  silent: { fail: () => NEVER, longest: 15_000 },
  refusing: { fail: () => throwError(() => new Error('No connection.')), longest: 36_000 },
};

/** How long a shutdown takes, in milliseconds, if ports fail before it. */
async function timeOfShutdown(
  { how, failing, fail, isShared, early }: Failing,
  { script }: Pick<State, 'script'>,
  protocol: ServiceProtocol,
): Promise<number> {
  let hasFailed = false;
  const mortal = <P extends object>(port: P, isFailing: boolean): P =>
    Object.fromEntries(
      Object.entries(port as Record<string, (...args: unknown[]) => Observable<unknown>>).map(([name, call]) => [
        name,
        typeof call !== 'function'
          ? call
          : (...args: unknown[]) => defer(() => (hasFailed && isFailing ? fail() : call(...args))),
      ]),
    ) as P;
  const service = createService({
    agent: createAgent({
      tools,
      model: scriptedModel(({ messages }) => (messages.length > 1 ? ['Done.'] : [...script])),
    }),
    store: mortal(mapStore(), failing !== 'log'),
    log: mortal({ ...memoryLog(), isShared }, failing !== 'store'),
    checkpoints: true,
  });
  const handler = protocol.over(service);
  void handler(startRequest(protocol)).then((response) => response.text().catch(() => undefined));
  await after(1000, undefined);
  hasFailed = true;
  void handler(startRequest(protocol)); // a request that is being answered
  await after(early, undefined);
  const begun = Date.now();
  await Promise.race([
    new Promise<void>((resolve) => service.shutdown(how).subscribe({ complete: resolve, error: resolve })),
    after(120_000, undefined),
  ]);
  return Date.now() - begun;
}

interface Failing {
  readonly how: How;
  readonly failing: 'store' | 'log' | 'store and log';
  readonly fail: () => Observable<never>;
  readonly isShared: boolean;
  /** How long before the shutdown, in milliseconds. */
  readonly early: number;
}

describe('shutdown x ports that fail', () => {
  const cases = protocolNames.flatMap((name) =>
    (['finish', 'stop', 'abandon'] as const).flatMap((how) =>
      (['silent', 'refusing'] as const).map((failure) => [name, how, failure] as const),
    ),
  );

  it.each(cases)('%s: %s with ports that are %s waits for one call', async (protocol, how, failure) => {
    const { fail, longest } = failures[failure];
    const rows = Object.entries(states).flatMap(([name, state]) =>
      (['store', 'log', 'store and log'] as const).flatMap((failing) =>
        [true, false].flatMap((isShared) =>
          [0, 12_000].map((early) => ({
            name: `${name}, ${failing}, shared log: ${isShared}, ${early} ms before`,
            state,
            row: { how, failing, fail, isShared, early },
          })),
        ),
      ),
    );
    const timed = await inVirtualTime(() =>
      Promise.all(
        rows.map(
          async ({ name, state, row }) => [name, await timeOfShutdown(row, state, protocols[protocol])] as const,
        ),
      ),
    );
    expect(timed.filter(([, time]) => time > longest)).toEqual([]);
  });
});

it('a run whose checkpoint is not written while the service ends is left to another process', async () => {
  const record = await inVirtualTime(async () => {
    const store = mapStore();
    let isSilent = false;
    const service = createService({
      agent: createAgent({ tools, model: scriptedModel([[toolCall('slow', {}, 'c1')], 'Done.'], { keep: 0 }) }),
      store: { ...store, put: (...given) => defer(() => (isSilent ? NEVER : store.put(...given))) },
      checkpoints: true,
    });
    const handler = protocols.agentHandler.over(service);
    void handler(startRequest(protocols.agentHandler)).then((response) => response.text());
    await after(4000, undefined);
    const ended = new Promise<void>((resolve) => service.shutdown('finish').subscribe({ complete: resolve }));
    isSilent = true;
    await after(10_500, undefined);
    isSilent = false; // the end of the run could be written
    await ended;
    return [...store.records.values()][0]?.record;
  });
  expect([record?.state, record?.failure, record?.result]).toEqual(['running', undefined, undefined]);
});

/** Ends a process while a request is at its store, each call of which takes 200 ms. Emits what the next one answers. */
async function takenWhileClosing(how: How, isAnswer: boolean, isShared: boolean, early: number): Promise<string> {
  const store = lateStore(mapStore(), () => 100);
  const log = { ...memoryLog(), isShared };
  const start = (own = log) => {
    const model = scriptedModel(({ messages }) => (messages.length > 1 ? 'Done.' : [toolCall('pay', {}, 'c1')]));
    const service = createService({ agent: createAgent({ tools, model }), store, log: own, checkpoints: true });
    return { handler: protocols.agentHandler.over(service), service };
  };
  const [ending, other] = [start(), start(isShared ? log : memoryLog())];
  const waiting = crypto.randomUUID();
  const next = crypto.randomUUID();
  const post = async ({ handler }: typeof ending, id: string, body: object) => {
    const headers = { 'x-run-id': id };
    const response = await handler(
      new Request('http://service.test/', { method: 'POST', headers, body: JSON.stringify(body) }),
    );
    return response.text().catch(() => '');
  };
  const prompt = { input: 'Pay.' };
  const answer = { resume: waiting, decisions: { c1: { approve: true } } };
  if (isAnswer) await post(ending, waiting, prompt);
  const [id, body] = isAnswer ? [next, answer] : [waiting, prompt];
  void post(ending, id, body);
  await after(early, undefined);
  await new Promise<void>((complete) => ending.service.shutdown(how).subscribe({ complete }));
  const text = await post(other, id, body);
  ending.service.shutdown('abandon').subscribe();
  other.service.shutdown('abandon').subscribe();
  return text;
}

describe.each(['finish', 'abandon'] as const)('shutdown with %s while a request is taken', (how) => {
  it.each([
    ['a prompt', false, /"finishReason":"waiting"/],
    ['an approval', true, /"finishReason":"stop"/],
  ])('%s is executed, by this process or by the next one that is asked', async (_, isAnswer, expected) => {
    const rows = [true, false].flatMap((isShared) => [...Array(12).keys()].map((n) => ({ isShared, early: n * 100 })));
    const texts = await inVirtualTime(
      () =>
        Promise.all(
          rows.map(async (row) => ({ ...row, text: await takenWhileClosing(how, isAnswer, row.isShared, row.early) })),
        ),
      50,
    );
    expect(texts.filter(({ text }) => !expected.test(text) || text.includes('not_executed'))).toEqual([]);
  });
});
