import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, isRecord, textOf } from '../../core/json.js';
import type { JsonObject, JsonValue } from '../../core/json.js';
import type { SourcePart } from '../../core/message.js';
import { parsedOrUndefined } from '../../protocol/errorDetails.js';
import { listOf } from '../shared/values.js';

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
  /** The pieces of `partial_json`. */
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
  const cited = new Set<string>();
  /** A call without any arguments so far: it may have been cut, or have none. What follows tells. */
  let bare: unknown;
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
  const cite = (block: Open, citation: JsonObject) => {
    block.fields['citations'] = [...(listOf(block.fields['citations']) as JsonObject[]), citation];
    const source = sourceOf(citation);
    const key = JSON.stringify(source);
    if (cited.has(key)) return;
    cited.add(key);
    tell({ type: 'source', source });
  };
  const done = (index: unknown) => tell({ type: 'toolCallFragment', ...indexed(index), done: true });
  const settle = () => {
    if (bare !== undefined) done(bare);
    bare = undefined;
  };

  const close = (block: Open) => {
    open.delete(block.index);
    const { type, fields, json } = block;
    if (type === 'tool_use') {
      unmarked = false;
      // Arguments that are cut by the limit of tokens end with a stop as well: only whole ones mark the call as whole.
      if (json.trim() === '' && fields['input'] === undefined) bare = block.index;
      else if (json.trim() === '' || parsedOrUndefined(json) !== undefined) done(block.index);
    } else if (type === 'text') {
      if (fields['citations'] !== undefined) keep({ citations: fields['citations'] });
    } else {
      if (json !== '') fields['input'] = (parsedOrUndefined(json) ?? json) as JsonValue;
      if (isServerTool(type)) tell({ type: 'metadata', metadata: { serverTool: { ...fields } } });
      keep({ after: [{ ...fields }] });
    }
  };
  const closeAll = () => {
    for (const block of open.values()) if (block.type !== 'tool_use') close(block);
  };

  const begin = (index: unknown, block: JsonObject): Open => {
    settle();
    closeAll();
    const type = textOf(block['type']) ?? 'text';
    const opened: Open = { type, index, fields: {}, json: '' };
    open.set(index, opened);
    if (type === 'tool_use') call(opened, block);
    else if (type === 'text') {
      if (unmarked && block['citations']) keep({}); // the citations to come are not those of the text before
      say('text', block['text']);
      for (const citation of listOf(block['citations']).filter(isJsonObject)) cite(opened, citation);
    } else {
      Object.assign(opened.fields, block);
      if (type === 'thinking') say('thinking', block['thinking']);
    }
    return opened;
  };
  const call = (opened: Open, { id, name, input, caller }: JsonObject) => {
    const whole = isJsonObject(input) && Object.keys(input).length > 0 ? input : textOf(input);
    if (whole !== undefined) opened.fields['input'] = whole;
    const called = isRecord(caller) && caller['type'] !== 'direct' ? { providerData: { anthropic: { caller } } } : {};
    const named = { ...(textOf(id) ? { id: textOf(id) } : {}), ...(textOf(name) ? { name: textOf(name) } : {}) };
    tell({
      type: 'toolCallFragment',
      ...indexed(opened.index),
      ...named,
      ...(whole === undefined ? {} : { arguments: whole }),
      ...called,
    } as Chunk);
  };

  return {
    start(index, block) {
      if (isJsonObject(block)) begin(index, block);
    },
    delta(index, delta) {
      if (!isJsonObject(delta)) return;
      const kind = textOf(delta['type']) ?? '';
      const type = typeOfDelta[kind];
      const block = open.get(index) ?? (type === undefined ? undefined : begin(index, { type }));
      if (!block) return;
      const json = delta['partial_json'];
      if (typeof json === 'string') {
        block.json += json;
        if (block.type === 'tool_use' && json !== '') tell({ type: 'toolCallFragment', ...indexed(index), arguments: json });
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
function grow({ type, fields }: Open, delta: JsonObject, say: (type: 'text' | 'thinking', text: unknown) => void): void {
  if (type === 'thinking') say('thinking', delta['thinking']);
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'type' || value === null) continue;
    const held = fields[name];
    fields[name] = typeof value === 'string' && typeof held === 'string' ? held + value : value;
  }
}

const indexed = (index: unknown) => (typeof index === 'number' || typeof index === 'string' ? { index } : {});

const isServerTool = (type: string): boolean => /^(server|mcp)_tool_use$|_tool_result$/.test(type);

/** A citation of a page, of a search result, or of a passage in a document of the request. */
function sourceOf(citation: JsonObject): SourcePart {
  const url = textOf(citation['url']) ?? textOf(citation['source']);
  const title = textOf(citation['title']) ?? textOf(citation['document_title']);
  const text = textOf(citation['cited_text']);
  return {
    type: 'source',
    ...(url === undefined ? {} : { url }),
    ...(title === undefined ? {} : { title }),
    ...(text === undefined ? {} : { text }),
  };
}
