import { identity, mergeMap, of, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { Chunk } from '../core/chunk.js';
import { NOTICE_EVENT } from '../core/connectionEvents.js';
import { growingList } from '../core/growing.js';
import { hash } from '../core/hash.js';
import { asArray, mapChanged, isRecord, objectOrEmpty, type JsonValue } from '../core/json/json.js';
import { mapParts, type FilePart, type Message, type Part, type ToolResultPart } from '../core/message.js';
import type { Model, ModelRequest } from '../core/model.js';
import { providerDataOf } from '../core/providerPart.js';
import { openResponse } from '../core/response.js';
import { catchBeforeFirst } from './continueAfterError.js';
import { sentBodies } from './sentBodies.js';
import { errorText } from '../core/errors.js';

/** How many times a request is sent again without what was refused. A provider names one file at a time. */
const MOST_OMISSIONS = 5;

/** The `provider` of the parts of an answer that say what was left out for it. No wire reads them. */
const OWNER = 'rivulet';

/**
 * Wraps the turns of a run so that a file or a tool result that a provider refuses does not end the conversation, whose
 * next prompts would all be refused with it: the request is sent again with a text in its place, and a notice tells the
 * person. The history keeps the file, and a part of the answer says that this provider has refused it.
 */
export const omitRefused =
  <S, C extends { readonly model: Model }, R>(turn: (state: S, context: C) => R) =>
  (state: S, context: C): R =>
    turn(state, { ...context, model: withoutRefused(context.model) });

/** Of a conversation that grows by each turn. */
const memories = /* @__PURE__ */ growingList((message: Message) => providerDataOf(message, OWNER));

/** A stop reaches the model in the request. */
const withoutRefused = (model: Model): Model => ({
  provider: model.provider,
  name: model.name,
  ...(model.capabilities && { capabilities: model.capabilities }),
  stream(request) {
    const known = memories(request.messages)
      .filter(({ provider }) => provider === model.provider)
      .flatMap(({ refused }) => asArray(refused));
    return send(model, { ...request, messages: omitFrom(request.messages, new Set(known)) }, []);
  },
});

type Keys = ReadonlySet<unknown>;

function send(model: Model, request: ModelRequest, omitted: readonly (readonly RefusedPart[])[]): Observable<Chunk> {
  const { messages } = request;
  sentBodies.set(messages, undefined);
  return openResponse(model, request).pipe(
    announce(omitted.flat(), model),
    catchBeforeFirst((error) => {
      const refused = refusedParts(error, messages, sentBodies.get(messages), omitted.length > 0);
      if (refused.length === 0 || omitted.length === MOST_OMISSIONS) return undefined;
      const remaining = omitFrom(messages, new Set(refused.map(keyOf)));
      return send(model, { ...request, messages: remaining }, [...omitted, refused]);
    }),
  );
}

/** Says what was left out when the request has worked: until then, the error says more. */
function announce(refused: readonly RefusedPart[], { provider }: Model): MonoTypeOperatorFunction<Chunk> {
  if (refused.length === 0) return identity;
  const memory = { type: 'provider', provider: OWNER, data: { provider, refused: refused.map(keyOf) } } as const;
  return mergeMap((chunk, index) => (index === 0 ? of(noticeOf(refused), memory, chunk) : of(chunk)));
}

const noticeOf = (refused: readonly RefusedPart[]): Chunk => {
  const names = refused.map((part) => (part.type === 'file' ? describe(part) : `the result of the tool ${part.name}`));
  const message = `The model could not read ${[...new Set(names)].join(', ')}. The answer was made without it.`;
  // An event for the person only: operators and services pass it.
  return { type: NOTICE_EVENT, notice: { code: 'omitted', message } } as unknown as Chunk;
};

const describe = ({ name, mediaType }: FilePart): string =>
  name === undefined ? `a file (${mediaType})` : `${name} (${mediaType})`;

function omitFrom(messages: readonly Message[], keys: Keys): readonly Message[] {
  if (keys.size === 0) return messages;
  return mapChanged(messages, (message) => mapParts(message, (part) => omitPart(part, keys)));
}

function omitPart(part: Part, keys: Keys): Part {
  if (part.type === 'file') return keys.has(keyOf(part)) ? { type: 'text', text: omittedText(part) } : part;
  if (part.type !== 'toolResult' || part.error !== undefined) return part;
  if (keys.has(keyOf(part))) return { ...part, result: omittedText(part) };
  const items = itemsOf(part);
  const kept = mapChanged(items, (item) => (isFile(item) && keys.has(keyOf(item)) ? omittedText(item) : item));
  return kept === items ? part : { ...part, result: Array.isArray(part.result) ? kept : (kept[0] ?? null) };
}

/** Without the words of the error: a later error that repeats them would be taken for a quotation of the request. */
const omittedText = (part: RefusedPart): string =>
  `[${part.type === 'file' ? describe(part) : 'The result'} was left out, because the provider refused it.]`;

/** Messages are read from a store again, so a file is known by its content. */
function keyOf(part: RefusedPart): string {
  if (part.type === 'toolResult') return part.id;
  const key = keys.get(part) ?? hash(part.data ?? part.url);
  keys.set(part, key);
  return key;
}

const keys = /* @__PURE__ */ new WeakMap<FilePart, string>();

type RefusedPart = FilePart | ToolResultPart;

/** By their place in the body, or their kind ("Could not process image"): the newest first, then (`isAgain`) all. */
function refusedParts(
  error: unknown,
  messages: readonly Message[],
  body: unknown,
  isAgain: boolean,
): readonly RefusedPart[] {
  const { errors } = objectOrEmpty(error);
  const thrown = asArray(errors).at(-1) ?? error; // of `fallback`: the error of the last model
  if (!isRefusal(thrown)) return [];
  const text = errorText(thrown);
  const placed = partsAt(text, messages, body);
  if (placed.length > 0) return placed;
  const kind = fileKinds.find(([named]) => named.test(text))?.[1];
  if (!kind) return [];
  const candidates = messages
    .map((message) => filesOf(message).filter(({ mediaType }) => kind.test(mediaType)))
    .filter((files) => files.length > 0);
  return isAgain ? candidates.flat() : (candidates.at(-1) ?? []);
}

const otherStatuses: readonly unknown[] = [401, 402, 403, 413];

function isRefusal(thrown: unknown): boolean {
  const { code, status, retryable } = objectOrEmpty(thrown);
  if (retryable === true) return false;
  return code === 'configuration' || code === 'provider' || (code === 'http' && !otherStatuses.includes(status));
}

const fileKinds: readonly (readonly [named: RegExp, mediaType: RegExp])[] = [
  [/\b(?:image|images|picture|image_url|vision)\b/i, /^image\//i],
  [/\baudio\b/i, /^audio\//i],
  [/\bvideo\b/i, /^video\//i],
  [/\b(?:pdf|documents?)\b/i, /^(?:application|text)\//i],
  [/\bfiles?\b|\b(?:mime|media)[ _-]?type\b/i, /./],
];

const filesOf = ({ parts }: Message): readonly FilePart[] =>
  parts.flatMap((part): readonly unknown[] => (part.type === 'toolResult' ? itemsOf(part) : [part])).filter(isFile);

const itemsOf = ({ result = null }: ToolResultPart): readonly JsonValue[] =>
  Array.isArray(result) ? (result as readonly JsonValue[]) : [result];

const isFile = (item: unknown): item is FilePart =>
  isRecord(item) && item['type'] === 'file' && typeof item['mediaType'] === 'string';

/** `messages.3.content.1.image.source`, `input[2].content[0].image_url`, `contents[0].parts[2].inline_data`. */
const place = /\b(?:messages|input|contents)[.[]+\d+\]?(?:[.[]+\w+\]?)*/;

function partsAt(text: string, messages: readonly Message[], body: unknown): readonly RefusedPart[] {
  const path = place.exec(text)?.[0].match(/\w+/g) ?? [];
  const found: unknown[] = [body];
  for (const key of path) {
    // A step that the body does not have is skipped: Anthropic adds the type of a block to the path.
    const next = (found.at(-1) as Readonly<Record<string, unknown>>)[key];
    if (typeof next === 'object' && next !== null) found.push(next);
  }
  if (found.length < 3) return []; // not even a message
  const element = JSON.stringify(found.at(-1));
  const files = messages.flatMap(filesOf).filter(({ data, url }) => element.includes(data ?? url));
  if (files.length > 0) return files;
  const id = found.map(resultId).findLast((known) => known !== undefined);
  return messages
    .flatMap(({ parts }) => parts.filter((part) => part.type === 'toolResult' && part.id === id))
    .slice(-1) as ToolResultPart[];
}

/** The id of the call to which an element of a body has the result. */
function resultId(element: unknown): unknown {
  const { tool_call_id, tool_use_id, call_id, output, functionResponse } = objectOrEmpty(element);
  const own = tool_call_id ?? tool_use_id ?? (output === undefined ? undefined : call_id);
  return own ?? objectOrEmpty(functionResponse)['id'];
}
