import { defer, EMPTY, retry, throwIfEmpty, timer, type ObservableInput } from 'rxjs';
import { callToolWrapper } from '../core/callWrapper.js';
import { MAX_TIMER_DELAY, requireAnswer, requireNumber } from '../core/options.js';
import type { Tool } from '../core/tool.js';
import { ToolFailure } from '../operators/execute/toolFailure.js';
import { wrapTool } from './wrapTool.js';

export interface RetryToolOptions {
  readonly count?: number | undefined;
  /**
   * The time before a retry, in milliseconds, or a function that returns an ObservableInput whose first value starts it
   * (empty: no retry); `retryCount` starts at 1. Default: 1 second, doubled with each retry.
   */
  readonly delay?: number | ((error: unknown, retryCount: number) => ObservableInput<unknown>) | undefined;
  readonly when?: ((error: unknown) => boolean) | undefined;
}

/**
 * Executes a tool again if it fails.
 *
 * <span class="informal">RxJS's `retry` around a tool.</span>
 *
 * ![](../../marbles/retryTool.svg)
 *
 * Each attempt is a call of `execute` with the same arguments and a signal of its own. Progress of a failed attempt
 * remains. The model sees only the result of the last attempt, or its error. Unsubscribing the call ends the attempt or
 * the wait. Use it only for tools that may run more than once for one call. A question that a person declines or
 * cancels is not asked again: errors of the codes `denied` and `cancelled` are not retried.
 *
 * ```ts
 * const search = retryTool(searchWeb, { count: 2, when: (error) => error instanceof NetworkError });
 * const weather = pipe(retryTool({ count: 2 }), cacheTool({ ttl: 60_000 }))(getWeather);
 * ```
 *
 * @param tool The tool. It may be left out.
 * @param options `count` (default: 3), `delay` (default: 1 second, doubled with each retry), `when` (default: every
 * error).
 * @returns A tool of the same type. Without `tool`, a function of a tool, for rxjs's `pipe`.
 * @throws ConfigurationError `options` if `count` or `delay` is negative or not a number.
 */
export function retryTool<T extends Tool>(tool: T, options?: RetryToolOptions): T;
export function retryTool(options?: RetryToolOptions): <T extends Tool>(tool: T) => T;
export function retryTool(...args: readonly unknown[]) {
  return callToolWrapper(args, retried);
}

function retried({ count = 3, delay = exponentialDelay, when = () => true }: RetryToolOptions = {}) {
  requireNumber('count', count, 0);
  if (typeof delay !== 'function') requireNumber('delay', delay, 0);
  const wait = typeof delay === 'number' ? () => timer(Math.min(delay, MAX_TIMER_DELAY)) : delay;
  return wrapTool((run) =>
    run.pipe(
      retry({
        count,
        delay: (error: unknown, retryCount) =>
          defer(() =>
            !isDecision(error) && requireAnswer('when', when(error)) ? wait(error, retryCount) : EMPTY,
          ).pipe(throwIfEmpty(() => error)),
      }),
    ),
  );
}

/** A person has declined or cancelled a question: another attempt gets the same answer. */
const isDecision = (error: unknown): boolean =>
  error instanceof ToolFailure && (error.code === 'denied' || error.code === 'cancelled');

const exponentialDelay = (_error: unknown, retryCount: number) =>
  timer(Math.min(1000 * 2 ** (retryCount - 1), MAX_TIMER_DELAY));
