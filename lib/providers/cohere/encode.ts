import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { Fields, JsonObject } from '../../core/json/json.js';
import type { Request, Thinking } from '../../core/model.js';
import type { WireRequest } from '../../protocol/wire.js';
import { functionTool } from '../shared/encode.js';
import { encodeMessages } from './messages.js';

/**
 * The request of the Chat API (docs.cohere.com, "Chat with Streaming", v2). What the request leaves open is left to the API.
 *
 * @param model The model's name.
 * @param request What is asked for.
 * @throws ConfigurationError for a file or a wish that the API has no field for.
 */
export function encodeChat(model: string, request: Request): WireRequest {
  const { tools = [], output, thinking } = request;
  if (output !== undefined && tools.length > 0) {
    throw new ConfigurationError(
      'capability',
      'cohere does not take tools and an output schema in one request.',
      'Leave one of them out, or run the tools first and ask for the typed output then.',
    );
  }
  const body = omitUndefined({
    model,
    messages: encodeMessages(request.messages, { thinking: thinking !== false }),
    ...encodeTools(request),
    response_format: output && { type: 'json_object', json_schema: output },
    temperature: request.temperature,
    p: request.topP,
    max_tokens: request.maxOutputTokens,
    stop_sequences: request.stopSequences?.length ? request.stopSequences : undefined,
    seed: request.seed,
    thinking: thinking === undefined ? undefined : encodeThinking(thinking),
    stream: true,
  });
  return { path: '/chat', body };
}

/**
 * `tool_choice` is `REQUIRED` or `NONE`, or absent for `auto`. It cannot name a tool: then only that one is offered, which comes to the same.
 */
function encodeTools({ tools = [], toolChoice, parallelToolCalls }: Request): Fields {
  if (tools.length === 0) return {};
  if (parallelToolCalls === false)
    throw refused('always lets its models make several calls in one turn', 'Leave parallelToolCalls out.');
  if (typeof toolChoice !== 'object') {
    const choice = toolChoice === 'required' ? 'REQUIRED' : toolChoice === 'none' ? 'NONE' : undefined;
    return { tools: tools.map(functionTool), tool_choice: choice };
  }
  const { name } = toolChoice;
  const only = tools.filter((tool) => tool.name === name);
  if (only.length === 0)
    throw refused(
      `cannot be made to call "${name}", which is not among the tools`,
      'Add the tool, or change toolChoice.',
    );
  return { tools: only.map(functionTool), tool_choice: 'REQUIRED' };
}

/** Efforts as budgets, since the API knows only these. `high` is without one. */
const budgets = { minimal: 512, low: 2048, medium: 8192, high: undefined } as const;

/** `thinking` of the API's reference: on by default in models that can, and limited by a budget. */
function encodeThinking(thinking: Thinking): JsonObject {
  if (typeof thinking === 'boolean') return { type: thinking ? 'enabled' : 'disabled' };
  const { budget, effort } = thinking;
  return omitUndefined({
    type: 'enabled',
    token_budget: budget ?? (effort === undefined ? undefined : budgets[effort]),
  });
}

const refused = (what: string, next: string) => new ConfigurationError('options', `cohere ${what}.`, next);
