/** The soak's process: runs of all kinds for as long as it is told, with a look at heap and handles between. Needs `--expose-gc`. */
import { take } from 'rxjs';
import { createAgent, openai } from '../../../lib/index.js';
import { caseOf, measure } from './cases.js';
import type { Library } from './job.js';
import type { Sample } from '../soak.js';

const { module, server, seconds } = JSON.parse(process.argv[2] ?? '{}') as { module: string; server: string; seconds: number };
const library = ((await import(module)) as { readonly openai: Library }).openai;

/** A run that its reader leaves after ten events. */
const left = () =>
  new Promise<void>((resolve, reject) => {
    const model = openai('gpt-5', { apiKey: 'key', baseUrl: `${server}/text-500/v1` });
    createAgent({ model }).stream('Go on.').pipe(take(10)).subscribe({ complete: resolve, error: reject });
  });

const cases = [caseOf('text-500'), caseOf('rounds-5'), caseOf('arguments-4000')];
const samples: Sample[] = [];
const end = performance.now() + seconds * 1000;
let runs = 0;
while (performance.now() < end) {
  for (let batch = 0; batch < 10; batch++) {
    await Promise.all([...cases.map((which) => measure(library, which, server)), left()]);
    runs += cases.length + 1;
  }
  await new Promise((resolve) => setTimeout(resolve, 50)); // what was left closes its sockets
  globalThis.gc?.();
  samples.push({ runs, heap: process.memoryUsage().heapUsed / 2 ** 20, handles: process.getActiveResourcesInfo().length });
}
console.log(JSON.stringify(samples));
process.exit();
