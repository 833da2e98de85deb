import { nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ToolDefinition } from '../../core/tool.js';
import { mergeJson } from '../../protocol/request.js';
import { isStrict } from '../shared/strictSchema.js';
import { provider } from './models.js';

/**
 * Encodes a tool, with its provider options. The option `type` makes it a tool of another type than a function
 * (`responsesTools.custom`, `responsesTools.shell` ...).
 */
export function encodeTool(tool: ToolDefinition): JsonObject {
  const options = tool.providerOptions?.[provider] ?? {};
  return mergeJson(encodeToolOfType(nonEmptyString(options['type']) ?? 'function', tool), options);
}

/** Encodes the fields that a type of tool has. */
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
