import { execSync } from 'node:child_process';
import { resolve } from 'node:path';
import { builtPage } from '../../../examples/angular-chat/server/page.js';
import { serve } from '../../../examples/node-service/serve.js';
import { pageFiles } from '../../../examples/page/files.js';
import { angularChecks } from './angular.js';
import { checkAsking } from './asking.js';
import { checks } from './checks.js';
import { launch } from './chromium.js';
import { drawingChecks } from './drawing.js';
import { checkDurable } from './durable.js';
import { inspectorChecks } from './inspector.js';
import { checkNest } from './nest.js';
import { networkChecks } from './network.js';
import { pageChecks } from './page.js';
import { onStage } from './stage.js';
import type { Example } from './stage.js';
import { questionChecks, stateChecks } from './states.js';

/** The examples with a page. Add yours here. */
const examplesOf = ({ seed, seconds }: Selection): readonly Example[] => [
  {
    name: 'page',
    serve: (agent) => serve(agent, { page: pageFiles }),
    checks: [...pageChecks, ...stateChecks, ...networkChecks(seed, seconds)],
  },
  {
    name: 'angular-chat',
    serve: (agent) => serve(agent, { page: angularPage }),
    checks: [...angularChecks, ...stateChecks, ...questionChecks],
  },
];

let built: ReturnType<typeof builtPage> | undefined;

/** The page of examples/angular-chat, built once with the library as it is now. */
function angularPage(): ReturnType<typeof builtPage> {
  if (!built) {
    const root = resolve(import.meta.dirname, '../../..');
    execSync('npm run build && npm run page --prefix examples/angular-chat', {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    built = builtPage();
  }
  return built;
}

/** Which checks run. */
export interface Selection {
  readonly short: boolean;
  /** A part of the names of checks or examples. */
  readonly only: string | undefined;
  /** Of what the bad network does at random. */
  readonly seed: number;
  /** How long the bad network lasts. */
  readonly seconds: number;
}

/** Runs the checks, and prints a line for each. Resolves with the number of failures. */
export async function runChecks(selection: Selection): Promise<number> {
  const { short, only = '' } = selection;
  const browser = await launch();
  const onExamples = examplesOf(selection).flatMap((example) =>
    [...checks, ...(example.checks ?? [])]
      .filter((check) => !short || check.short === true)
      .map(({ name, prepare }) => ({
        name: `${example.name}: ${name}`,
        run: () => {
          const { act, ...settings } = prepare();
          return onStage(browser, example, settings, act);
        },
      })),
  );
  const nest = { name: 'nest-service: The service keeps users apart', run: () => checkNest(browser) };
  const durable = { name: 'durable-service: A run survives its worker', run: () => checkDurable(browser) };
  const inspector = inspectorChecks
    .filter((check) => !short || check.short === true)
    .map(({ name, run }) => ({ name: `inspector: ${name}`, run: () => run(browser) }));
  const drawing = drawingChecks.map(({ name, run }) => ({ name: `drawing: ${name}`, run: () => run(browser) }));
  const asking = {
    name: 'angular-chat: A question is answered on another device, after its process was killed',
    run: () => Promise.resolve(angularPage()).then(() => checkAsking(browser)),
  };
  let failures = 0;
  for (const { name, run } of [
    ...onExamples,
    asking,
    nest,
    ...(short ? [] : [durable]),
    ...inspector,
    ...drawing,
  ].filter((check) => check.name.includes(only))) {
    const start = performance.now();
    const error = await run().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const time = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    console.log(`${error === undefined ? 'ok    ' : 'FAILED'} ${name} (${time})`);
    if (error === undefined) continue;
    failures += 1;
    console.log(error);
  }
  await browser.close();
  return failures;
}
