import { isJsonObject, nonEmptyString, omitUndefined, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { serverToolChunk, type ServerTool } from '../../core/metadata.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { unknownChunk } from '../shared/unknownChunk.js';

/** Types of block and the names of their metadata (SDK 1.12, `BetaContentBlock`). */
const metadataNames: ReadonlyMap<string, string> = new Map([
  ['compaction', 'compaction'],
  ['fallback', 'fallback'],
  ['mcp_tool_listing', 'mcpToolListing'],
  ['container_upload', 'containerUpload'],
] as const);

export const isKnownBlock = (type: string): boolean =>
  type === 'redacted_thinking' || metadataNames.has(type) || isServerCall(type) || isServerResult(type);

export const isServerCall = (type: unknown): boolean => type === 'server_tool_use' || type === 'mcp_tool_use';

const resultSuffix = '_tool_result';

export const isServerResult = (type: unknown): boolean => typeof type === 'string' && type.endsWith(resultSuffix);

/** A response whose unknown call has no result must not end as complete. */
export class BlockReports {
  private readonly calls = new Map<string, Pick<ServerTool, 'name' | 'input'>>();
  private readonly unknownCalls = new Set<string>();

  constructor(private readonly out: ChunkReceiver) {}

  add(block: JsonObject): void {
    const type = nonEmptyString(block['type']) ?? '';
    if (isServerCall(type)) this.addCall(block);
    else if (isServerResult(type)) this.addResult(block, type);
    else if (!/^(redacted_)?thinking$/.test(type)) this.addOther(block, type); // thinking is only sent back
  }

  hasUnknownCall(): boolean {
    return this.unknownCalls.size > 0;
  }

  private addCall(block: JsonObject): void {
    const id = nonEmptyString(block['id']) ?? '';
    const call = { name: nonEmptyString(block['name']) ?? '', input: block['input'] ?? {} };
    this.calls.set(id, call);
    this.out.emit(serverToolChunk({ id, ...call, status: 'running', raw: block }));
  }

  private addResult(block: JsonObject, type: string): void {
    const id = nonEmptyString(block['tool_use_id']) ?? '';
    const call = this.calls.get(id) ?? { name: type.slice(0, -resultSuffix.length) };
    const status = isFailure(block) ? 'failed' : 'completed';
    this.calls.delete(id); // its input is not repeated in another result
    this.unknownCalls.delete(id);
    this.out.emit(serverToolChunk({ id, ...call, status, ...omitUndefined({ output: block['content'] }), raw: block }));
  }

  private addOther(block: JsonObject, type: string): void {
    const name = metadataNames.get(type);
    this.out.emit(name === undefined ? unknownChunk(block) : { type: 'metadata', metadata: { [name]: block } });
    if (name === undefined && isCall(block, type)) this.unknownCalls.add(nonEmptyString(block['id']) ?? '');
  }
}

/** The content of a failed result is an error (`web_search_tool_result_error`). */
function isFailure({ content, is_error: isError }: JsonObject): boolean {
  const hasErrorCode = (value: JsonValue | undefined) => isJsonObject(value) && value['error_code'] !== undefined;
  return isError === true || hasErrorCode(content);
}

const isCall = (block: JsonObject, type: string): boolean =>
  type.endsWith('_use') ||
  type.endsWith('_call') ||
  (nonEmptyString(block['id']) !== undefined && block['input'] !== undefined);
