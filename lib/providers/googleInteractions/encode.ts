import { optionsError } from '../../core/errors.js';
import { omitUndefined, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { ModelRequest, Thinking, ToolChoice } from '../../core/model.js';
import { memoizePerTool } from '../../protocol/encodeOnce.js';
import type { WireRequest } from '../../protocol/wire.js';
import { encodeThinking, findContinuationToken, isGemini3 } from '../shared/googleModels.js';
import { withProviderOptions } from '../shared/providerOptions.js';
import { lookUpEffort, unsupportedBudgetError } from '../shared/thinkingEffort.js';
import { encodeInstructions, encodeSteps } from './messages.js';
import { googleSchema } from '../shared/googleSchema.js';
import { provider } from './providerData.js';

/** `CreateModelInteraction` (SDK 3.1). `store` is false: Google keeps nothing, any history is accepted. */
export function encodeInteraction(model: string, request: ModelRequest): WireRequest {
  const { messages, output, tools = [], toolChoice, thinking } = request;
  if (tools.length > 0 && request.parallelToolCalls === false)
    throw optionsError(`${provider} cannot disable parallel tool calls.`, 'Omit parallelToolCalls.');
  const config = omitUndefined({
    temperature: request.temperature,
    top_p: request.topP,
    max_output_tokens: request.maxOutputTokens,
    stop_sequences: request.stopSequences?.length ? request.stopSequences : undefined,
    seed: request.seed,
    ...(thinking === undefined ? {} : thinkingConfig(model, thinking)),
    tool_choice: tools.length > 0 && toolChoice ? encodeToolChoice(toolChoice) : undefined,
  });
  const token = findContinuationToken(messages, provider);
  const body = omitUndefined({
    model,
    system_instruction: encodeInstructions(messages),
    input: encodeSteps(token === undefined ? messages : messages.slice(0, -1)),
    tools: tools.length > 0 ? tools.map(encodeTool) : undefined,
    generation_config: Object.keys(config).length > 0 ? config : undefined,
    response_format: output && {
      type: 'text',
      mime_type: 'application/json',
      schema: googleSchema(output, 'The output'),
    },
    continuation_token: token,
    store: false,
    stream: true,
  });
  return { path: '/interactions', body };
}

const encodeTool = /* @__PURE__ */ memoizePerTool((tool) => {
  const { name, description, parameters } = tool;
  const schema = googleSchema(parameters, `Tool "${name}"`);
  return withProviderOptions({ type: 'function', name, description, parameters: schema }, provider, tool);
});

function encodeToolChoice(choice: ToolChoice): JsonValue {
  if (typeof choice === 'object') return { allowed_tools: { mode: 'any', tools: [choice.name] } };
  return choice === 'required' ? 'any' : choice;
}

/** The API has levels and no budgets; without summaries, it sends no thoughts. */
function thinkingConfig(model: string, thinking: Thinking): JsonObject {
  if (thinking === true) return { thinking_summaries: 'auto' };
  if (thinking === false) {
    encodeThinking(model, false); // throws for a model that always thinks
    return { thinking_level: 'minimal', thinking_summaries: 'none' };
  }
  const { effort, budget } = thinking;
  if (effort === undefined && budget !== undefined) throw unsupportedBudgetError(provider, budget);
  return omitUndefined({
    thinking_level:
      effort &&
      (isGemini3(model) ? encodeThinking(model, { effort })['thinkingLevel'] : lookUpEffort(model, effort, levels)),
    thinking_summaries: 'auto',
  });
}

/** `ThinkingLevel` (SDK 3.1), for models whose name has no rule. */
const levels = { minimal: 'minimal', low: 'low', medium: 'medium', high: 'high' } as const;
