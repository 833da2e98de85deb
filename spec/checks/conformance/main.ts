import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { lastValueFrom, tap, toArray } from 'rxjs';
import { errorText } from '../../../lib/core/errors.js';
import { conform } from './conformance.js';
import { documentOf, linesOf, summaryOf } from './report.js';
import { notRun } from './runCase.js';
import type { Outcome } from './runCase.js';

const help = `npm run conformance -- [PATH...] [--json FILE]

Serves recorded and hand-written responses of LLM servers to Rivulet's providers, over HTTP and cut at every byte,
and compares the output with the expectation.

PATH         a quirks file (JSON with "cases"), a recording (*.expected.json and *.chunks.txt), or a folder of these
             (default: spec/recordings, and ../shared/quirks and ../shared/recordings if they exist)
--json FILE  writes the output of each case to a file`;

const project = join(import.meta.dirname, '../../..');
const defaults = ['../shared/quirks', '../shared/recordings', 'spec/recordings']
  .map((path) => relative(process.cwd(), join(project, path)))
  .filter((path) => existsSync(path));

const print = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<readonly Outcome[]> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) {
    print(help);
    return [];
  }
  const run = conform(positionals.length > 0 ? positionals : defaults).pipe(tap(printOutcome), toArray());
  const outcomes = await lastValueFrom(run);
  return values.json === undefined ? outcomes : [...outcomes, ...(await report(values.json, outcomes))];
}

const printOutcome = (outcome: Outcome) => linesOf(outcome).forEach(print);

/** Writes the report. A report that cannot be written is one more failure. */
async function report(file: string, outcomes: readonly Outcome[]): Promise<readonly Outcome[]> {
  try {
    await writeFile(file, `${JSON.stringify(documentOf(outcomes), null, 2)}\n`);
    return [];
  } catch (error) {
    const failed = notRun('--json', file, null, error);
    printOutcome(failed);
    return [failed];
  }
}

let outcomes: readonly Outcome[];
try {
  outcomes = await main();
} catch (error) {
  print(`${errorText(error)}\n\n${help}\n`);
  outcomes = [notRun('conformance', 'the command line', null, error)];
}
print(summaryOf(outcomes));
if (outcomes.some(({ passed }) => !passed)) process.exitCode = 1;
