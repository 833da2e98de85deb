import { nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ToolDefinition } from '../../core/tool.js';
import { mergeJson } from '../../protocol/request.js';
import { isStrict } from '../shared/strictSchema.js';
import { provider } from './models.js';

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
