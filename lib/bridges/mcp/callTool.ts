import type { Progress, RequestOptions } from '@modelcontextprotocol/client';
import { defer, fromEvent, map, of, takeUntil } from 'rxjs';
import type { Observable } from 'rxjs';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { progress } from '../../core/progress.js';
import type { Progress as MarkedProgress } from '../../core/progress.js';
import { fromRequest } from './client.js';
import type { McpClient } from './client.js';
import { resultOf } from './result.js';

/** How far a tool has come, as its server says. */
export type McpProgress = {
  /** What is done so far, in the server's own unit. It grows. */
  readonly progress: number;
  /** What there is to do, where the server knows it. */
  readonly total?: number;
  /** In words. */
  readonly message?: string;
};

/** How long a call may take. The client keeps these times, and cancels the call when they are over. */
export interface McpCallOptions {
  /** How long to wait for an answer, in milliseconds. Default: the client's, which is 60,000. */
  readonly timeout?: number;
  /** Whether progress starts that time anew. Default true. */
  readonly resetTimeoutOnProgress?: boolean;
  /** How long a call may take in all, whatever its progress, in milliseconds. Default: no limit. */
  readonly maxTotalTimeout?: number;
}

/**
 * Calls a server's tool: its progress, then its result.
 *
 * Unsubscribing cancels the call (`notifications/cancelled`, or the request's stream is closed, whichever the connection has); an aborted signal does so
 * too, and is an error notification.
 */
export function callTool(
  client: McpClient,
  name: string,
  args: JsonObject,
  signal: AbortSignal,
  { timeout, resetTimeoutOnProgress = true, maxTotalTimeout }: McpCallOptions,
): Observable<JsonValue | MarkedProgress<McpProgress>> {
  const options: RequestOptions = {
    resetTimeoutOnProgress,
    ...(timeout === undefined ? {} : { timeout }),
    ...(maxTotalTimeout === undefined ? {} : { maxTotalTimeout }),
  };
  return fromRequest<JsonValue | MarkedProgress<McpProgress>>(async (leave, next) => {
    const onprogress = (notification: Progress) => next(progress(plain(notification)));
    return resultOf(
      name,
      await client.callTool({ name, arguments: { ...args } }, { ...options, signal: leave, onprogress }),
    );
  }).pipe(takeUntil(aborted(signal)));
}

const plain = ({ progress, total, message }: Progress): McpProgress => ({
  progress,
  ...(total === undefined ? {} : { total }),
  ...(message === undefined ? {} : { message }),
});

const aborted = (signal: AbortSignal): Observable<never> =>
  defer(() => (signal.aborted ? of(undefined) : fromEvent(signal, 'abort'))).pipe(
    map(() => {
      throw signal.reason;
    }),
  );
