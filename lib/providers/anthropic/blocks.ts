import type { Chunk, FileChunk, SourceChunk } from '../../core/chunk.js';
import { asArray, isJsonObject, nonEmptyString, omitUndefined, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { createCallFragments } from '../shared/callFragments.js';
import type { CallFragments } from '../shared/callFragments.js';
import { citedSource, isServerToolBlock, resultChunks } from './sources.js';

/** Turns the content blocks of one answer into chunks. */
export interface BlockDecoder {
  /** `content_block_start`. */
  start(index: unknown, block: unknown): void;
  /** `content_block_delta`. Without a start it opens the block that it belongs to: some compatible servers omit starts. */
  delta(index: unknown, delta: unknown): void;
  /** `content_block_stop`. */
  stop(index: unknown): void;
  /** The answer is complete. */
  end(): void;
}

/** A block that has started and not stopped. */
interface OpenBlock {
  readonly type: string;
  readonly index: unknown;
  /** The block as it will be sent back. For texts only the citations, for tool calls nothing: chunks carry the rest. */
  readonly fields: Record<string, JsonValue>;
  /** The `partial_json` received so far, except that of tool calls. */
  json: string;
}

/** The type of the block that a delta without a start belongs to. */
const blockTypes: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['citations_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'thinking'],
  ['input_json_delta', 'tool_use'],
]);

/**
 * Creates a decoder for the content blocks of one answer.
 *
 * Text blocks become text, `tool_use` blocks become fragments of tool calls. All other blocks have to be sent back
 * unchanged and at their place (signed thinking, what Anthropic's own tools did, unknown types): each becomes
 * `providerData` (`after`) of an empty text, which marks its place after the text before it. The citations of a text
 * block are marked in the same way (`citations`).
 *
 * @param emit Takes the chunks, in order.
 */
export function createBlockDecoder(emit: (chunk: Chunk) => void): BlockDecoder {
  const openBlocks = new Map<unknown, OpenBlock>();
  const emittedOnce = new Set<string>();
  const calls = createCallFragments(emit);
  /** Whether text was emitted after the last mark. */
  let hasUnmarkedText = false;

  const emitMark = (data: JsonObject) => {
    hasUnmarkedText = false;
    emit({ type: 'text', text: '', providerData: { anthropic: data } });
  };
  const emitText = (type: 'text' | 'thinking', text: unknown) => {
    if (typeof text !== 'string' || text === '') return;
    if (type === 'text') hasUnmarkedText = true;
    emit({ type, text });
  };
  const emitOnce = (chunk: SourceChunk | FileChunk) => {
    const key = JSON.stringify(chunk);
    if (emittedOnce.has(key)) return;
    emittedOnce.add(key);
    emit(chunk);
  };
  const addCitation = ({ fields }: OpenBlock, citation: JsonObject) => {
    fields['citations'] = [...(asArray(fields['citations']) as JsonObject[]), citation];
    emitOnce({ type: 'source', source: citedSource(citation) });
  };

  const open = (index: unknown, wireBlock: JsonObject): OpenBlock => {
    calls.endPending();
    closeAllButCalls();
    const block: OpenBlock = { type: nonEmptyString(wireBlock['type']) ?? 'text', index, fields: {}, json: '' };
    openBlocks.set(index, block);
    switch (block.type) {
      case 'tool_use':
        calls.start(index, callFields(wireBlock));
        break;
      case 'text':
        // A mark ends the text before: the citations to come do not belong to it.
        if (hasUnmarkedText && wireBlock['citations']) emitMark({});
        emitText('text', wireBlock['text']);
        for (const citation of asArray(wireBlock['citations']).filter(isJsonObject)) addCitation(block, citation);
        break;
      default:
        Object.assign(block.fields, wireBlock);
        if (block.type === 'thinking') emitText('thinking', wireBlock['thinking']);
    }
    return block;
  };

  const close = ({ type, index, fields, json }: OpenBlock) => {
    openBlocks.delete(index);
    switch (type) {
      case 'tool_use':
        hasUnmarkedText = false;
        calls.end(index);
        return;
      case 'text':
        if (fields['citations'] !== undefined) emitMark({ citations: fields['citations'] });
        return;
      default:
        if (json !== '') fields['input'] = tryParseJson(json) ?? json;
        if (isEmptyThinking(type, fields)) return;
        if (isServerToolBlock(type)) emit({ type: 'metadata', metadata: { serverTool: { ...fields } } });
        emitMark({ after: [{ ...fields }] });
        resultChunks(fields).forEach(emitOnce);
    }
  };
  const closeAllButCalls = () => {
    for (const block of openBlocks.values()) if (block.type !== 'tool_use') close(block);
  };
  const openFor = (index: unknown, deltaType: unknown): OpenBlock | undefined => {
    const type = blockTypes.get(deltaType);
    return type === undefined ? undefined : open(index, { type });
  };
  const appendJson = (block: OpenBlock, json: string) => {
    if (block.type === 'tool_use') calls.fragment(block.index, json);
    else block.json += json;
  };

  return {
    start(index, block) {
      if (isJsonObject(block)) open(index, block);
    },
    delta(index, delta) {
      if (!isJsonObject(delta)) return;
      const block = openBlocks.get(index) ?? openFor(index, delta['type']);
      if (!block) return;
      const { partial_json: partial, citation } = delta;
      // Compatible servers send the arguments as an object, in one delta.
      const json = isJsonObject(partial) ? JSON.stringify(partial) : partial;
      if (typeof json === 'string') appendJson(block, json);
      else if (isJsonObject(citation)) addCitation(block, citation);
      else if (block.type === 'text') emitText('text', delta['text']);
      else if (block.type !== 'tool_use') {
        if (block.type === 'thinking') emitText('thinking', delta['thinking']);
        appendFields(block.fields, delta);
      }
    },
    stop(index) {
      const block = openBlocks.get(index);
      if (block) close(block);
    },
    end: closeAllButCalls,
  };
}

/** Appends strings to the fields of their name (thinking, signature, those of unknown blocks); replaces other values. */
function appendFields(fields: Record<string, JsonValue>, delta: JsonObject): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'type' || value === null) continue;
    const before = fields[name];
    fields[name] = typeof value === 'string' && typeof before === 'string' ? before + value : value;
  }
}

const isEmptyThinking = (type: string, { thinking, signature }: Readonly<Record<string, JsonValue>>): boolean =>
  type === 'thinking' && nonEmptyString(thinking) === undefined && nonEmptyString(signature) === undefined;

/**
 * The fields of a tool call that come with its start. Compatible servers send the arguments here. A call that was made
 * by code in Anthropic's container has a `caller`, which has to be sent back.
 */
function callFields({ id, name, input, caller }: JsonObject): Parameters<CallFragments['start']>[1] {
  const args = isJsonObject(input) && Object.keys(input).length > 0 ? input : nonEmptyString(input);
  const providerData = isJsonObject(caller) && caller['type'] !== 'direct' ? { anthropic: { caller } } : undefined;
  return omitUndefined({ id: nonEmptyString(id), name: nonEmptyString(name), arguments: args, providerData });
}
