import { tryParseJson, type JsonValue } from './json.js';
import { PartialString } from './partialString.js';
import { PartialTree } from './partialTree.js';
import * as scan from './scan.js';

/** The order matters: the modes from `Done` ignore further text. */
const enum Mode {
  Lead,
  Value,
  FirstElement,
  FirstKey,
  Key,
  Colon,
  AfterValue,
  String,
  Scalar,
  /** Any other text after a number or a literal means that the text is not JSON (`5 degrees`). */
  AfterRootScalar,
  Done,
  Failed,
}

/** A class, for speed (see `PartialTree`). */
export class PartialReader {
  readonly tree = new PartialTree();
  failedAt: number | undefined;
  private readonly string = new PartialString();
  private readonly leadScanner = scan.createLeadScanner();
  private mode = Mode.Lead;
  private isKey = false;
  private scalar = '';
  private triesNested = true; // whether `readNested` may still succeed in this chunk
  private readLength = 0; // characters of earlier chunks

  isDone(): boolean {
    return this.mode === Mode.Done;
  }

  hasEnded(): boolean {
    return this.mode >= Mode.Done;
  }

  openText(): string | undefined {
    return this.mode === Mode.String && !this.isKey ? this.string.text : undefined;
  }

  read(text: string): void {
    const end = text.length;
    let offset = 0;
    this.triesNested = true;
    while (offset < end && this.mode < Mode.Done) offset = this.step(text, offset);
    this.readLength += end;
  }

  end(): void {
    if (this.tree.depth > 0 || (this.mode !== Mode.AfterRootScalar && this.mode !== Mode.Scalar)) return;
    const value = scan.parseScalar(this.scalar);
    this.mode = value === undefined ? this.fail(0) : this.add(value);
  }

  /** Returns the offset after the text that was read. */
  private step(text: string, offset: number): number {
    if (this.mode === Mode.String) {
      const next = this.string.read(text, offset);
      // A negative result is `~offset` of the error.
      if (next < 0) this.mode = this.fail(~next);
      else if (this.string.isClosed) this.mode = this.endString();
      return next < 0 ? text.length : next;
    }
    if (this.mode === Mode.Scalar) {
      const end = scan.scalarEnd(text, offset);
      this.scalar += text.slice(offset, end);
      if (end < text.length) this.mode = this.endScalar(end);
      return end;
    }
    const code = text.charCodeAt(offset);
    if (this.mode === Mode.Lead) {
      if (this.leadScanner(code)) return offset + 1;
      this.mode = Mode.Value;
    }
    if (scan.isSpace(code)) return offset + 1;
    const next = this.triesNested && scan.isOpening(code) ? this.readNested(text, offset) : offset;
    if (next > offset) return next;
    this.mode = this.readStructure(code, offset);
    return scan.beginsScalar(code) ? offset : offset + 1;
  }

  /** By `JSON.parse`, in a third of the time; not after a failure in the chunk, which would repeat for each level. */
  private readNested(text: string, offset: number): number {
    const isNested = this.tree.depth > 1 || this.tree.topArray !== undefined;
    if (!isNested || (this.mode !== Mode.Value && this.mode !== Mode.FirstElement)) return offset;
    const end = scan.closingEnd(text, offset);
    const value = end < 0 ? undefined : tryParseJson(text.slice(offset, end));
    this.triesNested = value !== undefined;
    if (value === undefined) return offset;
    this.mode = this.add(value);
    return end;
  }

  private readStructure(code: number, offset: number): Mode {
    switch (this.mode) {
      case Mode.Value:
        return this.valueAt(code, offset);
      case Mode.FirstElement:
        return code === scan.CLOSE_BRACKET ? this.close() : this.valueAt(code, offset);
      case Mode.FirstKey:
        return code === scan.CLOSE_BRACE ? this.close() : this.keyAt(code, offset);
      case Mode.Key:
        return this.keyAt(code, offset);
      case Mode.Colon:
        return code === scan.COLON ? Mode.Value : this.fail(offset);
      case Mode.AfterRootScalar:
        return code === scan.BACKTICK ? Mode.AfterRootScalar : this.fail(offset);
      default: // AfterValue
        if (code === scan.COMMA) return this.tree.topArray ? Mode.Value : Mode.Key;
        return code === (this.tree.topArray ? scan.CLOSE_BRACKET : scan.CLOSE_BRACE) ? this.close() : this.fail(offset);
    }
  }

  private valueAt(code: number, offset: number): Mode {
    if (code === scan.QUOTE) {
      this.isKey = false;
      return Mode.String;
    }
    if (!scan.isOpening(code)) return scan.beginsScalar(code) ? Mode.Scalar : this.fail(offset);
    const isArray = code === scan.OPEN_BRACKET;
    this.tree.open(isArray ? [] : {});
    return isArray ? Mode.FirstElement : Mode.FirstKey;
  }

  private keyAt(code: number, offset: number): Mode {
    if (code !== scan.QUOTE) return this.fail(offset);
    this.isKey = true;
    return Mode.String;
  }

  private close(): Mode {
    this.tree.close();
    return this.tree.depth === 0 ? Mode.Done : Mode.AfterValue;
  }

  private endString(): Mode {
    const text = this.string.end();
    if (!this.isKey) return this.add(text);
    this.tree.key = text;
    return Mode.Colon;
  }

  private endScalar(offset: number): Mode {
    const value = scan.parseScalar(this.scalar);
    if (value === undefined) return this.fail(offset);
    if (this.tree.depth === 0) return Mode.AfterRootScalar;
    this.scalar = '';
    return this.add(value);
  }

  private add(value: JsonValue): Mode {
    this.tree.add(value);
    return this.tree.depth === 0 ? Mode.Done : Mode.AfterValue;
  }

  private fail(offset: number): Mode {
    this.failedAt = this.readLength + offset;
    return Mode.Failed;
  }
}
