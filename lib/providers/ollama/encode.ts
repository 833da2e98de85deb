import { capabilityError } from '../../core/errors.js';
import { omitUndefined, type JsonValue } from '../../core/json/json.js';
import type { ModelRequest, Thinking } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import type { WireRequest } from '../../protocol/wire.js';
import { functionTool } from '../shared/encode.js';
import { lookUpEffort, unsupportedBudgetError } from '../shared/thinkingEffort.js';
import { encodeMessages } from './messages.js';

/** `ChatRequest` in `docs/openapi.yaml` of Ollama's repository. */
export function encodeOllama(model: string, request: ModelRequest): WireRequest {
  const { thinking } = request;
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
    tools: offeredTools(request)?.map((tool) => functionTool(tool, 'ollama')),
    format: request.output,
    think: thinking === undefined ? undefined : encodeThinking(thinking),
    options: Object.keys(options).length > 0 ? options : undefined,
    stream: true,
  });
  return { path: '/api/chat', body };
}

/** @throws ConfigurationError `capability`: the API has no fields for a forced call, or for one call at a time. */
function offeredTools({
  tools = [],
  toolChoice = 'auto',
  parallelToolCalls,
}: ModelRequest): readonly ToolDefinition[] | undefined {
  if (tools.length === 0 || toolChoice === 'none') return undefined;
  if (toolChoice !== 'auto') {
    const choice = typeof toolChoice === 'string' ? toolChoice : toolChoice.name;
    throw unsupported(
      `cannot be forced to call a tool (toolChoice: ${choice})`,
      "Set toolChoice to 'auto' or 'none', and ask for the call in the prompt.",
    );
  }
  if (parallelToolCalls === false) throw unsupported('cannot disable parallel tool calls', 'Omit parallelToolCalls.');
  return tools;
}

const unsupported = (problem: string, nextStep: string) => capabilityError(`ollama ${problem}.`, nextStep);

/** The server: `must be "high", "medium", "low", "max", true, or false` (`docs/capabilities/thinking`). */
function encodeThinking(thinking: Thinking): JsonValue {
  if (typeof thinking === 'boolean') return thinking;
  const { effort, budget } = thinking;
  if (effort !== undefined) return lookUpEffort('ollama', effort, efforts);
  if (budget !== undefined) throw unsupportedBudgetError('ollama', budget);
  return true;
}

/** The lowest is `low`, and there is none between `high` and `max`. */
const efforts = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'max' } as const;
