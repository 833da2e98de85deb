import { afterEach, describe, expect, it } from '@jest/globals';
import { config, defer, EMPTY, ignoreElements, merge, NEVER, Subject, tap, throwError } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { tool } from '../../lib/core/tool.js';
import { observeRun } from '../../lib/operators/observeRun.js';
import { createService } from '../../lib/service/createService.js';
import { agentHandler } from '../../lib/service/http/agentHandler.js';
import type { ServiceOptions } from '../../lib/service/serviceOptions.js';
import { memoryLog } from '../../lib/service/stores/memory/memoryLog.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import { protocolNames, protocols, shutDown, startRequest } from '../support/services.js';
import { mapStore } from '../support/stores.js';

type Observe = NonNullable<ServiceOptions['observe']>;

const open: object[] = [];
afterEach(() => open.splice(0).forEach(shutDown));

const usage = { input: 3, output: 4, total: 7 };
const finish = { type: 'finish', reason: 'stop', usage } as const;
const answer = [{ type: 'text', text: 'Hi.' }, finish] as const;

/** Serves a script with each protocol, and records errors. */
function serve(
  name: (typeof protocolNames)[number],
  script: Parameters<typeof scriptedModel>[0],
  options: Parameters<(typeof protocols)['agentHandler']['handler']>[1] = {},
) {
  const errors: unknown[] = [];
  const note = tool({ name: 'note', description: 'Notes.', execute: () => 'noted' });
  const agent = createAgent({ model: scriptedModel(script), tools: [note] });
  const handler = protocols[name].handler(agent, { onError: (thrown) => errors.push(thrown), ...options });
  open.push(handler);
  return { errors, ask: async () => (await handler(startRequest(protocols[name]))).text() };
}

/** What an observer sees of runs, one list for each. */
function recorder() {
  const runs: unknown[][] = [];
  const observe: Observe = (run$, { id, resumed, ...run }) => {
    const seen: unknown[] = [{ ...run, hasId: id.length > 20 }];
    runs.push(seen);
    return run$.pipe(
      observeRun(
        {
          turnStart: ({ turn }) => seen.push(`turn ${turn}`),
          toolEnd: (end) => seen.push(`${end.name} ${end.event?.code ?? end.outcome}`),
          runEnd: (end) => seen.push([end.outcome, end.result?.finishReason, end.usage, end.error]),
        },
        resumed,
      ),
    );
  };
  return { runs, observe };
}

describe.each(protocolNames)('a run of %s', (name) => {
  it('is observed once, from its start to its result', async () => {
    const { runs, observe } = recorder();
    const { ask, errors } = serve(name, [[toolCall('note'), finish], [...answer]], { observe, name: 'helper' });
    expect(await ask()).toContain('Hi.');
    const end = ['completed', 'stop', { input: 6, output: 8, total: 14 }, undefined];
    const run = { context: undefined, agent: 'helper', hasId: true };
    expect(runs).toEqual([[run, 'turn 1', 'note completed', 'turn 2', end]]);
    expect(errors).toEqual([]);
  });

  it('is observed with its failure, which is reported once', async () => {
    const { runs, observe } = recorder();
    const failure = new Error('The model is gone.');
    const { ask, errors } = serve(name, () => throwError(() => failure), { observe });
    await ask();
    expect(runs[0]?.at(-1)).toEqual(['failed', undefined, {}, failure]);
    expect([runs.length, errors]).toEqual([1, [failure]]);
  });

  const mistake = new Error('The log is full.');
  const broken: readonly (readonly [string, Observe])[] = [
    [
      'throws',
      () => {
        throw mistake;
      },
    ],
    ['fails at once', () => throwError(() => mistake)],
    [
      'fails at an event',
      (run$) =>
        run$.pipe(
          tap(() => {
            throw mistake;
          }),
        ),
    ],
    [
      'fails at the end',
      (run$) =>
        merge(
          run$.pipe(ignoreElements()),
          defer(() =>
            run$.pipe(
              tap({
                complete: () => {
                  throw mistake;
                },
              }),
            ),
          ),
        ),
    ],
  ];
  it.each(broken)('goes on if its observer %s, which is reported once', async (_, observe) => {
    const { ask, errors } = serve(name, () => [...answer], { observe });
    expect(await ask()).toContain('Hi.');
    expect(errors).toEqual([mistake]);
  });

  it.each([
    ['that does not subscribe', () => EMPTY],
    ['that does not end', () => NEVER],
    ['that returns a Promise', () => Promise.resolve()],
  ])('goes on with an observer %s', async (_, observe) => {
    const { ask, errors } = serve(name, () => [...answer], { observe });
    expect(await ask()).toContain('Hi.');
    expect(errors).toEqual([]);
  });
});

describe('a run of a service', () => {
  it('is unsubscribed with its observer if it is left to another process, which resumes it, and observes it', async () => {
    const store = mapStore();
    const log = { ...memoryLog(), isShared: true };
    const chunks = new Subject<Chunk>();
    const { runs, observe } = recorder();
    const start = (script: Parameters<typeof scriptedModel>[0]) => {
      const handler = agentHandler(createAgent({ model: scriptedModel(script) }), {
        ...{ store, log, checkpoints: true, observe },
      });
      open.push(handler);
      return handler;
    };
    const request = () => new Request('http://service.test', { method: 'POST', headers, body: '{"input":"Hi"}' });
    const headers = { 'x-run-id': crypto.randomUUID() };
    const first = start(() => chunks);
    await first(request());
    await new Promise<void>((complete) => first.shutdown('abandon').subscribe({ complete }));
    expect(runs[0]?.at(-1)).toEqual(['unsubscribed', undefined, {}, undefined]);
    expect(await (await start(() => [...answer])(request())).text()).toContain('Hi.');
    expect(runs[1]?.at(-1)).toEqual(['completed', 'stop', usage, undefined]);
    expect(runs).toHaveLength(2);
  });

  it('is not reported as failed if it is left before its log is open', async () => {
    const { runs, observe } = recorder();
    const errors: unknown[] = [];
    const opening = new Subject<never>();
    const service = createService({
      agent: createAgent({ model: scriptedModel([[...answer]]) }),
      ...{ log: { ...memoryLog(), append: () => opening, isShared: true }, checkpoints: true, observe },
      onError: (thrown) => errors.push(thrown),
    });
    open.push(service);
    service.run(crypto.randomUUID(), 'Hi', { context: undefined }).subscribe({ error: () => undefined });
    const left = new Promise<void>((complete) => service.shutdown('abandon').subscribe({ complete }));
    opening.complete();
    await left;
    expect([errors, runs.map((seen) => seen.at(-1))]).toEqual([[], [['unsubscribed', undefined, {}, undefined]]]);
  });

  it('has the usage of each part of a run that waits once', async () => {
    const { runs, observe } = recorder();
    const pay = tool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
    const model = scriptedModel([[toolCall('pay', {}, 'c1'), finish], [...answer]]);
    const service = createService({ agent: createAgent({ model, tools: [pay] }), observe });
    open.push(service);
    const ask = (id: string, body: object) =>
      agentHandler(service)(
        new Request('http://service.test', { method: 'POST', headers: { 'x-run-id': id }, body: JSON.stringify(body) }),
      ).then((response) => response.text());
    const resume = crypto.randomUUID();
    await ask(resume, { input: 'Pay.' });
    await ask(crypto.randomUUID(), { resume, decisions: { c1: { approve: true } } });
    expect(runs.map((seen) => seen.at(-1))).toEqual([
      ['completed', 'waiting', usage, undefined],
      ['completed', 'stop', usage, undefined],
    ]);
  });

  it('has the usage of the turns before a process has left it once, also if its log is not shared', async () => {
    const store = mapStore();
    const { runs, observe } = recorder();
    const chunks = new Subject<Chunk>();
    const note = tool({ name: 'note', description: 'Notes.', execute: () => 'noted' });
    const headers = { 'x-run-id': crypto.randomUUID() };
    const start = (script: Parameters<typeof scriptedModel>[0]) => {
      const agent = createAgent({ model: scriptedModel(script), tools: [note] });
      const handler = agentHandler(agent, { store, checkpoints: true, observe });
      open.push(handler);
      return {
        handler,
        ask: () => handler(new Request('http://service.test', { method: 'POST', headers, body: '{"input":"Hi"}' })),
      };
    };
    const first = start(({ messages }) => (messages.length > 1 ? chunks : [toolCall('note'), finish]));
    await first.ask();
    while (!runs[0]?.includes('turn 2')) await new Promise((resolve) => setImmediate(resolve));
    await new Promise<void>((complete) => first.handler.shutdown('abandon').subscribe({ complete }));
    expect(await (await start(() => [...answer]).ask()).text()).toContain('noted');
    expect(runs.map((seen) => seen.at(-1))).toEqual([
      ['unsubscribed', undefined, usage, undefined],
      ['completed', 'stop', usage, undefined],
    ]);
  });
});

describe('a service without `onError`', () => {
  const failure = new Error('The model is gone.');
  const { error: print } = console;
  afterEach(() => {
    console.error = print;
    config.onUnhandledError = null;
  });
  const fail = () => serve('agentHandler', () => throwError(() => failure), { onError: undefined }).ask();

  it('prints an error once, and goes on', async () => {
    const printed: unknown[] = [];
    console.error = (thrown: unknown) => printed.push(thrown);
    await fail();
    expect(printed).toEqual([failure]);
  });

  it('reports an error to `config.onUnhandledError` once, if that is set', async () => {
    const reported: unknown[] = [];
    console.error = (thrown: unknown) => reported.push('printed', thrown);
    config.onUnhandledError = (thrown) => reported.push(thrown);
    await fail();
    await new Promise((resolve) => setTimeout(resolve));
    expect(reported).toEqual([failure]);
  });

  it('survives an `onError` that throws, and reports both', async () => {
    const printed: unknown[] = [];
    console.error = (thrown: unknown) => printed.push(thrown);
    const mistake = new Error('The log is full.');
    const onError = () => {
      throw mistake;
    };
    expect(await serve('agentHandler', () => throwError(() => failure), { onError }).ask()).toContain('event: failed');
    expect(printed).toEqual([mistake]);
  });
});
