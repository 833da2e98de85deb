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
import type { Agent, Message, RunEvent } from 'rivulet';

/** Where a chat's questions come from. */
export interface Keyboard {
  /** What was entered, line by line, however fast; completes at Ctrl-D. */
  readonly lines: Observable<string>;
  /** Each Ctrl-C. */
  readonly interrupts: Observable<unknown>;
  /** Asks for a line. */
  readonly ask: () => void;
}

/** How a chat shows what happens. */
export interface ChatView {
  readonly run: OperatorFunction<RunEvent, string>;
  readonly failure: (error: unknown) => string;
}

/**
 * A conversation with an agent: one run a line, one after the other.
 *
 * Ctrl-C ends the run; where none is under way, the chat. A run that was stopped, or failed, leaves in the history what was whole of it.
 *
 * @returns What is to be written. Never errors because of a run: its failure is shown, and the chat goes on.
 */
export function chat(agent: Agent, { lines, interrupts, ask }: Keyboard, view: ChatView): Observable<string> {
  return defer(() => {
    let history: readonly Message[] = [];
    let running = false;
    const remember = (message: Message) => (history = [...history, message]);

    const answer = (line: string) =>
      defer(() => {
        const run = agent.stream(line, { history: history }).pipe(
          tap((event) => event.type === 'message' && remember(event.message)),
          takeUntil(interrupts),
        );
        remember(userMessage(line));
        running = true;
        return run.pipe(
          view.run,
          catchError((error: unknown) => of(view.failure(error))),
          finalize(() => (running = false)),
        );
      });
    const question = defer(() => {
      ask();
      return EMPTY;
    });

    return concat(
      question,
      lines.pipe(
        map((line) => line.trim()),
        takeWhile((line) => line !== '/exit'),
        concatMap((line) => concat(line === '' ? EMPTY : concat(answer(line), of('\n')), question)),
      ),
    ).pipe(takeUntil(interrupts.pipe(filter(() => !running)))); // subscribed before the run's own: it sees the run that the same Ctrl-C ends
  });
}
