import { defer, from, map, reduce } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import type { Answers } from '../core/approval.js';
import { isRecord, objectOrEmpty, tryParseJson } from '../core/json/json.js';
import { userMessage } from '../core/message.js';
import type { FilePart, Message, TextPart } from '../core/message.js';
import { MAX_EARLIER_RUNS } from './conversationAgent.js';
import type { EarlierRun } from './conversationAgent.js';

/** Starts a run. */
export interface StartRequest {
  readonly input: readonly Message[];
  readonly resume?: undefined;
  /** The runs before it, oldest first. */
  readonly history: readonly EarlierRun[];
}

/** Joins a run. */
export interface JoinRequest {
  readonly resume?: undefined;
  readonly input?: undefined;
}

/** Goes on with a run that waits. */
export interface ResumeRequest {
  readonly resume: string;
  readonly answers: Answers;
}

/** A request of a client that is not answered with a run. */
export class RequestError extends Error {
  constructor(
    readonly status: 400 | 403 | 404 | 405 | 409 | 413,
    message: string,
  ) {
    super(message);
  }
}

/** The error of a request that `context` refuses. */
export const refused = () => new RequestError(403, 'You may not use this agent.');

/**
 * The response to a request that is not answered with a run.
 *
 * @param allow The methods that are allowed. Default: those of `agentHandler`.
 */
export function errorResponse({ status, message }: RequestError, allow = 'POST, DELETE'): Response {
  const headers = status === 405 ? { allow } : {};
  return Response.json({ error: { message } }, { status, headers });
}

/**
 * Reads the body of a request. An empty object joins a run.
 *
 * @returns The request. It fails with a RequestError if the body is too large, or is not such a request.
 */
export const readRequest = (
  request: Request,
  maxBytes = 1_000_000,
): Observable<StartRequest | ResumeRequest | JoinRequest> =>
  readText(request, maxBytes).pipe(map((text) => toRequest(text === '' ? {} : tryParseJson(text))));

/** Reads the body of a request as text. It fails with a RequestError if the body is too large. */
export function readText(request: Request, maxBytes: number): Observable<string> {
  return defer(() => {
    const decoder = new TextDecoder();
    let size = 0;
    return from((request.body ?? []) as ObservableInput<Uint8Array>).pipe(
      reduce((text, bytes) => {
        size += bytes.length;
        if (size > maxBytes) throw new RequestError(413, `Send at most ${maxBytes} bytes.`);
        return text + decoder.decode(bytes, { stream: true });
      }, ''),
      map((text) => text + decoder.decode()),
    );
  });
}

function toRequest(body: unknown): StartRequest | ResumeRequest | JoinRequest {
  if (!isRecord(body)) throw new RequestError(400, 'Send a JSON object.');
  const { input, history = [], resume, decisions = {}, results = {}, errors = {} } = body;
  if (resume !== undefined) {
    if (typeof resume !== 'string' || ![decisions, results, errors].every(isRecord))
      throw new RequestError(
        400,
        'Send `resume` as the id of a run, and `decisions`, `results` and `errors` as objects.',
      );
    return { resume, answers: { decisions, results, errors } } as ResumeRequest;
  }
  if (input === undefined) return {};
  return { input: toUserMessages(input), history: toEarlierRuns(history) };
}

/** The earlier runs of a request. Each id is read from the store, so a run may be named once. */
function toEarlierRuns(value: unknown): readonly EarlierRun[] {
  if (!Array.isArray(value) || value.length > MAX_EARLIER_RUNS)
    throw new RequestError(400, `Send \`history\` as a list of at most ${MAX_EARLIER_RUNS} earlier runs.`);
  const runs = value.map(toEarlierRun);
  if (new Set(runs.map(({ id }) => id)).size < runs.length)
    throw new RequestError(400, 'Send each run of `history` once.');
  return runs;
}

function toEarlierRun(value: unknown): EarlierRun {
  const { id, input } = objectOrEmpty(value);
  if (typeof id !== 'string' || !Array.isArray(input))
    throw new RequestError(400, 'Send `history` as a list of objects with the `id` and the `input` of earlier runs.');
  return { id, input: input.map(toUserMessage) };
}

function toUserMessages(input: unknown): readonly Message[] {
  if (typeof input === 'string') return [userMessage(input)];
  const messages: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (messages.length === 0) throw wrongInput();
  return messages.map(toUserMessage);
}

/**
 * What a user may say: not a system prompt, not an answer of the model, not a result. Only these fields are copied:
 * with `providerOptions` or `providerData`, a page could write any of the others into the request to the provider.
 */
function toUserMessage(value: unknown): Message {
  const { role, parts } = objectOrEmpty(value);
  if (role !== 'user' || !Array.isArray(parts) || parts.length === 0) throw wrongInput();
  return userMessage(parts.map(toUserPart));
}

function toUserPart(value: unknown): TextPart | FilePart {
  const { type, text, mediaType, name, data, url } = objectOrEmpty(value);
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type !== 'file' || typeof mediaType !== 'string') throw wrongInput();
  const file = { type, mediaType, ...(typeof name === 'string' ? { name } : {}) } as const;
  if (typeof data === 'string' && url === undefined) return { ...file, data };
  if (typeof url === 'string' && data === undefined) return { ...file, url };
  throw wrongInput();
}

const wrongInput = () =>
  new RequestError(400, 'Send `input` as a text, or as messages of the user with texts and files.');
