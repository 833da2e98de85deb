import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { fromEvent, map, merge, share, takeUntil, tap } from 'rxjs';
import type { Keyboard } from './chat.js';

/** What readline writes to: the terminal, but only while a line is asked for. It would echo keys into the middle of an answer. */
class Echo extends Writable {
  muted = true;

  constructor(private readonly terminal: WriteStream) {
    super({ decodeStrings: false });
  }

  get columns(): number {
    return this.terminal.columns;
  }

  override _write(text: string, _encoding: BufferEncoding, done: () => void): void {
    if (!this.muted) this.terminal.write(text);
    done();
  }
}

/**
 * The lines that are entered at a terminal, with readline's editing and its history. What is typed while no line is asked for is kept: whole lines are the
 * next answers, and an unfinished one stands behind the next prompt.
 *
 * @param prompt What is shown where a line is asked for.
 */
export function keyboard(
  input: ReadStream,
  output: WriteStream,
  prompt: string,
): Keyboard & { readonly close: () => void } {
  const echo = new Echo(output);
  const reader = createInterface({ input, output: echo, terminal: true, prompt });
  const unseen: string[] = [];
  let open = true;
  reader.once('close', () => (open = false));

  const entered = (line: string) => {
    if (echo.muted) unseen.push(line);
    echo.muted = true;
  };
  return {
    lines: fromEvent(reader, 'line').pipe(map(String), tap(entered), takeUntil(fromEvent(reader, 'close'))),
    interrupts: merge(fromEvent(reader, 'SIGINT'), fromEvent(process, 'SIGINT')).pipe(share()),
    ask: () => {
      const line = unseen.shift();
      if (line !== undefined) output.write(`${prompt}${line}\n`);
      else if (open) {
        echo.muted = false;
        reader.prompt(true);
      }
    },
    close: () => {
      if (!echo.muted) output.write('\n'); // a prompt without an answer: the shell's begins below it
      reader.close();
    },
  };
}
