import type { OperatorFunction } from 'rxjs';
import type { FileChunk, FinishChunk, ProviderDataChunk, RetractChunk, SourceChunk, TextChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import type { MessageEvent, StreamEvent, ToolCallEvent } from '../core/event.js';
import { mergeJson } from '../core/json/json.js';
import type { Message, Metadata, Part, TextPart } from '../core/message.js';
import { StringBuilder } from '../core/stringBuilder.js';

/**
 * Emits the turn's one `message`, just before its `finish`.
 *
 * <span class="informal">What streamed past, once more as a whole, at its end.</span>
 *
 * ![](../../marbles/consolidate.svg)
 *
 * Consecutive text is joined, parts stand in order of arrival; thinking is not part of a message. `providerData` goes into the message's metadata
 * under the provider's name (maps merged by key, lists concatenated) and not downstream; everything else is forwarded as it comes. A turn without
 * parts has no message. A source that completes without a `finish` has none either. On `retract` what was gathered is dropped.
 *
 * ```ts
 * model.stream(request).pipe(accumulateToolCalls(), consolidate()).subscribe((event) => {
 *   if (event.type === 'message') console.log(event.message.parts); // [{ type: 'text', text: 'Hello world' }]
 * });
 * ```
 *
 * @returns A function that returns an Observable of the source's events and the message.
 */
export function consolidate<E extends StreamEvent>(): OperatorFunction<E, Exclude<E, ProviderDataChunk> | MessageEvent>;
export function consolidate(): OperatorFunction<StreamEvent, StreamEvent> {
  return createOperator<StreamEvent, StreamEvent>((out) => {
    let gathered = gather();
    return {
      next(event) {
        if (!isKnown(event)) {
          out.next(event);
          return;
        }
        if (event.type === 'retract') gathered = gather();
        else if (event.type === 'finish') {
          const message = gathered.message();
          if (message) out.next({ type: 'message', message } as StreamEvent);
        } else gathered.add(event);
        if (event.type !== 'providerData') out.next(event);
      },
    };
  });
}

type Content = TextChunk | FileChunk | SourceChunk | ToolCallEvent | ProviderDataChunk;
type Known = Content | FinishChunk | RetractChunk;

const known: ReadonlySet<string> = new Set([
  'text',
  'file',
  'source',
  'toolCall',
  'providerData',
  'finish',
  'retract',
] satisfies Known['type'][]);
const isKnown = (event: StreamEvent): event is Known => known.has(event.type);

/** The pure core: content in, the message out. Text grows; it is not a part copied for each delta. */
function gather() {
  const parts: Part[] = [];
  let metadata: Metadata | undefined;
  let open: { readonly text: StringBuilder; providerData?: TextPart['providerData'] } | undefined;
  const closeText = () => {
    if (!open) return;
    const { text, providerData } = open;
    parts.push(
      providerData ? { type: 'text', text: text.toString(), providerData } : { type: 'text', text: text.toString() },
    );
    open = undefined;
  };
  return {
    add(event: Content): void {
      if (event.type === 'text') {
        if (event.text === '' && !event.providerData) return;
        if (open?.providerData) closeText(); // what the provider signed ends there
        open ??= { text: new StringBuilder() };
        open.text.add(event.text);
        if (event.providerData) open.providerData = event.providerData;
      } else if (event.type === 'providerData') {
        metadata = { ...metadata, [event.provider]: mergeJson(metadata?.[event.provider], event.data) };
      } else {
        closeText();
        parts.push(event.type === 'file' ? event.file : event.type === 'source' ? event.source : event);
      }
    },
    message(): Message | undefined {
      closeText();
      if (parts.length === 0) return undefined;
      return metadata ? { role: 'model', parts, metadata } : { role: 'model', parts };
    },
  };
}
