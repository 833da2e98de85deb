import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { EMPTY } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { keyboard } from '../../../examples/terminal/keyboard.js';
import type { TerminalInput, TerminalOutput } from '../../../examples/terminal/keyboard.js';

const endOfInput = '\u0004';

interface Typist {
  /** Types keys at a virtual time. */
  readonly type: (milliseconds: number, keys: string) => void;
  /** Asks a question at a virtual time, and unsubscribes at another one. What happens to it is in `seen`. */
  readonly ask: (milliseconds: number, question: string, until?: number) => void;
  readonly write: (milliseconds: number, text: string) => void;
}

/** What was seen in virtual time: the answers, the other lines, and the screen. The input ends at last. */
function typing(plan: (typist: Typist) => void) {
  const seen = { answers: [] as string[], lines: [] as string[], written: '' };
  new TestScheduler(() => undefined).run(({ cold, flush }) => {
    const input = Object.assign(new EventEmitter(), { resume: () => input, pause: () => input });
    const output = { columns: 80, write: (text: string) => (seen.written += text) };
    const keys = keyboard(
      input as unknown as TerminalInput,
      output as unknown as TerminalOutput, // readline needs no more of them
      EMPTY,
      '> ',
    );
    keys.lines.subscribe((line) => seen.lines.push(line));
    const at = (milliseconds: number, act: () => void) => cold(`${milliseconds}ms (a|)`).subscribe({ complete: act });
    plan({
      type: (time, text) => at(time, () => input.emit('data', text)),
      ask: (time, question, until) =>
        at(time, () => {
          const subscription = keys.answer(question).subscribe({
            next: (line) => seen.answers.push(`${question} ${line}`),
            complete: () => seen.answers.push(`${question} is over`),
          });
          if (until !== undefined) at(until - time, () => subscription.unsubscribe());
        }),
      write: (time, text) => at(time, () => keys.write(text)),
    });
    flush();
    keys.close();
  });
  // eslint-disable-next-line no-control-regex -- a line that was erased, and the other sequences
  return { ...seen, written: seen.written.replace(/[^\n]*\r\u001b\[2K|\u001b\[\d*[A-Z]|\r/g, '') };
}

describe('keyboard', () => {
  it('keyboard shows one question at a time, and each has its own answer', () => {
    const { answers, lines, written } = typing(({ ask, type }) => {
      ask(0, 'a?');
      ask(0, 'b?');
      ask(0, 'c?');
      type(200, 'y\r');
      type(400, 'n\r');
      type(600, 'yes\r');
    });
    expect(answers).toEqual(['a? y', 'a? is over', 'b? n', 'b? is over', 'c? yes', 'c? is over']);
    expect(lines).toEqual([]);
    expect(written).toBe('a?\n> y\nb?\n> n\nc?\n> yes\n');
  });

  it.each<[string, number, string, string[]]>([
    ['a line as the question appears', 101, 'y\r', ['y']],
    ['a line and its beginning', 50, 'y\ry', ['y']],
    ['the beginning of a line', 50, 'y', []],
  ])('keyboard takes no answer from %s', (_, time, keys, ahead) => {
    const { answers, lines } = typing(({ ask, type }) => {
      type(time, keys);
      ask(100, 'a?');
      type(200, '\r');
      type(300, 'es\r');
    });
    expect(answers).toEqual(['a? ', 'a? is over']);
    expect(lines).toEqual([...ahead, keys.endsWith('\r') ? 'es' : 'yes']);
  });

  it('keyboard takes no answer to the second question from the keys that answer the first one', () => {
    const { answers, lines } = typing(({ ask, type }) => {
      ask(0, 'a?');
      ask(0, 'b?');
      type(100, 'y\ry\r');
    });
    expect([answers, lines]).toEqual([['a? y', 'a? is over', 'b? is over'], ['y']]);
  });

  it('keyboard does not show a question that is left before its turn, and keeps nothing of its answer', () => {
    const { answers, lines, written } = typing(({ ask, type }) => {
      type(0, 'no');
      ask(0, 'a?', 100);
      type(80, 'x');
      ask(0, 'b?', 100);
      ask(0, 'c?', 50);
      ask(200, 'd?');
      type(300, 'y\r');
      type(400, 'te\r');
    });
    expect(answers).toEqual(['d? y', 'd? is over']);
    expect(lines).toEqual(['note']);
    expect(written).toBe('a?\n> x\nd?\n> y\n');
  });

  it('keyboard ends questions without an answer when the input has ended', () => {
    const { answers } = typing(({ ask, type }) => {
      type(50, endOfInput);
      ask(100, 'a?');
      ask(100, 'b?');
    });
    expect(answers).toEqual(['a? is over', 'b? is over']);
  });

  it('keyboard writes the text of a run above the open question', () => {
    const { answers, written } = typing(({ ask, type, write }) => {
      ask(0, 'a?');
      type(100, 'y');
      write(200, 'It rains.\n');
      type(300, '\r');
    });
    expect(answers).toEqual(['a? y', 'a? is over']);
    expect(written).toBe('a?\nIt rains.\n> y\n');
  });
});
