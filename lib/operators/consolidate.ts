import type { OperatorFunction, Subscriber } from 'rxjs';
import type { FileChunk, ProviderDataChunk, SourceChunk, TextChunk, ThinkingChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { OperatorHandlers } from '../core/createOperator.js';
import type { TurnMessageEvent, StreamEvent, ToolCallEvent, RunEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { JsonMerger } from '../core/json/merge.js';
import type { FilePart, Message, Metadata, Part, ProviderData, SourcePart, TextPart } from '../core/message.js';
import { StringBuilder } from '../core/stringBuilder.js';
import type { OfType } from '../core/typesOf.js';

/**
 * Emits one message per turn, just before its `finish`.
 *
 * <span class="informal">Collects the deltas of a turn and emits them as one message.</span>
 *
 * ![](../../marbles/consolidate.svg)
 *
 * Consecutive text is joined; parts keep their order of arrival. Thinking is not part of a message. Provider data is
 * stored in `message.metadata[provider]` (objects are merged by key, arrays are concatenated) or in its part. It is not
 * forwarded, and neither are empty text and thinking chunks, which only contain provider data. All other events are
 * forwarded unchanged. No message is emitted for a turn without parts, or for a source that completes without a
 * `finish`. `retract` discards the collected content.
 *
 * ```ts
 * model.stream(request).pipe(accumulateToolCalls(), consolidate()).subscribe((event) => {
 *   if (event.type === 'message') console.log(event.message.parts); // [{ type: 'text', text: 'Hello world' }]
 * });
 * ```
 *
 * @returns A function that returns an Observable of the source's events and the message.
 */
export function consolidate<E extends StreamEvent>(): OperatorFunction<
  E,
  Exclude<E, ProviderDataChunk> | OfType<RunEvent, 'message'>
>;
export function consolidate(): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => new Consolidation(out));
}

class Consolidation implements OperatorHandlers<StreamEvent> {
  /** The content of the turn; created with its first part. */
  private collector: MessageCollector | undefined;

  constructor(private readonly out: Subscriber<StreamEvent>) {}

  next(event: StreamEvent): void {
    const { out } = this;
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        this.content().addText(known);
        if (known.text !== '') out.next(withoutProviderData(known));
        return;
      case 'thinking':
        if (known.text !== '') out.next(withoutProviderData(known));
        return;
      case 'toolCall':
        this.content().addPart(known);
        out.next(withoutProviderData(known));
        return;
      case 'file':
        this.content().addPart(known.file);
        out.next(withoutPartData(known));
        return;
      case 'source':
        this.content().addPart(known.source);
        out.next(withoutPartData(known));
        return;
      case 'providerData':
        this.content().addProviderData(known);
        return;
      case 'finish': {
        const message = this.collector?.message();
        this.collector = undefined; // the emitted message is immutable
        if (message) out.next({ type: 'message', message } as TurnMessageEvent);
        break;
      }
      case 'retract':
        this.collector = undefined;
        break;
      default:
    }
    out.next(event);
  }

  private content(): MessageCollector {
    return (this.collector ??= new MessageCollector());
  }
}

type Collected = TextChunk | ThinkingChunk | ToolCallEvent | FilePart | SourcePart;

/** Returns the same object if it has no provider data: most deltas have none. */
function withoutProviderData<C extends Collected>(content: C): C {
  if (!('providerData' in content)) return content;
  const { providerData: _, ...rest } = content;
  return rest as C;
}

/** Removes the provider data from the part of a `file` or `source` event. */
function withoutPartData(event: FileChunk | SourceChunk): FileChunk | SourceChunk {
  if (event.type === 'file')
    return event.file.providerData ? { ...event, file: withoutProviderData(event.file) } : event;
  return event.source.providerData ? { ...event, source: withoutProviderData(event.source) } : event;
}

/**
 * Collects content into a message. Text is appended to a string builder, because copying a part for each delta would
 * have quadratic cost.
 */
class MessageCollector {
  private readonly parts: Part[] = [];
  private providerData: JsonMerger | undefined;
  /** The text part that is still open. */
  private text: StringBuilder | undefined;
  private textData: ProviderData | undefined;

  addText({ text, providerData }: TextChunk): void {
    if (text === '' && !providerData) return;
    if (this.textData) this.closeText(); // the signature covers only the text before it
    this.text ??= new StringBuilder();
    this.text.add(text);
    this.textData = providerData;
  }

  addPart(part: Part): void {
    this.closeText();
    this.parts.push(part);
  }

  addProviderData({ provider, data }: ProviderDataChunk): void {
    this.providerData ??= new JsonMerger();
    this.providerData.add({ [provider]: data });
  }

  /** The message; undefined if it has no parts. */
  message(): Message | undefined {
    this.closeText();
    const { parts } = this;
    if (parts.length === 0) return undefined;
    const metadata = this.providerData?.value as Metadata | undefined;
    return metadata ? { role: 'model', parts, metadata } : { role: 'model', parts };
  }

  private closeText(): void {
    if (!this.text) return;
    const part: TextPart = { type: 'text', text: this.text.toString() };
    this.parts.push(this.textData ? { ...part, providerData: this.textData } : part);
    this.text = undefined;
    this.textData = undefined;
  }
}
