import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { Fields, JsonObject } from '../../core/json/json.js';
import type { Request, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { WireRequest } from '../../protocol/wire.js';
import { encodeConversation } from './messages.js';
import { thinkingBehind, thinkingFields } from './models.js';
import { outputSchema } from './schema.js';
import { lastContainer, lostContainer, runsCode, uniqueTools } from './serverTools.js';
import type { AnthropicTool } from './serverTools.js';

/**
 * The request of the Messages API (its reference, "Create a Message"): streamed. What the request leaves open is left to the API, except for
 * `max_tokens`, which it demands.
 *
 * @param model The model's name.
 * @param request What is asked for.
 * @param serverTools The tools that Anthropic runs. Code goes on in the container of the last answer; if that is gone, in a new one. Default: none.
 * @throws ConfigurationError `options` for a seed, a file or a wish about thinking that the API has no field for, and for a tool of a name that one
 * of Anthropic's has.
 */
export function encodeRequest(
  model: string,
  request: Request,
  serverTools: readonly AnthropicTool[] = [],
): WireRequest {
  if (request.seed !== undefined) {
    throw new ConfigurationError(
      'options',
      `anthropic takes no seed (${request.seed}).`,
      'Leave seed out; temperature: 0 varies least.',
    );
  }
  const conversation = encodeConversation(request.messages);
  const { effort, ...thinking } = thinkingBehind(thinkingFields(model, request), conversation.messages);
  const format = request.output && { type: 'json_schema', schema: outputSchema(request.output) };
  const body = omitUndefined({
    model,
    ...conversation,
    ...encodeTools(request, uniqueTools(serverTools)),
    ...thinking,
    output_config: format !== undefined || effort !== undefined ? omitUndefined({ format, effort }) : undefined,
    temperature: request.temperature,
    top_p: request.topP,
    stop_sequences: request.stopSequences?.length ? request.stopSequences : undefined,
    stream: true,
  });
  const sent = { path: '/messages', headers: { 'anthropic-version': '2023-06-01' }, body };
  const container = runsCode(serverTools) ? lastContainer(request.messages) : undefined;
  if (container === undefined) return sent;
  return { ...sent, body: { ...body, container }, fallback: (error) => (lostContainer(error) ? sent : undefined) };
}

/** A tool choice without tools is refused. */
function encodeTools(
  { tools = [], toolChoice, parallelToolCalls }: Request,
  serverTools: readonly AnthropicTool[],
): Fields {
  const definitions = serverTools.map(({ definition }) => definition);
  const taken = tools.find(({ name }) => definitions.some((definition) => definition['name'] === name));
  if (taken) {
    const what = `anthropic has two tools of the name "${taken.name}": one of its own (serverTools), and one of yours.`;
    throw new ConfigurationError('options', what, 'Rename yours, or leave one of the two out.');
  }
  if (tools.length + definitions.length === 0) return {};
  const one = parallelToolCalls === false;
  const choice = toolChoice ?? (one ? 'auto' : undefined);
  return { tools: [...tools.map(encodeTool), ...definitions], tool_choice: choice && encodeToolChoice(choice, one) };
}

/** The API demands a schema of type object. */
function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  return { name, description, input_schema: { ...parameters, type: 'object' } };
}

function encodeToolChoice(choice: ToolChoice, one: boolean): JsonObject {
  if (choice === 'none') return { type: 'none' };
  const single = one ? { disable_parallel_tool_use: true } : {};
  if (typeof choice === 'object') return { type: 'tool', name: choice.name, ...single };
  return { type: choice === 'required' ? 'any' : 'auto', ...single };
}
