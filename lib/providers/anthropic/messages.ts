import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined, isJsonObject, asArray, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { FilePart, Message, Part, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { createCallIdMapper } from '../shared/callIds.js';
import { baseMediaType, inlineDataUrl, textOfFile } from '../shared/files.js';

type ValidId = (id: string) => string;

/**
 * The conversation as the API has it: the system prompt apart, then messages of content blocks. Blank texts are left out, which the API refuses
 * ("text content blocks must contain non-whitespace text"), and so are messages of which nothing is left.
 */
export function encodeConversation(messages: readonly Message[]): {
  readonly system?: string;
  readonly messages: readonly JsonObject[];
} {
  const validId = createCallIdMapper(messages);
  const system = messages
    .flatMap(({ role, parts }) => (role === 'system' ? parts : []))
    .flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : []))
    .join('\n\n');
  const turns = messages.flatMap(({ role, parts }): { role: string; content: readonly JsonObject[] }[] => {
    if (role === 'system') return [];
    const content = role === 'user' ? userBlocks(parts, validId) : modelBlocks(parts, validId);
    return content.length === 0 ? [] : [{ role: role === 'user' ? 'user' : 'assistant', content }];
  });
  return omitUndefined({ system: nonEmptyString(system), messages: withoutTrailingSpace(turns) });
}

/** Results come first: the API wants them right behind the calls, before any text ("Handle tool calls"). */
function userBlocks(parts: readonly Part[], validId: ValidId): readonly JsonObject[] {
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, validId));
  const content = parts.flatMap((part) => {
    if (part.type === 'text') return textBlock(part.text);
    return part.type === 'file' ? [encodeFile(part)] : [];
  });
  return [...results, ...content];
}

/** An error must say something: the API refuses it otherwise ("content cannot be empty if `is_error` is true"). */
function encodeResult({ id, ...answered }: ToolResultPart, validId: ValidId): JsonObject {
  const value = answered.error ?? answered.result ?? null;
  const said = typeof value === 'string' ? value : JSON.stringify(value);
  const content = answered.error !== undefined && said.trim() === '' ? 'The tool failed.' : said;
  const result = { type: 'tool_result', tool_use_id: validId(id), ...(content === '' ? {} : { content }) };
  return answered.error === undefined ? result : { ...result, is_error: true };
}

/**
 * The blocks of the model in the order in which they came. Text is gathered until something else comes, or the mark of the block's end: what this
 * provider left with a text (`after`: the blocks that followed it, `citations`: those of the block that ends there). Sources and files that the
 * model made have no place here.
 */
function modelBlocks(parts: readonly Part[], validId: ValidId): readonly JsonObject[] {
  const blocks: JsonObject[] = [];
  let text = '';
  const close = (citations: JsonObject = {}) => {
    blocks.push(...textBlock(text).map((block) => ({ ...block, ...citations })));
    text = '';
  };
  for (const part of parts) {
    if (part.type === 'toolCall') {
      close();
      blocks.push(encodeCall(part, validId));
    } else if (part.type === 'text') {
      text += part.text;
      const own = part.providerData?.['anthropic'];
      if (!isJsonObject(own)) continue;
      close(omitUndefined({ citations: own['citations'] }));
      blocks.push(...asArray(own['after']).filter(isJsonObject));
    }
  }
  close();
  return blocks;
}

const textBlock = (text: string): readonly JsonObject[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

function encodeCall({ id, name, arguments: input, providerData }: ToolCallPart, validId: ValidId): JsonObject {
  return { type: 'tool_use', id: validId(id), name, input, ...objectOrEmpty(providerData?.['anthropic']) };
}

/** An answer to be continued must not end in white space ("final assistant content cannot end with trailing whitespace"). */
function withoutTrailingSpace(
  turns: readonly { readonly role: string; readonly content: readonly JsonObject[] }[],
): readonly JsonObject[] {
  const last = turns.at(-1);
  const text: JsonValue | undefined = last?.content.at(-1)?.['text'];
  if (last?.role !== 'assistant' || typeof text !== 'string') return turns;
  return [
    ...turns.slice(0, -1),
    { ...last, content: [...last.content.slice(0, -1), { ...last.content.at(-1), text: text.trimEnd() }] },
  ];
}

const images: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/**
 * The content block for a file (Messages API reference, `ImageBlockParam` and `DocumentBlockParam`): images and PDF by address or as bytes, texts
 * as their text. Fields in the part's own `providerData.anthropic` go onto the block: `{ citations: { enabled: true } }`, `{ context: '...' }`.
 *
 * @throws ConfigurationError `options` for what the API does not take.
 */
export function encodeFile(part: FilePart): JsonObject {
  const file = inlineDataUrl(part);
  const mediaType = baseMediaType(file.mediaType);
  const kind = mediaType.startsWith('image/') ? 'image' : 'document';
  return {
    type: kind,
    source: sourceOf(file, mediaType),
    ...omitUndefined({ title: kind === 'document' ? file.name : undefined }),
    ...objectOrEmpty(part.providerData?.['anthropic']),
  };
}

function sourceOf({ data, url }: FilePart, mediaType: string): JsonObject {
  const image = mediaType.startsWith('image/');
  if (url !== undefined) {
    if (image || mediaType === 'application/pdf') return { type: 'url', url };
    throw refused(
      `by address only images and PDF: ${url} (${mediaType})`,
      'Fetch it and pass its bytes: filePart(bytes, mediaType).',
    );
  }
  if (image ? images.has(mediaType) : mediaType === 'application/pdf')
    return { type: 'base64', media_type: mediaType, data };
  const text = textOfFile({ type: 'file', mediaType, data });
  if (text !== undefined) return { type: 'text', media_type: 'text/plain', data: text };
  throw refused(`no files of type ${mediaType}`, 'Pass JPEG, PNG, GIF, WebP, PDF or text.');
}

const refused = (what: string, next: string) => new ConfigurationError('options', `anthropic takes ${what}.`, next);
