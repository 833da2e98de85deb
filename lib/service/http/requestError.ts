import { isElsewhere } from '../runs/runErrors.js';

/** What the sentence of a refusal says, for a page that translates it. */
interface Refusal {
  readonly code: string;
  /** The limits that the sentence names. Default: it names none. */
  readonly params?: Readonly<Record<string, number>>;
}

/** A request of a client that is not answered with a run. */
export class RequestError extends Error {
  constructor(
    readonly status: 400 | 403 | 404 | 405 | 408 | 409 | 413 | 415 | 421 | 429 | 500 | 503,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
    readonly refusal?: Refusal,
  ) {
    super(message);
  }

  /** The body of the response. */
  body() {
    return { error: { message: this.message, ...this.refusal } };
  }
}

/** The response to a request that has failed. One for the events of a run has the error among them. */
export function refusal(thrown: unknown, onError: (thrown: unknown) => void): Response {
  const known = isElsewhere(thrown) ? elsewhere() : thrown;
  if (!(known instanceof RequestError)) onError(thrown);
  const error = known instanceof RequestError ? known : new RequestError(500, 'The service has failed.');
  return Response.json(error.body(), { status: error.status, headers: error.headers });
}

/** A refusal that passes: the client sends the request again. */
export const later = (status: 429 | 503, message: string, seconds = 5, refused?: Refusal) =>
  new RequestError(status, message, { 'retry-after': String(seconds) }, refused);

export const conversationTooLarge = (message: string, max: number) =>
  new RequestError(413, message, {}, { code: 'conversation_too_large', params: { max } });

/** The answer to a request for a run that another process executes. */
export const elsewhere = () => later(503, 'Another process executes this run. Ask again.');

/** The log of a run has not taken a message: the run begins, or ends, in this moment. */
export function requireTaken(isTaken: boolean): boolean {
  if (!isTaken) throw elsewhere();
  return true;
}

/** The answer of a process that leaves its runs to another one. */
export const leaving = () => later(503, 'This process ends. Ask again.', 1);

export const lateStore = () => later(503, 'The store of the service does not answer. Ask again.');

/** The longest name that a client may choose for a thread, a chat or a message. */
const MAX_NAME_LENGTH = 200;

/**
 * Creates the id of a record from a name that a client chose. The names of different owners never collide.
 *
 * @throws RequestError 400 if the name is empty, too long, or contains control characters.
 */
export const namedId = (kind: string, owner: string, name: string): string =>
  [kind, owner, requireName(name)].map(encodeURIComponent).join(':');

/**
 * Returns the name that a client has chosen for a thread, a chat or a message.
 *
 * @throws RequestError 400 if the name is empty, too long, or no text.
 */
export function requireName(name: string): string {
  if (name === '' || name.length > MAX_NAME_LENGTH || /[\p{Cc}\p{Cs}]/u.test(name))
    throw new RequestError(400, `Send ids of 1 to ${MAX_NAME_LENGTH} characters, without control characters.`);
  return name;
}

/**
 * Requires JSON: a page of another site can send a form or a plain text without asking the server first.
 *
 * @throws RequestError 415 if the content is of another type.
 */
export function requireJson({ headers }: Request): void {
  if (!/^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? ''))
    throw new RequestError(415, 'Send the header `content-type: application/json`.');
}
