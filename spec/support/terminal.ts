import { PassThrough } from 'node:stream';
import { Subject } from 'rxjs';
import type { Shell } from '../../lib/cli/shell.js';

/** A terminal, or a pipe, and files in memory. */
export function fakeTerminal({
  isTTY = true,
  env = {},
  columns = 40,
  files: before = {},
}: {
  readonly isTTY?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly files?: Readonly<Record<string, string>>;
} = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: () => undefined });
  const stdout = Object.assign(new PassThrough(), { isTTY, columns, rows: 24 });
  const interrupts = new Subject<void>();
  const terminations = new Subject<void>();
  const files = new Map(Object.entries(before));
  const privateFiles = new Set<string>();
  const written = { output: '', errors: '' };
  const waiting = new Set<() => void>();
  stdout.setEncoding('utf8').on('data', (text: string) => {
    written.output += text;
    for (const check of waiting) check();
  });
  const shell: Shell = {
    readFile: (path) => {
      const text = files.get(path);
      return text === undefined
        ? Promise.reject(Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' }))
        : Promise.resolve(text);
    },
    writeFile: (path, text, { isPrivate = false } = {}) => {
      files.set(path, text);
      if (isPrivate) privateFiles.add(path);
      return Promise.resolve();
    },
    write: (text) => void stdout.write(text),
    writeError: (text) => void (written.errors += text),
    hasColors: false,
    hasErrorColors: false,
    interrupts,
    terminations,
    stdin,
    stdout,
    env,
  };
  /** Waits until the output since the last call has a text, and returns that output. */
  let seen = 0;
  const until = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const check = () => {
        const fresh = written.output.slice(seen);
        if (!fresh.includes(text)) return;
        seen = written.output.length;
        waiting.delete(check);
        resolve(fresh);
      };
      waiting.add(check);
      check();
    });
  return { shell, stdin, files, privateFiles, written, interrupts, terminations, until };
}
