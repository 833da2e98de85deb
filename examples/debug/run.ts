import { catchError, concatMap, EMPTY, lastValueFrom, range, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk } from 'rivulet';
import { stripControlCharacters } from '../terminal/text.js';
import { help, parseOptions } from './options.js';
import { openSource } from './source.js';
import { watchedFetch } from './wire.js';

/** Prints a line: a label and a text, cut to the width of the terminal. */
type Print = (label: string, text: string) => void;

/** A debugging program. */
export interface Debugger {
  /** What the program does, in one line. */
  readonly usage: string;
  /** Prints what happens to one answer as it streams. */
  readonly watch: (answer: Observable<Chunk>, print: Print) => Observable<unknown>;
}

/** What a debugging program uses of its process. A spec passes its own. */
export interface Terminal {
  readonly stdout: { readonly columns?: number; write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Runs a debugging program: sends a request, prints the frames of the answer, and passes the answer to the program.
 *
 * @param args The command line, without the names of the program.
 * @returns The exit code: 0, or 1 after an error in an answer, 2 for a wrong option.
 */
export async function run({ usage, watch }: Debugger, args: readonly string[], terminal: Terminal): Promise<number> {
  const { stdout, stderr, env } = terminal;
  const print = printTo(stdout);
  try {
    const options = parseOptions(args);
    if (options.help) {
      stdout.write(`${usage}\n\n${help}`);
      return 0;
    }
    const fetch = watchedFetch((frame) => print('wire', frame));
    const { about, model, request, answers, close } = await openSource(options, env, fetch);
    print('reading', about);
    let exitCode = 0;
    const fail = (error: unknown) => {
      exitCode = 1;
      print('error', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
      return EMPTY;
    };
    const answer = () =>
      watch(model.stream(request), print).pipe(tap({ complete: () => print('complete', '') }), catchError(fail));
    try {
      await lastValueFrom(range(0, answers).pipe(concatMap(answer)), { defaultValue: undefined });
    } finally {
      await close();
    }
    return exitCode;
  } catch (error) {
    stderr.write(`${stripControlCharacters(error instanceof Error ? error.message : String(error))}\n`);
    return 2;
  }
}

function printTo(stdout: Terminal['stdout']): Print {
  const width = (stdout.columns ?? 0) || 160; // some terminals report 0
  return (label, text) => {
    const oneLine = stripControlCharacters(text)
      .split('\n')
      .map((part) => part.trim())
      .join(' ⏎ ');
    const line = `${label.padEnd(22)} ${oneLine}`.trimEnd();
    stdout.write(`${line.length > width ? `${line.slice(0, width - 1)}…` : line}\n`);
  };
}
