/**
 * The benchmark, `npm run bench`: CPU time of a client process over real sockets, as a ratio to a hand-written floor.
 *
 *   npm run bench                       everything, with the peers if they are installed; writes results.json
 *   npm run bench -- --only text        the cases whose names contain it, also with --quick; keeps the other results
 *   npm run bench -- --rounds 1         fewer processes than the limits require, for a quick look
 *   npm run bench -- --ours             without the other libraries, whose earlier results are kept; not first runs and memory
 *   npm run bench -- --quick            the floor and Rivulet, for CI; fails if a ratio is worse than its baseline
 *   npm run bench -- --quick --accept   writes the baseline
 *   npm run bench -- --recording        what recordRun and inspectRuns cost; fails if a ratio exceeds its limit
 *   npm run bench -- --recording --short    with a third of the pairs, and wider limits
 *   npm run bench -- --beside 5a7046f   ratios to the build of that commit; fails if one exceeds its limit
 *   npm run bench -- --profile text-50 --wire anthropic    where the floor and Rivulet spend the time of a case
 *   npm run bench -- --soak 600         runs in one process for so many seconds; heap and handles must stay flat
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { accept } from './baseline.js';
import { measureBeside } from './beside.js';
import { compile, out } from './build.js';
import { growing, measureGrowth } from './growth.js';
import { runRounds, scoresOf } from './measure.js';
import { both, plans, wireNames } from './plans.js';
import type { Planned } from './plans.js';
import { startServer } from './processes.js';
import { profile } from './profile.js';
import { quick } from './quick.js';
import { measureRecording } from './recording.js';
import { caseTable, growthTable, measured } from './report.js';
import type { CaseReport } from './report.js';
import { speedTables } from '../../support/speedTable.js';
import { asText, openResults, readResults } from './results.js';
import { bundleSizes } from './sizes.js';
import { soak } from './soak.js';
import type { Api } from './wire.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    accept: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    ours: { type: 'boolean', default: false },
    soak: { type: 'string' },
    recording: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    beside: { type: 'string' },
    profile: { type: 'string' },
    wire: { type: 'string', default: 'openai' },
  },
});

const roundsOf = (planned: number) => Number(options.rounds ?? planned);

async function runPlan(plan: Planned, server: string): Promise<CaseReport> {
  const contestants = plan.contestants.filter(({ peer }) => !(options.ours && peer));
  const found = await runRounds(contestants, { ...plan, rounds: roundsOf(plan.rounds) }, server);
  const { read, ...reading } = plan.reading;
  return { ...reading, ...measured(), scores: scoresOf(found, read) };
}

async function full(server: string): Promise<void> {
  const wanted = (name: string) => name.includes(options.only);
  const results = openResults(
    options.only === '' && !options.ours ? 'all' : options.only === 'sizes' ? 'sizes' : 'some',
  );
  const began = performance.now();
  const minutes = () => `${((performance.now() - began) / 60_000).toFixed(1)} minutes`;
  const chosen = plans.filter(({ alone, reading }) => !(options.ours && alone) && wanted(reading.name));
  for (const plan of chosen) {
    const found = await runPlan(plan, server);
    results.add({ cases: [found] });
    console.log(`${caseTable(found)}\n(${minutes()})\n`);
  }
  for (const kind of growing) {
    for (const wire of both.filter((one) => wanted(`growth of ${kind}, ${wireNames[one]}`))) {
      const growth = await measureGrowth(kind, wire, server, { rounds: roundsOf(1), budget: 5_000 });
      results.add({ growth });
      console.log(`${growthTable(growth)}\n\n(${minutes()})\n`);
    }
  }
  if (wanted('sizes')) results.add({ sizes: await bundleSizes() });
  console.log(speedTables(readResults()));
}

async function checked(server: string): Promise<boolean> {
  const { report, problems } = await quick(server, options.only, !options.accept);
  writeFileSync(join(out, 'quick.json'), asText(report));
  if (options.accept && options.only !== '') throw new Error('The baseline is that of one run: omit --only.');
  if (options.accept) accept(report);
  if (options.accept || problems.length === 0) return true;
  console.error(`\nWorse than the baseline (spec/checks/bench/baseline.json):\n${problems.join('\n')}`);
  return false;
}

await compile();
const server = await startServer();
try {
  if (options.soak !== undefined) process.exitCode = (await soak(Number(options.soak), server.url)) ? 0 : 1;
  else if (options.profile !== undefined) await profile(options.profile, options.wire as Api, server.url);
  else if (options.beside !== undefined) process.exitCode = (await measureBeside(options.beside, server.url)) ? 0 : 1;
  else if (options.recording) process.exitCode = (await measureRecording(server.url, options.short)) ? 0 : 1;
  else if (options.quick) process.exitCode = (await checked(server.url)) ? 0 : 1;
  else await full(server.url);
} finally {
  server.close();
}
