import { tryParseJson } from './json.js';
import type { JsonValue } from './json.js';
import { PartialString } from './partialString.js';
import { PartialTree } from './partialTree.js';
import * as scan from './scan.js';

/** What the next character belongs to. */
const enum Mode {
  /** White space or a markdown fence before the value. */
  Lead,
  Value,
  FirstElement,
  FirstKey,
  Key,
  Colon,
  After,
  Text,
  Scalar,
  /** After a number or a literal at the root. Words there mean that the text is not JSON (`5 degrees`). */
  Tail,
  Done,
  Failed,
}

/**
 * The state machine of partial JSON: reads one value, from text that arrives in chunks, into a tree. A class: it is an
 * inner loop, see `PartialTree`.
 */
export class PartialReader {
  readonly tree = new PartialTree();
  /** The offset at which the text stopped being JSON. */
  failedAt: number | undefined;
  private readonly string = new PartialString();
  private readonly isLead = scan.createLeadScanner();
  private mode = Mode.Lead;
  private isKey = false; // whether the open string is a key
  private scalar = '';
  private triesNested = true; // whether `readNested` may still succeed in this chunk
  private readLength = 0; // characters of earlier chunks

  isDone(): boolean {
    return this.mode === Mode.Done;
  }

  /** Whether further text is ignored: the value is complete, or the text is not JSON. */
  hasEnded(): boolean {
    return this.mode >= Mode.Done;
  }

  /** The text so far of an open string that is a value. */
  openText(): string | undefined {
    return this.mode === Mode.Text && !this.isKey ? this.string.text : undefined;
  }

  read(text: string): void {
    const end = text.length;
    let at = 0;
    this.triesNested = true;
    while (at < end && this.mode < Mode.Done) at = this.step(text, at);
    this.readLength += end;
  }

  /** The end of the text: completes a number or a literal at the root. */
  end(): void {
    if (this.tree.depth > 0 || (this.mode !== Mode.Tail && this.mode !== Mode.Scalar)) return;
    const value = scan.scalarOf(this.scalar);
    this.mode = value === undefined ? this.fail(0) : this.add(value);
  }

  /** Reads the rest of a string or of a scalar, a nested value, or one character. Returns the offset after it. */
  private step(text: string, at: number): number {
    if (this.mode === Mode.Text) {
      const next = this.string.read(text, at);
      if (next < 0) this.mode = this.fail(~next);
      else if (this.string.isClosed) this.mode = this.endString();
      return next < 0 ? text.length : next;
    }
    if (this.mode === Mode.Scalar) {
      const end = scan.scalarEnd(text, at);
      this.scalar += text.slice(at, end);
      if (end < text.length) this.mode = this.endScalar(end);
      return end;
    }
    const code = text.charCodeAt(at);
    if (this.mode === Mode.Lead) {
      if (this.isLead(code)) return at + 1;
      this.mode = Mode.Value;
    }
    if (scan.isSpace(code)) return at + 1;
    const next = this.triesNested && scan.isOpening(code) ? this.readNested(text, at) : at;
    if (next > at) return next;
    this.mode = this.structure(code, at);
    return scan.beginsScalar(code) ? at : at + 1;
  }

  /**
   * Reads an array or an object that ends in the same chunk by `JSON.parse`, which is three times as fast. Returns the
   * offset after it, or `at`. It leaves out the array that may be the first of the root, since the tree has to register
   * it. After a failure it is not tried again in this chunk: the values inside would be scanned once per level.
   */
  private readNested(text: string, at: number): number {
    const isNested = this.tree.depth > 1 || this.tree.topArray !== undefined;
    if (!isNested || (this.mode !== Mode.Value && this.mode !== Mode.FirstElement)) return at;
    const end = scan.closingEnd(text, at);
    const value = end < 0 ? undefined : tryParseJson(text.slice(at, end));
    this.triesNested = value !== undefined;
    if (value === undefined) return at;
    this.mode = this.add(value);
    return end;
  }

  private structure(code: number, at: number): Mode {
    switch (this.mode) {
      case Mode.Value:
        return this.valueAt(code, at);
      case Mode.FirstElement:
        return code === scan.CLOSE_BRACKET ? this.close() : this.valueAt(code, at);
      case Mode.FirstKey:
        return code === scan.CLOSE_BRACE ? this.close() : this.keyAt(code, at);
      case Mode.Key:
        return this.keyAt(code, at);
      case Mode.Colon:
        return code === scan.COLON ? Mode.Value : this.fail(at);
      case Mode.Tail:
        return code === scan.BACKTICK ? Mode.Tail : this.fail(at);
      default:
        if (code === scan.COMMA) return this.tree.topArray ? Mode.Value : Mode.Key;
        return code === (this.tree.topArray ? scan.CLOSE_BRACKET : scan.CLOSE_BRACE) ? this.close() : this.fail(at);
    }
  }

  private valueAt(code: number, at: number): Mode {
    if (code === scan.QUOTE) {
      this.isKey = false;
      return Mode.Text;
    }
    if (!scan.isOpening(code)) return scan.beginsScalar(code) ? Mode.Scalar : this.fail(at);
    const isArray = code === scan.OPEN_BRACKET;
    this.tree.open(isArray ? [] : {});
    return isArray ? Mode.FirstElement : Mode.FirstKey;
  }

  private keyAt(code: number, at: number): Mode {
    if (code !== scan.QUOTE) return this.fail(at);
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
    const value = scan.scalarOf(this.scalar);
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
    this.failedAt = this.readLength + at;
    return Mode.Failed;
  }
}
