import type { MonoTypeOperatorFunction } from 'rxjs';
import { createOperator } from '../core/createOperator.js';
import type { RunResult, StreamEvent, TurnEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { asArray, isRecord, objectOrEmpty, omitUndefined, type JsonObject, type JsonValue } from '../core/json/json.js';
import { joinedResult, readableParts } from '../core/message.js';
import type { FilePart, Message, Metadata, Part, SourcePart, ToolResultPart } from '../core/message.js';
import { addUsage } from '../core/usage.js';
import { describeErrorJson, publicToolError } from '../transport/publicError.js';

export interface PublicEventsOptions {
  /**
   * Whether the browser receives the texts of the errors of tools. An exception may name a host, a path or a table.
   * Default: false, it receives the code and a fixed sentence. The model always receives the text.
   */
  readonly exposeToolErrors?: boolean | undefined;
  /**
   * More keys of the metadata that the browser receives. Default: none. `cost`, `answeredBy` and `serverTools` (without
   * the provider's own object) are always sent. A gateway can write anything into the others, for example the request.
   */
  readonly exposeMetadata?: readonly string[] | undefined;
}

export interface RunAudience {
  /** The context of the request, for `observe`. */
  readonly context?: unknown;
  /** The errors of calls that the client has executed: it may read them. Default: none. */
  readonly clientErrors?: Readonly<Record<string, string>> | undefined;
}

export function publicEvents<E extends StreamEvent>(
  options: PublicEventsOptions,
  clientErrors?: Readonly<Record<string, string>>,
): MonoTypeOperatorFunction<E> {
  return createOperator<E, E>((out) => {
    const publish = createPublisher(options, clientErrors);
    return {
      next(event) {
        const known = publish(event);
        if (known) out.next(known as E);
      },
    };
  });
}

/**
 * Creates a function that returns what a browser may read of an event; undefined if it may read nothing. Only the
 * listed fields are copied. An event of a type that Rivulet does not know is your own: no model can create one.
 */
export function createPublisher(
  options: PublicEventsOptions,
  clientErrors: Readonly<Record<string, string>> = {},
): (event: StreamEvent) => StreamEvent | undefined {
  const { exposeToolErrors = false } = options;
  const metadataOf = (metadata: Metadata | undefined) => publicMetadata(metadata, options);
  const partOf = (part: Part): Part => {
    if (part.type !== 'toolResult' || part.error === undefined || exposeToolErrors) return publicPart(part);
    const { type, id, name, error, code, reason, arguments: args } = part;
    if (Object.hasOwn(clientErrors, id) && clientErrors[id] === error) return part;
    return { type, id, name, error: publicToolError(code), ...omitUndefined({ code, reason, arguments: args }) };
  };
  /** The same message of an event and of the result stays the same object, so that it is sent once. */
  const messages = new WeakMap<Message, Message>();
  const messageOf = (message: Message): Message => {
    const known = messages.get(message) ?? publicMessage(message, partOf);
    messages.set(message, known);
    return known;
  };
  /** A tool that runs an agent may report the events of that run as its progress. */
  const progressOf = (value: JsonValue): JsonValue | undefined =>
    isRecord(value) && looksLikeEvent(value)
      ? (publish(value as unknown as StreamEvent) as unknown as JsonValue)
      : value;
  const publish = (event: StreamEvent): StreamEvent | undefined => {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
      case 'toolCall':
      case 'toolResult':
        return partOf(known);
      case 'thinking':
        return { type: known.type, text: known.text } as StreamEvent;
      case 'toolCallFragment': {
        const { providerData: _, ...fragment } = known;
        return fragment;
      }
      case 'toolProgress': {
        const value = progressOf(known.value);
        return value === undefined ? undefined : ({ ...known, value } as StreamEvent);
      }
      case 'nested': {
        const inner = publish(known.event);
        return inner && ({ ...known, event: inner } as StreamEvent);
      }
      case 'file':
        return { type: known.type, file: publicPart(known.file) } as StreamEvent;
      case 'source':
        return { type: known.type, source: publicPart(known.source) } as StreamEvent;
      case 'metadata': {
        const metadata = metadataOf(known.metadata);
        return metadata && ({ type: known.type, metadata } as StreamEvent);
      }
      case 'message':
        return { type: known.type, message: messageOf(known.message) } as StreamEvent;
      case 'turn':
        return publicTurn(known, metadataOf(known.metadata));
      case 'result':
        return {
          type: known.type,
          result: publicResult(known.result, messageOf, metadataOf(known.result.metadata)),
        } as StreamEvent;
      case 'retry':
        return { ...known, error: describeErrorJson(known.error) } as StreamEvent;
      case 'checkpoint':
      case 'openCalls':
      case 'provider':
      case 'finish':
        return undefined;
      default:
        return event;
    }
  };
  return publish;
}

/** The text of a result from the background has that of its error. */
function publicMessage(message: Message, partOf: (part: Part) => Part): Message {
  const { id, role, parts } = message;
  const joined = joinedResult(message);
  if (!joined) return { ...omitUndefined({ id }), role, parts: readableParts(parts).map(partOf) };
  const background = partOf(joined) as ToolResultPart;
  const { error } = background;
  const isHidden = error !== undefined && error !== joined.error;
  const shown = isHidden ? [{ type: 'text', text: error } as const] : parts;
  return { role, parts: shown, metadata: { background: background as ToolResultPart & JsonObject } };
}

function publicTurn(event: TurnEvent, metadata: Metadata | undefined): TurnEvent {
  const { turn, finishReason, output } = event;
  const rawReason = publicReason(event.rawReason);
  const usage = event.usage && addUsage(undefined, event.usage);
  return { type: 'turn', turn, finishReason, ...omitUndefined({ rawReason, usage, metadata, output }) };
}

function publicResult(
  result: RunResult,
  messageOf: (message: Message) => Message,
  metadata: Metadata | undefined,
): RunResult {
  const { text, answer, thinking, output, finishReason, turns, cost, waiting } = result;
  const rawReason = publicReason(result.rawReason);
  const prompts = result.prompts?.map(messageOf);
  return {
    ...{ text, answer, thinking, output, finishReason, turns },
    messages: result.messages.map(messageOf),
    usage: addUsage(undefined, result.usage),
    ...omitUndefined({ rawReason, cost, metadata, prompts, waiting }),
  };
}

function publicMetadata(
  metadata: Metadata | undefined,
  { exposeToolErrors = false, exposeMetadata = [] }: PublicEventsOptions,
): Metadata | undefined {
  const exposed = exposeMetadata.flatMap((key) =>
    metadata?.[key] === undefined ? [] : [[key, metadata[key]] as const],
  );
  const known = metadataFields.flatMap(([key, read]) => {
    const value = metadata?.[key] === undefined ? undefined : read(metadata[key], exposeToolErrors);
    return value === undefined ? [] : [[key, value] as const];
  });
  return exposed.length + known.length === 0 ? undefined : Object.fromEntries([...known, ...exposed]);
}

/** Which of the events that an agent's tool reports have data of a provider or of a tool, and how to recognise them. */
const eventForms: Readonly<Record<string, (event: JsonObject) => boolean>> = {
  toolResult: ({ id, name }) => typeof id === 'string' && typeof name === 'string',
  toolProgress: ({ id, name }) => typeof id === 'string' && typeof name === 'string',
  metadata: ({ metadata }) => isRecord(metadata),
  message: ({ message }) => asArray(objectOrEmpty(message)['parts']).length > 0,
  turn: ({ finishReason }) => typeof finishReason === 'string',
  retry: ({ error }) => isRecord(error),
};

function looksLikeEvent(value: JsonObject): boolean {
  const { type } = value;
  return typeof type === 'string' && Object.hasOwn(eventForms, type) && eventForms[type]?.(value) === true;
}

/** The fields of a part that a browser reads: no signatures, and no fields for a request. */
function publicPart<P extends Part>(part: P): P {
  const {
    providerData: _,
    providerOptions: __,
    ...known
  } = part as P & Record<'providerData' | 'providerOptions', unknown>;
  return publicUrl(known as unknown as P);
}

/** `unsafe` is not put before a URL again. A relative URL has the scheme of the page. */
const linkSchemes = { source: /^(?:https?|mailto|unsafe):$/, file: /^(?!javascript:)/ };

/** A page may make a link of it, and a model may have written it. With `unsafe:`, as in Angular, it leads nowhere. */
export function publicUrl<P extends Part>(part: P): P {
  const { type, url } = part as SourcePart | FilePart;
  if (!Object.hasOwn(linkSchemes, type) || typeof url !== 'string') return part;
  const base = 'https://page.invalid';
  const scheme = URL.canParse(url, base) ? new URL(url, base).protocol : '';
  return linkSchemes[type].test(scheme) ? part : { ...part, url: `unsafe:${url}` };
}

/** A provider's reason, if it is one word: a sentence could contain anything. */
const publicReason = (reason: string | undefined): string | undefined =>
  reason !== undefined && /^[\w.:-]{1,64}$/.test(reason) ? reason : undefined;

const metadataFields: readonly (readonly [
  key: string,
  read: (value: JsonValue, exposeToolErrors: boolean) => JsonValue | undefined,
])[] = [
  ['cost', (cost) => (typeof cost === 'number' ? cost : undefined)],
  [
    'answeredBy',
    (model) => {
      const { provider, name } = objectOrEmpty(model);
      return typeof provider === 'string' && typeof name === 'string' ? { provider, name } : undefined;
    },
  ],
  [
    'serverTools',
    (tools, exposeToolErrors) =>
      asArray(tools).map((tool) => {
        const { id = null, name = null, status = null, input, output } = objectOrEmpty(tool);
        const isHidden = status === 'failed' && !exposeToolErrors;
        return { ...omitUndefined({ id, name, status, input, output: isHidden ? undefined : output }), raw: null };
      }),
  ],
];
