import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import {
  concatAll,
  defer,
  delay,
  EMPTY,
  filter,
  finalize,
  fromEvent,
  map,
  merge,
  Observable,
  share,
  Subject,
  switchMap,
  take,
  takeUntil,
  tap,
  timer,
} from 'rxjs';
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

/** In milliseconds. Keys that come so soon after a question were pressed before it was read. */
const readingTime = 50;

/**
 * The lines that are entered at a terminal, with readline's editing and its history. What is typed while no line is
 * asked for is kept: complete lines are the next answers, and an incomplete one appears after the next prompt.
 *
 * `answer` asks a question of its own: the next line that is typed is its answer, and not one of `lines`. Questions are
 * shown one after the other, each when the one before is answered or unsubscribed. What was typed before a question is
 * no answer to it. After Ctrl-D, a question completes without an answer.
 *
 * `write` writes text of the run.
 *
 * @param interrupts Each SIGINT of the process; Ctrl-C at the terminal is added.
 * @param prompt Shown where a line is asked for.
 */
export function keyboard(
  input: TerminalInput,
  output: TerminalOutput,
  interrupts: Observable<unknown>,
  prompt: string,
): Keyboard & {
  readonly answer: (question: string) => Observable<string>;
  readonly write: (text: string) => void;
  readonly close: () => void;
} {
  const echo = new Echo(output);
  const reader = createInterface({ input, output: echo, terminal: true, prompt });
  const typedAhead: string[] = [];
  const questions = new Subject<Observable<string>>();
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
  const replaceLine = (text: string) => {
    reader.write(null, { ctrl: true, name: 'e' }); // the keys of readline: to the end of the line,
    reader.write(null, { ctrl: true, name: 'u' }); // and remove what is before
    reader.write(text);
  };
  /** Where a prompt has no answer, what follows begins below it. */
  const leaveLine = () => {
    if (!echo.muted) output.write('\n');
    echo.muted = true;
  };
  /** Passes a line to the question that is open. */
  const isAnswer = (line: string): boolean => {
    if (!answer) return false;
    echo.muted = true;
    answer.next(line);
    return true;
  };
  const readAnswer = defer(() => {
    if (!isOpen) return EMPTY;
    const next = (answer = new Subject<string>());
    const begun = reader.line; // typed before the question: it stays a part of the next line
    replaceLine('');
    startLine();
    return next.pipe(
      take(1),
      finalize(() => {
        answer = undefined;
        leaveLine();
        if (isOpen) replaceLine(begun);
      }),
      takeUntil(fromEvent(reader, 'close')),
    );
  });
  const show = (question: string) =>
    timer(0).pipe(
      tap(() => output.write(`${question}\n`)),
      delay(readingTime),
      switchMap(() => readAnswer),
    );
  questions.pipe(concatAll()).subscribe();
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
    answer: (question) =>
      new Observable((asker) => {
        const left = new Subject<void>();
        const turn = defer(() => (asker.closed ? EMPTY : show(question).pipe(tap(asker), takeUntil(left))));
        questions.next(turn);
        return () => left.next();
      }),
    write: (text) => {
      output.write(echo.muted ? text : `\r\u001b[2K${text}`);
      if (!echo.muted) reader.prompt(true); // the open question stays below the text
    },
    close: () => {
      leaveLine();
      reader.close();
    },
  };
}
