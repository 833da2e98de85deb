import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { defer, filter, finalize, fromEvent, map, merge, share, Subject, take, takeUntil, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Keyboard } from './chat.js';

/** `process.stdin`, or a stream that stands in for it. */
export type TerminalInput = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** `process.stdout` or `process.stderr`, or a stream that stands in for it. */
export type TerminalOutput = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * What readline writes to: the terminal, but only while a line is asked for. It would echo keys into the middle of an
 * answer.
 */
class Echo extends Writable {
  muted = true;

  constructor(private readonly terminal: TerminalOutput) {
    super({ decodeStrings: false });
  }

  get columns(): number | undefined {
    return this.terminal.columns;
  }

  override _write(text: string, _encoding: BufferEncoding, done: () => void): void {
    if (!this.muted) this.terminal.write(text);
    done();
  }
}

/**
 * The lines that are entered at a terminal, with readline's editing and its history. What is typed while no line is
 * asked for is kept: complete lines are the next answers, and an incomplete one appears after the next prompt.
 *
 * `answer` asks a question of its own: the next line that is typed is its answer, and not one of `lines`.
 *
 * @param interrupts Each SIGINT of the process; Ctrl-C at the terminal is added.
 * @param prompt Shown where a line is asked for.
 */
export function keyboard(
  input: TerminalInput,
  output: TerminalOutput,
  interrupts: Observable<unknown>,
  prompt: string,
): Keyboard & { readonly answer: () => Observable<string>; readonly close: () => void } {
  const echo = new Echo(output);
  const reader = createInterface({ input, output: echo, terminal: true, prompt });
  const typedAhead: string[] = [];
  let answer: Subject<string> | undefined;
  let isOpen = true;
  reader.once('close', () => (isOpen = false));

  const handleLine = (line: string) => {
    if (echo.muted) typedAhead.push(line);
    echo.muted = true;
  };
  const startLine = () => {
    echo.muted = false;
    reader.prompt(true);
  };
  /** Passes a line to `answer`, if it was asked for; a line that was typed before the question is not an answer. */
  const isAnswer = (line: string): boolean => {
    if (!answer || echo.muted) return false;
    echo.muted = true;
    answer.next(line);
    return true;
  };
  return {
    lines: fromEvent(reader, 'line').pipe(
      map(String),
      filter((line) => !isAnswer(line)),
      tap(handleLine),
      takeUntil(fromEvent(reader, 'close')),
    ),
    interrupts: merge(fromEvent(reader, 'SIGINT'), interrupts).pipe(share()),
    ask: () => {
      const line = typedAhead.shift();
      if (line !== undefined) output.write(`${prompt}${line}\n`);
      else if (isOpen) startLine();
    },
    answer: () =>
      defer(() => {
        const next = (answer = new Subject<string>());
        if (isOpen) startLine();
        return next.pipe(
          take(1),
          finalize(() => {
            answer = undefined;
            echo.muted = true;
          }),
          takeUntil(fromEvent(reader, 'close')),
        );
      }),
    close: () => {
      if (!echo.muted) output.write('\n'); // the prompt has no answer: the shell's own prompt begins below it
      reader.close();
    },
  };
}
