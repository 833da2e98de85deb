// npm run mutation -- ROOM [--concurrency N] [--only FILE] [--sample N]: mutates a room of lib/ and runs its specs with Stryker.
// See spec/checks/mutation/README.md.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { roomScore, survivorList, withScore } from './report.js';
import type { MutationReport } from './report.js';

/** The lowest score of a room, in percent. Default: none. */
const limits: Readonly<Record<string, number>> = {
  operators: 90,
  agent: 90,
  models: 85,
  tools: 85,
  service: 85,
  protocol: 85,
  chat: 85,
  core: 74,
  cli: 60,
  testing: 53,
  providers: 64,
  observe: 56,
  transport: 85,
};

/** Specs of other rooms that test a room, by their folders or files: of what is used through a model, or by two sides of a socket. */
const furtherSpecs: Readonly<Record<string, readonly string[]>> = {
  transport: [
    ...['http', 'runs', 'agUi', 'uiChat', 'publicEvents.spec.ts', 'answering.spec.ts', 'prompts.spec.ts'].map(
      (name) => `service/${name}`,
    ),
    'chat',
  ],
  protocol: [
    ...['contextLength', 'httpModel', 'kit', 'omitRefused', 'sockets', 'stopped', 'streamErrors'].map(
      (name) => `providers/${name}.spec.ts`,
    ),
    'providers/openaiResponses/resume.spec.ts',
  ],
};

/** Code that another runner tests: Angular's own, with `npm run test:angular`. */
const otherRunner = 'chat/angular';

/** Specs that start processes, and those that change what others use, as zone.js replaces Promise. */
const notInOneProcess = /\.(?:slow|database|alone)\.spec\.ts$/;

/** Tests that measure how cost or memory grow, or that run at every event: they take a second for each mutant. */
const slowTests = [
  'linear cost',
  '[0-9]0,000 ',
  'holds nothing of a run',
  'in proportion to its length',
  'needs the memory',
  'ends like an undisturbed run',
  'killed at any write',
];

/** The lines of a piece of a sample. */
const pieceLines = 20;

/** Tests whose scripted models answer once, or whose server is closed after them: a second run would fail. */
const onceOnly = [
  'ends each span once',
  'the written specs of a recorded run',
  'openai: the provider contract',
  'openai: a response that is cut',
];

const everyFile = '**/*.ts';
const { values, positionals } = parseArgs({
  options: {
    concurrency: { type: 'string', default: '2' },
    only: { type: 'string', default: everyFile },
    sample: { type: 'string' },
  },
  allowPositionals: true,
});
const [room] = positionals;
const isComplete = values.only === everyFile; // or a sample, which the table names
const sampleSize = values.sample === undefined ? Infinity : Number(values.sample);
if (room === undefined) throw new Error('Pass a room of lib/: npm run mutation -- tools');

const specs = [room, ...(furtherSpecs[room] ?? [])]
  .flatMap(specsIn)
  .filter((file) => !notInOneProcess.test(file) && !file.startsWith(`spec/${otherRunner}/`));
const tests = `^(?!.*(${[...slowTests, ...onceOnly].join('|')}))`;

const folder = import.meta.dirname;
const out = join(folder, 'out', room);
mkdirSync(out, { recursive: true });

const config = {
  mutate: [...mutatedFiles(), `!lib/${otherRunner}/**`],
  testRunner: 'mocha',
  mochaOptions: {
    // Loaded in Stryker's copy of the project: before it, `rivulet/...` would be the code without mutants.
    require: ['tsx', './spec/checks/mutation/fileSuites.ts'],
    spec: specs,
    grep: tests,
  },
  coverageAnalysis: 'perTest',
  // What a module does once, when it is loaded, has happened before a mutant is chosen.
  ignoreStatic: true,
  incremental: isComplete && sampleSize === Infinity,
  incrementalFile: join(out, 'incremental.json'),
  concurrency: Number(values.concurrency),
  timeoutMS: 3000,
  reporters: ['progress-append-only', 'clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: join(out, 'report.json') },
  disableTypeChecks: 'lib/**/*.ts',
  ignorePatterns: ['dist', 'spec/checks/mutation/out', '.git'],
  allowConsoleColors: false,
};
writeFileSync(join(out, 'stryker.config.json'), JSON.stringify(config, null, 2));
const env = { ...process.env, TSX_TSCONFIG_PATH: 'spec/checks/mutation/tsconfig.json' };
execFileSync('node', ['--import', 'tsx', join(folder, 'runTwice.ts'), tests, ...specs], { stdio: 'inherit', env });
execFileSync('stryker', ['run', join(out, 'stryker.config.json')], { stdio: 'inherit', env });

const found = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) as MutationReport;
const score = roomScore(found);
if (isComplete) writeReport(room);
const limit = limits[room] ?? 0;
if (score.percent < limit) {
  console.error(
    `The score is ${score.percent.toFixed(1)} %, below the ${limit} % of ${room}: the survivors are above.`,
  );
  process.exitCode = 1;
}

/** The specs of a folder below spec/, or the one file. */
function specsIn(name: string): readonly string[] {
  if (name.endsWith('.ts')) return [`spec/${name}`];
  const files = readdirSync(`spec/${name}`, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith('.spec.ts')).map((file) => `spec/${name}/${file}`);
}

/** All files of a room, or a sample of pieces: the same ones in each run, since hashes of their places choose. */
function mutatedFiles(): readonly string[] {
  if (sampleSize === Infinity) return [`lib/${room}/${values.only}`];
  const hashOf = (place: string) => createHash('sha1').update(place).digest('hex');
  return readdirSync(`lib/${room}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !`${room}/${name}`.startsWith(otherRunner))
    .flatMap((name) => piecesOf(`lib/${room}/${name}`))
    .sort((a, b) => (hashOf(a) < hashOf(b) ? -1 : 1))
    .slice(0, sampleSize);
}

/** The pieces of a file, as Stryker names them: `lib/core/a.ts:1-20`. */
function piecesOf(file: string): readonly string[] {
  const count = Math.ceil(readFileSync(file, 'utf8').split('\n').length / pieceLines);
  return Array.from({ length: count }, (_, i) => `${file}:${i * pieceLines + 1}-${(i + 1) * pieceLines}`);
}

/** Writes the score and the survivors of a room. */
function writeReport(mutated: string): void {
  const readme = join(folder, 'README.md');
  writeFileSync(readme, withScore(readFileSync(readme, 'utf8'), mutated, score, sampleSize));
  const survivors = join(folder, 'survivors', `${mutated}.md`);
  const earlier = existsSync(survivors) ? readFileSync(survivors, 'utf8') : '';
  mkdirSync(join(folder, 'survivors'), { recursive: true });
  writeFileSync(survivors, survivorList(mutated, found, earlier));
}
