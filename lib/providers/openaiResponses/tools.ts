import type { JsonObject, JsonValue } from '../../core/json.js';
import type { Request, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import { isStrict } from '../shared/isStrict.js';
import type { Fields } from '../shared/values.js';
import { inContainer } from './containers.js';
import type { ResponsesTool } from './serverTools.js';

/**
 * The tools of a request, those that OpenAI runs behind ours, and how they are chosen. A tool choice without tools is refused.
 *
 * @param request What is asked for.
 * @param serverTools The tools that OpenAI runs.
 * @param container The container that the code interpreter is to go on in, where it has no other.
 */
export function encodeTools(
  { tools = [], toolChoice, parallelToolCalls }: Request,
  serverTools: readonly ResponsesTool[],
  container: string | undefined,
): Fields {
  const own = serverTools.map(({ definition }) => definition);
  if (tools.length + own.length === 0) return {};
  return {
    tools: [...tools.map(encodeTool), ...own.map((definition) => inContainer(definition, container))],
    tool_choice: toolChoice && encodeToolChoice(toolChoice, tools, own),
    parallel_tool_calls: parallelToolCalls,
  };
}

/** `strict` is always said: left out, the API makes a schema strict where it can, so that optional parameters become required. */
function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  const some = Object.keys(parameters['properties'] ?? {}).length > 0;
  return { type: 'function', name, description, parameters, strict: some && isStrict(parameters) };
}

/** A name is that of a function; otherwise the type of a tool that OpenAI runs (`web_search`), or the label of an MCP server. */
function encodeToolChoice(choice: ToolChoice, tools: readonly ToolDefinition[], own: readonly JsonObject[]): JsonValue {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  if (!tools.some((tool) => tool.name === name)) {
    if (own.some(({ type }) => type === name)) return { type: name };
    if (own.some(({ server_label: label }) => label === name)) return { type: 'mcp', server_label: name };
  }
  return { type: 'function', name };
}
