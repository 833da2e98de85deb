import { MAX_ANSWERS, type CallAnswers } from '../../core/approval.js';
import { isRecord, objectOrEmpty, tryParseFinite } from '../../core/json/json.js';
import { userMessage, type FilePart, type Message, type TextPart } from '../../core/message.js';
import { MAX_EARLIER_RUNS, type EarlierRun } from '../../transport/earlierRun.js';
import { isUnguessable } from '../../transport/randomId.js';
import { RequestError } from './requestError.js';
import { withoutRunFiles } from './runFiles.js';
import type { RunMessage } from '../ports/runLog.js';

export interface StartRequest {
  readonly input: readonly Message[];
  readonly resume?: undefined;
  readonly answers?: undefined;
  readonly history: readonly EarlierRun[];
}

interface JoinRequest {
  readonly resume?: undefined;
  readonly input?: undefined;
  /** For a run that waits in memory. */
  readonly answers?: CallAnswers;
}

export interface ResumeRequest {
  readonly resume: string;
  readonly input?: undefined;
  readonly answers: CallAnswers;
}

export type AgentRequest = StartRequest | ResumeRequest | JoinRequest;

/**
 * Reads the body of a request of `remoteAgent`. An empty one joins a run.
 *
 * @throws RequestError 400 if it is not such a request.
 */
export const readRequest = (text: string): AgentRequest => toRequest(text === '' ? {} : tryParseFinite(text));

function toRequest(body: unknown): AgentRequest {
  if (!isRecord(body)) throw new RequestError(400, 'Send a JSON object.');
  const { input, history = [], resume, decisions = {}, results = {}, errors = {} } = body;
  const isId = resume === undefined || isUnguessable(resume);
  if (!isId || ![decisions, results, errors].every(isRecord))
    throw new RequestError(
      400,
      'Send `resume` as the id of a run, and `decisions`, `results` and `errors` as objects.',
    );
  if ([decisions, results, errors].some((given) => Object.keys(given as object).length > MAX_ANSWERS))
    throw new RequestError(400, `Send at most ${MAX_ANSWERS} answers.`);
  const answers = { decisions, results, errors } as CallAnswers;
  if (resume !== undefined) return { resume, answers };
  if (input !== undefined) return { input: toUserMessages(input), history: toEarlierRuns(history) };
  const fields = Object.keys(body);
  if (fields.length === 0) return {};
  if (fields.some((field) => Object.hasOwn(answers, field))) return { answers };
  throw wrongInput(); // a misspelt `input` would join a run that nobody knows
}

export const asksForWaiting = ({ method, url }: Request): boolean =>
  method === 'GET' && new URL(url).searchParams.get('state') === 'waiting';

export const isForChats = ({ method, url }: Request): boolean =>
  ['GET', 'PUT'].includes(method) || new URL(url).searchParams.has('chat');

/**
 * Reads a message to a run: `DELETE` stops it, or cancels a call, and `PATCH` sends a prompt.
 *
 * @throws RequestError 400 if it is a `PATCH` without input.
 */
export function toRunMessage({ method, url }: Request, body: AgentRequest): RunMessage {
  if (method === 'PATCH') {
    if (body.resume !== undefined || !body.input) throw wrongInput();
    return { type: 'prompt', input: body.input };
  }
  const call = new URL(url).searchParams.get('call');
  return call === null ? { type: 'stop' } : { type: 'cancel', id: call };
}

/** Reads the earlier runs of a request. Each id may occur once, since each one is read from the store. */
function toEarlierRuns(value: unknown): readonly EarlierRun[] {
  if (!Array.isArray(value) || value.length > MAX_EARLIER_RUNS)
    throw new RequestError(400, `Send \`history\` as a list of at most ${MAX_EARLIER_RUNS} earlier runs.`);
  const runs = value.map(toEarlierRun);
  if (new Set(runs.map(({ id }) => id)).size < runs.length)
    throw new RequestError(400, 'Send each run of `history` once.');
  return runs;
}

function toEarlierRun(value: unknown): EarlierRun {
  const { id, input, hasBegun } = objectOrEmpty(value);
  if (!isUnguessable(id) || !Array.isArray(input))
    throw new RequestError(400, 'Send `history` as a list of objects with the `id` and the `input` of earlier runs.');
  return { id, input: withoutRunFiles(input.map(toUserMessage)), hasBegun: hasBegun === true };
}

function toUserMessages(input: unknown): readonly Message[] {
  if (typeof input === 'string') return [userMessage(input)];
  const messages: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (messages.length === 0) throw wrongInput();
  return messages.map(toUserMessage);
}

/**
 * Reads a message of the user. System prompts, answers of the model and results are rejected. Only these fields are
 * copied: with `providerOptions` or `providerData`, a page could set any field of the request to the provider.
 */
function toUserMessage(value: unknown): Message {
  const { id, role, parts } = objectOrEmpty(value);
  if (role !== 'user' || !Array.isArray(parts) || parts.length === 0) throw wrongInput();
  return { ...(isUnguessable(id) ? { id } : {}), ...userMessage(parts.map(toUserPart)) };
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

export const wrongInput = () =>
  new RequestError(400, 'Send `input` as a text, or as messages of the user with texts and files, or `resume`.');
