import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { serverToolChunk } from '../../core/metadata.js';
import type { ServerTool } from '../../core/metadata.js';
import { unknownChunk } from '../shared/unknownChunk.js';

/** Reports, as metadata, the content blocks of one response that are neither text, thinking nor calls of the user. */
export interface BlockReports {
  /** Reports a complete block. */
  add(block: JsonObject): void;
  /** Whether a block of an unknown type looks like a call of a tool that Anthropic does not run. */
  readonly hasUnknownCall: boolean;
}

/** The types of block that become metadata, with the names of the metadata (SDK 1.12, `BetaContentBlock`). */
const metadataNames: ReadonlyMap<string, string> = new Map([
  ['compaction', 'compaction'],
  ['fallback', 'fallback'],
  ['mcp_tool_listing', 'mcpToolListing'],
  ['container_upload', 'containerUpload'],
] as const);

/** Whether the type of a block is known, so that a text that arrives in it is not a part of it. */
export const isKnownBlock = (type: string): boolean =>
  type === 'redacted_thinking' || metadataNames.has(type) || serverToolCall.test(type) || type.endsWith(resultSuffix);

const serverToolCall = /^(server|mcp)_tool_use$/;
const resultSuffix = '_tool_result';

/**
 * Creates the reports of one response.
 *
 * The calls and results of tools that Anthropic runs become `serverTools`. A block of an unknown type becomes
 * `unknown`; if it looks like a call, and no result follows, the response must not end as if it were complete.
 *
 * @param emit Receives the metadata.
 */
export function createBlockReports(emit: (chunk: Chunk) => void): BlockReports {
  const serverTools = new Map<string, Pick<ServerTool, 'name' | 'input'>>();
  const unknownCalls = new Set<string>();

  const addCall = (block: JsonObject) => {
    const id = nonEmptyString(block['id']) ?? '';
    const call = { name: nonEmptyString(block['name']) ?? '', input: block['input'] ?? {} };
    serverTools.set(id, call);
    emit(serverToolChunk({ id, ...call, status: 'running', raw: block }));
  };
  const addResult = (block: JsonObject, type: string) => {
    const id = nonEmptyString(block['tool_use_id']) ?? '';
    const call = serverTools.get(id) ?? { name: type.slice(0, -resultSuffix.length) };
    const status = isFailure(block) ? 'failed' : 'completed';
    unknownCalls.delete(id);
    emit(serverToolChunk({ id, ...call, status, ...omitUndefined({ output: block['content'] }), raw: block }));
  };
  const addOther = (block: JsonObject, type: string) => {
    const name = metadataNames.get(type);
    emit(name === undefined ? unknownChunk(block) : { type: 'metadata', metadata: { [name]: block } });
    if (name === undefined && isCall(block, type)) unknownCalls.add(nonEmptyString(block['id']) ?? '');
  };

  return {
    add(block) {
      const type = nonEmptyString(block['type']) ?? '';
      if (serverToolCall.test(type)) addCall(block);
      else if (type.endsWith(resultSuffix)) addResult(block, type);
      else if (!/^(redacted_)?thinking$/.test(type)) addOther(block, type);
    },
    get hasUnknownCall() {
      return unknownCalls.size > 0;
    },
  };
}

/** Whether the tool failed: the content of the result is an error (`web_search_tool_result_error`). */
function isFailure({ content, is_error: isError }: JsonObject): boolean {
  const hasErrorCode = (value: JsonValue | undefined) => isJsonObject(value) && value['error_code'] !== undefined;
  return isError === true || hasErrorCode(content);
}

const isCall = (block: JsonObject, type: string): boolean =>
  type.endsWith('_use') ||
  type.endsWith('_call') ||
  (nonEmptyString(block['id']) !== undefined && block['input'] !== undefined);
