import type { Client } from '@modelcontextprotocol/client';
import { Observable } from 'rxjs';
import { ProtocolError } from '../../core/errors.js';
import { isRecord } from '../../core/json/json.js';

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
  Partial<Pick<Client, 'setRequestHandler' | 'assertCanSetRequestHandler'>>;

/** The time limits of a call. The client measures them, and cancels the call when one has passed. */
export interface McpCallOptions {
  /** How long to wait for the response, in milliseconds. Default: the client's, which is 60,000. */
  readonly timeout?: number;
  /** Whether progress restarts that time. Default: true. */
  readonly resetTimeoutOnProgress?: boolean;
  /** How long a call may take in total, whatever its progress, in milliseconds. Default: no limit. */
  readonly maxTotalTimeout?: number;
}

/** With a function that connects, a lost session is opened again: by the first call that finds out, for all. */
export class McpSession {
  private reopening: Promise<McpClient> | undefined;

  constructor(
    public client: McpClient,
    private readonly connect?: () => Promise<McpClient>,
  ) {}

  /** Sends a request, and sends it once more in a new session if the server does not know this one. */
  readonly send = async <T>(request: (client: McpClient) => Promise<T>): Promise<T> => {
    const { client, connect } = this;
    try {
      return await request(client);
    } catch (thrown) {
      if (!connect || !isLostSession(client, thrown)) throw thrown;
      // Otherwise, another call has opened it.
      if (this.client === client)
        this.client = await (this.reopening ??= connect().finally(() => (this.reopening = undefined)));
      return request(this.client);
    }
  };
}

/** 404 by the specification; many servers answer 400. They have executed nothing. */
const isLostSession = ({ transport }: McpClient, thrown: unknown): boolean => {
  const { status } = isRecord(thrown) ? thrown : {};
  return transport?.sessionId !== undefined && (status === 404 || status === 400);
};

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
