// npm run mutation -- ROOM [--concurrency N] [--only FILE]: mutates a room of lib/ and runs its specs with Stryker.
// See spec/checks/mutation/README.md.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import jest from '../../../jest.config.js';
import { withScore } from './report.js';
import type { MutationReport } from './report.js';

const { values, positionals } = parseArgs({
  options: { concurrency: { type: 'string', default: '1' }, only: { type: 'string', default: '**/*.ts' } },
  allowPositionals: true,
});
const [room] = positionals;
if (room === undefined) throw new Error('Pass a room of lib/: npm run mutation -- tools');

const folder = import.meta.dirname;
const out = join(folder, 'out', room);
mkdirSync(out, { recursive: true });
const project = jest.projects?.find((each) => typeof each === 'object');

const config = {
  mutate: [`lib/${room}/${values.only}`],
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: {
    projectType: 'custom',
    // Stryker also reads jest.config.ts, whose projects would run everything.
    config: { ...project, projects: [], testMatch: [`**/spec/${room}/**/*.spec.ts`] },
    enableFindRelatedTests: false,
  },
  coverageAnalysis: 'perTest',
  // A mutant in what a module does once needs a process of its own: minutes for each.
  ignoreStatic: true,
  incremental: true,
  incrementalFile: join(out, 'incremental.json'),
  concurrency: Number(values.concurrency),
  timeoutMS: 10_000,
  reporters: ['clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: join(out, 'report.json') },
  disableTypeChecks: 'lib/**/*.ts',
  ignorePatterns: ['dist', 'docs', 'marbles/*.svg', 'spec/recordings', 'spec/checks', 'examples', '.git'],
  allowConsoleColors: false,
};
writeFileSync(join(out, 'stryker.config.json'), JSON.stringify(config, null, 2));
execFileSync('stryker', ['run', join(out, 'stryker.config.json')], { stdio: 'inherit' });

const readme = join(folder, 'README.md');
const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) as MutationReport;
writeFileSync(readme, withScore(readFileSync(readme, 'utf8'), room, report));
