import { tryParseJson } from './json.js';
import type { JsonValue } from './json.js';
import { JsonString } from './partialString.js';
import { JsonTree } from './partialTree.js';
import { closingEnd } from './scan.js';
import * as json from './scan.js';

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

/** Reads one JSON value, from text that comes in pieces, into a tree. A class: it is an inner loop, see `JsonTree`. */
export class JsonReader {
  readonly tree = new JsonTree();
  /** Where the text ceased to be JSON. */
  failedAt: number | undefined;
  private readonly string = new JsonString();
  private readonly isLead = json.createLead();
  private mode = Mode.Lead;
  private isKey = false;
  private scalar = '';
  private triesWhole = true;
  private before = 0; // characters of earlier pieces

  isDone(): boolean {
    return this.mode === Mode.Done;
  }

  /** Whether what comes next is of no account: the value is whole, or the text is not JSON. */
  hasEnded(): boolean {
    return this.mode >= Mode.Done;
  }

  /** The text so far of the value that is being read, if it is a string. */
  openText(): string | undefined {
    return this.mode === Mode.Text && !this.isKey ? this.string.text : undefined;
  }

  read(text: string): void {
    const end = text.length;
    let at = 0;
    this.triesWhole = true;
    while (at < end && this.mode < Mode.Done) at = this.step(text, at);
    this.before += end;
  }

  /** Nothing more comes. */
  end(): void {
    if (this.tree.depth > 0 || (this.mode !== Mode.Tail && this.mode !== Mode.Scalar)) return;
    const value = json.scalarOf(this.scalar);
    this.mode = value === undefined ? this.fail(0) : this.add(value);
  }

  /** Reads on within one string, number or stretch of white space, or one character; gives the offset behind it. */
  private step(text: string, at: number): number {
    if (this.mode === Mode.Text) {
      const next = this.string.read(text, at);
      if (next < 0) this.mode = this.fail(~next);
      else if (this.string.isClosed) this.mode = this.endString();
      return next < 0 ? text.length : next;
    }
    if (this.mode === Mode.Scalar) {
      const end = json.scalarEnd(text, at);
      this.scalar += text.slice(at, end);
      if (end < text.length) this.mode = this.endScalar(end);
      return end;
    }
    const code = text.charCodeAt(at);
    if (this.mode === Mode.Lead) {
      if (this.isLead(code)) return at + 1;
      this.mode = Mode.Value;
    }
    if (json.isSpace(code)) return at + 1;
    const next = this.triesWhole && json.opens(code) ? this.readWhole(text, at) : at;
    if (next > at) return next;
    this.mode = this.structure(code, at);
    return json.beginsScalar(code) ? at : at + 1;
  }

  /**
   * Reads an array or an object that ends in the same piece, by the engine's own parser, which is three times as fast; gives the offset behind it. Not one
   * that may be the first list of the root: the tree has to know it. One that fails is the piece's last: those in it would be looked through again.
   */
  private readWhole(text: string, at: number): number {
    const isNested = this.tree.depth > 1 || this.tree.topList !== undefined;
    if (!isNested || (this.mode !== Mode.Value && this.mode !== Mode.FirstElement)) return at;
    const end = closingEnd(text, at);
    const value = end < 0 ? undefined : tryParseJson(text.slice(at, end));
    this.triesWhole = value !== undefined;
    if (value === undefined) return at;
    this.mode = this.add(value);
    return end;
  }

  private structure(code: number, at: number): Mode {
    switch (this.mode) {
      case Mode.Value:
        return this.valueAt(code, at);
      case Mode.FirstElement:
        return code === json.CLOSE_LIST ? this.close() : this.valueAt(code, at);
      case Mode.FirstKey:
        return code === json.CLOSE_OBJECT ? this.close() : this.keyAt(code, at);
      case Mode.Key:
        return this.keyAt(code, at);
      case Mode.Colon:
        return code === json.COLON ? Mode.Value : this.fail(at);
      case Mode.Tail:
        return code === json.BACKTICK ? Mode.Tail : this.fail(at);
      default:
        if (code === json.COMMA) return this.tree.topList ? Mode.Value : Mode.Key;
        return code === (this.tree.topList ? json.CLOSE_LIST : json.CLOSE_OBJECT) ? this.close() : this.fail(at);
    }
  }

  private valueAt(code: number, at: number): Mode {
    if (code === json.QUOTE) {
      this.isKey = false;
      return Mode.Text;
    }
    if (!json.opens(code)) return json.beginsScalar(code) ? Mode.Scalar : this.fail(at);
    const isList = code === json.OPEN_LIST;
    this.tree.open(isList ? [] : {});
    return isList ? Mode.FirstElement : Mode.FirstKey;
  }

  private keyAt(code: number, at: number): Mode {
    if (code !== json.QUOTE) return this.fail(at);
    this.isKey = true;
    return Mode.Text;
  }

  private close(): Mode {
    this.tree.close();
    return this.tree.depth === 0 ? Mode.Done : Mode.After;
  }

  private endString(): Mode {
    const text = this.string.end();
    if (!this.isKey) return this.add(text);
    this.tree.key = text;
    return Mode.Colon;
  }

  private endScalar(at: number): Mode {
    const value = json.scalarOf(this.scalar);
    if (value === undefined) return this.fail(at);
    if (this.tree.depth === 0) return Mode.Tail;
    this.scalar = '';
    return this.add(value);
  }

  private add(value: JsonValue): Mode {
    this.tree.add(value);
    return this.tree.depth === 0 ? Mode.Done : Mode.After;
  }

  private fail(at: number): Mode {
    this.failedAt = this.before + at;
    return Mode.Failed;
  }
}
