import type { OperatorFunction, Subscriber } from 'rxjs';
import type { FileChunk, ProviderChunk, SourceChunk } from '../core/chunk.js';
import { createOperator, type OperatorHandlers } from '../core/createOperator.js';
import type { TurnMessageEvent, StreamEvent, ToolCallEvent, RunEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import type { FilePart, Message, Part, SourcePart } from '../core/message.js';
import { StringBuilder } from '../core/stringBuilder.js';
import type { OfType } from '../core/typesOf.js';
import { joinHalves } from '../core/wholeCharacters.js';

/**
 * Emits one message per turn, just before its `finish`.
 *
 * <span class="informal">Collects the deltas of a turn and emits them as one message.</span>
 *
 * ![](../../marbles/consolidate.svg)
 *
 * Consecutive text is joined; parts keep their order of arrival. Thinking is not part of a message. Parts that only the
 * provider can read, and the provider data of other parts, are kept in the message and not forwarded, and neither are
 * empty text and thinking chunks. All other events are forwarded unchanged. No message is emitted for a turn without
 * parts, or for a source that completes without a `finish`. Provider parts alone make a message only if the turn is
 * `paused`, or if one of them `standsAlone`. `retract` discards the collected content. A character that a provider cut
 * into two deltas is whole again.
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
  Exclude<E, ProviderChunk> | OfType<RunEvent, 'message'>
>;
export function consolidate(): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => new Consolidation(out));
}

class Consolidation implements OperatorHandlers<StreamEvent> {
  private collector: MessageCollector | undefined;
  /** A provider may cut a character, as may a model that no wire decodes. Nothing before this joins it. */
  readonly next = joinHalves<StreamEvent>((event) => this.add(event));

  constructor(private readonly out: Subscriber<StreamEvent>) {}

  private add(event: StreamEvent): void {
    const { out } = this;
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        if (known.text === '') return;
        this.content().addText(known.text);
        break;
      case 'thinking':
        if (known.text === '') return;
        break;
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
      case 'provider':
        this.content().addProviderPart(known);
        return;
      case 'finish': {
        const message = this.collector?.message(known.reason === 'paused');
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

function withoutProviderData<C extends ToolCallEvent | FilePart | SourcePart>(content: C): C {
  if (!('providerData' in content)) return content;
  const { providerData: _, ...rest } = content;
  return rest as C;
}

function withoutPartData(event: FileChunk | SourceChunk): FileChunk | SourceChunk {
  if (event.type === 'file')
    return event.file.providerData ? { ...event, file: withoutProviderData(event.file) } : event;
  return event.source.providerData ? { ...event, source: withoutProviderData(event.source) } : event;
}

/** A copy of the part for each delta would be quadratic: text goes to a string builder. */
class MessageCollector {
  private readonly parts: Part[] = [];
  private isMessage = false;
  private text: StringBuilder | undefined;

  addText(text: string): void {
    this.isMessage = true;
    this.text ??= new StringBuilder();
    this.text.add(text);
  }

  addPart(part: Part): void {
    this.isMessage = true;
    this.closeText();
    this.parts.push(part);
  }

  addProviderPart({ standsAlone, ...part }: ProviderChunk): void {
    this.isMessage ||= standsAlone === true;
    this.closeText();
    this.parts.push(part);
  }

  /** Undefined if there is no message. A provider that has paused needs all parts to continue. */
  message(isPaused: boolean): Message | undefined {
    this.closeText();
    const { parts } = this;
    return this.isMessage || isPaused ? { role: 'model', parts } : undefined;
  }

  private closeText(): void {
    if (!this.text) return;
    this.parts.push({ type: 'text', text: this.text.toString() });
    this.text = undefined;
  }
}
