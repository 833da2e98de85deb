import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

// Runs the specs of a project of jest.config.ts, prints its slowest tests, and fails also if a process of Jest had to be
// killed, because a spec that was not found keeps it alive. The fast specs run in a random order, files and tests: no spec
// depends on another one. `--seed 2` takes another order.

/** The part of Jest's report that is read. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly duration?: number | null }[];
  }[];
}

const NUMBER_OF_SLOWEST = 20;
const unendedProcess = 'A worker process has failed to exit gracefully';

const [project = 'fast', ...args] = process.argv.slice(2);
const report = project === 'fast' ? '.specs.json' : `.specs.${project}.json`;
const order = project === 'fast' ? ['--randomize', ...(args.includes('--seed') ? [] : ['--seed', '1'])] : [];
// Only complete runs are counted.
const output = args.length === 0 ? ['--json', `--outputFile=${report}`] : [];

const { status, errors } = await runJest(['--selectProjects', project, ...output, ...order, ...args]);
if (output.length > 0) for (const line of slowestTests()) console.log(line);
if (errors.includes(unendedProcess)) console.error('\nA spec keeps a process of Jest alive: that is a failure.');
process.exitCode = errors.includes(unendedProcess) ? 1 : status;

function runJest(parameters: readonly string[]): Promise<{ readonly status: number; readonly errors: string }> {
  const env = {
    ...process.env,
    NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning',
    ...(process.stderr.isTTY && { FORCE_COLOR: '1' }),
  };
  return new Promise((resolve, reject) => {
    let errors = '';
    const jest = spawn('jest', parameters, { env, stdio: ['inherit', 'inherit', 'pipe'] });
    jest.stderr.on('data', (data: Buffer) => {
      errors += data.toString();
      process.stderr.write(data);
    });
    jest.on('error', reject).on('close', (code) => resolve({ status: code ?? 1, errors }));
  });
}

function slowestTests(): string[] {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const tests = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, duration }) => ({
      name: relative('.', name),
      fullName,
      duration: duration ?? 0,
    })),
  );
  const slowest = tests.sort((a, b) => b.duration - a.duration).slice(0, NUMBER_OF_SLOWEST);
  return [
    `\nThe ${slowest.length} slowest of ${tests.length} tests, in ms:`,
    ...slowest.map(({ name, fullName, duration }) => `${String(duration).padStart(7)}  ${name}  ${fullName}`),
  ];
}
