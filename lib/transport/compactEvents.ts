import { withoutNext, type NestedEvent, type RunResult, type StreamEvent } from '../core/event.js';
import { asKnownEvent, isNested } from '../core/eventGuards.js';
import { isSameJson } from '../core/json/equal.js';
import { omitUndefined, type JsonObject } from '../core/json/json.js';
import { answerOf, type Message, type Part, type TextPart } from '../core/message.js';
import type { ProviderData, ProviderPart } from '../core/providerPart.js';
import { StringBuilder } from '../core/stringBuilder.js';

/** A `message` and the `result` repeat what was sent: they are sent as references to it. */
export type CompactEvent = StreamEvent;

type CompactPart = Part | TextReference | PartReference;

interface TextReference extends Omit<TextPart, 'text'> {
  readonly range: readonly [from: number, to: number];
}

interface PartReference extends DataOfPart {
  readonly type: 'emitted';
  readonly key: string;
}

interface DataOfPart {
  readonly providerData?: ProviderData;
}

/** Sender and receiver see the same events, so references mean the same to both. */
class Emitted {
  readonly runText = new StringBuilder();
  readonly runThinking = new StringBuilder();
  readonly messages: Message[] = [];
  text = new StringBuilder();
  parts = new Map<string, Part>();
  private toKey = createKeys();
  private thinking = new StringBuilder();
  private turnMessages: Message[] = [];

  add(event: StreamEvent): void {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
        this.text.add(known.text);
        break;
      case 'thinking':
        this.thinking.add(known.text);
        break;
      case 'toolCall':
      case 'toolResult':
        this.parts.set(this.toKey(known), known);
        break;
      case 'file':
        this.parts.set(this.toKey(known.file), known.file);
        break;
      case 'source':
        this.parts.set(this.toKey(known.source), known.source);
        break;
      case 'message':
        this.turnMessages.push(known.message);
        break;
      case 'turn':
        this.runText.add(this.text.toString());
        this.runThinking.add(this.thinking.toString());
        this.messages.push(...this.turnMessages);
        this.startTurn();
        break;
      case 'retract':
        this.startTurn();
        break;
      default:
    }
  }

  private startTurn() {
    this.text = new StringBuilder();
    this.thinking = new StringBuilder();
    this.parts = new Map();
    this.toKey = createKeys();
    this.turnMessages = [];
  }
}

/** A provider part is in the message only. */
type KeyedPart = Exclude<Part, TextPart | ProviderPart>;

/** Keys: the id of a call or a result, the number of any other part. */
function createKeys(): (part: KeyedPart) => string {
  const counts = { file: 0, source: 0 };
  return (part) => `${part.type}:${part.type === 'file' || part.type === 'source' ? counts[part.type]++ : part.id}`;
}

function createInnerRuns<T>(create: () => T): (id: string) => T {
  const runs = new Map<string, T>();
  return (id) => {
    const run = runs.get(id) ?? create();
    runs.set(id, run);
    return run;
  };
}

function mapNested(
  nested: NestedEvent,
  map: (event: StreamEvent) => StreamEvent | undefined,
): NestedEvent<string, StreamEvent> | undefined {
  const event = map(nested.event);
  return event && { ...nested, event };
}

/** Removes checkpoints: whoever can change one decides what the run does next. */
export function withoutCheckpoints(event: CompactEvent): CompactEvent | undefined {
  if (isNested(event)) return mapNested(event, withoutCheckpoints);
  const known = asKnownEvent(event);
  switch (known.type) {
    case 'checkpoint':
      return undefined;
    case 'turn':
      return withoutCheckpoint(withoutNext(known));
    case 'result':
      return { ...known, result: withoutCheckpoint(known.result) } as StreamEvent;
    default:
      return event;
  }
}

/** The compactor must get all events, in order. Only equal parts become references: operators may have changed some. */
export function createCompactor(): (event: StreamEvent) => CompactEvent {
  const emitted = new Emitted();
  const innerRuns = createInnerRuns(createCompactor);
  return (event) => {
    const inner = isNested(event) ? mapNested(event, innerRuns(event.id)) : undefined;
    const compact = inner ?? compactEvent(event, emitted);
    emitted.add(event);
    return compact;
  };
}

function compactEvent(event: StreamEvent, emitted: Emitted): CompactEvent {
  const known = asKnownEvent(event);
  switch (known.type) {
    case 'message':
      return { ...known, message: { ...known.message, parts: compactParts(known.message, emitted) } } as StreamEvent;
    case 'toolStart': {
      const { arguments: args, ...others } = known;
      return isSameJson(args, findArguments(known.id, emitted)) ? others : event;
    }
    case 'result':
      return { ...known, result: compactResult(known.result, emitted) } as StreamEvent;
    default:
      return event;
  }
}

function findArguments(id: string, { parts }: Emitted): JsonObject | undefined {
  const call = parts.get(`toolCall:${id}`);
  return call?.type === 'toolCall' ? call.arguments : undefined;
}

function compactParts({ parts }: Message, emitted: Emitted): readonly CompactPart[] {
  const streamed = emitted.text.toString();
  const toKey = createKeys();
  let textEnd: number | undefined = 0; // undefined after a text that differs from the stream
  return parts.map((part) => {
    if (part.type !== 'text') {
      const key = toKey(part as KeyedPart);
      return equalsEmitted(part, emitted.parts.get(key))
        ? { type: 'emitted', key, ...pickProviderData(part as DataOfPart) }
        : part;
    }
    if (textEnd === undefined) return part;
    // The stream may have a line feed before the first text, which the message does not contain.
    const from: number = textEnd === 0 ? streamed.indexOf(part.text) : textEnd;
    textEnd = from >= 0 && streamed.startsWith(part.text, from) ? from + part.text.length : undefined;
    const { text: _, ...others } = part;
    return textEnd === undefined ? part : { ...others, range: [from, textEnd] };
  });
}

/** The emitted part has no provider data. */
function equalsEmitted(part: Part, emitted: Part | undefined): boolean {
  if (part === emitted) return true;
  const { providerData: _, ...plain } = part as Part & DataOfPart;
  return isSameJson(plain, emitted);
}

const pickProviderData = ({ providerData }: DataOfPart): DataOfPart => (providerData ? { providerData } : {});

function withoutCheckpoint<T extends { readonly checkpoint?: unknown }>({
  checkpoint: _,
  ...others
}: T): Omit<T, 'checkpoint'> {
  return others;
}

function compactResult(result: RunResult, emitted: Emitted): Partial<RunResult> {
  const { runText, runThinking, messages } = emitted;
  const { text, answer, thinking, messages: added, ...others } = result;
  const isSameMessages =
    added.length === messages.length && added.every((message, index) => message === messages[index]);
  return {
    ...others,
    ...omitUndefined({
      text: text === runText.toString() ? undefined : text,
      answer: answer === answerOf(messages) ? undefined : answer,
      thinking: thinking === runThinking.toString() ? undefined : thinking,
      messages: isSameMessages ? undefined : added,
    }),
  };
}

/** The restorer must get all events of one run, in order. */
export function createRestorer(): (event: CompactEvent) => StreamEvent {
  const emitted = new Emitted();
  const innerRuns = createInnerRuns(createRestorer);
  return (compact) => {
    const inner = isNested(compact) ? mapNested(compact, innerRuns(compact.id)) : undefined;
    const event = inner ?? restoreEvent(compact, emitted);
    emitted.add(event);
    return event;
  };
}

function restoreEvent(compact: CompactEvent, emitted: Emitted): StreamEvent {
  const known = asKnownEvent(compact);
  switch (known.type) {
    case 'message': {
      // A part of a kind that this page does not know was not kept: it is left out.
      const rest = { from: 0 };
      const parts = (known.message.parts as readonly CompactPart[]).flatMap((part) => restorePart(part, emitted, rest));
      return { ...known, message: { ...known.message, parts } } as StreamEvent;
    }
    case 'toolStart':
      return 'arguments' in compact
        ? compact
        : ({ ...compact, arguments: findArguments(known.id, emitted) } as StreamEvent);
    case 'result': {
      const { runText, runThinking, messages } = emitted;
      const folded = {
        text: runText.toString(),
        answer: answerOf(messages),
        thinking: runThinking.toString(),
        messages: [...messages],
      };
      return { ...known, result: { ...folded, ...known.result } } as StreamEvent;
    }
    default:
      return compact;
  }
}

/** Nothing for a text that overlaps the one before it: many copies of a long text would not fit into the memory. */
function restorePart(part: CompactPart, { text, parts }: Emitted, rest: { from: number }): readonly unknown[] {
  if ('range' in part) {
    const { range, ...others } = part;
    const [from, to] = range;
    if (!(from >= rest.from && to >= from)) return [];
    rest.from = to;
    return [{ ...others, text: text.toString().slice(from, to) }];
  }
  if (part.type !== 'emitted') return [part];
  const restored = parts.get(part.key);
  return restored ? [{ ...restored, ...pickProviderData(part) }] : [];
}
