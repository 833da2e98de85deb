import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { ConfigurationError } from '../../core/errors.js';
import { isJsonObject } from '../../core/json/json.js';
import type { FilePart, Message, Part, ToolResultPart } from '../../core/message.js';
import { inlineDataUrl } from '../shared/files.js';
import { echoedIn, ownOf } from './providerData.js';

type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/**
 * The conversation as a prompt of the AI SDK (`LanguageModelV4Prompt`): tool results in a message of the role `tool`, before what the user says in the
 * same message; what the provider wants back, in its place.
 *
 * @param messages The conversation, valid.
 * @param provider The name under which the model finds what it left.
 * @throws ConfigurationError `options` for a file whose address is no URL.
 */
export function encodePrompt(messages: readonly Message[], provider: string): LanguageModelV4Message[] {
  return messages.flatMap((message): LanguageModelV4Message[] => {
    const { role, parts } = message;
    if (role === 'system') return textIn(parts) === '' ? [] : [{ role, content: textIn(parts) }];
    if (role === 'model') return assistant(message, provider);
    const results = parts.filter((part) => part.type === 'toolResult').map(encodeResult);
    const content = parts.flatMap((part) => userContent(part, provider));
    return [
      ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
      ...(content.length > 0 ? [{ role, content }] : []),
    ];
  });
}

const textIn = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : [])).join('\n\n');

function userContent(part: Part, provider: string): readonly UserContent[] {
  if (part.type === 'file') return [encodeFile(part, provider)];
  return part.type === 'text' && part.text !== ''
    ? [{ type: 'text', text: part.text, ...ownOf(provider, part.providerData).options }]
    : [];
}

function assistant({ parts, metadata }: Message, provider: string): LanguageModelV4Message[] {
  const rest = metadata?.[provider];
  const content = [
    ...parts.flatMap((part) => assistantContent(part, provider)),
    ...(isJsonObject(rest) ? echoedIn(rest['after']) : []),
  ];
  return content.length > 0 ? [{ role: 'assistant', content }] : [];
}

/** Sources have no place in a prompt. */
function assistantContent(part: Part, provider: string): readonly AssistantContent[] {
  if (part.type === 'toolResult' || part.type === 'source') return [];
  const { before, options } = ownOf(provider, part.providerData);
  if (part.type === 'file') return [...before, encodeFile(part, provider)];
  if (part.type === 'toolCall')
    return [
      ...before,
      { type: 'tool-call', toolCallId: part.id, toolName: part.name, input: part.arguments, ...options },
    ];
  const blank = part.text === '' && options.providerOptions === undefined;
  return blank ? before : [...before, { type: 'text', text: part.text, ...options }];
}

function encodeResult({ id, name, ...answered }: ToolResultPart): LanguageModelV4ToolResultPart {
  const { error, result = null } = answered;
  const output: LanguageModelV4ToolResultPart['output'] =
    error !== undefined
      ? { type: 'error-text', value: error }
      : typeof result === 'string'
        ? { type: 'text', value: result }
        : { type: 'json', value: result };
  return { type: 'tool-result', toolCallId: id, toolName: name, output };
}

function encodeFile(file: FilePart, provider: string): LanguageModelV4FilePart {
  const { mediaType, name, data, url = '' } = inlineDataUrl(file);
  return {
    type: 'file',
    mediaType,
    data: data === undefined ? { type: 'url', url: address(url) } : { type: 'data', data },
    ...(name === undefined ? {} : { filename: name }),
    ...ownOf(provider, file.providerData).options,
  };
}

function address(url: string): URL {
  if (URL.canParse(url)) return new URL(url);
  throw new ConfigurationError(
    'options',
    `A file has the address "${url}", which is no URL.`,
    'Give a whole one, or the bytes: filePart(bytes, mediaType).',
  );
}
