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
import { nothing, told } from './transcript.js';
import type { Boundary, Transcript } from './transcript.js';

/** How a run is shown. */
export interface ViewOptions {
  /** picocolors, switched on or off. */
  readonly colors: ReturnType<typeof createColors>;
  /** Whether the status may be a line that is rewritten in place, which takes a terminal. */
  readonly live: boolean;
  /** The width of the terminal. Asked for each line: windows change. */
  readonly columns: () => number;
}

/**
 * Turns the events of a run into the text that a terminal, or a file, is to show.
 *
 * It writes nothing and knows no terminal. A run that completes without its result, because of a `takeUntil` upstream, ends with "stopped"; an
 * error passes, below a line that is whole.
 */
export function render(options: ViewOptions): OperatorFunction<RunEvent, string> {
  return (run) =>
    withBoundaries(run).pipe(
      scan((transcript, event) => told(transcript, event, options), nothing),
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

/** Each text replaces the status line that stands in its place, and the next one is drawn below. */
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
      distinctUntilChanged((before, now) => now.text === '' && now.status === before.status),
      startWith(nothing),
      pairwise(),
      switchMap(([before, now]) =>
        concat(of((before.status && clearLine) + now.text), now.status === '' ? EMPTY : spinner(now.status)),
      ),
    );
}
