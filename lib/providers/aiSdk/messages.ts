import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { optionsError } from '../../core/errors.js';
import type { FilePart, Message, Part, TextPart, ToolResultPart } from '../../core/message.js';
import { inlineDataUrl } from '../shared/files.js';
import { toolResultContent } from '../shared/toolResultContent.js';
import { optionsField, readOptions, readReplayPart, readTextEnd } from './providerData.js';

type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/** Results come first, as a message of the role `tool`. What only this prompt has is provider parts. */
export function encodeMessage(message: Message, provider: string): readonly LanguageModelV4Message[] {
  if (message.role === 'system') return encodeSystem(message);
  return message.role === 'user' ? encodeUser(message, provider) : encodeAssistant(message, provider);
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
  return part.type === 'text' && part.text !== '' ? [encodeText(part)] : [];
}

/** A prompt cannot contain sources. The data of a text follows it, and is sent as its options. */
function encodeAssistant({ parts, providerOptions }: Message, provider: string): LanguageModelV4Message[] {
  const content: AssistantContent[] = [];
  let openText: TextPart | undefined;
  for (const part of parts) {
    const end = part.type === 'provider' && part.provider === provider ? readTextEnd(part) : undefined;
    if (end) {
      if (openText) content.pop();
      content.push(...encodeModelText(openText ?? { type: 'text', text: '' }, end));
    } else if (part.type === 'text') content.push(...encodeModelText(part));
    else content.push(...encodeAssistantPart(part, provider));
    if (end || part.type !== 'source') openText = part.type === 'text' && part.text !== '' ? part : undefined;
  }
  return content.length > 0 ? [{ role: 'assistant', content, ...optionsField(providerOptions) }] : [];
}

const encodeText = ({ text, providerOptions }: TextPart, options?: SharedV4ProviderOptions) =>
  ({ type: 'text', text, ...optionsField(options, providerOptions) }) as const;

function encodeModelText(part: TextPart, options?: SharedV4ProviderOptions): readonly AssistantContent[] {
  const encoded = encodeText(part, options);
  return part.text === '' && !encoded.providerOptions ? [] : [encoded];
}

function encodeAssistantPart(part: Exclude<Part, TextPart>, provider: string): readonly AssistantContent[] {
  switch (part.type) {
    case 'toolResult':
    case 'source':
      return [];
    case 'provider':
      return part.provider === provider ? readReplayPart(part) : [];
    case 'file':
      return [encodeFile(part, provider)];
    case 'toolCall': {
      const { id, name, arguments: input } = part;
      const options = optionsField(readOptions(provider, part.providerData));
      return [{ type: 'tool-call', toolCallId: id, toolName: name, input, ...options }];
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
  const options = readOptions(provider, file.providerData);
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
  throw optionsError(
    `The URL of a file, "${url}", is not absolute.`,
    'Pass an absolute URL, or the bytes: filePart(bytes, mediaType).',
  );
}
