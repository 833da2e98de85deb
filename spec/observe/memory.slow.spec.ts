import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { concat, defer, firstValueFrom, map, NEVER, range, tap, timer, type Observable } from 'rxjs';
import { createAgent, type Agent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { Model } from '../../lib/core/model.js';
import { traceAgent, traceModel } from '../../lib/observe/opentelemetry/index.js';
import { inspectRuns, record, recordRun } from '../../lib/observe/recording/index.js';
import { observeRun } from '../../lib/operators/observeRun.js';
import { toView } from '../../lib/operators/toView.js';

const DELTAS = 5000;

const ignore = () => undefined;
const inspector = 'http://127.0.0.1:1/#token';
const received = () => Promise.resolve(new Response(null, { status: 204 }));

/** What observes a run, or a request, that is still open. */
const observers: Readonly<Record<string, (model: Model) => Observable<unknown>>> = {
  nobody: (model) => agentOf(model).stream('Hi'),
  observeRun: (model) =>
    agentOf(model)
      .stream('Hi')
      .pipe(observeRun({ requestEnd: ignore, toolEnd: ignore })),
  toView: (model) => agentOf(model).stream('Hi').pipe(toView()),
  traceAgent: (model) => traceAgent(agentOf(model)).stream('Hi'),
  'traceAgent with content': (model) => traceAgent(agentOf(model), { content: true }).stream('Hi'),
  traceModel: (model) => traceModel(model).stream({ messages: [] }),
  recordRun: (model) => recordRun(agentOf(model), ignore).stream('Hi'),
  'recordRun without content': (model) => recordRun(agentOf(model), ignore, { content: false }).stream('Hi'),
  'recordRun with a secret': (model) => recordRun(agentOf(model), ignore, { secrets: ['delta 4-'] }).stream('Hi'),
  'recordRun beyond its limit': (model) => recordRun(agentOf(model), ignore, { maxLength: 1000 }).stream('Hi'),
  record: (model) => record(model, ignore).stream({ messages: [] }),
  inspectRuns: (model) => inspectRuns(agentOf(model), inspector, { fetch: received }).stream('Hi'),
};

const agentOf = (model: Model): Agent => createAgent({ model });

describe('the memory of what observes a run', () => {
  it.each(Object.entries(observers))('a run that is observed by %s keeps no delta', async (_, observe) => {
    const deltas: WeakRef<Chunk>[] = [];
    const stream = () =>
      concat(
        defer(() => range(0, DELTAS)).pipe(
          map((index): Chunk => ({ type: 'text', text: `delta ${index} ` })),
          tap((chunk) => deltas.push(new WeakRef(chunk))),
        ),
        NEVER,
      );
    const subscription = observe({ provider: 'p', name: 'm', stream }).subscribe();
    expect(await aliveOf(deltas)).toBeLessThan(10);
    expect(deltas).toHaveLength(DELTAS);
    subscription.unsubscribe();
  });
});

async function aliveOf(refs: readonly WeakRef<Chunk>[]): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  await firstValueFrom(timer(0)); // within a task, what a WeakRef was created for stays
  collectGarbage();
  return refs.filter((ref) => ref.deref() !== undefined).length;
}
