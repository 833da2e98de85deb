/** The soak's process: runs of all kinds for as long as it is told, with a look at heap and handles between. Needs `--expose-gc`. */
import { firstValueFrom, ignoreElements, lastValueFrom, take } from 'rxjs';
import { createAgent, openai } from '../../../lib/index.js';
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
// As a service has it: the models live as long as the process, and so would all that they hold on to.
const modelOf = once((scenario) =>
  openai('gpt-5', { apiKey: 'key', baseUrl: `${server}/${scenario}/v1`, retry: false }),
);

const whole = (scenario: string) => () => measure(library, caseOf(scenario), server);

/** A run that its reader leaves after ten events. */
const left = () =>
  firstValueFrom(
    createAgent({ model: modelOf('text-50') })
      .stream('Go on.')
      .pipe(take(10), ignoreElements()),
    { defaultValue: 0 },
  );

/** A run that its reader leaves while the server is silent: before it answers, or before its first words. */
const leftInSilence = (scenario: string) => async () => {
  const run = createAgent({ model: modelOf(scenario) })
    .stream('Go on.')
    .subscribe();
  await new Promise((resolve) => setTimeout(resolve, 5));
  run.unsubscribe();
};

/** A run that ends with this error, and with no other. */
const failing = (scenario: string, code: string) => async () => {
  const thrown: unknown = await lastValueFrom(createAgent({ model: modelOf(scenario) }).stream('Go on.')).catch(
    (error: unknown) => error,
  );
  if ((thrown as { code?: unknown }).code !== code)
    throw new Error(`${scenario} gave ${String(thrown)} instead of ${code}`);
};

/** A run with a typed output. */
async function typed(): Promise<void> {
  const names = { type: 'array', items: { type: 'string' } } as const;
  const output = { type: 'object', properties: { names }, required: ['names'], additionalProperties: false } as const;
  const result = await firstValueFrom(createAgent({ model: modelOf('output-10'), output }).run('Go on.'));
  if (JSON.stringify(result.output) !== outputOf(10)) throw new Error('wrong output');
}

const kinds: readonly (() => Promise<unknown>)[] = [
  whole('text-50'),
  whole('rounds-3'),
  whole('arguments-800'),
  left,
  leftInSilence('mute'),
  leftInSilence('silent'),
  failing('refused', 'http'),
  failing('broken-50', 'stream_interrupted'),
  typed,
];
/** Small runs, many of them, and several at once: what leaks, leaks by the run. */
const atOnce = [...kinds, ...kinds, ...kinds];
const samples: Sample[] = [];
const end = performance.now() + seconds * 1000;
let runs = 0;
while (performance.now() < end) {
  for (let batch = 0; batch < 10; batch++) {
    await Promise.all(atOnce.map((run) => run()));
    runs += atOnce.length;
  }
  await new Promise((resolve) => setTimeout(resolve, 50)); // what was left closes its sockets
  globalThis.gc?.();
  samples.push({
    runs,
    heap: process.memoryUsage().heapUsed / 2 ** 20,
    handles: process.getActiveResourcesInfo().length,
  });
}
console.log(JSON.stringify(samples));
process.exit();
