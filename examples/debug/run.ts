import { catchError, concatMap, EMPTY, lastValueFrom, range, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk } from 'rivulet';
import { help, optionsFrom } from './options.js';
import { sourceOf } from './source.js';
import { watchedFetch } from './wire.js';

/** Prints a line: what speaks, and what it says, cut to the width of the terminal. */
export type Print = (who: string, what: string) => void;

const width = process.stdout.columns || 160;

const print: Print = (who, what) => {
  const line = `${who.padEnd(22)} ${what.replace(/\s*\n\s*/g, ' ⏎ ')}`.trimEnd();
  process.stdout.write(`${line.length > width ? `${line.slice(0, width - 1)}…` : line}\n`);
};

/**
 * Runs one of the debugging programs: asks, shows the wire, and hands each answer to the program.
 *
 * @param usage What it does, in one line.
 * @param program What it makes of an answer; it prints as it goes.
 */
export async function run(
  usage: string,
  program: (answer: Observable<Chunk>, print: Print) => Observable<unknown>,
): Promise<void> {
  try {
    const options = optionsFrom(process.argv.slice(2));
    if (options.help) {
      process.stdout.write(`${usage}\n\n${help}`);
      return;
    }
    const { about, model, request, answers, close } = await sourceOf(
      options,
      watchedFetch((frame) => print('wire', frame)),
    );
    print('reading', about);
    const failed = (error: unknown) => {
      process.exitCode = 1;
      print('error', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
      return EMPTY;
    };
    const answer = () =>
      program(model.stream(request), print).pipe(tap({ complete: () => print('complete', '') }), catchError(failed));
    await lastValueFrom(range(0, answers).pipe(concatMap(answer)), { defaultValue: undefined }).finally(close);
  } catch (error) {
    process.exitCode = 2;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  }
}
