import {
  EMPTY,
  asyncScheduler,
  catchError,
  concat,
  distinctUntilChanged,
  filter,
  of,
  interval,
  map,
  pairwise,
  scan,
  startWith,
  switchMap,
  throwError,
} from 'rxjs';
import type { Observable, OperatorFunction } from 'rxjs';
import type { RunEvent } from 'rivulet';
import type { createColors } from 'picocolors';
import { oneLine } from './text.js';
import { emptyTranscript, addEvent } from './transcript.js';
import type { Boundary, Transcript } from './transcript.js';

/** How a run is shown. */
export interface ViewOptions {
  /** picocolors, enabled or disabled. */
  readonly colors: ReturnType<typeof createColors>;
  /** Whether the status is a line that is rewritten in place, which requires a terminal. */
  readonly live: boolean;
  /** The width of the terminal. Called for each line, since a window may be resized. */
  readonly columns: () => number;
}

/**
 * Turns the events of a run into text for a terminal or a file.
 *
 * The operator writes nothing itself. A run that completes without its result, because of a `takeUntil` upstream, ends
 * with "stopped". An error is passed on after the current line has been ended.
 */
export function render(options: ViewOptions): OperatorFunction<RunEvent, string> {
  return (run) =>
    withBoundaries(run).pipe(
      scan((transcript, event) => addEvent(transcript, event, options), emptyTranscript),
      options.live ? overStatusLine(options) : map(({ text }) => text),
      filter((text) => text !== ''),
    );
}

function withBoundaries(run: Observable<RunEvent>): Observable<RunEvent | Boundary> {
  const boundary = (type: Boundary['type']) => of<Boundary>({ type });
  const failed = (error: unknown) =>
    concat(
      boundary('failed'),
      throwError(() => error as Error),
    );
  return concat(boundary('begin'), run.pipe(catchError(failed)), boundary('end'));
}

const clearLine = '\r\u001b[2K';
const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';

/** Each text replaces the status line, and the next status line is drawn below the text. */
function overStatusLine({ colors, columns }: ViewOptions): OperatorFunction<Transcript, string> {
  const draw = (status: string) => {
    const frame = frames.charAt((asyncScheduler.now() / 80) % frames.length);
    return `${clearLine}${colors.cyan(frame)} ${colors.dim(oneLine(status, columns() - 3))}`;
  };
  const spinner = (status: string) =>
    interval(80).pipe(
      startWith(0),
      map(() => draw(status)),
    );
  return (transcripts) =>
    transcripts.pipe(
      distinctUntilChanged((before, after) => after.text === '' && after.status === before.status),
      startWith(emptyTranscript),
      pairwise(),
      switchMap(([before, after]) =>
        concat(of((before.status && clearLine) + after.text), after.status === '' ? EMPTY : spinner(after.status)),
      ),
    );
}
