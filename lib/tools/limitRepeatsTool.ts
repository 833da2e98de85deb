import { defer } from 'rxjs';
import { callToolWrapper } from '../core/callWrapper.js';
import { toolCallsOf, type Message, type ToolCallPart } from '../core/message.js';
import { requireNumber } from '../core/options.js';
import { countRepeatedCalls } from '../core/repeatedCalls.js';
import type { Tool } from '../core/tool.js';
import { ToolFailure } from '../operators/execute/toolFailure.js';
import { wrapTool } from './wrapTool.js';

export interface LimitRepeatsToolOptions {
  /** How many turns in a row may make the same call. Default: 3. */
  readonly max?: number | undefined;
}

/**
 * Does not execute a call that the model has made in several turns in a row, with the same arguments.
 *
 * <span class="informal">Tells a model that is stuck in a loop.</span>
 *
 * ![](../../marbles/limitRepeatsTool.svg)
 *
 * Instead of a result, the model receives an error (with the code `not_executed`) that says how often it has made this
 * call, and what to do. Models that only need a hint continue from there. For those that do not, end the run with the
 * condition `repeatedCalls`, which counts in the same way.
 *
 * Turns are counted in the history, so the count survives a checkpoint. It starts again with another input of the user,
 * and after a turn without the call. The order of the keys of the arguments does not matter. Do not wrap a tool that is
 * meant to be called repeatedly, for example to ask for the status of a job.
 *
 * ```ts
 * createAgent({
 *   model,
 *   tools: [limitRepeatsTool(search, { max: 3 })], // the 4th call is answered with an error,
 *   stopWhen: repeatedCalls(5), // and after the 5th the run ends
 * });
 * ```
 *
 * @param tool The tool. It may be left out.
 * @param options `max` (default: 3).
 * @returns A tool of the same type. Without `tool`, a function of a tool, for rxjs's `pipe`.
 * @throws ConfigurationError `options` if `max` is less than 1.
 */
export function limitRepeatsTool<T extends Tool>(tool: T, options?: LimitRepeatsToolOptions): T;
export function limitRepeatsTool(options?: LimitRepeatsToolOptions): <T extends Tool>(tool: T) => T;
export function limitRepeatsTool(...args: readonly unknown[]) {
  return callToolWrapper(args, limited);
}

function limited({ max = 3 }: LimitRepeatsToolOptions = {}) {
  requireNumber('max', max, 1);
  return wrapTool((run, _args, context) =>
    defer(() => {
      // `wrapTool` without a tool knows only the context that all tools share.
      const { call, messages } = context as { readonly call: ToolCallPart; readonly messages: readonly Message[] };
      const count = countRepeatedCalls(messagesBefore(call, messages), call);
      if (count >= max) throw new ToolFailure('not_executed', repeatedText(count));
      return run;
    }),
  );
}

function messagesBefore({ id }: ToolCallPart, messages: readonly Message[]): readonly Message[] {
  const current = messages.findLastIndex((message) => toolCallsOf(message).some((call) => call.id === id));
  return current < 0 ? messages : messages.slice(0, current); // -1: the message with the call follows them
}

const repeatedText = (count: number) =>
  `The call was not executed: you made it in the previous ${count === 1 ? 'turn' : `${count} turns`} too, with the ` +
  'same arguments. Use the results that you have, change the arguments, or answer without this tool.';
