/**
 * The benchmark, `npm run bench`: CPU time of a client process over real sockets, as a ratio to a hand-written floor.
 *
 *   npm run bench                       everything, with the peers if they are installed; writes results.json
 *   npm run bench -- --only text        the cases whose names start so, also with --quick; keeps the other results
 *   npm run bench -- --rounds 1         fewer processes than the limits require, for a quick look
 *   npm run bench -- --quick            the floor and Rivulet, for CI; fails if a ratio is worse than its baseline
 *   npm run bench -- --quick --accept   writes the baseline
 *   npm run bench -- --soak 600         runs in one process for so many seconds; heap and handles must stay flat
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { accept } from './baseline.js';
import { compile, out } from './build.js';
import { baseContestants, peerContestants, peersInstalled } from './contestants.js';
import { growing, measureGrowth } from './growth.js';
import { runRounds, scoresOf } from './measure.js';
import { plans } from './plans.js';
import type { Planned } from './plans.js';
import { startServer } from './processes.js';
import { quick } from './quick.js';
import { caseTable, growthTable, measured, sizeTable } from './report.js';
import type { CaseReport } from './report.js';
import { asText, openResults } from './results.js';
import { bundleSizes } from './sizes.js';
import { soak } from './soak.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    accept: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    soak: { type: 'string' },
  },
});

const roundsOf = (planned: number) => Number(options.rounds ?? planned);

async function runPlan(plan: Planned, server: string): Promise<readonly CaseReport[]> {
  const {
    wire = 'openai',
    contestants = [...baseContestants[wire], ...(peersInstalled() ? peerContestants[wire] : [])],
  } = plan;
  const found = await runRounds(contestants, { ...plan, rounds: roundsOf(plan.rounds) }, server);
  return plan.readings.map(({ read, ...reading }) => ({ ...reading, ...measured(), scores: scoresOf(found, read) }));
}

async function full(server: string): Promise<void> {
  const wanted = (name: string) => name.startsWith(options.only);
  const results = openResults(options.only === '' ? 'all' : options.only === 'sizes' ? 'sizes' : 'some');
  const began = performance.now();
  const minutes = () => `${((performance.now() - began) / 60_000).toFixed(1)} minutes`;
  for (const plan of plans.filter(({ readings }) => readings.some(({ name }) => wanted(name)))) {
    const cases = await runPlan(plan, server);
    results.add({ cases });
    console.log(`${cases.map(caseTable).join('\n')}\n(${minutes()})\n`);
  }
  for (const kind of growing.filter((one) => wanted(`growth of ${one}`))) {
    const growth = await measureGrowth(kind, server, { rounds: roundsOf(3), budget: 5_000 });
    results.add({ growth });
    console.log(`${growthTable(growth)}\n\n(${minutes()})\n`);
  }
  if (!wanted('sizes')) return;
  const sizes = await bundleSizes();
  results.add({ sizes });
  console.log(sizeTable(sizes));
}

async function checked(server: string): Promise<boolean> {
  const { report, problems } = await quick(server, options.only, !options.accept);
  writeFileSync(join(out, 'quick.json'), asText(report));
  if (options.accept && options.only !== '') throw new Error('The baseline is that of one run: omit --only.');
  if (options.accept) accept(report);
  if (options.accept || problems.length === 0) return true;
  console.error(`\nWorse than the baseline (spec/bench/baseline.json):\n${problems.join('\n')}`);
  return false;
}

await compile();
const server = await startServer();
try {
  if (options.soak !== undefined) process.exitCode = (await soak(Number(options.soak), server.url)) ? 0 : 1;
  else if (options.quick) process.exitCode = (await checked(server.url)) ? 0 : 1;
  else await full(server.url);
} finally {
  server.close();
}
