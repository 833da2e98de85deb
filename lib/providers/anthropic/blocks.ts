import type { Chunk, FileChunk, SourceChunk } from '../../core/chunk.js';
import { omitUndefined, isJsonObject, asArray, nonEmptyString, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { createCallFragments } from '../shared/callFragments.js';
import type { CallFragments } from '../shared/callFragments.js';
import { foundIn, isServerTool, sourceOf } from './sources.js';

/** Turns the content blocks of one answer into chunks. */
export interface Blocks {
  start(index: unknown, block: unknown): void;
  /** A delta without a start opens the block that it belongs to: some compatible servers leave the start out. */
  delta(index: unknown, delta: unknown): void;
  stop(index: unknown): void;
  /** The answer is whole. */
  end(): void;
}

/** A block while it grows. */
interface Open {
  readonly type: string;
  readonly index: unknown;
  /** The block as it goes back. Of texts and calls only what is beside them. */
  readonly fields: Record<string, JsonValue>;
  /** The pieces of `partial_json`, except those of calls. */
  json: string;
}

/** What a delta without a start belongs to. */
const typeOfDelta: Readonly<Record<string, string>> = {
  text_delta: 'text',
  citations_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
  input_json_delta: 'tool_use',
};

/**
 * Blocks of text and calls of tools become text and fragments. All other blocks have to go back unchanged and in their place (thinking with its
 * signature, what the server's own tools did, kinds that are not known): each stands behind the text that was before it, as its `providerData`
 * (`after`), with an empty text where there is none. So do the citations of a text.
 */
export function createBlocks(tell: (chunk: Chunk) => void): Blocks {
  const open = new Map<unknown, Open>();
  const found = new Set<string>();
  const calls = createCallFragments(tell);
  /** Text has come, and no mark behind it. */
  let unmarked = false;

  const keep = (data: JsonObject) => {
    unmarked = false;
    tell({ type: 'text', text: '', providerData: { anthropic: data } });
  };
  const say = (type: 'text' | 'thinking', text: unknown) => {
    if (typeof text !== 'string' || text === '') return;
    unmarked ||= type === 'text';
    tell({ type, text });
  };
  const once = (chunk: SourceChunk | FileChunk) => {
    const key = JSON.stringify(chunk);
    if (!found.has(key)) tell(chunk);
    found.add(key);
  };
  const cite = (block: Open, citation: JsonObject) => {
    block.fields['citations'] = [...(asArray(block.fields['citations']) as JsonObject[]), citation];
    once({ type: 'source', source: sourceOf(citation) });
  };
  const close = (block: Open) => {
    open.delete(block.index);
    const { type, fields, json } = block;
    if (type === 'tool_use') {
      unmarked = false;
      calls.end(block.index);
    } else if (type === 'text') {
      if (fields['citations'] !== undefined) keep({ citations: fields['citations'] });
    } else {
      if (json !== '') fields['input'] = tryParseJson(json) ?? json;
      if (
        type === 'thinking' &&
        nonEmptyString(fields['thinking']) === undefined &&
        nonEmptyString(fields['signature']) === undefined
      )
        return;
      if (isServerTool(type)) tell({ type: 'metadata', metadata: { serverTool: { ...fields } } });
      keep({ after: [{ ...fields }] });
      foundIn(fields).forEach(once);
    }
  };
  const closeAll = () => {
    for (const block of open.values()) if (block.type !== 'tool_use') close(block);
  };

  const begin = (index: unknown, block: JsonObject): Open => {
    calls.endPending();
    closeAll();
    const type = nonEmptyString(block['type']) ?? 'text';
    const opened: Open = { type, index, fields: {}, json: '' };
    open.set(index, opened);
    if (type === 'tool_use') calls.start(index, callOf(block));
    else if (type === 'text') {
      if (unmarked && block['citations']) keep({}); // the citations to come are not those of the text before
      say('text', block['text']);
      for (const citation of asArray(block['citations']).filter(isJsonObject)) cite(opened, citation);
    } else {
      Object.assign(opened.fields, block);
      if (type === 'thinking') say('thinking', block['thinking']);
    }
    return opened;
  };
  return {
    start(index, block) {
      if (isJsonObject(block)) begin(index, block);
    },
    delta(index, delta) {
      if (!isJsonObject(delta)) return;
      const kind = nonEmptyString(delta['type']) ?? '';
      const type = typeOfDelta[kind];
      const block = open.get(index) ?? (type === undefined ? undefined : begin(index, { type }));
      if (!block) return;
      const partial = delta['partial_json'];
      const json = isJsonObject(partial) ? JSON.stringify(partial) : partial; // compatible servers send the arguments as they are, once
      if (typeof json === 'string') {
        if (block.type === 'tool_use') calls.fragment(index, json);
        else block.json += json;
      } else if (isJsonObject(delta['citation'])) cite(block, delta['citation']);
      else if (block.type === 'text') say('text', delta['text']);
      else if (block.type !== 'tool_use') grow(block, delta, say);
    },
    stop(index) {
      const block = open.get(index);
      if (block) close(block);
    },
    end: closeAll,
  };
}

/** Texts in a delta continue the fields of their name: thinking and signature, and those of kinds that are not known. */
function grow(
  { type, fields }: Open,
  delta: JsonObject,
  say: (type: 'text' | 'thinking', text: unknown) => void,
): void {
  if (type === 'thinking') say('thinking', delta['thinking']);
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'type' || value === null) continue;
    const held = fields[name];
    fields[name] = typeof value === 'string' && typeof held === 'string' ? held + value : value;
  }
}

/** Compatible servers send the arguments with the start. A call made by the server's own code says so, and must say so when it goes back. */
function callOf({ id, name, input, caller }: JsonObject): Parameters<CallFragments['start']>[1] {
  const args = isJsonObject(input) && Object.keys(input).length > 0 ? input : nonEmptyString(input);
  const providerData = isJsonObject(caller) && caller['type'] !== 'direct' ? { anthropic: { caller } } : undefined;
  return omitUndefined({ id: nonEmptyString(id), name: nonEmptyString(name), arguments: args, providerData });
}
