import type { JsonValue } from './json.js';
import * as json from './jsonCharacters.js';
import { JsonString } from './jsonString.js';
import { JsonTree } from './jsonTree.js';
import type { JsonList } from './jsonTree.js';

/** Reads one JSON value from text that comes in pieces, and shows it while it grows. */
export interface PartialJson {
  /** Reads on. Linear: each character once, however the text is cut. What follows the value is ignored. */
  push(text: string): void;
  /** Nothing more comes: a number or a literal at the root, which no character ends, is whole. */
  end(): void;
  /**
   * The value so far; undefined while there is none. A prefix of the final value: open strings, arrays and objects are shown as far as they have come,
   * numbers and literals when they have ended, a key with its value. What has closed is the same object in all later snapshots, and is never
   * changed; what is open is copied. The same object as before, if nothing came since.
   */
  snapshot(): JsonValue | undefined;
  /**
   * Whether enough has come since the last snapshot to pay for the next. A snapshot copies what is open, so one for each piece would be quadratic
   * in a long list; those that are due are linear in the text. Always, while what is open is small.
   */
  isDue(): boolean;
  /** The array at the path; without one, the array at the root, or the first in a property of the root. */
  list(path?: readonly string[]): JsonList | undefined;
  /** Whether the value is whole. */
  isDone(): boolean;
  /** Where the text ceased to be JSON: the offset from its beginning, after which nothing is read. Undefined: it has not. */
  failedAt(): number | undefined;
}

/** Up to this weight every snapshot is due; beyond, after a character for each `PER_CHARACTER`. Measured by spec/bench/partial.ts. */
const SMALL = 128;
const PER_CHARACTER = 1;

/** What the next character belongs to. */
const enum Mode {
  /** White space or a fence before the value. */
  Lead,
  Value,
  FirstElement,
  FirstKey,
  Key,
  Colon,
  After,
  Text,
  Scalar,
  /** Behind a number or a literal at the root: words there say that it was none (`5 degrees`). */
  Tail,
  Done,
  Failed,
}

/** Begins to read. White space, a byte order mark and the opening of a markdown fence may stand before the value. */
export function createPartialJson(): PartialJson {
  const tree = new JsonTree();
  const string = new JsonString();
  const isLead = json.createLead();
  let mode = Mode.Lead;
  let isKey = false;
  let scalar = '';
  let read = 0; // characters of earlier pieces
  let paid = 0; // characters until the last snapshot
  let failedAt: number | undefined;

  const fail = (at: number): Mode => {
    failedAt = read + at;
    return Mode.Failed;
  };
  const opening = (container: JsonValue[] | Record<string, JsonValue>, next: Mode): Mode => {
    tree.open(container);
    return next;
  };
  const closing = (): Mode => {
    tree.close();
    return tree.depth === 0 ? Mode.Done : Mode.After;
  };
  const valueAt = (code: number, at: number): Mode => {
    if (code === json.QUOTE) {
      isKey = false;
      return Mode.Text;
    }
    if (code === json.OPEN_OBJECT) return opening({}, Mode.FirstKey);
    if (code === json.OPEN_LIST) return opening([], Mode.FirstElement);
    return json.beginsScalar(code) ? Mode.Scalar : fail(at);
  };
  const keyAt = (code: number, at: number): Mode => {
    if (code !== json.QUOTE) return fail(at);
    isKey = true;
    return Mode.Text;
  };
  const afterValue = (code: number, at: number): Mode => {
    if (code === json.COMMA) return tree.topList ? Mode.Value : Mode.Key;
    return code === (tree.topList ? json.CLOSE_LIST : json.CLOSE_OBJECT) ? closing() : fail(at);
  };
  const structure = (code: number, at: number): Mode => {
    switch (mode) {
      case Mode.Value:
        return valueAt(code, at);
      case Mode.FirstElement:
        return code === json.CLOSE_LIST ? closing() : valueAt(code, at);
      case Mode.FirstKey:
        return code === json.CLOSE_OBJECT ? closing() : keyAt(code, at);
      case Mode.Key:
        return keyAt(code, at);
      case Mode.Colon:
        return code === json.COLON ? Mode.Value : fail(at);
      case Mode.Tail:
        return code === json.BACKTICK ? Mode.Tail : fail(at);
      default:
        return afterValue(code, at);
    }
  };
  const endString = (): Mode => {
    const text = string.end();
    if (isKey) {
      tree.key = text;
      return Mode.Colon;
    }
    tree.add(text);
    return tree.depth === 0 ? Mode.Done : Mode.After;
  };
  const endScalar = (at: number): Mode => {
    const value = json.scalarOf(scalar);
    if (value === undefined) return fail(at);
    if (tree.depth === 0) return Mode.Tail;
    scalar = '';
    tree.add(value);
    return Mode.After;
  };

  /** Reads on within one string, number or stretch of white space, or one character; gives the offset behind it. */
  const step = (text: string, at: number): number => {
    if (mode === Mode.Text) {
      const next = string.read(text, at);
      if (next < 0) mode = fail(~next);
      else if (string.isClosed) mode = endString();
      return next < 0 ? text.length : next;
    }
    const code = text.charCodeAt(at);
    if (mode === Mode.Scalar) {
      const end = json.scalarEnd(text, at);
      scalar += text.slice(at, end);
      if (end < text.length) mode = endScalar(end);
      return end;
    }
    if (mode === Mode.Lead) {
      if (isLead(code)) return at + 1;
      mode = Mode.Value;
    }
    if (!json.isSpace(code)) mode = structure(code, at);
    return mode === Mode.Scalar ? at : at + 1;
  };

  return {
    push(text) {
      let at = 0;
      while (at < text.length && mode < Mode.Done) at = step(text, at);
      read += text.length;
    },
    end() {
      if (tree.depth > 0 || (mode !== Mode.Tail && mode !== Mode.Scalar)) return;
      const value = json.scalarOf(scalar);
      mode = value === undefined ? fail(0) : Mode.Done;
      if (value !== undefined) tree.add(value);
    },
    snapshot() {
      paid = read;
      return tree.snapshot(mode === Mode.Text && !isKey ? string.text : undefined);
    },
    isDue: () => tree.weight <= SMALL || (read - paid) * PER_CHARACTER >= tree.weight,
    list: (path) => tree.list(path),
    isDone: () => mode === Mode.Done,
    failedAt: () => failedAt,
  };
}
