import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const runProgram = promisify(execFile);
/** What an example prints without any key. */
const outputOf = async (example: string, ...options: string[]) => {
  const env = { ...process.env, ANTHROPIC_API_KEY: undefined, OPENAI_API_KEY: undefined };
  const { stdout } = await runProgram(
    process.execPath,
    ['--import', 'tsx', `examples/${example}/main.ts`, ...options],
    {
      env,
    },
  );
  return stdout;
};

it('examples/long-run reads most of its input from the cache, and prints what its README says', async () => {
  const output = await outputOf('long-run');
  const readme = readFileSync('examples/long-run/README.md', 'utf8');
  const shown = readme.split('\n').filter((line) => /^ {6}\S/.test(line) && !line.includes('...'));
  expect(shown).toHaveLength(4);
  for (const line of shown) expect(output).toContain(line.trim());
  const [plain = 0, cached = 0] = [...output.matchAll(/\$(\d\.\d+)/g)].map(([, dollars]) => Number(dollars));
  expect(cached).toBeLessThan(plain / 2);
});

it('examples/steering ends the response early, and goes on with what the user has said', async () => {
  const output = await outputOf('steering');
  expect(output).toContain('[turn 1 ended: steered]');
  expect(output).toContain('> For one developer, in two weeks.');
  expect(output).not.toContain('build a prototype');
  expect(output).toContain('build the one page that they need most.');
});

it('examples/mcp-sign-in resumes a run in another process after the sign-in', async () => {
  const output = await outputOf('mcp-sign-in', '--yes');
  const lines = output.trim().split('\n');
  expect(lines.map((line) => line.replace(/^Open http.*\/authorize\?.*/, 'Open'))).toEqual([
    'Open',
    'The run waits, and its process has ended.',
    'Open',
    'You have two mails, both of Ann.',
    'The stored run contains no token.',
  ]);
});
