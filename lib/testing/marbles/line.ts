import { ConfigurationError } from '../../core/errors.js';

export interface SourceLine {
  readonly number: number;
  readonly text: string;
}

export interface DrawnEvent {
  readonly frame: number;
  readonly mark: string;
}

export interface DiagramLine {
  /** `title = ...`. Default: `source` above the box, `result` below it, the letter of an inner stream. */
  readonly title: string;
  readonly marbles: string;
  readonly start: number;
  readonly events: readonly DrawnEvent[];
  /** `kind = hot`: runs whether it is subscribed or not. Otherwise cold. */
  readonly hot: boolean;
  /** `subs = ...`: subscriptions in frames of the complete diagram; an empty list if there must be none. */
  readonly subs?: readonly string[];
  /** `error = ...`: the fields of this line's `#`. Default: those of the diagram. */
  readonly error?: Readonly<Record<string, unknown>>;
}

export function reject(line: SourceLine, problem: string, fix: string): never {
  throw new ConfigurationError(
    'diagram',
    `Line ${line.number} of the diagram, "${line.text.trim()}": ${problem}.`,
    fix,
  );
}

/** Swirly and the scheduler read these differently: blanks, unknown marks, what follows the end. */
const faults: readonly (readonly [fault: RegExp, problem: string, fix: string])[] = [
  [/\t/, 'a tab is not a frame', 'Draw a frame as "-", and begin a late line with blanks.'],
  [/\s/, 'Swirly reads a blank between marbles as a frame, the scheduler skips it', 'Draw a frame as "-".'],
  [
    /\^|!/,
    'a drawn line has no subscription marks',
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
    'Write the events of one frame as "(ab)" or "(a|)".',
  ],
  [/[|#](?!\)?$)/, 'there are marbles after the end of the stream', 'End the line at its "|" or "#".'],
];

/** The events of a group share the frame of its "("; each character of the group counts as a frame. */
export function readMarbles(marbles: string, line: SourceLine): readonly DrawnEvent[] {
  for (const [fault, problem, fix] of faults) if (fault.test(marbles)) reject(line, problem, fix);
  let group = -1;
  return Array.from(marbles).flatMap((mark, index) => {
    if (mark === '(') group = index;
    if (mark === ')') group = -1;
    return /[-()]/.test(mark) ? [] : [{ frame: group < 0 ? index : group, mark }];
  });
}

/** `subs = ^--!, ----^-!`: one or several, or `none`. */
export function readSubscriptions(subs: string, line: SourceLine): readonly string[] {
  if (subs === 'none') return [];
  return subs.split(/\s*,\s*/).map((marbles) => {
    if (!/^-*(\^-*|\^-*!|\(\^!\))$/.test(marbles)) {
      reject(
        line,
        `"${marbles}" is not a subscription`,
        'Write "^" where it begins and "!" where it ends, "(^!)" for both in one frame, "none" for no subscription.',
      );
    }
    return marbles;
  });
}

export function drawnSubscriptions({ start, events, subs }: DiagramLine): readonly string[] {
  if (subs) return subs;
  const end = events.find(({ mark }) => mark === '|' || mark === '#');
  const life = !end ? '^' : end.frame === 0 ? '(^!)' : `^${'-'.repeat(end.frame - 1)}!`;
  return ['-'.repeat(start) + life];
}
