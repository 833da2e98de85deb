import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { ConfigurationError } from '../../core/errors.js';
import { isJsonObject } from '../../core/json/json.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { inlineDataUrl } from '../shared/files.js';
import { readProviderData, readReplayParts } from './providerData.js';

type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/**
 * Encodes the conversation as a prompt of the AI SDK (`LanguageModelV4Prompt`). Tool results become a message with the
 * role `tool`, before the other parts of the same message. Replay parts are inserted at their positions.
 *
 * @param messages The conversation, which is a valid history.
 * @param provider The key of the model's provider data.
 * @throws ConfigurationError `options` for a file whose URL is invalid.
 */
export function encodeMessages(messages: readonly Message[], provider: string): LanguageModelV4Message[] {
  return messages.flatMap((message) => {
    switch (message.role) {
      case 'system':
        return encodeSystem(message);
      case 'model':
        return encodeAssistant(message, provider);
      default:
        return encodeUser(message, provider);
    }
  });
}

function encodeSystem({ parts }: Message): LanguageModelV4Message[] {
  const texts = parts.flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : []));
  return texts.length === 0 ? [] : [{ role: 'system', content: texts.join('\n\n') }];
}

function encodeUser({ parts }: Message, provider: string): LanguageModelV4Message[] {
  const results = parts.filter((part) => part.type === 'toolResult').map(encodeResult);
  const content = parts.flatMap((part) => encodeUserPart(part, provider));
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...(content.length > 0 ? [{ role: 'user' as const, content }] : []),
  ];
}

function encodeUserPart(part: Part, provider: string): readonly UserContent[] {
  if (part.type === 'file') return [encodeFile(part, provider)];
  if (part.type !== 'text' || part.text === '') return [];
  return [{ type: 'text', text: part.text, ...readProviderData(provider, part.providerData).options }];
}

function encodeAssistant({ parts, metadata }: Message, provider: string): LanguageModelV4Message[] {
  const data = metadata?.[provider];
  const content = [
    ...parts.flatMap((part) => encodeAssistantPart(part, provider)),
    ...(isJsonObject(data) ? readReplayParts(data['after']) : []),
  ];
  return content.length > 0 ? [{ role: 'assistant', content }] : [];
}

/** Omits sources: a prompt cannot contain them. */
function encodeAssistantPart(part: Part, provider: string): readonly AssistantContent[] {
  if (part.type === 'toolResult' || part.type === 'source') return [];
  const { before, options } = readProviderData(provider, part.providerData);
  switch (part.type) {
    case 'file':
      return [...before, encodeFile(part, provider)];
    case 'toolCall': {
      const { id, name, arguments: input } = part;
      return [...before, { type: 'tool-call', toolCallId: id, toolName: name, input, ...options }];
    }
    default: {
      const isEmpty = part.text === '' && options.providerOptions === undefined;
      return isEmpty ? before : [...before, { type: 'text', text: part.text, ...options }];
    }
  }
}

function encodeResult(part: ToolResultPart): LanguageModelV4ToolResultPart {
  return { type: 'tool-result', toolCallId: part.id, toolName: part.name, output: encodeOutput(part) };
}

function encodeOutput({ error, result = null }: ToolResultPart): LanguageModelV4ToolResultPart['output'] {
  if (error !== undefined) return { type: 'error-text', value: error };
  return typeof result === 'string' ? { type: 'text', value: result } : { type: 'json', value: result };
}

function encodeFile(file: FilePart, provider: string): LanguageModelV4FilePart {
  const { mediaType, name, data, url = '' } = inlineDataUrl(file);
  return {
    type: 'file',
    mediaType,
    data: data === undefined ? { type: 'url', url: parseUrl(url) } : { type: 'data', data },
    ...(name === undefined ? {} : { filename: name }),
    ...readProviderData(provider, file.providerData).options,
  };
}

function parseUrl(url: string): URL {
  if (URL.canParse(url)) return new URL(url);
  throw new ConfigurationError(
    'options',
    `The URL of a file, "${url}", is not absolute.`,
    'Pass an absolute URL, or the bytes: filePart(bytes, mediaType).',
  );
}
