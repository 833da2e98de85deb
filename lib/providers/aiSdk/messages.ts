import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { ConfigurationError } from '../../core/errors.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { inlineDataUrl } from '../shared/files.js';
import { toolResultContent } from '../shared/toolResultContent.js';
import { optionsField, readEndData, readProviderData } from './providerData.js';

type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/**
 * Encodes the conversation as a prompt of the AI SDK (`LanguageModelV4Prompt`). Tool results become a message with the
 * role `tool`, before the other parts of the same message. Replay parts, which only the AI SDK's prompt has (reasoning,
 * calls that the provider ran), are stored as provider data with the part that follows them, and are inserted there.
 * The `providerOptions` of parts and messages are passed on, with the names of the AI SDK.
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

/** The system prompt is one text, so the options of its parts become options of the message. */
function encodeSystem({ parts, providerOptions }: Message): LanguageModelV4Message[] {
  const texts = parts.flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part] : []));
  if (texts.length === 0) return [];
  const options = optionsField(...texts.map((part) => part.providerOptions), providerOptions);
  return [{ role: 'system', content: texts.map(({ text }) => text).join('\n\n'), ...options }];
}

function encodeUser({ parts, providerOptions }: Message, provider: string): LanguageModelV4Message[] {
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, provider));
  const content = parts.flatMap((part) => encodeUserPart(part, provider));
  const encoded: LanguageModelV4Message[] = [];
  if (results.length > 0) encoded.push({ role: 'tool', content: results });
  if (content.length > 0) encoded.push({ role: 'user', content });
  const last = encoded.pop();
  return last ? [...encoded, { ...last, ...optionsField(providerOptions) }] : []; // the options belong to the last one
}

function encodeUserPart(part: Part, provider: string): readonly UserContent[] {
  if (part.type === 'file') return [encodeFile(part, provider)];
  if (part.type !== 'text' || part.text === '') return [];
  const { options } = readProviderData(provider, part.providerData);
  return [{ type: 'text', text: part.text, ...optionsField(options, part.providerOptions) }];
}

function encodeAssistant({ parts, metadata, providerOptions }: Message, provider: string): LanguageModelV4Message[] {
  const content = [
    ...parts.flatMap((part) => encodeAssistantPart(part, provider)),
    ...readEndData(metadata?.[provider]),
  ];
  return content.length > 0 ? [{ role: 'assistant', content, ...optionsField(providerOptions) }] : [];
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
      return [...before, { type: 'tool-call', toolCallId: id, toolName: name, input, ...optionsField(options) }];
    }
    default: {
      const merged = optionsField(options, part.providerOptions);
      const isEmpty = part.text === '' && merged.providerOptions === undefined;
      return isEmpty ? before : [...before, { type: 'text', text: part.text, ...merged }];
    }
  }
}

function encodeResult(part: ToolResultPart, provider: string): LanguageModelV4ToolResultPart {
  return { type: 'tool-result', toolCallId: part.id, toolName: part.name, output: encodeOutput(part, provider) };
}

function encodeOutput(part: ToolResultPart, provider: string): LanguageModelV4ToolResultPart['output'] {
  const { error, result = null } = part;
  if (error !== undefined) return { type: 'error-text', value: error };
  if (typeof result === 'string') return { type: 'text', value: result };
  const contents = toolResultContent(part);
  if (contents.every(({ type }) => type === 'text')) return { type: 'json', value: result };
  const value = contents.map((content) => (content.type === 'file' ? encodeFile(content, provider) : content));
  return { type: 'content', value };
}

function encodeFile(file: FilePart, provider: string): LanguageModelV4FilePart {
  const { mediaType, name, data, url = '' } = inlineDataUrl(file);
  const { options } = readProviderData(provider, file.providerData);
  return {
    type: 'file',
    mediaType,
    data: data === undefined ? { type: 'url', url: parseUrl(url) } : { type: 'data', data },
    ...(name === undefined ? {} : { filename: name }),
    ...optionsField(options, file.providerOptions),
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
