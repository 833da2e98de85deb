import { customAlphabet } from 'nanoid/non-secure';
import type { Observer } from 'rxjs';
import { reportRejection, reportUnhandled } from '../../core/reportUnhandled.js';
import { requireNumber } from '../../core/options.js';
import { spellings } from '../../protocol/secrets.js';
import { RECORDING_VERSION, type DeltasEntry, type RecordingEntry } from './entries.js';
import { maskContent } from './maskContent.js';
import { hasSplitText, MAX_TAIL_LENGTH, openTail, redactEntry, secretsIn } from './redactTexts.js';
import { wholeTime } from './wholeTime.js';
import { isRecord } from '../../core/json/json.js';

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
  /**
   * The longest line, in characters: of a longer one, texts are cut to 1,000 characters, then lists and objects to 100
   * items, then everything further, and the entry has `cut: true`. A line of some hundred characters is never cut.
   * Default: 1 Mi.
   */
  readonly maxLineLength?: number | undefined;
}

/** Letters and digits: with a hyphen, a line looks as if it had a key, and would be searched longer. */
const newId = /* @__PURE__ */ customAlphabet('0123456789abcdefghijklmnopqrstuvwxyz', 10);

export class RecordingOutput {
  readonly hasContent: boolean;
  readonly maxLength: number;
  readonly secrets: readonly string[];
  private readonly maxLineLength: number;
  private readonly send: (line: string) => void;
  private readonly recorder = newId();
  private hasHeader = false;
  private isBroken = false;
  private runs = 0;

  constructor(sink: RecordingSink, options: RecordingOptions) {
    const { content = true, secrets = [], maxLength = 2 ** 25, maxLineLength = 2 ** 20 } = options;
    requireNumber('maxLength', maxLength, 0);
    requireNumber('maxLineLength', maxLineLength, 1);
    const write: (line: string) => unknown = typeof sink === 'function' ? sink : (line) => sink.next(line);
    this.send = (line) => reportRejection(write(line));
    this.hasContent = content;
    this.maxLength = maxLength;
    this.maxLineLength = maxLineLength;
    this.secrets = spellings(secrets);
  }

  nextRun(): number {
    return ++this.runs;
  }

  /** Undefined if the length exceeds `room`. An error of the sink ends the recording, not the run. */
  write(entry: RecordingEntry, room = Infinity): number | undefined {
    if (this.isBroken) return 0;
    try {
      const lines = this.linesOf({ ...entry, recorder: this.recorder });
      const length = lines.reduce((sum, line) => sum + line.length, 0);
      if (length > room) return undefined;
      this.sendHeader();
      for (const line of lines) this.send(line);
      return length;
    } catch (thrown) {
      this.isBroken = true;
      reportUnhandled(thrown);
      return 0;
    }
  }

  private sendHeader(): void {
    if (this.hasHeader) return;
    this.hasHeader = true;
    const { hasContent: content, recorder } = this;
    this.send(JSON.stringify({ type: 'recording', version: RECORDING_VERSION, recorder, at: wholeTime(), content }));
  }

  private linesOf(entry: RecordingEntry): readonly string[] {
    const { secrets, maxLineLength } = this;
    // The start of a run is recorded in any case.
    const limit = entry.type === 'start' ? Math.min(maxLineLength, this.maxLength) : maxLineLength;
    const line = stringifyEntry(entry);
    const isLong = line.length > limit;
    if (isLong && entry.type === 'deltas' && entry.texts.length > 1)
      return splitDeltas(entry).flatMap((half) => this.linesOf(half));
    const isPlain = this.hasContent && !isLong && !hasSplitText(entry);
    if (isPlain && secretsIn(line, secrets).length === 0) return [line];
    const plain = isLong ? withoutMiddle(entry, secrets) : (JSON.parse(line) as RecordingEntry);
    const clean = redactEntry(this.hasContent ? plain : maskContent(plain), secrets);
    const cleanLine = isLong ? undefined : JSON.stringify(clean);
    return [cleanLine !== undefined && cleanLine.length <= limit ? cleanLine : cutEntry(clean, limit)];
  }
}

/** Also for values that JSON cannot represent: a bigint, a cycle. */
function stringifyEntry(entry: RecordingEntry): string {
  try {
    return JSON.stringify(entry);
  } catch {
    return JSON.stringify(representable(entry, []));
  }
}

const MAX_DEPTH = 50;

function representable(value: unknown, parents: readonly object[]): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (parents.includes(value)) return '(circular)';
  if (parents.length >= MAX_DEPTH) return '(too deep)';
  const inner = [...parents, value];
  try {
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON === 'function') return representable(toJSON.call(value), inner);
    if (Array.isArray(value)) return value.map((item) => representable(item, inner));
    return Object.fromEntries(Object.entries(value).map(([field, item]) => [field, representable(item, inner)]));
  } catch {
    return '(not readable)';
  }
}

interface Cut {
  readonly text: (text: string) => string;
  readonly items: number;
}

const MAX_TEXT = 1000;

const cuts = [
  { length: MAX_TEXT, items: Infinity },
  { length: MAX_TEXT, items: 100 },
  { length: 100, items: 20 },
];

function cutEntry(entry: RecordingEntry, limit: number): string {
  for (const { length, items } of cuts) {
    const line = JSON.stringify({ ...(cutValue(entry, { text: cutText(length), items }) as object), cut: true });
    if (line.length <= limit) return line;
  }
  return JSON.stringify(stubOf(entry));
}

function cutValue(value: unknown, cut: Cut): unknown {
  if (typeof value === 'string') return cut.text(value);
  if (Array.isArray(value)) return value.slice(0, cut.items).map((item) => cutValue(item, cut));
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).slice(0, cut.items);
  return Object.fromEntries(fields.map(([field, inner]) => [cut.text(field), cutValue(inner, cut)]));
}

function cutText(length: number): Cut['text'] {
  return (text) =>
    text.length > length
      ? `${text.slice(0, length)}... (${text.length - length} more characters were not recorded)`
      : text;
}

/** Secrets are searched where a text is cut, and where the next text may continue one. The middle becomes blanks. */
const withoutMiddle = (entry: RecordingEntry, secrets: readonly string[]) =>
  cutValue(representable(entry, []), { text: (text) => blankMiddle(text, secrets), items: Infinity }) as RecordingEntry;

function blankMiddle(text: string, secrets: readonly string[]): string {
  const headLength = MAX_TEXT + MAX_TAIL_LENGTH;
  if (text.length < 2 * headLength) return text;
  const head = text.slice(0, headLength);
  const end = openTail(head, secrets);
  return head.slice(0, end) + ' '.repeat(text.length - end - MAX_TAIL_LENGTH) + text.slice(-MAX_TAIL_LENGTH);
}

function stubOf(entry: RecordingEntry): object {
  const stub = Object.entries(entry).map(([field, value]: [string, unknown]): [string, unknown] => {
    if (field === 'value' && isRecord(value)) return [field, { type: 'unrecorded', of: shortLeaf(value['type']) }];
    return [field, isRecord(value) ? Object.fromEntries(Object.entries(value).map(shortField)) : shortLeaf(value)];
  });
  return { ...(Object.fromEntries(stub) as object), cut: true };
}

const shortField = ([field, value]: [string, unknown]) => [field.slice(0, 20), isRecord(value) ? {} : shortLeaf(value)];

function shortLeaf(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  return typeof value === 'string' ? value.slice(0, 100) : value;
}

function splitDeltas(entry: DeltasEntry): readonly DeltasEntry[] {
  const half = Math.ceil(entry.texts.length / 2);
  const first = entry.after[half] ?? 0;
  return [
    { ...entry, texts: entry.texts.slice(0, half), after: entry.after.slice(0, half) },
    {
      ...entry,
      at: entry.at + first,
      texts: entry.texts.slice(half),
      after: entry.after.slice(half).map((time) => time - first),
    },
  ];
}
