import { dirname, relative, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { drawRun } from '../observe/draw/drawRun.js';
import { readRecording } from '../observe/recording/readRecording.js';
import type { RunRecording } from '../observe/recording/readRecording.js';
import { writeSpec } from '../observe/spec/writeSpec.js';
import { chatCommand } from './chat/chatCommand.js';
import { inspectCommand } from './inspect/inspectCommand.js';
import { runnerOf } from './options.js';
import { playInTerminal } from './playInTerminal.js';
import type { Shell } from './shell.js';
import { UsageError } from './usageError.js';

/** A command: it returns the exit code. */
type Command = (args: readonly string[], shell: Shell) => Promise<number>;

export const usage = `npx rivulet COMMAND

  chat [PROMPT]      asks a model: a chat in a terminal, or one prompt, also from a pipe
      --model NAME   provider:model (default: RIVULET_MODEL, or the first provider whose key is set)
      --base-url URL another server with the API of the provider
      --system TEXT  the instructions
      --json         prints each event as a line of JSON

  replay FILE        plays a recorded run in the terminal
      --run N        the run (default: 1, the first one of the file)
      --speed N      how much faster than it was recorded (default: 1)

  draw FILE          draws a recorded run as an HTML page
      --run N        the run (default: 1)
      --out PAGE     the page (default: FILE with the ending .html)

  spec FILE          writes a recorded run as a spec
      --run N        the run (default: 1)
      --out SPEC     the spec (default: FILE with the ending .spec.ts)
      --runner NAME  jest, vitest or node (default: vitest)
      --marbles      everything in the spec, as marble diagrams (default: the spec reads FILE)

  inspect [FILE...]  shows runs as they happen, and those of files, on a page of this machine
      --port N       its port (default: 4983; 0 for any)
      --allow ORIGIN a page that may send its runs, such as http://localhost:4200 (default: none)

FILE of replay, draw, spec and inspect has the lines of record or recordRun of rivulet/recording.
`;

/** The commands, by name. */
export const commands: Readonly<Record<string, Command>> = {
  replay(args, shell) {
    const { values, file } = parseFile(args, { run: { type: 'string' }, speed: { type: 'string' } });
    const options = { run: numberOf('run', values['run']), speed: numberOf('speed', values['speed']) };
    return shell.readFile(file).then((text) => playInTerminal(readRecording(text), options, shell));
  },
  draw(args, shell) {
    const { values, file } = parseFile(args, { run: { type: 'string' }, out: { type: 'string' } });
    const out = textOf(values['out']) ?? `${withoutEnding(file)}.html`;
    const options = { run: numberOf('run', values['run']) };
    return write(shell, file, out, (recording) => drawRun(recording, options));
  },
  spec(args, shell) {
    const text = { type: 'string' } as const;
    const { values, file } = parseFile(args, { run: text, out: text, runner: text, marbles: { type: 'boolean' } });
    const out = textOf(values['out']) ?? `${withoutEnding(file)}.spec.ts`;
    const runner = runnerOf(textOf(values['runner']) ?? 'vitest');
    const fixture = values['marbles'] === true ? undefined : relativePath(dirname(out), file);
    const options = { run: numberOf('run', values['run']), runner, fixture };
    return write(shell, file, out, (recording) => writeSpec(recording, options));
  },
  inspect: inspectCommand,
  chat: chatCommand,
};

const textOf = (value: string | boolean | undefined) => (typeof value === 'string' ? value : undefined);

type OptionTypes = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

/** Writes what is made of a recording to a file. */
function write(shell: Shell, file: string, out: string, make: (recording: RunRecording) => string): Promise<number> {
  if (resolve(out) === resolve(file))
    throw new UsageError(`"${out}" is the recording itself. Pass another file with --out.`);
  return shell
    .readFile(file)
    .then((text) => shell.writeFile(out, make(readRecording(text))))
    .then(() => {
      shell.write(`${out}\n`);
      return 0;
    });
}

/** The options of a command, and its one file. */
function parseFile(args: readonly string[], options: OptionTypes) {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [file, ...others] = positionals;
  if (file === undefined) throw new UsageError(`Pass the file of a recording.\n\n${usage}`);
  if (others.length > 0) throw new UsageError(`Pass one file, not ${positionals.length}.\n\n${usage}`);
  return { values, file };
}

const withoutEnding = (file: string): string => file.replace(/\.[^./\\]*$/, '');

/** The path of a file for an import, from a folder. */
function relativePath(from: string, file: string): string {
  // It becomes a URL, in which these characters would have a meaning.
  const parts = relative(from, file).split(sep);
  const path = parts.map((part) => part.replaceAll(/[%?#\\]/g, encodeURIComponent)).join('/');
  return /^\.\.?\//.test(path) ? path : `./${path}`;
}

function numberOf(name: string, text: string | boolean | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (value > 0) return value;
  throw new UsageError(`--${name} "${text}" is not a positive number.`);
}
