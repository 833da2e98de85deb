import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import type { Request, Thinking } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { WireRequest } from '../../protocol/wire.js';
import { functionTool, unsupportedBudgetError } from '../shared/encode.js';
import { encodeMessages, provider } from './messages.js';

/**
 * The request of Ollama's own API (`docs/openapi.yaml` of its repository, `ChatRequest`). What the request leaves open is left to the server's default.
 *
 * @param model The model's name.
 * @param request What is asked for.
 * @throws ConfigurationError `capability` or `options` for a wish or a file that the API has no field for.
 */
export function encodeOllama(model: string, request: Request): WireRequest {
  const tools = toolsFor(request);
  const options = omitUndefined({
    temperature: request.temperature,
    top_p: request.topP,
    num_predict: request.maxOutputTokens,
    stop: request.stopSequences?.length ? request.stopSequences : undefined,
    seed: request.seed,
  });
  const body = omitUndefined({
    model,
    messages: encodeMessages(request.messages),
    tools: tools?.map(functionTool),
    format: request.output,
    think: request.thinking === undefined ? undefined : encodeThinking(request.thinking),
    options: Object.keys(options).length > 0 ? options : undefined,
    stream: true,
  });
  return { path: '/api/chat', body };
}

/** The API has tools, and no word on how they are to be used: `none` leaves them out. */
function toolsFor({ tools = [], toolChoice, parallelToolCalls }: Request): readonly ToolDefinition[] | undefined {
  if (tools.length === 0 || toolChoice === 'none') return undefined;
  const refuse = (what: string, next: string) => new ConfigurationError('capability', `ollama ${what}.`, next);
  if (toolChoice !== undefined && toolChoice !== 'auto') {
    const wish = typeof toolChoice === 'string' ? toolChoice : toolChoice.name;
    throw refuse(
      `cannot be told to call a tool (toolChoice: ${wish})`,
      "Leave toolChoice at 'auto' or 'none', and ask for the call in the prompt.",
    );
  }
  if (parallelToolCalls === false)
    throw refuse('has no field that forbids several calls in one turn', 'Leave parallelToolCalls out.');
  return tools;
}

/** `think`: whether, or how much in three steps (`docs/capabilities/thinking`). */
function encodeThinking(thinking: Thinking): JsonValue {
  if (typeof thinking === 'boolean') return thinking;
  if (thinking.effort !== undefined) return thinking.effort === 'minimal' ? 'low' : thinking.effort;
  if (thinking.budget === undefined) return true;
  throw unsupportedBudgetError(provider, thinking.budget);
}
