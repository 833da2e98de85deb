/**
 * The benchmark: `npm run bench`. CPU time of the client process over real sockets, against a floor written by hand.
 *
 *   npm run bench                 everything, the peers too where they are installed (npm ci --prefix spec/bench/peers)
 *   npm run bench -- --quick      the floor and Rivulet, for CI: fails when a ratio is worse than the one on record by more than the tolerance
 *   npm run bench -- --quick --accept   puts what is found on record
 *   npm run bench -- --only text  the cases, and the costs that grow, whose name begins so
 *   npm run bench -- --soak 600   one process, that many seconds of runs: heap and handles must stay flat
 */
import { parseArgs } from 'node:util';
import { accept, regressions } from './baseline.js';
import { compile } from './build.js';
import {
  anthropicFloor,
  anthropicPeers,
  floor,
  imported,
  openaiPeers,
  partialContestants,
  partialInProcess,
  partialPeers,
  peersInstalled,
  rivulet,
} from './contestants.js';
import type { Contestant } from './contestants.js';
import { measureGrowth } from './growth.js';
import { measureCase } from './measure.js';
import type { Plan } from './measure.js';
import { startServer } from './processes.js';
import { caseTable, circumstances, growthTable, sizeTable, write } from './report.js';
import type { CaseReport, Report } from './report.js';
import { bundleSizes } from './sizes.js';
import { soak } from './soak.js';
import { median, quantile } from './statistics.js';

interface Planned extends Plan {
  readonly name: string;
  readonly unit: string;
  readonly limit?: number;
  /** Part of `--quick`. */
  readonly quick?: boolean;
  /** Over Anthropic's wire. */
  readonly anthropic?: boolean;
  /** Partial objects: of typed output, or of a call's arguments. */
  readonly partial?: 'output' | 'toolArguments';
  /** Who takes part, if not the floor, ours, and the peers. The first is what the others are compared with. */
  readonly contestants?: readonly Contestant[];
}

const cpu = 'CPU ms';
const warm = { warmups: 8, runs: 9, rounds: 5, unit: cpu };
const fresh = { warmups: 0, runs: 1, rounds: 9 };

const few = { warmups: 2, runs: 4 };

/** Partial objects without a wire, against the parser by hand and nothing else. */
const inProcess = (size: string, records: number, times: Pick<Plan, 'warmups' | 'runs'>): readonly Planned[] => [
  {
    ...warm,
    ...times,
    name: `partial objects in process, one read: ${size}`,
    case: `oneread-${records}`,
    limit: 2,
    contestants: partialInProcess,
  },
  {
    ...warm,
    ...times,
    name: `partial objects in process, a read each: ${size}`,
    case: `reads-${records}`,
    limit: 2,
    contestants: partialInProcess,
  },
];

const plans: readonly Planned[] = [
  { ...warm, name: 'text: 20,000 deltas', case: 'text-20000', limit: 1.25, quick: true },
  { ...warm, name: 'arguments: 400 KB in 8 parallel calls', case: 'arguments-400000', limit: 1.25, quick: true, warmups: 3, runs: 3 },
  { ...warm, name: '50 tool rounds', case: 'rounds-50', limit: 1.35, quick: true, warmups: 30, runs: 15 },
  { ...warm, name: '200 concurrent runs of 500 deltas', case: 'concurrent-200', limit: 1.25, quick: true, warmups: 3, runs: 5 },
  { ...warm, name: 'text over the wire of Anthropic: 20,000 deltas', case: 'text-20000', anthropic: true },
  { ...warm, name: 'arguments over the wire of Anthropic: 400 KB', case: 'arguments-400000', anthropic: true, warmups: 3, runs: 3 },
  { ...warm, name: 'partial output: 2,000 records, 200 KB', case: 'records-2000', partial: 'output', limit: 2, quick: true, ...few },
  { ...warm, name: 'partial arguments: 2,000 records, 200 KB', case: 'recordcall-2000', partial: 'toolArguments', limit: 2, ...few },
  { ...warm, name: 'partial output: 500 records', case: 'records-500', partial: 'output', limit: 2, rounds: 3 },
  { ...warm, name: 'partial arguments: 500 records', case: 'recordcall-500', partial: 'toolArguments', limit: 2, rounds: 3 },
  ...inProcess('64 KB', 650, { warmups: 30, runs: 30 }),
  ...inProcess('200 KB', 2_000, { warmups: 15, runs: 15 }),
  ...inProcess('1 MB', 10_500, { warmups: 5, runs: 7 }),
  { ...fresh, name: 'the first run of a process: 500 deltas', unit: cpu, case: 'text-500', limit: 1.6, quick: true },
  {
    ...fresh,
    name: 'import of the whole library',
    unit: cpu,
    case: '',
    runs: 0,
    limit: 1.5,
    contestants: imported,
    read: (finding) => finding.imported,
  },
  { ...fresh, name: 'peak memory: text', unit: 'MB', case: 'text-20000', limit: 1.25, read: ({ memory }) => memory },
  { ...fresh, name: 'peak memory: 200 concurrent runs', unit: 'MB', case: 'concurrent-200', limit: 1.25, read: ({ memory }) => memory },
  {
    ...fresh,
    name: 'first delta, from write to callback: median',
    unit: 'ms',
    case: 'first-300',
    warmups: 1,
    read: ({ latencies }) => median(latencies),
  },
  {
    ...fresh,
    name: 'first delta, from write to callback: p99',
    unit: 'ms',
    case: 'first-300',
    warmups: 1,
    read: ({ latencies }) => quantile(latencies, 0.99),
  },
  {
    ...fresh,
    name: 'delta under load (50 runs at once), from write to callback: p95',
    unit: 'ms',
    case: 'paced-50',
    limit: 1.15,
    warmups: 2,
    read: ({ latencies }) => quantile(latencies, 0.95),
  },
];

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    accept: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    soak: { type: 'string' },
  },
});

function contestantsOf({ anthropic, partial, contestants }: Planned): readonly Contestant[] {
  if (contestants) return contestants;
  const others = !options.quick && peersInstalled();
  if (partial) return others ? [...partialContestants(partial), ...partialPeers(partial)] : partialContestants(partial);
  if (anthropic) return others ? [anthropicFloor, ...anthropicPeers] : [anthropicFloor, anthropicPeers[0] ?? rivulet];
  return others ? [floor, rivulet, ...openaiPeers] : [floor, rivulet];
}

async function run(plan: Planned, server: string): Promise<CaseReport> {
  const rounds = options.quick ? 3 : plan.rounds;
  const scores = await measureCase(contestantsOf(plan), { ...plan, rounds }, server);
  const report = { name: plan.name, unit: plan.unit, ...(plan.limit === undefined ? {} : { limit: plan.limit }), scores };
  console.log(caseTable(report));
  return report;
}

async function main(): Promise<void> {
  await compile();
  const server = await startServer();
  if (options.soak !== undefined) {
    process.exitCode = (await soak(Number(options.soak), server.url)) ? 0 : 1;
    server.close();
    return;
  }
  const cases: CaseReport[] = [];
  for (const plan of plans) {
    if (plan.name.startsWith(options.only) && (plan.quick || !options.quick)) cases.push(await run(plan, server.url));
  }
  const growth = await measureGrowth(server.url, options.quick, options.only);
  server.close();
  const report: Report = { ...circumstances(), cases, growth, sizes: await bundleSizes() };
  if (growth.length > 0) console.log(`${growthTable(growth)}\n`);
  console.log(`${sizeTable(report.sizes)}\n`);
  console.log(
    `${report.date}, ${report.node}, ${report.machine}, commit ${report.commit}. Written to ${write(report, options.quick ? 'quick' : 'full')}.`,
  );
  if (options.accept) accept(report);
  const found = options.quick ? regressions(report) : [];
  if (found.length === 0) return;
  console.error(`\nWorse than what is on record (spec/bench/baseline.json):\n${found.join('\n')}`);
  process.exitCode = 1;
}

await main();
