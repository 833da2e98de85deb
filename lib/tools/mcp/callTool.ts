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

/**
 * The progress of a call, as the server reports it. A type alias, since an interface is not assignable to a JSON
 * object.
 */
export type McpProgress = {
  /** The progress so far, in the server's own unit. It increases. */
  readonly progress: number;
  /** The total, if the server knows it. */
  readonly total?: number;
  /** A description. */
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
 * Calls a server's tool: emits its progress, then its result.
 *
 * Unsubscribing cancels the call: with `notifications/cancelled`, or by closing the stream of the request, depending on
 * the connection. An aborted signal cancels the call, too, and is an error notification.
 *
 * The result is not validated against the tool's output schema, which is not trusted: the client would compile its
 * regular expressions, and one like `^(a+)+$` blocks the process for minutes. The tool definition is passed without its
 * output schema, so the client does not validate.
 *
 * @param session Whose client sends the call.
 * @param definition The tool, as its server describes it.
 * @param args The arguments.
 * @param signal Cancels the call.
 * @param limits The time limits.
 * @returns Progress and the result. Fails with McpToolError when the tool fails, with the client's errors, and with
 * the reason of the signal. A result that is nested more than 500 levels deep is a ProtocolError.
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
