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
>;

/** The reason for a cancellation, which the client sends to the server. */
export const cancelReason = 'No longer needed.';

/**
 * Unsubscribing cancels the request, which the client then rejects: that is ignored, as there is no subscriber. `send`
 * receives the signal, and a function that emits a value before the response.
 */
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
        if (!out.closed) out.error(toTypedError(error));
      },
    );
  });
}

function toTypedError(error: unknown): unknown {
  return isTooDeepForClient(error) ? nestingError() : error;
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
