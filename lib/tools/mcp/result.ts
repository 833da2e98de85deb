import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { RivuletError } from '../../core/errors.js';
import { canonicalJson } from '../../core/json/canonical.js';
import { isDeeperThan, MAX_JSON_DEPTH } from '../../core/json/depth.js';
import { isSameJson } from '../../core/json/equal.js';
import { asArray, isJsonObject, omit, tryParseJson, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';

/**
 * An MCP server reports that a tool failed (`isError`). The message is the server's, for the model to read: its texts,
 * also those of embedded resources, and its structured content as JSON unless a text repeats it.
 */
export class McpToolError extends RivuletError {
  override readonly name = 'McpToolError';
  readonly code = 'mcp_tool';

  /** `tool` is the name at the server, and `content` all contents that the server sent. */
  constructor(
    readonly tool: string,
    readonly content: readonly ContentBlock[],
    readonly structuredContent?: JsonValue,
  ) {
    super(failureMessage(content, structuredContent) || defaultMessage(tool, content));
  }

  protected override details() {
    return { tool: this.tool };
  }
}

function defaultMessage(tool: string, content: readonly ContentBlock[]): string {
  const restriction = content.length > 0 ? ' in words' : '';
  return `The tool "${tool}" failed, and its MCP server does not say why${restriction}. See content.`;
}

function failureMessage(content: readonly ContentBlock[], data: JsonValue | undefined): string {
  const texts = content.flatMap((block) => {
    if (block.type === 'text') return block.text;
    return block.type === 'resource' && 'text' in block.resource ? block.resource.text : [];
  });
  const hasOwnData = data !== undefined && !isEmpty(data) && !texts.some(createRepetitionTest(data, texts));
  return [...texts, ...(hasOwnData ? [JSON.stringify(data)] : [])].filter((text) => !isBlank(text)).join('\n');
}

/**
 * Texts are joined; other contents stay an array, with bytes as file parts, without `_meta`. Structured content is
 * the result, without a text that repeats it (the MCP specification recommends one). @throws McpToolError
 */
export function toResult(tool: string, { content, structuredContent, isError }: CallToolResult): JsonValue {
  const data = structuredContent as JsonValue | undefined; // it arrived as JSON
  if (isError) throw new McpToolError(tool, content, data);
  if (data === undefined) return toPlainContent(content);
  const isRepetition = createRepetitionTest(data, textsOf(content));
  const others = content.filter((block) => block.type !== 'text' || !(isBlank(block.text) || isRepetition(block.text)));
  if (others.length === 0) return data;
  const otherContent = toPlainContent(others);
  if (others.some((block) => toFile(block) !== undefined)) return [data, ...asArray(otherContent)] as JsonValue;
  return { structuredContent: data, content: otherContent };
}

function toPlainContent(content: readonly ContentBlock[]): JsonValue {
  if (content.some(({ type }) => type !== 'text')) return content.map(toPlainBlock);
  return content.length > 0 ? textsOf(content).join('\n') : null;
}

function toPlainBlock(block: ContentBlock): JsonObject {
  const file = toFile(block);
  if (file) return file;
  const plain = omitMeta(block);
  return block.type === 'resource' ? { ...plain, resource: omitMeta(block.resource) } : plain;
}

function toFile(block: ContentBlock): FilePart | undefined {
  switch (block.type) {
    case 'image':
    case 'audio':
      return { type: 'file', mediaType: block.mimeType, data: block.data };
    case 'resource': {
      const { resource } = block;
      if (!('blob' in resource)) return undefined;
      const { uri, mimeType = 'application/octet-stream', blob } = resource;
      const name = uri.split(/[?#]/, 1)[0]?.split('/').at(-1);
      return { type: 'file', mediaType: mimeType, data: blob, ...(name ? { name } : {}) };
    }
    default:
      return undefined;
  }
}

const omitMeta = (received: object): JsonObject => omit(received as JsonObject, '_meta'); // it arrived as JSON

const textsOf = (content: readonly ContentBlock[]): readonly string[] =>
  content.flatMap((block) => (block.type === 'text' ? block.text : []));

const isBlank = (text: string): boolean => text.trim() === '';

const isEmpty = (data: JsonValue): boolean =>
  data === null || (typeof data === 'object' && Object.keys(data).length === 0);

/**
 * A repetition is the JSON, in any layout. Up to revision 2025-11-25, the official SDKs wrap other values than
 * objects in `{ result }`, servers in a field of their own. The SDK for Python writes an array as one text for each
 * item.
 */
export function createRepetitionTest(data: JsonValue, texts: readonly string[]): (text: string) => boolean {
  const value = onlyField(data);
  const items = Array.isArray(value) ? (value as readonly unknown[]).flat(Infinity) : [];
  const areItems = texts.length === items.length && texts.every((text, index) => expresses(text, items[index]));
  if (areItems) return () => true;
  // Each value becomes one text: a server may send thousands of texts, and each would be compared with all of `data`.
  const known = new Set([canonical(data), canonical(value)]);
  return (text) => {
    const parsed = tryParseJson(text);
    return text === value || (parsed !== undefined && known.has(canonical(parsed)));
  };
}

function onlyField(data: JsonValue): JsonValue {
  if (!isJsonObject(data)) return data;
  const [value = data, ...others] = Object.values(data);
  return others.length === 0 ? value : data;
}

/** Undefined if it is nested too deep. */
const canonical = (value: unknown): string | undefined =>
  isDeeperThan(value, MAX_JSON_DEPTH) ? undefined : canonicalJson(value as JsonValue);

const expresses = (text: string, value: unknown): boolean => text === value || isSameJson(tryParseJson(text), value);
