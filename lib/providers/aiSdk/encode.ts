import type {
  LanguageModelV3Message,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider';
import { ConfigurationError } from '../../core/errors.js';
import type { Request, Thinking, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import { encodePrompt } from './messages.js';
import type { SdkCall } from './openStream.js';

/** Whom a call is for. */
export interface CallTarget {
  /** The name under which the model finds what it left. */
  readonly provider: string;
  readonly version: 'v4' | 'v3';
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The request as a call of the AI SDK (`LanguageModelV4CallOptions`, `LanguageModelV3CallOptions`). What the request leaves open is left to the model.
 *
 * @param request What is asked for; its messages are valid.
 * @param target Whom it is for.
 * @throws ConfigurationError `options` for a wish that the AI SDK has no field for.
 */
export function encodeCall(request: Request, { provider, version, headers }: CallTarget): SdkCall {
  const {
    tools = [],
    toolChoice,
    output,
    temperature,
    topP,
    maxOutputTokens,
    stopSequences: stop = [],
    seed,
    providerOptions,
  } = request;
  if (request.parallelToolCalls === false)
    throw noField(
      'parallelToolCalls',
      "the provider's own field in providerOptions: { openai: { parallelToolCalls: false } }",
    );
  const call: Omit<LanguageModelV4CallOptions, 'prompt' | 'reasoning'> = {
    ...(tools.length > 0
      ? { tools: tools.map(encodeTool), ...(toolChoice === undefined ? {} : { toolChoice: encodeChoice(toolChoice) }) }
      : {}),
    ...(output === undefined ? {} : { responseFormat: { type: 'json', schema: output } }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(stop.length > 0 ? { stopSequences: [...stop] } : {}),
    ...(seed === undefined ? {} : { seed }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(Object.keys(headers).length > 0 ? { headers: { ...headers } } : {}),
  };
  const prompt = encodePrompt(request.messages, provider);
  const reasoning = encodeThinking(request.thinking, version);
  if (version === 'v4') return { ...call, prompt, ...(reasoning === undefined ? {} : { reasoning }) };
  return { ...call, prompt: prompt.map(toV3) };
}

const encodeTool = ({ name, description, parameters }: ToolDefinition): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  description,
  inputSchema: { ...parameters, type: 'object' },
});

const encodeChoice = (choice: ToolChoice): LanguageModelV4ToolChoice =>
  typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice };

/** V4 has efforts, V3 nothing: what is the provider's default needs no field. */
function encodeThinking(
  thinking: Thinking | undefined,
  version: CallTarget['version'],
): LanguageModelV4CallOptions['reasoning'] {
  if (thinking === undefined || thinking === true) return undefined;
  const wanted = typeof thinking === 'object' ? thinking : { effort: 'none' as const };
  if (Object.keys(wanted).length === 0) return undefined;
  if (version === 'v3' || 'budget' in wanted)
    throw noField(
      version === 'v3' ? 'thinking' : 'thinking.budget',
      "the provider's own field in providerOptions: { openai: { reasoningEffort: 'low' } }",
    );
  return wanted.effort;
}

const noField = (field: string, instead: string): ConfigurationError =>
  new ConfigurationError(
    'options',
    `The AI SDK's specification has no field for ${field}.`,
    `Leave it out, or use ${instead}.`,
  );

/** Files are `string | URL` in V3; all else is the same. */
function toV3(message: LanguageModelV4Message): LanguageModelV3Message {
  if (message.role !== 'user' && message.role !== 'assistant') return message as LanguageModelV3Message;
  const content = message.content.map((part) => {
    if (part.type !== 'file') return part;
    return {
      ...part,
      data: part.data.type === 'url' ? part.data.url : part.data.type === 'data' ? part.data.data : '',
    };
  });
  return { ...message, content } as LanguageModelV3Message;
}
