import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { RivuletError } from '../../core/errors.js';
import { without } from '../../core/json.js';
import type { JsonObject, JsonValue } from '../../core/json.js';

/** An MCP server says that a tool failed (`isError`). The message is what the server says, for the model to read. */
export class McpToolError extends RivuletError {
  readonly code = 'mcp_tool';

  /**
   * @param tool The tool, as its server calls it.
   * @param content All that the server sent.
   */
  constructor(
    readonly tool: string,
    readonly content: readonly ContentBlock[],
  ) {
    super(
      textOf(content) ||
        `The tool "${tool}" failed, and its MCP server does not say why${content.length > 0 ? ' in words' : ''}. See content.`,
    );
    this.name = 'McpToolError';
  }
}

/**
 * What a server answered, as a tool's result.
 *
 * - Texts alone: one text, joined by line breaks. Nothing at all: null.
 * - `structuredContent`: that. Servers repeat it as a text, for clients that do not know it (the MCP specification asks them to).
 * - Images, audio, resources, links: the list of all contents as plain JSON, bytes in base64, as the server sent them but for `_meta`, theirs and
 *   that of an embedded resource, which is not meant for a model. With `structuredContent` as well, `{ structuredContent, content }`.
 *
 * @throws McpToolError when the server says that the tool failed.
 */
export function resultOf(tool: string, { content, structuredContent, isError }: CallToolResult): JsonValue {
  if (isError) throw new McpToolError(tool, content);
  const data = structuredContent as JsonValue | undefined; // it came as JSON
  if (content.every(({ type }) => type === 'text')) {
    if (data !== undefined) return data;
    return content.length > 0 ? textOf(content) : null;
  }
  const parts = content.map(plain);
  return data === undefined ? parts : { structuredContent: data, content: parts };
}

const textOf = (content: readonly ContentBlock[]): string =>
  content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n');

function plain(block: ContentBlock): JsonObject {
  const bare = withoutMeta(block);
  return block.type === 'resource' ? { ...bare, resource: withoutMeta(block.resource) } : bare;
}

const withoutMeta = (sent: object): JsonObject => without(sent as JsonObject, '_meta'); // it came as JSON
