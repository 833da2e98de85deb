import type { Chunk, FileChunk, SourceChunk } from '../../core/chunk.js';
import { asArray, isJsonObject, nonEmptyString, omit, omitUndefined, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { CallFragments } from '../shared/callFragments.js';
import { unknownChunk } from '../shared/unknownChunk.js';
import { createBlockReports, isKnownBlock } from './blockReports.js';
import { readCitedSource, readResultChunks } from './sources.js';

/** Turns the content blocks of one response into chunks. */
export interface BlockDecoder {
  /** Handles `content_block_start`. */
  start(index: unknown, block: unknown): void;
  /**
   * Handles `content_block_delta`. If the block has not been started, the delta opens it: some compatible servers omit
   * starts.
   */
  delta(index: unknown, delta: unknown): void;
  /** Handles `content_block_stop`. */
  stop(index: unknown): void;
  /** Closes the blocks that are still open, except tool calls. Call it at the end of the response. */
  end(): void;
  /** Whether a block of an unknown type looks like a call of a tool that Anthropic does not run. */
  readonly hasUnknownCall: boolean;
}

/** A block that has started but has not stopped. */
interface OpenBlock {
  readonly type: string;
  readonly index: unknown;
  /**
   * The fields to send back in the next request: for a text only its citations, for a tool call none (their other
   * content is emitted as chunks), for any other block all fields.
   */
  readonly fields: Record<string, JsonValue>;
  /** The `partial_json` received so far. Always empty for tool calls, whose JSON is emitted at once. */
  json: string;
  /** Whether a text of the block was emitted, although the block is sent back as it is: only for unknown types. */
  hasText: boolean;
}

/**
 * The types of block whose content is emitted as chunks. Some compatible servers send deltas of another kind in them:
 * text in an open call, thinking in a text. Each delta is emitted by its own kind.
 */
const streamedBlocks: ReadonlySet<string> = new Set(['text', 'thinking', 'tool_use']);

/** The type of block to open for each type of delta, if the block has not been started. */
const blockTypesByDelta: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['citations_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'thinking'],
  ['input_json_delta', 'tool_use'],
]);

/**
 * Creates a decoder for the content blocks of one response.
 *
 * Text blocks become text chunks, and `tool_use` blocks become fragments of tool calls. All other blocks (signed
 * thinking, calls and results of Anthropic's own tools, unknown types) have to be sent back unchanged and in the same
 * position. The decoder stores each of them in the `providerData` (`after`) of an empty text chunk, called a marker:
 * its position in the message records that the block follows the text before it. The citations of a text block are
 * stored in the same way (`citations`); so is a block of an unknown type with a text, which is emitted: the block
 * replaces that text when it is sent back (`as`).
 *
 * @param emit Receives the chunks, in order.
 */
export function createBlockDecoder(emit: (chunk: Chunk) => void): BlockDecoder {
  const openBlocks = new Map<unknown, OpenBlock>();
  const openOtherBlocks = new Set<OpenBlock>(); // those that are not tool calls
  const emittedOnce = new Set<string>();
  const calls = new CallFragments({ emit });
  const reports = createBlockReports(emit);
  /** Whether text was emitted after the last marker. */
  let hasTextSinceMarker = false;

  const emitMarker = (data: JsonObject) => {
    hasTextSinceMarker = false;
    emit({ type: 'text', text: '', providerData: { anthropic: data } });
  };
  const emitText = (type: 'text' | 'thinking', text: unknown) => {
    if (typeof text !== 'string' || text === '') return;
    if (type === 'text') hasTextSinceMarker = true;
    emit({ type, text });
  };
  const emitOnce = (chunk: SourceChunk | FileChunk) => {
    const key = JSON.stringify(chunk);
    if (emittedOnce.has(key)) return;
    emittedOnce.add(key);
    emit(chunk);
  };
  const addCitation = ({ type, fields }: OpenBlock, citation: JsonObject) => {
    // The API accepts thinking only unchanged.
    if (type !== 'thinking') ((fields['citations'] ??= []) as JsonObject[]).push(citation);
    emitOnce({ type: 'source', source: readCitedSource(citation) });
  };

  const open = (index: unknown, startedBlock: JsonObject): OpenBlock => {
    calls.endPending();
    closeBlocksExceptCalls();
    const type = nonEmptyString(startedBlock['type']) ?? 'text';
    const block: OpenBlock = { type, index, fields: {}, json: '', hasText: false };
    openBlocks.set(index, block);
    if (type !== 'tool_use') openOtherBlocks.add(block);
    switch (type) {
      case 'tool_use':
        calls.start(index, readCallFields(startedBlock));
        break;
      case 'text':
        // The marker separates this text from the text before it, to which the citations of this text do not apply.
        if (hasTextSinceMarker && startedBlock['citations']) emitMarker({});
        emitText('text', startedBlock['text']);
        for (const citation of asArray(startedBlock['citations']).filter(isJsonObject)) addCitation(block, citation);
        break;
      default:
        Object.assign(block.fields, startedBlock);
        if (type === 'thinking') emitText('thinking', startedBlock['thinking']);
    }
    return block;
  };

  const close = (block: OpenBlock) => {
    const { type, index, fields, json } = block;
    openBlocks.delete(index);
    openOtherBlocks.delete(block);
    switch (type) {
      case 'tool_use':
        hasTextSinceMarker = false;
        calls.end(index);
        return;
      case 'text':
        if (fields['citations'] !== undefined) emitMarker({ citations: fields['citations'] });
        return;
      default:
        if (json !== '') fields['input'] = tryParseJson(json) ?? json;
        if (isEmptyThinking(type, fields)) return;
        reports.add({ ...fields });
        emitMarker(block.hasText ? { as: { ...fields } } : { after: [{ ...fields }] });
        readResultChunks(fields).forEach(emitOnce);
    }
  };
  const closeBlocksExceptCalls = () => {
    for (const block of openOtherBlocks) close(block);
  };
  const openForDelta = (index: unknown, deltaType: unknown): OpenBlock | undefined => {
    const type = blockTypesByDelta.get(deltaType);
    return type === undefined ? undefined : open(index, { type });
  };
  const appendJson = (block: OpenBlock, json: string) => {
    if (streamedBlocks.has(block.type)) calls.fragment(block.index, json);
    else block.json += json;
  };
  /** Adds a delta to a text, to thinking or to a tool call. */
  const appendToStreamed = (block: OpenBlock, delta: JsonObject) => {
    const { type, text, thinking, signature } = delta;
    emitText('text', text);
    emitText('thinking', thinking);
    if (block.type === 'thinking') appendFields(block.fields, omitUndefined({ thinking, signature }));
    if (type !== undefined && !blockTypesByDelta.has(type)) emit(unknownChunk(delta));
  };
  /** Adds a delta to a block that is sent back as it is. */
  const appendToOther = (block: OpenBlock, delta: JsonObject) => {
    emitText('thinking', delta['thinking']);
    if (delta['type'] === 'text_delta') {
      const isPart = !isKnownBlock(block.type);
      if (isPart && !block.hasText && hasTextSinceMarker) emitMarker({});
      emitText('text', delta['text']);
      if (!isPart) return;
      block.hasText = true;
    }
    // A delta of a compaction has the final values (SDK 1.12, BetaMessageStream).
    if (delta['type'] === 'compaction_delta') Object.assign(block.fields, omit(delta, 'type'));
    else appendFields(block.fields, delta);
  };

  return {
    start(index, block) {
      if (isJsonObject(block)) open(index, block);
    },
    delta(index, delta) {
      if (!isJsonObject(delta)) return;
      const block = openBlocks.get(index) ?? openForDelta(index, delta['type']);
      if (!block) {
        emit(unknownChunk(delta));
        return;
      }
      const { partial_json: partialJson, citation } = delta;
      // Some compatible servers send the arguments as an object, in one delta.
      const json = isJsonObject(partialJson) ? JSON.stringify(partialJson) : partialJson;
      if (typeof json === 'string') appendJson(block, json);
      else if (isJsonObject(citation)) addCitation(block, citation);
      else if (streamedBlocks.has(block.type)) appendToStreamed(block, delta);
      else appendToOther(block, delta);
    },
    stop(index) {
      const block = openBlocks.get(index);
      if (block) close(block);
    },
    end: closeBlocksExceptCalls,
    get hasUnknownCall() {
      return reports.hasUnknownCall;
    },
  };
}

/**
 * Copies the fields of a delta to a block. A string is appended to the block's field of the same name (`thinking`,
 * `signature`, fields of unknown blocks); any other value replaces it.
 */
function appendFields(fields: Record<string, JsonValue>, delta: JsonObject): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'type' || value === null) continue;
    const previous = fields[name];
    fields[name] = typeof value === 'string' && typeof previous === 'string' ? previous + value : value;
  }
}

const isEmptyThinking = (type: string, { thinking, signature }: Readonly<Record<string, JsonValue>>): boolean =>
  type === 'thinking' && nonEmptyString(thinking) === undefined && nonEmptyString(signature) === undefined;

/**
 * Reads the fields that arrive at the start of a tool call. Some compatible servers send the complete arguments here.
 * Two fields have to be sent back: the `caller` of a call that code in Anthropic's container made, and the
 * `toolset_name` of a call of a client toolset.
 */
function readCallFields({ id, name, input, caller, toolset_name }: JsonObject): Parameters<CallFragments['start']>[1] {
  const args = isJsonObject(input) && Object.keys(input).length > 0 ? input : nonEmptyString(input);
  const data = omitUndefined({
    caller: isJsonObject(caller) && caller['type'] !== 'direct' ? caller : undefined,
    toolset_name: nonEmptyString(toolset_name),
  });
  const providerData = Object.keys(data).length > 0 ? { anthropic: data } : undefined;
  return omitUndefined({ id: nonEmptyString(id), name: nonEmptyString(name), arguments: args, providerData });
}
