import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** What Jest reports of a file. */
interface FileReport {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
}

const folder = resolve('spec/.suites/room');

/** The files of one suite. */
const files: Readonly<Record<string, string>> = {
  passes: `it('passes', () => expect(1).toBe(1));`,
  fails: `it('fails', () => {\n  expect(1).toBe(2);\n});`,
  unloaded: `import { nothing } from './nothing.js';\nit('is not reached', () => expect(nothing).toBe(1));`,
  timer: `it('starts a timer', () => void setTimeout(() => undefined, 60_000));`,
  server: `import { createServer } from 'node:http';\nit('opens a server', () => void createServer().listen(0));`,
  variable: `it('changes a variable', () => void (globalThis.fetch = async () => new Response()));`,
  setting: `it('changes a setting', () => void (process.env['RIVULET_SPEC'] = '1'));`,
  spies: `it('keeps a spy and virtual time', () => {\n  jest.useFakeTimers();\n  jest.spyOn(JSON, 'parse').mockReturnValue(1);\n});`,
  hooks: `beforeEach(() => {\n  throw new Error('of one file');\n});\nit('has a hook', () => undefined);`,
  real: `it('finds real timers', async () => {\n  expect(JSON.parse('2')).toBe(2);\n  await new Promise((done) => setTimeout(done, 1));\n});`,
  'patched.alone': `it('may change variables', () => void (globalThis.fetch = async () => new Response()));`,
};

const run = (...args: readonly string[]) => {
  const report = join(folder, 'report.json');
  const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'fast', '--json', `--outputFile=${report}`];
  const env = { ...process.env, NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning' };
  spawnSync(process.execPath, [...jest, '--testPathPatterns', 'spec/.suites', ...args], { env });
  return (JSON.parse(readFileSync(report, 'utf8')) as { readonly testResults: FileReport[] }).testResults;
};

describe('a suite of spec files', () => {
  let reports: readonly FileReport[] = [];
  const reportOf = (name: string) => reports.find((report) => report.name === join(folder, `${name}.spec.ts`));

  beforeAll(() => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const imports = `import { beforeEach, expect, it, jest } from '@jest/globals';\n`;
    for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, `${name}.spec.ts`), imports + code);
    reports = run();
  });
  afterAll(() => rmSync(resolve('spec/.suites'), { recursive: true }));

  it('is reported as the files that it consists of', () => {
    expect(reports.map(({ name }) => name).sort()).toEqual(
      Object.keys(files)
        .map((name) => join(folder, `${name}.spec.ts`))
        .sort(),
    );
    expect(reportOf('passes')?.assertionResults).toMatchObject([{ fullName: 'passes', status: 'passed' }]);
  });

  it.each(['passes', 'real', 'patched.alone'])('has the file %s, which passes beside the others', (name) => {
    expect(reportOf(name)).toMatchObject({ status: 'passed', message: '' });
  });

  it.each([
    ['fails', /● fails[^]*fails\.spec\.ts:3:13/],
    ['unloaded', /\.\/nothing\.js/],
    ['timer', /timer\.spec\.ts leaves 1 Timeout/],
    ['server', /server\.spec\.ts leaves 1 TCPServerWrap/],
    ['variable', /variable\.spec\.ts leaves a changed globalThis\.fetch/],
    ['setting', /setting\.spec\.ts leaves a changed process\.env\.RIVULET_SPEC/],
    ['hooks', /● has a hook[^]*of one file/],
  ])('has the file %s, which fails with %s', (name, message) => {
    expect(reportOf(name)).toMatchObject({ status: 'failed', message: expect.stringMatching(message) });
  });

  it('runs one test by its title, from the start of it', () => {
    const found = run('-t', '^passes$').flatMap(({ assertionResults }) => assertionResults);
    expect(found.filter(({ status }) => status === 'passed')).toMatchObject([{ fullName: 'passes' }]);
  });
});
