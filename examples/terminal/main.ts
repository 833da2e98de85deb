import { concat, fromEvent, of, skip, takeUntil, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import picocolors from 'picocolors';
import { createAgent } from 'rivulet';
import type { Agent } from 'rivulet';
import { chat } from './chat.js';
import { keyboard } from './keyboard.js';
import { help, optionsFrom } from './options.js';
import type { Options } from './options.js';
import { connect } from './providers.js';
import { harmless } from './text.js';
import { tools } from './tools.js';
import { render } from './view.js';

const builtIn =
  'How much warmer is Lisbon than Oslo, and what do my notes in examples/terminal/notes.md say about two climates with a large difference?';

const system =
  'You answer in a terminal: briefly, in plain text without Markdown. Use your tools for the weather, for arithmetic and for the files of the project. ' +
  'Call several at once when none needs the result of another.';

const { stdin, stdout, stderr, env } = process;
const terminal = stdin.isTTY && stdout.isTTY;
const capable = env['TERM'] !== 'dumb';
const coloured = (stream: NodeJS.WriteStream) => picocolors.createColors(stream.isTTY && capable && !env['NO_COLOR']);

const view = { colors: coloured(stdout), live: stdout.isTTY && capable, columns: () => stdout.columns || 100 };
const show = render(view);
const failure = (error: unknown) => `failed: ${harmless(error instanceof Error ? error.message : String(error))}`;

/** One question. Ctrl-C stops its run, a second one the program, should anything still hold it. */
function once(agent: Agent, prompt: string): Observable<string> {
  const interrupts = fromEvent(process, 'SIGINT').pipe(tap(() => (process.exitCode = 130)));
  interrupts.pipe(skip(1)).subscribe(() => process.exit());
  const run = agent.stream(prompt).pipe(takeUntil(interrupts));
  return concat(of(`${view.colors.bold(`> ${prompt}`)}\n\n`), run.pipe(show));
}

async function converse(agent: Agent): Promise<void> {
  const keys = keyboard(stdin, stdout, view.colors.bold('> '));
  const failed = (error: unknown) => `${view.colors.red(failure(error))}\n`;
  await chat(agent, keys, { run: show, failure: failed }).forEach(write);
  keys.close();
}

const write = (text: string) => void stdout.write(text);

async function main(options: Options): Promise<void> {
  const { model, about, close } = await connect(options, env);
  try {
    const thinking = options.thinking && model.capabilities?.thinking === true;
    const agent = createAgent({
      model,
      system,
      tools,
      concurrency: Infinity,
      deadline: 10_000,
      ...(thinking ? { thinking } : {}),
    });
    write(`Rivulet: ${about}\n\n`);
    if (options.prompt === undefined && terminal) await converse(agent);
    else await once(agent, options.prompt ?? builtIn).forEach(write);
  } finally {
    await close();
  }
}

/** What reads our output may leave early, like `head`. */
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

try {
  const options = optionsFrom(process.argv.slice(2));
  if (options.help) write(help);
  else
    await main(options).catch((error: unknown) => {
      process.exitCode = 1;
      stderr.write(`${coloured(stderr).red(failure(error))}\n`);
    });
} catch (error) {
  process.exitCode = 2;
  stderr.write(`${error instanceof Error ? error.message : String(error)}\nSee npm start -- --help.\n`);
}
