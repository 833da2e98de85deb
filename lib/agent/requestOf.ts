import type { RunState } from '../core/event.js';
import type { ModelRequest } from '../core/model.js';
import { outputSchema } from '../core/outputWrapper.js';
import type { TurnContext } from './orchestrator.js';
import { turnRequest } from './toolLoop.js';

/**
 * Creates the request of a turn: the system prompt and the history, the definitions of the tools, and the settings. A
 * custom orchestrator that calls `model.stream` itself needs it.
 *
 * ```ts
 * const draft = model.stream(requestOf(state, { ...context, tools: [] }));
 * ```
 *
 * If the root of the output's schema is not an object, the schema is wrapped in one: see `unwrapOutput`.
 *
 * @param state The state from which the turn starts.
 * @param context The tools, the options and the schema of the output; `messages` replaces the history of the state.
 * @returns The request.
 * @throws ConfigurationError `schema` if the parameters of a tool or the output have no valid schema.
 */
export function requestOf(state: RunState, context: Omit<TurnContext, 'model'>): ModelRequest {
  const request = turnRequest(state, context);
  return request.output ? { ...request, output: outputSchema(request.output) } : request;
}
