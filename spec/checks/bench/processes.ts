import { execFile, fork } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { compiled } from './build.js';
import type { Finding, Task } from './client/main.js';

/** A running server. */
export interface Server {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  close(): void;
}

/** Starts the loopback server in a separate process, which ends with this one. */
export async function startServer(): Promise<Server> {
  const server = fork(join(compiled, 'server.js'), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const lines = createInterface({ input: server.stdout! });
  const port = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    server.once('exit', () => reject(new Error('The server of the benchmark did not start.')));
  });
  return { url: `http://127.0.0.1:${port}`, close: () => server.disconnect() };
}

/** The finding of a client process, or the reason of its failure. */
export type Outcome =
  | { readonly finding: Finding; readonly failure?: never }
  | { readonly failure: string; readonly finding?: never };

/** The milliseconds of a client process: the floor takes less than three seconds. */
const limit = 600_000;

/** Runs one task in a new process. `node` is its program. */
export function runClient(task: Task, node = process.execPath, flags: readonly string[] = []): Promise<Outcome> {
  return new Promise((resolve) => {
    const args = [...flags, join(compiled, 'client/main.js'), JSON.stringify(task)];
    execFile(
      node,
      args,
      { timeout: limit, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const line = stdout.trim().split('\n').at(-1) ?? '';
        if (error?.killed) resolve({ failure: `does not finish in ${limit / 1000} s` });
        else if (!line.startsWith('{'))
          resolve({ failure: [stderr.trim().split('\n').at(-1), `ends with ${error?.code}`].find(Boolean) ?? '' });
        else {
          const output = JSON.parse(line) as Finding | { readonly failure: string };
          resolve('failure' in output ? output : { finding: output });
        }
      },
    );
  });
}
