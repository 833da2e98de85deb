import { optionsError, capabilityError } from '../../core/errors.js';
import { omitUndefined, type Fields, type JsonObject } from '../../core/json/json.js';
import type { ModelRequest, Thinking } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { WireRequest } from '../../protocol/wire.js';
import { functionTool } from '../shared/encode.js';
import { lookUpEffort } from '../shared/thinkingEffort.js';
import { encodeMessages } from './messages.js';

/** docs.cohere.com, "Chat with Streaming", v2. */
export function encodeCohere(model: string, request: ModelRequest): WireRequest {
  const { tools = [], output, thinking } = request;
  if (output !== undefined && tools.length > 0) {
    throw capabilityError(
      'cohere does not support tools and an output schema in one request.',
      'Remove one of them, or run the tools first and request the typed output afterwards.',
    );
  }
  const body = omitUndefined({
    model,
    messages: encodeMessages(request.messages, thinking !== false),
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

/** `tool_choice` cannot name a tool: to force one, only that tool is sent, and a call is required. */
function encodeTools({ tools = [], toolChoice, parallelToolCalls }: ModelRequest): Fields {
  if (tools.length === 0) return {};
  if (parallelToolCalls === false) throw unsupported('cannot disable parallel tool calls', 'Omit parallelToolCalls.');
  if (typeof toolChoice !== 'object')
    return { tools: tools.map(encodeTool), tool_choice: toolChoice && toolChoices[toolChoice] };
  const tool = tools.find(({ name }) => name === toolChoice.name);
  if (tool) return { tools: [encodeTool(tool)], tool_choice: 'REQUIRED' };
  throw unsupported(
    `cannot be forced to call "${toolChoice.name}", which is not among the tools`,
    'Add the tool, or change toolChoice.',
  );
}

const encodeTool = (tool: ToolDefinition): JsonObject => functionTool(tool, 'cohere');

/** The API has no value for `auto`, which is its default. */
const toolChoices = { auto: undefined, required: 'REQUIRED', none: 'NONE' } as const;

function encodeThinking(thinking: Thinking): JsonObject {
  if (typeof thinking === 'boolean') return { type: thinking ? 'enabled' : 'disabled' };
  const { effort, budget = effort && lookUpEffort('cohere', effort, budgets) } = thinking;
  return omitUndefined({ type: 'enabled', token_budget: budget });
}

/** Tokens: the API does not support efforts. `high` has no limit. */
const budgets = { minimal: 512, low: 2048, medium: 8192, high: undefined } as const;

const unsupported = (problem: string, nextStep: string) => optionsError(`cohere ${problem}.`, nextStep);
