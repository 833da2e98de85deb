import { ConfigurationError } from '../../core/errors.js';

/** One line of a diagram's text, with its place, for errors. */
export interface SourceLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** What stands on a line of marbles: a letter, `|` or `#`, at a frame counted from the beginning of the line. */
export interface DrawnEvent {
  readonly frame: number;
  readonly mark: string;
}

/** A drawn stream: an input, an inner stream or the output. */
export interface DiagramLine {
  /** Its name: `title = ...`. Default: `source` above the box, `result` below it, the letter of an inner stream. */
  readonly title: string;
  /** The marbles, without the blanks around them. */
  readonly marbles: string;
  /** The frame at which the line begins: the number of its leading blanks. */
  readonly start: number;
  /** The marbles, read. */
  readonly events: readonly DrawnEvent[];
  /** `kind = hot`: runs whether it is subscribed or not. Otherwise cold. */
  readonly hot: boolean;
  /** `subs = ...`: its subscriptions, in frames of the whole diagram; an empty list where it must never be subscribed. */
  readonly subs?: readonly string[];
  /** `error = ...`: the fields of the error of this line's `#`, where they are not those of the diagram. */
  readonly error?: Readonly<Record<string, unknown>>;
}

/** Rejects a diagram: what is wrong, where, and how to mend it. */
export function reject(line: SourceLine, what: string, mend: string): never {
  throw new ConfigurationError('diagram', `Line ${line.number} of the diagram, "${line.text.trim()}": ${what}.`, mend);
}

/**
 * What the two readers of a diagram would take differently, or what one of them drops without a word. Swirly reads blanks as frames, the
 * scheduler's run mode skips them; Swirly draws an empty circle for a mark it does not know; both go on after the end of a stream.
 */
const faults: readonly (readonly [fault: RegExp, what: string, mend: string])[] = [
  [/\t/, 'a tab is no frame', 'Draw a frame as "-", and begin a late line with blanks.'],
  [/\s/, 'a blank between marbles is a frame to Swirly and nothing to the scheduler', 'Draw a frame as "-".'],
  [
    /\^|!/,
    'subscription marks stand in no drawn line',
    'Begin a late line with blanks; write "subs = ^--!" below it for an unsubscription.',
  ],
  [/\dms/, 'Swirly draws a time progression as marbles', 'Draw each frame as "-": durations are frames here.'],
  [
    /[^-()|#A-Za-z0-9]/,
    'a marble is one letter or digit',
    'Other marks are "-" for a frame, "(ab)" for a group, "|" for the end and "#" for an error.',
  ],
  [
    /\((?![A-Za-z0-9]*[|#]?\))|\(\)|^[^(]*\)|\)[^(]*\)/,
    'a group is not closed, empty, nested or not made of events',
    'Write what comes in one frame as "(ab)" or "(a|)".',
  ],
  [/[|#](?!\)?$)/, 'something follows the end of the stream', 'End the line at its "|" or "#".'],
];

/** Reads marbles without blanks around them, as both Swirly and the scheduler do: a group's events share the frame of its "(", which counts on. */
export function readMarbles(marbles: string, line: SourceLine): readonly DrawnEvent[] {
  for (const [fault, what, mend] of faults) if (fault.test(marbles)) reject(line, what, mend);
  let group = -1;
  return Array.from(marbles).flatMap((mark, index) => {
    if (mark === '(') group = index;
    if (mark === ')') group = -1;
    return /[-()]/.test(mark) ? [] : [{ frame: group < 0 ? index : group, mark }];
  });
}

/** Reads `subs = ^--!, ----^-!`: one or several subscriptions, or `none`. */
export function readSubscriptions(subs: string, line: SourceLine): readonly string[] {
  if (subs === 'none') return [];
  return subs.split(/\s*,\s*/).map((marbles) => {
    if (!/^-*(\^-*|\^-*!|\(\^!\))$/.test(marbles)) {
      reject(
        line,
        `"${marbles}" is no subscription`,
        'Write "^" where it begins and "!" where it ends, "(^!)" for both in one frame, "none" for a line never subscribed.',
      );
    }
    return marbles;
  });
}

/** Where a cold line is subscribed, and released: where it is drawn, and where it ends. */
export function drawnSubscriptions({ start, events, subs }: DiagramLine): readonly string[] {
  if (subs) return subs;
  const end = events.find(({ mark }) => mark === '|' || mark === '#');
  const life = !end ? '^' : end.frame === 0 ? '(^!)' : `^${'-'.repeat(end.frame - 1)}!`;
  return ['-'.repeat(start) + life];
}
