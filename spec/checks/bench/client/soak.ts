/**
 * The process of the soak: runs of all kinds, with samples of the heap and the handles in between. Requires
 * `--expose-gc`.
 */
import { firstValueFrom, ignoreElements, lastValueFrom, take } from 'rxjs';
import { createAgent, openaiChat, typed } from '../../../../lib/index.js';
import { outputOf } from '../wire.js';
import { caseOf, measure } from './cases.js';
import { once } from './job.js';
import type { Library } from './job.js';
import type { Sample } from '../soak.js';

const { module, server, seconds } = JSON.parse(process.argv[2] ?? '{}') as {
  module: string;
  server: string;
  seconds: number;
};
const library = ((await import(module)) as { readonly openai: Library }).openai;
// As in a service, the models live as long as the process, and so does whatever they retain.
const modelOf = once((scenario) =>
  openaiChat('gpt-5', { apiKey: 'key', baseUrl: `${server}/${scenario}/v1`, retry: false }),
);

const complete = (scenario: string) => () => measure(library, caseOf(scenario), server);

/** A run that is unsubscribed after ten events. */
const unsubscribed = () =>
  firstValueFrom(
    createAgent({ model: modelOf('text-50') })
      .stream('Go on.')
      .pipe(take(10), ignoreElements()),
    { defaultValue: 0 },
  );

/** A run that is unsubscribed while the server is silent: before the response, or before its first chunk. */
const unsubscribedInSilence = (scenario: string) => async () => {
  const run = createAgent({ model: modelOf(scenario) })
    .stream('Go on.')
    .subscribe();
  await new Promise((resolve) => setTimeout(resolve, 5));
  run.unsubscribe();
};

/** A run that ends with the error of this code. */
const failing = (scenario: string, code: string) => async () => {
  const thrown: unknown = await lastValueFrom(createAgent({ model: modelOf(scenario) }).stream('Go on.')).catch(
    (error: unknown) => error,
  );
  if ((thrown as { code?: unknown }).code !== code)
    throw new Error(`${scenario} failed with ${String(thrown)} instead of ${code}`);
};

/** A run with a typed output. */
async function typedRun(): Promise<void> {
  const names = { type: 'array', items: { type: 'string' } } as const;
  const output = { type: 'object', properties: { names }, required: ['names'], additionalProperties: false } as const;
  const result = await firstValueFrom(
    createAgent({ model: modelOf('output-10'), output: typed(output) }).run('Go on.'),
  );
  if (JSON.stringify(result.output) !== outputOf(10)) throw new Error('wrong output');
}

const kinds: readonly (() => Promise<unknown>)[] = [
  complete('text-50'),
  complete('rounds-3'),
  complete('arguments-800'),
  unsubscribed,
  unsubscribedInSilence('mute'),
  unsubscribedInSilence('silent'),
  failing('refused', 'http'),
  failing('broken-50', 'stream_interrupted'),
  typedRun,
];
/** Many small concurrent runs: a leak grows with the number of runs. */
const atOnce = [...kinds, ...kinds, ...kinds];
const samples: Sample[] = [];
const end = performance.now() + seconds * 1000;
let runs = 0;
while (performance.now() < end) {
  for (let batch = 0; batch < 10; batch++) {
    await Promise.all(atOnce.map((run) => run()));
    runs += atOnce.length;
  }
  await new Promise((resolve) => setTimeout(resolve, 50)); // unsubscribed runs close their sockets
  globalThis.gc?.();
  samples.push({
    runs,
    heap: process.memoryUsage().heapUsed / 2 ** 20,
    handles: process.getActiveResourcesInfo().length,
  });
}
console.log(JSON.stringify(samples));
process.exit();
