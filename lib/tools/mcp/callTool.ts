import type {
  CallToolRequestOptions,
  Progress as ProgressNotification,
  Tool as ServerTool,
} from '@modelcontextprotocol/client';
import { defer, fromEvent, map, of, takeUntil } from 'rxjs';
import type { Observable } from 'rxjs';
import { omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { progress } from '../../core/progress.js';
import type { Progress } from '../../core/progress.js';
import { fromRequest, nestingError } from './client.js';
import type { McpSession } from './client.js';
import { isDeeperThan } from '../../core/json/depth.js';
import { toResult } from './result.js';

/** A type alias, since an interface is not assignable to a JSON object. */
export type McpProgress = {
  /** The progress so far, in the server's own unit. It increases. */
  readonly progress: number;
  /** The total, if the server knows it. */
  readonly total?: number;
  readonly message?: string;
};

/** The time limits of a call. The client measures them, and cancels the call when one has passed. */
export interface McpCallOptions {
  /** How long to wait for the response, in milliseconds. Default: the client's, which is 60,000. */
  readonly timeout?: number;
  /** Whether progress restarts that time. Default: true. */
  readonly resetTimeoutOnProgress?: boolean;
  /** How long a call may take in total, whatever its progress, in milliseconds. Default: no limit. */
  readonly maxTotalTimeout?: number;
}

/**
 * Unsubscribing or an aborted signal cancels the call. The tool is passed without its output schema, which is not
 * trusted: the client would compile its regular expressions, and one like `^(a+)+$` blocks the process for minutes.
 */
export function callTool(
  session: McpSession,
  definition: ServerTool,
  args: JsonObject,
  signal: AbortSignal,
  { timeout, resetTimeoutOnProgress = true, maxTotalTimeout }: McpCallOptions,
): Observable<JsonValue | Progress<McpProgress>> {
  const { outputSchema: _, ...toolDefinition } = definition;
  const { name } = definition;
  const limits = { resetTimeoutOnProgress, ...omitUndefined({ timeout, maxTotalTimeout }) };
  return fromRequest<JsonValue | Progress<McpProgress>>((requestSignal, next) => {
    const onprogress = (notification: ProgressNotification) => next(progress(toProgress(notification)));
    const options: CallToolRequestOptions = { ...limits, signal: requestSignal, onprogress, toolDefinition };
    const call = session.send((client) => client.callTool({ name, arguments: { ...args } }, options));
    return call.then((response): JsonValue => {
      if (isDeeperThan(response, MAX_RESPONSE_DEPTH)) throw nestingError();
      return toResult(name, response);
    });
  }).pipe(takeUntil(throwIfAborted(signal)));
}

/** Later steps are recursive: comparing texts with structured content, and sending the result to the model. */
const MAX_RESPONSE_DEPTH = 500;

const toProgress = ({ progress: done, total, message }: ProgressNotification): McpProgress => ({
  progress: done,
  ...omitUndefined({ total, message }),
});

const throwIfAborted = (signal: AbortSignal): Observable<never> =>
  defer(() => (signal.aborted ? of(undefined) : fromEvent(signal, 'abort'))).pipe(
    map(() => {
      throw signal.reason;
    }),
  );
