import type { Client } from '@modelcontextprotocol/client';
import { Observable, Subject } from 'rxjs';
import { ProtocolError } from '../../core/errors.js';
import { isRecord, nonEmptyString, objectOrEmpty, tryParseJson } from '../../core/json/json.js';
import { reportRejection } from '../../core/reportUnhandled.js';

/** The members of the official client that are used here, so that a wrapped client or a test double works as well. */
export type McpClient = Pick<
  Client,
  | 'transport'
  | 'getProtocolEra'
  | 'getServerCapabilities'
  | 'listTools'
  | 'request'
  | 'callTool'
  | 'listen'
  | 'setNotificationHandler'
  | 'removeNotificationHandler'
> &
  Partial<Pick<Client, 'setRequestHandler' | 'assertCanSetRequestHandler' | 'close' | 'onerror'>>;

/** The time limits of a call, which is cancelled when one has passed. They do not count the time of a person. */
export interface McpCallOptions {
  /**
   * How long to wait for a response, in milliseconds: one that requires something is followed by another request.
   * Default: the client's, which is 60,000.
   */
  readonly timeout?: number;
  /** Whether progress restarts that time. Default: true. */
  readonly resetTimeoutOnProgress?: boolean;
  /** How long a call may take with all its requests, whatever its progress, in milliseconds. Default: no limit. */
  readonly maxTotalTimeout?: number;
}

/** Of all sessions of a client: how many requests it has open, and whether its session is lost. */
const openRequests = new WeakMap<McpClient, number>();
const lostClients = new WeakSet<McpClient>();

/** With a function that connects, a lost session is opened again: by the first call that finds out, for all. */
export class McpSession {
  private readonly replacing = new Subject<McpClient>();
  /** Emits each client that has replaced a lost one. */
  readonly reopened = this.replacing.asObservable();
  private reopening: Promise<void> | undefined;

  constructor(
    public client: McpClient,
    private readonly connect?: () => Promise<McpClient>,
  ) {}

  /** Sends a request, and sends it once more in a new session if the server does not know this one. */
  readonly send = async <T>(request: (client: McpClient) => Promise<T>, isRepeated = false): Promise<T> => {
    if (lostClients.has(this.client)) await this.reopen(); // another subscription has lost and closed it
    const { client } = this;
    openRequests.set(client, (openRequests.get(client) ?? 0) + 1);
    try {
      return await request(client);
    } catch (thrown) {
      if (!this.connect || isRepeated || !isLostSession(client, thrown)) throw thrown;
      if (this.client === client) await this.reopen(); // otherwise, another call has opened it
    } finally {
      const others = (openRequests.get(client) ?? 1) - 1;
      openRequests.set(client, others);
      // Closing fails the requests that are open.
      if (others === 0 && lostClients.has(client)) reportRejection(client.close?.());
    }
    return this.send(request, true);
  };

  private reopen(): Promise<void> | undefined {
    return (this.reopening ??= this.connect?.()
      .then((client) => {
        if (client !== this.client) lostClients.add(this.client);
        this.client = client;
        this.replacing.next(client);
      })
      .finally(() => (this.reopening = undefined)));
  }
}

/** 404 by the specification. Many servers answer 400, as others do after they have executed a call. */
function isLostSession({ transport }: McpClient, thrown: unknown): boolean {
  const { status, data } = objectOrEmpty(thrown);
  const text = nonEmptyString(objectOrEmpty(data)['text'])?.trim() ?? '';
  const { error = text } = objectOrEmpty(tryParseJson(text));
  const { message = error } = objectOrEmpty(error);
  const sentence = nonEmptyString(message)?.replace(/^bad request: |\.$/gi, '') ?? '';
  const isUnknown = status === 404 || (status === 400 && noSession.some((known) => known.test(sentence)));
  return transport?.sessionId !== undefined && isUnknown;
}

/**
 * Whole sentences, since a part may be an argument of the call. The SDKs say "Bad Request: Server not initialized" (for
 * TypeScript; its examples, "No valid session ID provided"), "Missing session ID" (Python), "Invalid session ID" (Go).
 */
const noSession = [
  /^(no valid|missing|invalid|unknown)( or \w+)? (mcp.)?session.id( header| provided| or not an initialize request)?$/i,
  /^(mcp.)?session.id( header)?( is)? (required|missing)$/i,
  /^(session not found( or expired)?|(session|server) not initialized)$/i,
];

/** The reason for a cancellation, which the client sends to the server. */
export const cancelReason = 'No longer needed.';

/** Unsubscribing cancels the request. `send` receives the signal, and a function that emits before the response. */
export function fromRequest<T>(send: (signal: AbortSignal, next: (value: T) => void) => Promise<T>): Observable<T> {
  return new Observable<T>((out) => {
    const controller = new AbortController();
    out.add(() => controller.abort(cancelReason)); // after the response it has no effect
    send(controller.signal, (value) => out.next(value)).then(
      (value) => {
        out.next(value);
        out.complete();
      },
      (error: unknown) => {
        if (!out.closed) out.error(isTooDeepForClient(error) ? nestingError() : error);
      },
    );
  });
}

/** The client validates messages recursively: on deep nesting (some hundreds of levels) the stack overflows. */
export const isTooDeepForClient = (error: unknown): boolean => error instanceof Error && error.name === 'RangeError';

export const nestingError = (): ProtocolError =>
  new ProtocolError('mcp', 'frame', 'The response of the MCP server is nested too deeply to be read.', '');

/** A schema for any object, as the client takes them (https://standardschema.dev). */
export const anyResult = {
  '~standard': {
    version: 1,
    vendor: 'rivulet',
    validate: (value: unknown) =>
      isRecord(value) ? { value } : { issues: [{ message: 'The result is not an object.' }] },
  },
} as const;
