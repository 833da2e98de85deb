import { isJsonObject, textOf } from '../../../core/json.js';
import type { JsonObject } from '../../../core/json.js';
import type { DialectFrame } from './dialect.js';
import type { Event } from './responsesItems.js';

/** Writes what a script tells of the tools that OpenAI runs: metadata under `openai-responses`, as a model of ours tells it. */
export interface ServerItemsWriter {
  /** The frames of one fact; undefined where it is none of an item. */
  fact(metadata: JsonObject): readonly DialectFrame[] | undefined;
}

/** What the whole item says. A fact that is nothing but another status is a step. */
const ends: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete']);

/** The events of the pieces of a text, by the item. */
const pieces: ReadonlyMap<string, string> = new Map([
  ['code_interpreter_call', 'code_interpreter_call_code'],
  ['mcp_call', 'mcp_call_arguments'],
]);

/**
 * @param event Makes a frame.
 * @param add Takes an item as it will be in the whole response, and gives its place there.
 */
export function serverItemsWriter(event: Event, add: (item: () => JsonObject) => number): ServerItemsWriter {
  const open = new Map<string, { readonly index: number; item: JsonObject }>();

  const begin = (id: string, type: string): readonly DialectFrame[] => {
    if (open.has(id)) return [];
    const entry = { index: 0, item: { id, type, status: 'in_progress' } as JsonObject };
    const index = add(() => entry.item);
    open.set(id, Object.assign(entry, { index }));
    return [event('response.output_item.added', { output_index: index, item: entry.item })];
  };
  return {
    fact(metadata) {
      const { id, type, ...rest } = metadata;
      const [name, key] = [textOf(type), textOf(id)];
      if (name === undefined || key === undefined) return undefined;
      const before = begin(key, name);
      const entry = open.get(key);
      if (!entry) return before;
      const at = { item_id: key, output_index: entry.index };
      const { status, delta, partial_image_index: image } = rest;
      if (typeof delta === 'string') return [...before, event(`response.${pieces.get(name) ?? name}.delta`, { ...at, delta })];
      if (image !== undefined) return [...before, event(`response.${name}.partial_image`, { ...at, ...rest })];
      const step = Object.keys(rest).length === 1 ? textOf(status) : undefined;
      if (step !== undefined && !ends.has(step)) return [...before, event(`response.${name}.${step}`, at)];
      entry.item = metadata;
      const ended = /_call$|^mcp_list_tools$/.test(name) ? [event(`response.${name}.completed`, at)] : [];
      return [...before, ...ended, event('response.output_item.done', { output_index: entry.index, item: metadata })];
    },
  };
}

/** What a script tells of this provider. */
export function factIn(metadata: JsonObject): JsonObject | undefined {
  const own = metadata['openai-responses'];
  return isJsonObject(own) ? own : undefined;
}
