import { nonEmptyString, type Fields, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { ModelRequest, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import { mergeJson } from '../../protocol/request.js';
import { isStrict } from '../shared/strictSchema.js';
import { provider } from './models.js';

/** Without tools, the API rejects a tool choice. */
export function encodeTools(
  { tools = [], toolChoice, parallelToolCalls }: ModelRequest,
  serverTools: readonly JsonObject[] = [],
): Fields {
  const all = [...tools.map(encodeTool), ...serverTools];
  if (all.length === 0) return {};
  return {
    tools: all,
    tool_choice: toolChoice && encodeToolChoice(toolChoice, tools, all),
    parallel_tool_calls: parallelToolCalls,
  };
}

/** One of the user's tools, a type of tool that OpenAI runs (`web_search`), or the label of an MCP server. */
function encodeToolChoice(
  choice: ToolChoice,
  tools: readonly ToolDefinition[],
  definitions: readonly JsonObject[],
): JsonValue {
  if (typeof choice === 'string') return choice;
  const { name } = choice;
  const index = tools.findIndex((tool) => tool.name === name);
  if (index >= 0) return encodeChosenTool(definitions[index], name);
  if (definitions.some(({ type }) => type === name)) return { type: name };
  if (definitions.some(({ server_label: label }) => label === name)) return { type: 'mcp', server_label: name };
  return { type: 'function', name };
}

/** A function and a custom tool are chosen by name; any other tool (`shell`, `apply_patch`) by type. */
function encodeChosenTool(definition: JsonObject | undefined, name: string): JsonObject {
  const { type = 'function' } = definition ?? {};
  return type === 'function' || type === 'custom' ? { type, name } : { type };
}

/** The option `type` makes it another type than a function (`responsesTools.custom`, `.shell`). */
export function encodeTool(tool: ToolDefinition): JsonObject {
  const options = tool.providerOptions?.[provider] ?? {};
  return mergeJson(encodeToolOfType(nonEmptyString(options['type']) ?? 'function', tool), options);
}

function encodeToolOfType(type: string, { name, description, parameters }: ToolDefinition): JsonObject {
  switch (type) {
    case 'function': {
      // Without `strict`, the API makes a schema strict if it can, and optional parameters become required.
      const hasParameters = Object.keys(parameters['properties'] ?? {}).length > 0;
      return { type, name, description, parameters, strict: hasParameters && isStrict(parameters) };
    }
    case 'custom':
      return { type, name, description };
    case 'tool_search':
      return { type, execution: 'client', description, parameters };
    default:
      return { type };
  }
}
