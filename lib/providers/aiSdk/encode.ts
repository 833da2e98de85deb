import type {
  LanguageModelV3Message,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider';
import { type ConfigurationError, optionsError } from '../../core/errors.js';
import { growingList } from '../../core/growing.js';
import { omitUndefined } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import type { ModelRequest, Thinking, ToolChoice } from '../../core/model.js';
import type { ToolDefinition } from '../../core/tool.js';
import { encodeMessage } from './messages.js';
import type { SdkCall } from './openStream.js';
import { optionsField } from './providerData.js';

export interface CallTarget {
  readonly version: 'v4' | 'v3';
  readonly headers: Readonly<Record<string, string>>;
  readonly encodePrompt: PromptEncoder;
}

type PromptEncoder = (messages: readonly Message[]) => readonly (LanguageModelV4Message | LanguageModelV3Message)[];

export function createPromptEncoder(provider: string, version: CallTarget['version']): PromptEncoder {
  if (version === 'v4') return growingList((message) => encodeMessage(message, provider));
  return growingList((message) => encodeMessage(message, provider).map(toV3Message));
}

export function encodeCall(request: ModelRequest, { version, headers, encodePrompt }: CallTarget): SdkCall {
  if (request.parallelToolCalls === false)
    throw noFieldError(
      'parallelToolCalls',
      "the provider's own field in providerOptions: { openai: { parallelToolCalls: false } }",
    );
  const options = { ...encodeTools(request), ...encodeSettings(request), ...encodeTransport(request, headers) };
  const reasoning = encodeThinking(request.thinking, version);
  return omitUndefined({ ...options, prompt: encodePrompt(request.messages), reasoning }) as SdkCall;
}

type CallOptions = Omit<LanguageModelV4CallOptions, 'prompt' | 'reasoning'>;

function encodeTools({ tools = [], toolChoice }: ModelRequest): CallOptions {
  if (tools.length === 0) return {};
  return omitUndefined({ tools: tools.map(encodeTool), toolChoice: toolChoice && encodeToolChoice(toolChoice) });
}

function encodeSettings(request: ModelRequest): CallOptions {
  const { output, temperature, topP, maxOutputTokens, stopSequences = [], seed } = request;
  return omitUndefined({
    responseFormat: output && { type: 'json' as const, schema: output },
    temperature,
    topP,
    maxOutputTokens,
    stopSequences: stopSequences.length > 0 ? [...stopSequences] : undefined,
    seed,
  });
}

function encodeTransport({ providerOptions }: ModelRequest, headers: CallTarget['headers']): CallOptions {
  return omitUndefined({ providerOptions, headers: Object.keys(headers).length > 0 ? { ...headers } : undefined });
}

const encodeTool = ({
  name,
  description,
  parameters,
  providerOptions,
}: ToolDefinition): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  description,
  inputSchema: { ...parameters, type: 'object' },
  ...optionsField(providerOptions),
});

const encodeToolChoice = (choice: ToolChoice): LanguageModelV4ToolChoice =>
  typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice };

/** V4 has a field for an effort; V3 has no field for thinking. `true` needs no field. */
function encodeThinking(
  thinking: Thinking | undefined,
  version: CallTarget['version'],
): LanguageModelV4CallOptions['reasoning'] {
  if (thinking === undefined || thinking === true) return undefined;
  const settings = thinking === false ? { effort: 'none' as const } : thinking;
  if (Object.keys(settings).length === 0) return undefined;
  if (version === 'v3' || 'budget' in settings)
    throw noFieldError(
      version === 'v3' ? 'thinking' : 'thinking.budget',
      "the provider's own field in providerOptions: { openai: { reasoningEffort: 'low' } }",
    );
  return settings.effort;
}

const noFieldError = (field: string, alternative: string): ConfigurationError =>
  optionsError(`The AI SDK's specification has no field for ${field}.`, `Omit it, or use ${alternative}.`);

/** The data of a V3 file is `string | URL`. Everything else is the same as in V4. */
function toV3Message(message: LanguageModelV4Message): LanguageModelV3Message {
  switch (message.role) {
    case 'user':
    case 'assistant': {
      const content = message.content.map((part) =>
        part.type === 'file' ? { ...part, data: toV3Data(part.data) } : part,
      );
      return { ...message, content } as LanguageModelV3Message;
    }
    case 'tool':
      return { ...message, content: message.content.map(toV3Result) } as LanguageModelV3Message;
    default:
      return message;
  }
}

function toV3Data(data: LanguageModelV4FilePart['data']): unknown {
  if (data.type === 'url') return data.url;
  return data.type === 'data' ? data.data : '';
}

type SdkResult = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number];

/** V3 has other names for files in results: `image-data`, `image-url`, `file-data`, `file-url`. */
function toV3Result(part: SdkResult): unknown {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
  const value = part.output.value.map((content) => {
    if (content.type !== 'file') return content;
    const { data, mediaType, filename, providerOptions } = content;
    const kind = mediaType.startsWith('image/') ? 'image' : 'file';
    const options = omitUndefined({ providerOptions });
    if (data.type === 'url') return { type: `${kind}-url`, url: data.url.href, ...options };
    const name = kind === 'file' ? omitUndefined({ filename }) : {};
    return { type: `${kind}-data`, data: toV3Data(data), mediaType, ...name, ...options };
  });
  return { ...part, output: { ...part.output, value } };
}
