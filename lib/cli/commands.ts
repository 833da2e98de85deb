import { dirname, relative, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { concat, defer, lastValueFrom, map, of, takeUntil, tap } from 'rxjs';
import { drawRun } from '../observe/draw/drawRun.js';
import { readRecording, type RunRecording } from '../observe/recording/readRecording.js';
import { writeSpec } from '../observe/spec/writeSpec.js';
import { chatCommand } from './chat/chatCommand.js';
import { inspectCommand } from './inspect/inspectCommand.js';
import { pageHead } from '../observe/draw/renderHtml.js';
import { runnerOf } from './options.js';
import type { Shell } from './shell.js';
import { UsageError } from './usageError.js';
import { errorText } from '../core/errors.js';
import { messageText } from '../core/message.js';
import { replayEvents, runOf } from '../observe/recording/replay.js';
import type { ReplayOptions } from '../observe/recording/timeline.js';
import { plainText } from '../core/plainText.js';
import { EventPrinter } from './eventPrinter.js';

type Command = (args: readonly string[], shell: Shell) => Promise<number>;

export const usage = `npx rivulet COMMAND

  chat [PROMPT]      asks a model: a chat in a terminal, or one prompt, also from a pipe
      --model NAME   provider:model (default: RIVULET_MODEL, or the first provider whose key is set)
      --base-url URL another server with the API of the provider (its key: RIVULET_API_KEY)
      --system TEXT  the instructions
      --tools FILE   a module whose default export is a list of tools; what they ask is asked on the line
      --json         prints each event as a line of JSON

  replay FILE        plays a recorded run in the terminal
      --run N        the run (default: 1, the first one of the file)
      --speed N      how much faster than it was recorded (default: 1)

  draw FILE          draws a recorded run as an HTML page
      --run N        the run (default: 1)
      --out PAGE     the page (default: FILE with the ending .html)
      --force        replaces a file that is not such a page

  spec FILE          writes a recorded run as a spec
      --run N        the run (default: 1)
      --out SPEC     the spec (default: FILE with the ending .spec.ts)
      --force        replaces the spec if there is one
      --runner NAME  jest, vitest or node (default: vitest)
      --marbles      everything in the spec, as marble diagrams (default: the spec reads FILE)

  inspect [FILE...]  shows runs as they happen, and those of files, on a page of this machine
      --port N       its port (default: 4983; 0 for any)
      --allow ORIGIN a page that may send its runs, such as http://localhost:4200 (default: none)

FILE of replay, draw, spec and inspect has the lines of record or recordRun of rivulet/recording.
`;

export const commands: Readonly<Record<string, Command>> = {
  replay(args, shell) {
    const { values, file } = parseFile(args, { run: { type: 'string' }, speed: { type: 'string' } });
    const options = { run: numberOf('run', values['run']), speed: numberOf('speed', values['speed']) };
    return shell.readFile(file).then((text) => playInTerminal(readRecording(text), options, shell));
  },
  draw(args, shell) {
    const text = { type: 'string' } as const;
    const { values, file } = parseFile(args, { run: text, out: text, force: { type: 'boolean' } });
    const options = { run: numberOf('run', values['run']) };
    return write(shell, file, { ...values, ending: '.html' }, (recording) => drawRun(recording, options));
  },
  spec(args, shell) {
    const text = { type: 'string' } as const;
    const flag = { type: 'boolean' } as const;
    const { values, file } = parseFile(args, { run: text, out: text, runner: text, marbles: flag, force: flag });
    const runner = runnerOf(textOf(values['runner']) ?? 'vitest');
    const run = numberOf('run', values['run']);
    return write(shell, file, { ...values, ending: '.spec.ts' }, (recording, out) => {
      const fixture = values['marbles'] === true ? undefined : relativePath(dirname(out), file);
      return writeSpec(recording, { run, runner, fixture });
    });
  },
  inspect: inspectCommand,
  chat: chatCommand,
};

const textOf = (value: string | boolean | undefined) => (typeof value === 'string' ? value : undefined);

type OptionTypes = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

interface Target {
  readonly ending: string;
  readonly out?: string | boolean | undefined;
  readonly force?: string | boolean | undefined;
}

async function write(
  shell: Shell,
  file: string,
  { ending, out: named, force }: Target,
  make: (recording: RunRecording, out: string) => string,
): Promise<number> {
  const out = textOf(named) ?? `${withoutEnding(file)}${ending}`;
  if (resolve(out) === resolve(file))
    throw new UsageError(`"${out}" is the recording itself. Pass another file with --out.`);
  const text = make(readRecording(await shell.readFile(file)), out);
  if (named === undefined && force !== true) await writeBeside(shell, out, text);
  else await shell.writeFile(out, text);
  shell.write(`${plainText(out)}\n`);
  return 0;
}

/** Writes a file that the user has not named: it replaces a page of an earlier drawing, and nothing else. */
function writeBeside(shell: Shell, out: string, text: string): Promise<void> {
  return shell.writeFile(out, text, { isNew: true }).catch(async (thrown: unknown) => {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    const isPage = text.startsWith(pageHead) && (await shell.readFile(out)).startsWith(pageHead);
    if (!isPage) throw new UsageError(`"${out}" exists. Pass --force to replace it, or another file with --out.`);
    await shell.writeFile(out, text);
  });
}

function parseFile(args: readonly string[], options: OptionTypes) {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [file, ...others] = positionals;
  if (file === undefined) throw new UsageError(`Pass the file of a recording.\n\n${usage}`);
  if (others.length > 0) throw new UsageError(`Pass one file, not ${positionals.length}.\n\n${usage}`);
  return { values, file };
}

const withoutEnding = (file: string): string => file.replace(/\.[^./\\]*$/, '');

/** As a part of a URL, in which some characters have a meaning, and others are lost. */
function relativePath(from: string, file: string): string {
  const path = relative(from, file).split(sep).map(encodeURIComponent).join('/');
  return /^\.\.?\//.test(path) ? path : `./${path}`;
}

function numberOf(name: string, text: string | boolean | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (value > 0) return value;
  throw new UsageError(`--${name} "${text}" is not a positive number.`);
}

function playInTerminal(recording: RunRecording, options: ReplayOptions, shell: Shell): Promise<number> {
  const { start, end } = runOf(recording, options);
  const printer = new EventPrinter(shell.hasColors);
  const input = plainText((start.input ?? []).map(messageText).join('\n'));
  let code = 0;
  const texts = concat(
    of(input === '' ? '' : `> ${input}\n`),
    replayEvents(recording, options).pipe(map((event) => printer.print(event))),
    defer(() => of(printer.line(end?.outcome === 'unsubscribed' ? 'unsubscribed' : ''))),
  );
  const interrupted = shell.interrupts.pipe(tap(() => (code = 130)));
  return lastValueFrom(texts.pipe(tap(shell.write), takeUntil(interrupted)), { defaultValue: '' }).then(
    () => code,
    (thrown: unknown) => {
      shell.write(printer.line(`failed: ${errorText(thrown)}`, 'red'));
      return 1;
    },
  );
}
