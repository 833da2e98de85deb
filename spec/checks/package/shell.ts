import { execFile } from 'node:child_process';
import { delimiter, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../../..');

/** The caller's environment without the variables that npm and jest set, which would affect the commands. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) =>
      !/^(NODE_OPTIONS|NODE_PATH|OPENAI_API_KEY|npm_(package|lifecycle)_.*|npm_config_local_prefix)$/.test(name),
  ),
);

/** Runs a command, or a tool of the project. Rejects with its complete output. */
export function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const path = `${resolve(root, 'node_modules/.bin')}${delimiter}${env['PATH'] ?? ''}`;
  return new Promise((done, failed) => {
    const child = execFile(
      command,
      args,
      { cwd, env: { ...env, PATH: path }, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        if (error) failed(new Error(`${[command, ...args].join(' ')}\n${stdout}${stderr || error.message}`));
        else done(stdout);
      },
    );
    child.stdin?.end();
  });
}

/** Packs the project into a folder. With the argument `--built`, `dist` is taken as it is. */
export function pack(destination: string): Promise<string> {
  const isBuilt = process.argv.includes('--built');
  return run(root, 'npm', 'pack', ...(isBuilt ? ['--ignore-scripts'] : []), '--pack-destination', destination);
}
