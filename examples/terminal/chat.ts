import {
  EMPTY,
  catchError,
  concat,
  concatMap,
  defer,
  filter,
  finalize,
  map,
  of,
  takeUntil,
  takeWhile,
  tap,
} from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import { userMessage } from 'rivulet';
import type { Agent, Approve, Message, RunEvent } from 'rivulet';
import { showHidden } from './text.js';

/** Where the questions of a chat come from. */
export interface Keyboard {
  /** The entered lines, in order, however fast they come. Completes at Ctrl-D. */
  readonly lines: Observable<string>;
  /** Each Ctrl-C. */
  readonly interrupts: Observable<unknown>;
  /** Asks for a line. */
  readonly ask: () => void;
}

/**
 * Asks the user about a call, with all its arguments. Only `y` and `yes` allow it.
 *
 * The arguments are JSON, so that no text in them can look like another argument.
 */
export function askUser(answer: (question: string) => Observable<string>): Approve {
  return ({ name, arguments: args }) =>
    answer(showHidden(`? ${name} ${JSON.stringify(args, undefined, 2)}\nAllow it? y or n`)).pipe(
      map((line) =>
        /^\s*y(es)?\s*$/i.test(line) ? { approve: true } : { approve: false, reason: 'The user did not allow it.' },
      ),
    );
}

/** How a chat shows what happens. */
export interface ChatView {
  readonly run: OperatorFunction<RunEvent, string>;
  readonly failure: (error: unknown) => string;
}

/**
 * A conversation with an agent: one run for each line, one after the other.
 *
 * Ctrl-C stops the current run, or ends the chat if there is none. The partial answer of a run that was stopped stays in
 * the history, and so do the complete messages of a run that failed.
 *
 * @returns The text to write. A run that fails does not end the chat: its failure is shown.
 */
export function chat(agent: Agent, { lines, interrupts, ask }: Keyboard, view: ChatView): Observable<string> {
  return defer(() => {
    let history: readonly Message[] = [];
    let isRunning = false;
    const remember = (message: Message) => (history = [...history, message]);

    const answer = (line: string) =>
      defer(() => {
        const run = agent
          .stream(line, { history, stop: interrupts })
          .pipe(tap((event) => event.type === 'message' && remember(event.message)));
        remember(userMessage(line));
        isRunning = true;
        return run.pipe(
          view.run,
          catchError((error: unknown) => of(view.failure(error))),
          finalize(() => (isRunning = false)),
        );
      });
    const askForLine = defer(() => {
      ask();
      return EMPTY;
    });

    // Subscribed before the run's `stop`: it still sees the run that the same Ctrl-C stops.
    const leave = interrupts.pipe(filter(() => !isRunning));
    return concat(
      askForLine,
      lines.pipe(
        map((line) => line.trim()),
        takeWhile((line) => line !== '/exit'),
        concatMap((line) => concat(line === '' ? EMPTY : concat(answer(line), of('\n')), askForLine)),
      ),
    ).pipe(takeUntil(leave));
  });
}
