import { writeFile } from 'node:fs/promises';
import { concat, firstValueFrom, merge, NEVER, of, skip, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import picocolors from 'picocolors';
import { createAgent } from 'rivulet';
import type { Agent, Approve } from 'rivulet';
import { drawRun, readRecording, recordRun } from 'rivulet/recording';
import { serve } from '../node-service/serve.js';
import { pageFiles } from '../page/files.js';
import { askUser, chat } from './chat.js';
import { openChats } from './chatStorage.js';
import { keyboard } from './keyboard.js';
import type { TerminalInput, TerminalOutput } from './keyboard.js';
import type { Pace } from './offline.js';
import { help, parseOptions } from './options.js';
import type { Options } from './options.js';
import { connectAll } from './providers.js';
import { stripControlCharacters } from './text.js';
import { tools } from './tools.js';
import { render } from './view.js';
import type { ViewOptions } from './view.js';

/** What the program uses of its process. A spec passes its own. */
export interface Terminal {
  readonly stdin: TerminalInput;
  readonly stdout: TerminalOutput;
  readonly stderr: TerminalOutput;
  readonly env: NodeJS.ProcessEnv;
  /** Each SIGINT of the process. */
  readonly interrupts: Observable<unknown>;
  /** Another signal that ends the process, such as SIGTERM. A service closes first. Default: none. */
  readonly ends?: Observable<unknown>;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** How fast the offline stand-in answers. Default: slowly enough to watch. */
  readonly pace?: Pace;
}

const builtInPrompt =
  'How much warmer is Lisbon than Oslo, and what do my notes in examples/terminal/notes.md say about two climates ' +
  'with a large difference?';

const system =
  'You answer in a terminal: briefly, in plain text without Markdown. Use your tools for the weather, for arithmetic ' +
  'and for the files of the project. Call several at once when none needs the result of another.';

/**
 * Runs the program: a chat on a terminal, otherwise one question.
 *
 * @param args The command line, without the names of the program.
 * @returns The exit code: 0, or 1 after a failure, 2 for a wrong option, 130 after Ctrl-C.
 */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<number> {
  const { stdout, stderr } = terminal;
  let options: Options;
  try {
    options = parseOptions(args);
  } catch (error) {
    stderr.write(`${messageOf(error)}\nSee npm start -- --help.\n`);
    return 2;
  }
  if (options.help) {
    stdout.write(help);
    return 0;
  }
  try {
    return await runAgent(options, terminal);
  } catch (error) {
    stderr.write(`${colorsFor(stderr, terminal.env).red(describeFailure(error))}\n`);
    return 1;
  }
}

async function runAgent(options: Options, terminal: Terminal): Promise<number> {
  const { stdin, stdout, env } = terminal;
  const { model, about, close } = await connectAll(options, env, terminal.pace);
  const recorded: string[] = [];
  try {
    const thinking = options.thinking && model.capabilities?.thinking === true;
    const createAgentFor = (approve?: Approve) => {
      const agent = createAgent({
        model,
        system,
        tools,
        toolConcurrency: Infinity,
        toolDeadline: 10_000,
        ...(approve ? { approve } : {}),
        ...(thinking ? { thinking } : {}),
      });
      return options.draw === undefined ? agent : recordRun(agent, (line) => void recorded.push(line));
    };
    stdout.write(`Rivulet: ${stripControlCharacters(about)}\n\n`);
    if (options.web) return await serveUntilInterrupted(createAgentFor(), options, terminal);
    if (options.prompt === undefined && stdin.isTTY && stdout.isTTY) return await converse(createAgentFor, terminal);
    return await askOnce(createAgentFor(refuse), options.prompt ?? builtInPrompt, terminal);
  } finally {
    await close();
    if (options.draw !== undefined) await drawLastRun(recorded, options.draw, terminal);
  }
}

/** Draws the last run of the program. */
async function drawLastRun(recorded: readonly string[], file: string, { stdout }: Terminal): Promise<void> {
  if (recorded.length === 0) return;
  const recording = readRecording(recorded);
  await writeFile(file, drawRun(recording, { run: recording.runs.length }));
  stdout.write(`The last run is drawn in ${file}.\n`);
}

/** Serves the page. A call that needs an approval waits for the user's decision there. */
async function serveUntilInterrupted(agent: Agent, { data, port }: Options, terminal: Terminal): Promise<number> {
  const { stdout, interrupts, ends = NEVER } = terminal;
  const interrupted = firstValueFrom(merge(interrupts, ends));
  const chats = data === undefined ? undefined : await openChats(data);
  try {
    const { url, close } = await serve(agent, { port, page: pageFiles, ...chats?.options });
    stdout.write(`Open ${url} (Ctrl-C ends the service)\n`);
    await interrupted;
    await close();
  } finally {
    await chats?.close();
  }
  return 0;
}

const refuse: Approve = () =>
  of({
    approve: false,
    reason: 'Nobody can be asked here. In a terminal, npm start without a question asks the user.',
  });

/** Asks one question. Ctrl-C stops its run; a second Ctrl-C ends the program, should anything still hold it. */
async function askOnce(agent: Agent, prompt: string, terminal: Terminal): Promise<number> {
  const { stdout, interrupts, exit } = terminal;
  const view = viewFor(terminal);
  let exitCode = 0;
  const stop = interrupts.pipe(tap(() => (exitCode = 130)));
  interrupts.pipe(skip(1)).subscribe(() => exit(130));
  const run = agent.stream(prompt, { stop });
  const heading = of(`${view.colors.bold(`> ${stripControlCharacters(prompt)}`)}\n\n`);
  await concat(heading, run.pipe(render(view))).forEach((text) => void stdout.write(text));
  return exitCode;
}

async function converse(createAgentFor: (approve: Approve) => Agent, terminal: Terminal): Promise<number> {
  const { stdin, stdout, interrupts } = terminal;
  const view = viewFor(terminal);
  const keys = keyboard(stdin, stdout, interrupts, view.colors.bold('> '));
  const failure = (error: unknown) => `${view.colors.red(describeFailure(error))}\n`;
  const agent = createAgentFor(askUser((question) => keys.answer(view.colors.yellow(question))));
  await chat(agent, keys, { run: render(view), failure }).forEach(keys.write);
  keys.close();
  return 0;
}

function viewFor({ stdout, env }: Terminal): ViewOptions {
  return {
    colors: colorsFor(stdout, env),
    live: stdout.isTTY === true && env['TERM'] !== 'dumb',
    columns: () => (stdout.columns ?? 0) || 100,
  };
}

const colorsFor = (output: TerminalOutput, env: NodeJS.ProcessEnv) =>
  picocolors.createColors(output.isTTY === true && env['TERM'] !== 'dumb' && !env['NO_COLOR']);

const messageOf = (error: unknown): string =>
  stripControlCharacters(error instanceof Error ? error.message : String(error));

const describeFailure = (error: unknown): string => `failed: ${messageOf(error)}`;
