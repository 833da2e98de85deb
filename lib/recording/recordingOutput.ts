import type { Observer } from 'rxjs';
import { reportUnhandled } from '../core/createOperator.js';
import { isRecord } from '../core/json/json.js';
import { requireNumber } from '../core/options.js';
import { spellings } from '../protocol/secrets.js';
import { RECORDING_VERSION } from './entries.js';
import type { RecordingEntry } from './entries.js';
import { maskContent } from './maskContent.js';
import { redactValue, secretsIn } from './redactTexts.js';
import { wholeTime } from './recordingClock.js';

/**
 * Where a recording is written: it receives one line of JSON at a time, without a line break. `console.log`, the `next`
 * of a Subject, or a function that writes to a file.
 */
export type RecordingSink = ((line: string) => void) | Pick<Observer<string>, 'next'>;

/** What `record` and `recordRun` have in common. */
export interface RecordingOptions {
  /**
   * Whether texts, arguments, results and progress are recorded. Otherwise they become dots of the same length.
   * Default: true.
   */
  readonly content?: boolean | undefined;
  /**
   * Texts that must not be recorded, such as passwords: each occurrence becomes `[key]`. What has the shape of an API
   * key or of a token is removed in any case. Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
  /**
   * The longest recording of one run, or of one request with `record`, in characters. After it, only the ends are
   * recorded, with the number of dropped entries. Default: 32 Mi.
   */
  readonly maxLength?: number | undefined;
  /** The longest line, in characters: the texts of a longer one are cut to 1,000 characters. Default: 1 Mi. */
  readonly maxLineLength?: number | undefined;
}

/** Writes the entries of one recorder to its sink: as JSON, without secrets. */
export class RecordingOutput {
  readonly hasContent: boolean;
  readonly maxLength: number;
  /** The spellings of the known secrets. */
  readonly secrets: readonly string[];
  private readonly maxLineLength: number;
  private readonly send: (line: string) => void;
  private hasHeader = false;
  private isBroken = false;
  private runs = 0;

  constructor(sink: RecordingSink, options: RecordingOptions) {
    const { content = true, secrets = [], maxLength = 2 ** 25, maxLineLength = 2 ** 20 } = options;
    requireNumber('maxLength', maxLength, 0);
    requireNumber('maxLineLength', maxLineLength, 1);
    this.send = typeof sink === 'function' ? sink : (line) => sink.next(line);
    this.hasContent = content;
    this.maxLength = maxLength;
    this.maxLineLength = maxLineLength;
    this.secrets = spellings(secrets);
  }

  /** The number of a new run. */
  nextRun(): number {
    return ++this.runs;
  }

  /**
   * Writes an entry, after the header if it is the first one. An error of the sink ends the recording, not the run.
   *
   * @returns The length of the line.
   */
  write(entry: RecordingEntry): number {
    if (this.isBroken) return 0;
    try {
      if (!this.hasHeader) {
        this.hasHeader = true;
        const { hasContent: content } = this;
        const at = wholeTime();
        this.send(JSON.stringify({ type: 'recording', version: RECORDING_VERSION, at, content }));
      }
      const line = this.lineOf(entry);
      this.send(line);
      return line.length;
    } catch (thrown) {
      this.isBroken = true;
      reportUnhandled(thrown);
      return 0;
    }
  }

  private lineOf(entry: RecordingEntry): string {
    const shown = this.hasContent ? entry : maskContent(entry);
    const line = JSON.stringify(shown);
    const isShort = line.length <= this.maxLineLength;
    const isClean = entry.type === 'deltas' || secretsIn(line, this.secrets).length === 0; // deltas are redacted before
    if (isShort && isClean) return line;
    const clean = redactValue(shown, this.secrets);
    return JSON.stringify(isShort ? clean : cutTexts(clean));
  }
}

/** The longest text of an entry that is too long. */
const LONGEST_TEXT = 1000;

function cutTexts(value: unknown): unknown {
  if (typeof value === 'string' && value.length > LONGEST_TEXT)
    return `${value.slice(0, LONGEST_TEXT)}... (${value.length - LONGEST_TEXT} more characters were not recorded)`;
  if (Array.isArray(value)) return value.map(cutTexts);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, cutTexts(inner)]));
}
