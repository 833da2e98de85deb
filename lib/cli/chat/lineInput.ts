import { createInterface } from 'node:readline';
import { Transform, type TransformCallback } from 'node:stream';
import { Observable, Subject, switchMap, take, takeLast, timer } from 'rxjs';
import type { Output, Stdin } from '../shell.js';

/** For a line break of a pasted block while it is edited. */
const breakSign = '⏎';

const [pasteBegin, pasteEnd] = ['\u001b[200~', '\u001b[201~'];

const interruptKey = '\u0003';

/** In milliseconds. Keys that come so soon after a question were pressed before it was read. */
const READING_TIME = 50;

/** Line breaks of a pasted block ("bracketed paste") become a sign. Keys between two lines are kept, except Ctrl-C. */
class Keys extends Transform {
  readonly isTTY = true;
  isAsking = false;
  private readonly pressed = new Subject<void>();
  readonly interrupts = this.pressed.asObservable();
  private rest = '';
  private isPasting = false;

  constructor(private readonly source: Stdin) {
    super({ decodeStrings: false, encoding: 'utf8', readableHighWaterMark: Number.MAX_SAFE_INTEGER }); // Ctrl-C passes
    source.setEncoding('utf8');
    source.setRawMode?.(true);
    source.pipe(this);
  }

  /** For readline, at each line: the raw mode stays until `close`, since Ctrl-C would otherwise end the process. */
  setRawMode(): this {
    return this;
  }

  close(): void {
    this.source.unpipe(this);
    this.source.pause();
    this.source.setRawMode?.(false);
  }

  override _transform(chunk: string, _encoding: BufferEncoding, done: TransformCallback): void {
    if (!this.isAsking && chunk.includes(interruptKey)) {
      this.rest = '';
      done();
      this.pressed.next();
      return;
    }
    let text = this.rest + chunk;
    let output = '';
    for (;;) {
      const mark = this.isPasting ? pasteEnd : pasteBegin;
      const at = text.indexOf(mark);
      const part = at < 0 ? text.slice(0, text.length - beginOf(mark, text)) : text.slice(0, at);
      output += this.isPasting ? toOneLine(part) : part;
      text = text.slice(at < 0 ? part.length : at + mark.length);
      if (at < 0) break;
      this.isPasting = !this.isPasting;
    }
    this.rest = text;
    done(null, output);
  }
}

/** A text may end with the beginning of a mark. A single escape is a key of its own. */
function beginOf(mark: string, text: string): number {
  for (let length = mark.length - 1; length > 1; length--) if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}

// eslint-disable-next-line no-control-regex -- a pasted block must not press keys
const toOneLine = (text: string) => text.replace(/\r\n?|\n/g, breakSign).replace(/[\u0000-\u001f\u007f]/g, ' ');

export interface LineInput {
  /**
   * Ctrl-C clears a line, or emits an empty one. Completes without a line at Ctrl-D and at the end of the input. What
   * was typed earlier is the line, unless `isNew`: then it waits for the next prompt that is not.
   */
  ask(prompt: string, options?: { readonly isNew: boolean }): Observable<string>;
  /** Each Ctrl-C while no line is asked for. */
  readonly interrupts: Observable<void>;
  close(): void;
}

export function createLineInput(stdin: Stdin, stdout: Output, history: readonly string[]): LineInput {
  const input = new Keys(stdin);
  const earlier = history.map((line) => line.replaceAll('\n', breakSign)).reverse();
  const typedAhead: string[] = [];
  const readLine = (prompt: string, isNew: boolean) =>
    new Observable<string>((out) => {
      const emit = (line: string) => {
        out.next(line.replaceAll(breakSign, '\n'));
        out.complete();
      };
      const next = isNew ? undefined : typedAhead.shift();
      if (next !== undefined) {
        stdout.write(`${prompt}${next}\n`);
        emit(next);
        return;
      }
      const held: unknown = isNew ? input.read() : null;
      const reader = createInterface({ input, output: stdout, terminal: true, prompt, history: [...earlier] });
      let isDone = false;
      input.isAsking = true;
      reader.on('line', (line) => {
        if (isDone) return void typedAhead.push(line); // several lines at once
        isDone = true;
        if (line.trim() !== '') earlier.unshift(line);
        queueMicrotask(() => {
          reader.close();
          emit(line);
        });
      });
      reader.on('SIGINT', () => {
        if (reader.line !== '') {
          reader.write(null, { ctrl: true, name: 'e' });
          reader.write(null, { ctrl: true, name: 'u' });
        } else {
          isDone = true;
          stdout.write('\n');
          reader.close();
          emit('');
        }
      });
      reader.on('close', () => {
        input.isAsking = false;
        if (held !== null && !input.readableEnded) input.unshift(held);
        stdout.write('\u001b[?2004l');
        if (!isDone) out.complete();
      });
      stdout.write('\u001b[?2004h');
      reader.prompt();
      return () => reader.close();
    });
  // The first tick ends the work of this moment, after which the keys that the terminal holds are read.
  const readingTime = timer(0, READING_TIME).pipe(take(2), takeLast(1));
  return {
    interrupts: input.interrupts,
    close: () => input.close(),
    ask: (prompt, { isNew } = { isNew: false }) =>
      isNew ? readingTime.pipe(switchMap(() => readLine(prompt, true))) : readLine(prompt, false),
  };
}
