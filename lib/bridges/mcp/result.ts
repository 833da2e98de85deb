import { isSameJson } from '../../core/json/equal.js';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { RivuletError } from '../../core/errors.js';
import { isJsonObject, omit, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';

/**
 * An MCP server says that a tool failed (`isError`). The message is what the server says, for the model to read: its texts, those of embedded
 * resources too, and its structured content as JSON if no text repeats it.
 */
export class McpToolError extends RivuletError {
  readonly code = 'mcp_tool';

  /**
   * @param tool The tool, as its server calls it.
   * @param content All contents that the server sent.
   * @param structuredContent The structured content, if the server sent one.
   */
  constructor(
    readonly tool: string,
    readonly content: readonly ContentBlock[],
    readonly structuredContent?: JsonValue,
  ) {
    super(
      reasonOf(content, structuredContent) ||
        `The tool "${tool}" failed, and its MCP server does not say why${content.length > 0 ? ' in words' : ''}. See content.`,
    );
    this.name = 'McpToolError';
  }

  protected override details() {
    return { tool: this.tool };
  }
}

function reasonOf(content: readonly ContentBlock[], data: JsonValue | undefined): string {
  const said = content.flatMap((block) => {
    if (block.type === 'text') return block.text;
    return block.type === 'resource' && 'text' in block.resource ? block.resource.text : [];
  });
  const isTold = data === undefined || isEmpty(data) || said.some(repeats(data, said));
  return [...said, ...(isTold ? [] : [JSON.stringify(data)])].filter((text) => !isBlank(text)).join('\n');
}

const isEmpty = (data: JsonValue): boolean =>
  data === null || (typeof data === 'object' && Object.keys(data).length === 0);

/**
 * What a server answered, as a tool's result.
 *
 * - Texts alone: one text, joined by line breaks. Nothing at all: null.
 * - Images, audio, resources, links: the list of all contents as plain JSON, bytes in base64, as the server sent them but for `_meta`, theirs and
 *   that of an embedded resource, which is not meant for a model.
 * - `structuredContent`: that. Servers repeat it as a text, for clients that do not know it (the MCP specification asks them to): such a text is left
 *   out. What else there is may be just what the structure does not hold, and goes along: `{ structuredContent, content }`, where `content` is what it
 *   would be alone, one text or a list.
 *
 * @throws McpToolError when the server says that the tool failed.
 */
export function resultOf(tool: string, { content, structuredContent, isError }: CallToolResult): JsonValue {
  const data = structuredContent as JsonValue | undefined; // it came as JSON
  if (isError) throw new McpToolError(tool, content, data);
  if (data === undefined) return contentOf(content);
  const isRepeat = repeats(data, textsOf(content));
  const more = content.filter((block) => block.type !== 'text' || !(isBlank(block.text) || isRepeat(block.text)));
  return more.length > 0 ? { structuredContent: data, content: contentOf(more) } : data;
}

function contentOf(content: readonly ContentBlock[]): JsonValue {
  if (content.some(({ type }) => type !== 'text')) return content.map(plain);
  return content.length > 0 ? textsOf(content).join('\n') : null;
}

const isBlank = (text: string): boolean => text.trim() === '';

const textsOf = (content: readonly ContentBlock[]): readonly string[] =>
  content.flatMap((block) => (block.type === 'text' ? block.text : []));

function plain(block: ContentBlock): JsonObject {
  const bare = withoutMeta(block);
  return block.type === 'resource' ? { ...bare, resource: withoutMeta(block.resource) } : bare;
}

const withoutMeta = (sent: object): JsonObject => omit(sent as JsonObject, '_meta'); // it came as JSON
/**
 * Tells which texts of an answer only repeat its structured content.
 *
 * Such a text is its JSON, in any layout and order of keys. Up to revision 2025-11-25 structured content is an object: the official SDKs put what is
 * none into `{ result }`, and their text is that of the value itself; the one for Python writes a list as one text for each item.
 *
 * @param data The structured content.
 * @param texts All texts of the answer.
 */
export function repeats(data: JsonValue, texts: readonly string[]): (text: string) => boolean {
  const value = unwrapped(data);
  const items = Array.isArray(value) ? (value as readonly unknown[]).flat(Infinity) : [];
  if (texts.length === items.length && texts.every((text, at) => says(text, items[at]))) return () => true;
  return (text) => says(text, data) || says(text, value);
}

function unwrapped(data: JsonValue): JsonValue {
  if (!isJsonObject(data)) return data;
  const [[key, value] = [], ...more] = Object.entries(data);
  return key === 'result' && value !== undefined && more.length === 0 ? value : data;
}

const says = (text: string, value: unknown): boolean => text === value || isSameJson(tryParseJson(text), value);
