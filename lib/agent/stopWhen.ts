import { optionsError } from '../core/errors.js';
import type { RunState } from '../core/event.js';
import { hasToolResults, toolCallsOf } from '../core/message.js';
import { requireGiven, requireAnswer } from '../core/options.js';
import { costOf, requirePrices, type Prices } from '../core/prices.js';
import { countRepeatedCalls } from '../core/repeatedCalls.js';
import type { Usage } from '../core/usage.js';

/** A condition that ends a run between two turns. */
export interface StopCondition {
  /** The `rawReason` of a run that this condition ends. */
  readonly name: string;
  /**
   * Whether the run ends.
   *
   * @param state The state from which the next turn would start.
   * @param elapsed The time since the run was subscribed, in milliseconds.
   */
  holds(state: RunState, elapsed: number): boolean;
}

export type StopWhen = OneCondition | readonly OneCondition[];

type OneCondition = StopCondition | ((state: RunState) => boolean);

/**
 * Ends a run after a number of turns. Unlike `maxTurns`, it can be a part of `allOf`.
 *
 * @param count The number of turns, including those before a resumed state.
 */
export function turnCount(count: number): StopCondition {
  requireGiven('turnCount', count, 0);
  return { name: 'turnCount', holds: ({ turn }) => turn >= count };
}

/**
 * Ends a run when the last turn called a tool. A call that was answered with an error does not count, so that the model
 * can repair it.
 *
 * ```ts
 * createAgent({ model, tools: [search, submit], stopWhen: toolCalled('submit') });
 * ```
 *
 * @param name The name of the tool.
 */
export function toolCalled(name: string): StopCondition {
  return {
    name: 'toolCalled',
    holds: ({ messages }) =>
      messages
        .findLast(hasToolResults)
        ?.parts.some((part) => part.type === 'toolResult' && part.name === name && part.error === undefined) ?? false,
  };
}

/**
 * Ends a run when its turns have used a number of tokens, input and output together.
 *
 * It is checked between turns, so the last turn can exceed the budget. A turn whose usage the provider does not report
 * does not count: with a server that never reports it, the run does not end here. Add `turnCount` or `elapsed`.
 *
 * @param tokens The number of tokens, including those before a resumed state.
 */
export function tokenBudget(tokens: number): StopCondition {
  requireGiven('tokenBudget', tokens, 0);
  return { name: 'tokenBudget', holds: ({ usage: { total = 0 } }) => total >= tokens };
}

/**
 * Ends a run when its turns have cost an amount of money, by prices that the application knows.
 *
 * ```ts
 * const prices = { input: 1.25, output: 10, cachedInput: 0.125 }; // dollars per million tokens
 * createAgent({ model, tools, stopWhen: costBudget({ prices, max: 0.5 }) });
 * createAgent({ model: priceModel(fallback(models), pricesByModel), tools, stopWhen: costBudget({ max: 0.5 }) });
 * ```
 *
 * As with `tokenBudget`, the last turn can exceed the budget, and a turn without usage costs nothing.
 *
 * @param options `max`, the amount; `prices` of a million tokens, in the same currency, if the run has one model
 * (default: the cost that `priceModel` has added, by the model that answers).
 */
export function costBudget(options: { readonly prices?: Prices | undefined; readonly max: number }): StopCondition {
  const { prices, max } = options;
  requireGiven('max', max, 0);
  if (prices !== undefined) requirePrices('The prices', prices);
  const cost = (usage: Usage): number => (prices ? costOf(usage, prices) : (usage.cost ?? 0));
  return { name: 'costBudget', holds: ({ usage }) => cost(usage) >= max };
}

/**
 * Ends a run between two turns when a time has passed since it was subscribed. The turn that runs then is completed; to
 * abort it, use `stop: timer(milliseconds)`.
 *
 * @param milliseconds The time, by RxJS's clock. In a resumed run it starts again.
 */
export function elapsed(milliseconds: number): StopCondition {
  requireGiven('elapsed', milliseconds, 0);
  return { name: 'elapsed', holds: (_state, time) => time >= milliseconds };
}

/**
 * Ends a run when a number of turns in a row have made the same call: the same tool with the same arguments. Other
 * calls of these turns do not matter. The tool `limitRepeatsTool` tells the model before the run ends.
 *
 * @param turns The number of turns.
 */
export function repeatedCalls(turns: number): StopCondition {
  requireGiven('repeatedCalls', turns, 1);
  return {
    name: 'repeatedCalls',
    holds({ messages }) {
      const last = messages.findLast(({ role }) => role === 'model');
      return last !== undefined && toolCallsOf(last).some((call) => countRepeatedCalls(messages, call) >= turns);
    },
  };
}

/**
 * A condition that holds if all of the conditions hold.
 *
 * ```ts
 * createAgent({ model, tools, stopWhen: [costBudget({ prices, max: 1 }), allOf(turnCount(5), toolCalled('submit'))] });
 * ```
 *
 * @param conditions The conditions. Their names, joined, are the name of the returned condition.
 */
export function allOf(...conditions: readonly OneCondition[]): StopCondition {
  const all = conditions.map(toCondition);
  return {
    name: all.map(({ name }) => name).join(' and '),
    holds: (state, time) => all.length > 0 && all.every((condition) => isMet(condition, state, time)),
  };
}

/** @throws ConfigurationError `options` for what is not a condition. */
export const toConditions = (stopWhen: StopWhen): readonly StopCondition[] =>
  ([stopWhen].flat() as readonly OneCondition[]).map(toCondition);

export const reachedLimit = (conditions: readonly StopCondition[], state: RunState, time: number): string | undefined =>
  conditions.find((condition) => isMet(condition, state, time))?.name;

const isMet = (condition: StopCondition, state: RunState, time: number) =>
  requireAnswer(`stopWhen: ${condition.name}`, condition.holds(state, time));

function toCondition(condition: OneCondition): StopCondition {
  if (typeof condition === 'function') return { name: condition.name || 'stopWhen', holds: condition };
  if (typeof (condition as Partial<StopCondition> | null)?.holds === 'function') return condition;
  throw optionsError(
    `stopWhen has ${JSON.stringify(condition)}, which is not a condition.`,
    'Pass turnCount(5), toolCalled("submit") or another condition, or a function of the state.',
  );
}
