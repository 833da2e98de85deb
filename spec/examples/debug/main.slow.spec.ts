import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const project = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs an example as its npm script does, without any key. */
function start(example: string): Promise<{ readonly code: number; readonly out: string; readonly error: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', 'tsx', `examples/${example}/main.ts`],
      { cwd: project, env: { PATH: process.env['PATH'] ?? '' } },
      (_, out, error) => resolve({ code: child.exitCode ?? -1, out, error }),
    );
  });
}

describe('npm run debug:*, in a process of its own', () => {
  it.each(['debug-streaming-tool-calls', 'debug-tool-accumulation'])(
    '%s reads the answer of a stand-in and exits with 0',
    async (example) => {
      const { code, out, error } = await start(example);
      expect({ code, error }).toEqual({ code: 0, error: '' });
      expect(out).toMatch(/^reading +openai:.* from a scripted stand-in; set OPENAI_API_KEY/);
      expect(out).toMatch(/\ncomplete\n$/);
    },
    60_000,
  );
});
