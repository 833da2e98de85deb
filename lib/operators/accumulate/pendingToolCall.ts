import type { ToolCallFragment } from '../../core/chunk.js';
import type { ToolCallEvent } from '../../core/event.js';
import { isInvalidArguments } from '../../core/invalidArguments.js';
import { isSameJson } from '../../core/json/equal.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { setField } from '../../core/json/merge.js';
import { BracketScanner } from '../../core/json/scan.js';
import type { ProviderData } from '../../core/providerPart.js';
import { StringBuilder } from '../../core/stringBuilder.js';
import { checkObject, isBlank, parseToolCallArguments } from './arguments.js';

type Index = number | string | undefined;

const HEAD_LENGTH = 8;

/** Bounds the cost of a long fragment. */
const HEAD_SOURCE_LENGTH = 1000;

/** Comparisons with other arguments: each may read all of the call, whatever the length of the fragment. */
const MAX_COMPARISONS = 32;

export class PendingToolCall {
  /** The provider's id; `''` until it is known. */
  id = '';
  /** The emitted id, unique in the conversation; `''` until it is assigned. */
  uniqueId = '';
  name = '';
  /** The provider has marked the end of the call, or another call has begun. */
  isDone = false;
  isEmitted = false;
  /** A fragment was labelled with the name. */
  wasLabelled = false;
  /** The indexes at which the call was announced; undefined unless there is more than one. */
  announcedAt: Set<Index> | undefined;
  argumentsIndex: Index;
  /** An object that follows a repeated name belongs to a different call. */
  isAnnouncedAgain = false;
  private readonly text = new StringBuilder();
  private object: Record<string, JsonValue> | undefined;
  private hasFields = false;
  private comparisons = 0;
  /** Valid as long as nothing is appended to `text`. */
  private parsed: { readonly length: number; readonly value: JsonObject } | undefined;
  private providerData: ProviderData | undefined;
  /** The scanner has read all of `text`. Most calls do not need one. */
  private scanner: BracketScanner | undefined;
  /** Some servers repeat all arguments so far in each fragment: the last one, while all fit that pattern. */
  private cumulative: string | undefined = '';
  /** Recognises a placeholder (`""`, `null`, `{}`) before the arguments. Without white space. */
  private head = '';

  /** This call repeats `original` if its arguments turn out to be equal. Readers have seen it as `preview`. */
  constructor(
    readonly index: Index,
    readonly position: number,
    private readonly original?: PendingToolCall,
    private readonly preview?: PendingToolCall,
  ) {
    if (preview) this.uniqueId = preview.uniqueId;
    if (!original) return;
    this.id = original.id;
    this.name = original.name;
  }

  append(id: string, { name, index, arguments: args, providerData, done }: ToolCallFragment): void {
    if (this.id === '') this.id = id;
    // Ignores a repeated name, and replaces a name by a longer one that starts with it (cumulative).
    if (name) this.name = name.startsWith(this.name) ? name : this.name + name;
    if (typeof args === 'string') this.appendText(args, index);
    else if (args) this.appendObject(args, index);
    if (providerData) this.providerData = { ...this.providerData, ...providerData };
    if (done) this.isDone = true;
  }

  noteAnnouncement(fragment: ToolCallFragment): void {
    const { index } = fragment;
    if (!fragment.name) {
      if (this.isAnnouncedAgain && !isEmptyFragment(fragment)) this.isAnnouncedAgain = false;
      return;
    }
    this.isAnnouncedAgain = this.isComplete() && !this.isPlaceholder();
    if (index === undefined || this.index === undefined || index === this.index) return;
    this.announcedAt ??= new Set([this.index]);
    this.announcedAt.add(index);
  }

  /** What readers have not seen in the preview. Other arguments than there, they see in the complete call. */
  unseen<Args extends ToolCallFragment['arguments']>(args: Args): Args | string {
    const seen = this.preview?.text.toString() ?? '';
    if (seen === '') return args;
    return typeof args === 'string' && args.startsWith(seen) ? args.slice(seen.length) : '';
  }

  hasNoArguments(): boolean {
    return this.text.length === 0 && this.object === undefined;
  }

  isOnlyAnnounced(): boolean {
    return !this.isDone && this.object === undefined && (this.head === '' || this.head === 'null');
  }

  /** Any arguments that follow replace a blank text or a placeholder. */
  isPlaceholder(): boolean {
    return isBlank(this.head) && !this.hasFields;
  }

  /** Each character is scanned once: with `JSON.parse` per fragment, 64 KB in 4-character fragments took seconds. */
  isComplete(): boolean {
    return this.isDone || this.object !== undefined || this.isClosed() || this.head === 'null';
  }

  private isClosed(): boolean {
    if (!this.scanner) {
      this.scanner = new BracketScanner();
      scan(this.scanner, this.text.toString());
    }
    return this.scanner.isClosed;
  }

  /** Another call shows the end of this one, unless arguments may follow (a placeholder) or the id may be late. */
  isClosedBefore(index: Index): boolean {
    if (index === undefined || this.index === undefined || index === this.index) return false;
    return this.id !== '' && this.name !== '' && !this.announcedAt && !this.isPlaceholder() && this.isComplete();
  }

  /** Arguments that are absent, empty, or repeat the complete ones. */
  isUnchangedBy({ arguments: args }: ToolCallFragment): boolean {
    if (args === undefined || args === null) return true;
    const added = typeof args === 'string' ? parseToolCallArguments(args) : args;
    return Object.keys(added).length === 0 || (this.isComplete() && this.isRepeatedBy(added));
  }

  isSameAs({ name, arguments: args }: ToolCallEvent): boolean {
    return name === this.name && isSameJson(args, this.parseArguments());
  }

  isRepeat(): boolean {
    const { original } = this;
    if (original === undefined) return false;
    if (this.isPlaceholder() && this.index !== original.argumentsIndex) return true;
    return original.isRepeatedBy(this.parseArguments());
  }

  /** Arguments that arrived as an object are checked: the event's parser may have changed them. */
  toEvent(): ToolCallEvent {
    const { uniqueId: id, name, providerData } = this;
    const args = this.object ? checkObject(this.parseArguments()) : this.parseArguments();
    this.isEmitted = true;
    this.parsed = undefined; // whoever receives the arguments may write to them
    const event = { type: 'toolCall', id, name, arguments: args } as const;
    return providerData ? { ...event, providerData } : event;
  }

  /** The object is extended in place: a copy for each fragment would be quadratic. */
  private appendObject(args: JsonObject, index: Index): void {
    const object = (this.object ??= {});
    const fields = Object.entries(args);
    for (const [name, value] of fields) setField(object, name, value);
    if (fields.length === 0) return;
    this.hasFields = true;
    this.argumentsIndex ??= index;
  }

  private appendText(text: string, index: Index): void {
    // A repeat is not appended: all arguments would be parsed again each time.
    const isParsed = this.parsed?.length === this.text.length && !isBlank(text);
    if (isParsed && this.isRepeatedBy(parseToolCallArguments(text))) return;
    if (this.head.length < HEAD_LENGTH) {
      const isPlaceholderSoFar = isBlank(this.head);
      if (this.head !== '' && isPlaceholderSoFar && isBlank(text)) return; // a repeated placeholder
      this.head = (this.head + text.slice(0, HEAD_SOURCE_LENGTH).replace(/\s+/g, '')).slice(0, HEAD_LENGTH);
      if (isPlaceholderSoFar && !isBlank(this.head)) this.argumentsIndex = index;
    }
    const isSpaceAtEnd = this.parsed?.length === this.text.length && text.trim() === '' && this.isClosed();
    this.text.add(text);
    if (this.parsed && isSpaceAtEnd) this.parsed = { ...this.parsed, length: this.text.length };
    if (this.scanner) scan(this.scanner, text);
    // Cheap: for an ordinary fragment, `startsWith` fails at the first characters.
    if (this.cumulative !== undefined && text !== '')
      this.cumulative = text.startsWith(this.cumulative) ? text : undefined;
  }

  /** Equal arguments are as long as those so far: only others are limited. */
  private isRepeatedBy(args: JsonObject): boolean {
    if (this.comparisons === MAX_COMPARISONS) return false;
    const isSame = isSameJson(args, this.parseArguments());
    if (!isSame) this.comparisons += 1;
    return isSame;
  }

  /** Arguments of the joined text, or, if that is not JSON, of the last cumulative fragment. */
  private parseArguments(): JsonObject {
    const { object, cumulative } = this;
    if (object) return isBlank(this.text.toString()) ? object : { ...object, ...this.parseText() };
    const joined = this.parseText();
    if (!isInvalidArguments(joined) || !cumulative) return joined;
    const last = parseToolCallArguments(cumulative);
    return isInvalidArguments(last) ? joined : last;
  }

  private parseText(): JsonObject {
    const { length } = this.text;
    if (this.parsed?.length !== length) this.parsed = { length, value: parseToolCallArguments(this.text.toString()) };
    return this.parsed.value;
  }
}

export function isEmptyFragment({ arguments: args, providerData, done }: ToolCallFragment): boolean {
  return (typeof args === 'string' ? isBlank(args) : !args) && !providerData && !done;
}

function scan(scanner: BracketScanner, text: string): void {
  let offset = 0;
  while (offset >= 0) offset = scanner.scan(text, offset); // -1 at the end of the text
}
