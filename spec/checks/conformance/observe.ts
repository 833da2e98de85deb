import { isDeepStrictEqual } from 'node:util';
import { catchError, concat, defer, EMPTY, ignoreElements, of, takeUntil, tap, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk, FinishChunk, FinishReason } from '../../../lib/core/chunk.js';
import { errorText } from '../../../lib/core/errors.js';
import type { TurnMessageEvent, ToolCallEvent } from '../../../lib/core/event.js';
import { isRecord } from '../../../lib/core/json/json.js';
import type { FilePart, Message, Metadata, Part, SourcePart, ToolCallPart } from '../../../lib/core/message.js';
import type { Model, ModelRequest } from '../../../lib/core/model.js';
import type { Usage } from '../../../lib/core/usage.js';
import { accumulateToolCalls } from '../../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../../lib/operators/consolidate.js';

/** The output for one response. */
export interface Observation {
  readonly text: string;
  readonly thinking: string;
  /** The calls in the order in which they were emitted, even if the response failed later. */
  readonly toolCalls: readonly ToolCallPart[];
  readonly files: readonly FilePart[];
  readonly sources: readonly SourcePart[];
  /** The reason of the `finish`; `error` for a stream that failed; otherwise null. */
  readonly finishReason: FinishReason | null;
  readonly rawFinishReason: string | null;
  /** The usage of the `finish`, or null. */
  readonly usage: Usage | null;
  /** The public fields of the error, or null. */
  readonly error: {
    readonly name: string;
    /** The code of Rivulet: `provider`, `stream_interrupted`, `protocol`, `http`, ... */
    readonly code: string | null;
    readonly message: string;
    readonly retryable: boolean | null;
    /** The code of the provider. */
    readonly providerCode: string | null;
  } | null;
  readonly metadata: readonly Metadata[];
  readonly messages: readonly Message[];
  /** Violations of the contract of a model, independent of the response. */
  readonly breaches: readonly string[];
  /** The number of milliseconds after which the test was abandoned, or null. */
  readonly hung: number | null;
}

type ObservedError = NonNullable<Observation['error']>;

/** The time limit of one response in milliseconds. Each is sent at once, over loopback. */
const responseLimit = 20_000;

/**
 * Runs one response of a model through the operators of every turn, and records the output.
 *
 * @param model The model.
 * @param request The request.
 * @param limit The time limit in milliseconds.
 * @returns One observation. Never errors.
 */
export function observe(model: Model, request: ModelRequest, limit = responseLimit): Observable<Observation> {
  return defer(() => {
    const record = createRecord();
    const hung = timer(limit).pipe(tap(() => record.hung(limit)));
    const reading = defer(() => model.stream(request)).pipe(
      tap({ next: (chunk) => record.chunk(chunk), complete: () => record.completed() }),
      accumulateToolCalls(),
      consolidate(),
      tap((event) => record.event(event)),
      ignoreElements(),
      catchError((thrown: unknown) => {
        record.failed(thrown);
        return EMPTY;
      }),
      takeUntil(hung),
    );
    return concat(
      reading,
      defer(() => of(record.result())),
    );
  });
}

type Event = Exclude<Chunk, { type: 'toolCallFragment' | 'provider' }> | ToolCallEvent | TurnMessageEvent;

function createRecord() {
  const breaches: string[] = [];
  const parts: Part[] = [];
  const messages: Message[] = [];
  const metadata: Metadata[] = [];
  let thinking = '';
  let finish: FinishChunk | undefined;
  let chunksAfterFinish = 0;
  let finishes = 0;
  let error: ObservedError | undefined;
  let hung: number | null = null;

  const checkContract = () => {
    if (finishes > 1) breaches.push(`${finishes} finish chunks were emitted instead of one.`);
    if (chunksAfterFinish > 0)
      breaches.push(`${chunksAfterFinish} chunks were emitted after the finish, which must be the last.`);
    if (error && finishes > 0) breaches.push('The stream failed after its finish.');
    if (messages.length > 1) breaches.push(`${messages.length} messages were emitted instead of one.`);
    const messageParts = messages[0]?.parts ?? [];
    if (finish && !isDeepStrictEqual(joinedText(messageParts), joinedText(parts))) {
      breaches.push(
        `The message differs from the events: it contains ${JSON.stringify(messageParts)} instead of ${JSON.stringify(parts)}.`,
      );
    }
    if (!finish && messageParts.length > 0) breaches.push('A message was emitted without a finish.');
    metadata.forEach((one, at) => {
      if (metadata.findIndex((other) => isDeepStrictEqual(other, one)) < at)
        breaches.push(`Metadata was emitted twice: ${JSON.stringify(one)}.`);
    });
    const ids = parts.flatMap((part) => (part.type === 'toolCall' ? [part.id] : []));
    if (ids.some((id) => id === '')) breaches.push('A tool call has an empty id.');
    if (new Set(ids).size < ids.length) breaches.push(`The ids of the tool calls are not unique: ${ids.join(', ')}.`);
  };

  return {
    chunk(chunk: Chunk) {
      if (finishes > 0) chunksAfterFinish++;
      if (chunk.type === 'finish') finishes++;
    },
    completed() {
      if (finishes === 0) breaches.push('The stream completed without a finish.');
    },
    event(event: Event) {
      if (event.type === 'text') parts.push({ type: 'text', text: event.text });
      else if (event.type === 'thinking') thinking += event.text;
      else if (event.type === 'toolCall') parts.push(event);
      else if (event.type === 'file') parts.push(event.file);
      else if (event.type === 'source') parts.push(event.source);
      else if (event.type === 'metadata') metadata.push(event.metadata);
      else if (event.type === 'message') messages.push(event.message);
      else if (event.type === 'finish') finish ??= event;
      else {
        parts.length = 0; // retract: the turn starts over
        thinking = '';
      }
    },
    failed(thrown: unknown) {
      error = publicFields(thrown);
    },
    hung(limit: number) {
      hung = limit;
    },
    result(): Observation {
      checkContract();
      return {
        text: textOf(parts),
        thinking,
        toolCalls: parts.filter((part) => part.type === 'toolCall'),
        files: parts.filter((part) => part.type === 'file'),
        sources: parts.filter((part) => part.type === 'source'),
        finishReason: finish?.reason ?? (error ? 'error' : null),
        rawFinishReason: finish?.rawReason ?? null,
        usage: finish?.usage ?? null,
        error: error ?? null,
        metadata,
        messages,
        breaches,
        hung,
      };
    },
  };
}

const textOf = (parts: readonly Part[]) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** Returns parts as JSON with consecutive texts joined, without provider data. */
function joinedText(parts: readonly Part[]): unknown {
  const joined: unknown[] = [];
  let text = '';
  const close = () => {
    if (text !== '') joined.push(text);
    text = '';
  };
  for (const part of parts) {
    if (part.type === 'text') text += part.text;
    else if (part.type !== 'provider') {
      close();
      joined.push(JSON.parse(JSON.stringify({ ...part, providerData: undefined }))); // only the message has provider data
    }
  }
  close();
  return joined;
}

function publicFields(thrown: unknown): ObservedError {
  const { name, code, retryable, providerCode } = isRecord(thrown) ? thrown : {};
  return {
    name: typeof name === 'string' ? name : typeof thrown,
    code: typeof code === 'string' ? code : null,
    message: errorText(thrown),
    retryable: typeof retryable === 'boolean' ? retryable : null,
    providerCode: typeof providerCode === 'string' ? providerCode : null,
  };
}
