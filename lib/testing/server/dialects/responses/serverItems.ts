import type { Chunk } from '../../../../core/chunk.js';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import type { DialectFrame } from '../dialect.js';
import type { MakeFrame } from './items.js';

/** As `openai` emits it: `serverTools`, whose `raw` is an event or an item, or an `unknown` item. */
export interface ServerItemsWriter {
  write(chunk: Chunk): readonly DialectFrame[] | undefined;
}

/** `add` adds an item to the complete response and returns its index there. */
export function createServerItemsWriter(event: MakeFrame, add: (item: () => JsonObject) => number): ServerItemsWriter {
  const openItems = new Map<string, { index: number; item: JsonObject }>();

  const begin = (id: string, type: string) => {
    const open = openItems.get(id);
    if (open) return { entry: open, frames: [] };
    const entry: { index: number; item: JsonObject } = { index: 0, item: { id, type, status: 'in_progress' } };
    entry.index = add(() => entry.item);
    openItems.set(id, entry);
    const frames = [event('response.output_item.added', { output_index: entry.index, item: entry.item })];
    return { entry, frames };
  };
  const writeEvent = (raw: JsonObject, id: string, type: string): readonly DialectFrame[] => {
    const { entry, frames } = begin(id, type);
    const { type: name, sequence_number: _, ...fields } = raw;
    return [...frames, event(nonEmptyString(name) ?? '', { ...fields, item_id: id, output_index: entry.index })];
  };
  const writeItem = (item: JsonObject, id: string, type: string): readonly DialectFrame[] => {
    if (item['status'] === 'in_progress') return begin(id, type).frames;
    const { entry, frames } = begin(id, type);
    entry.item = item;
    // OpenAI announces the end of a call by its type; other items have no such event.
    const identity = { item_id: id, output_index: entry.index };
    const ended = /_call$|^mcp_list_tools$/.test(type) ? [event(`response.${type}.completed`, identity)] : [];
    return [...frames, ...ended, event('response.output_item.done', { output_index: entry.index, item })];
  };
  return {
    write(chunk) {
      if (chunk.type !== 'metadata') return undefined;
      const { serverTools, unknown: item } = chunk.metadata;
      if (isJsonObject(item))
        return writeItem(item, nonEmptyString(item['id']) ?? '', nonEmptyString(item['type']) ?? '');
      if (!Array.isArray(serverTools)) return undefined;
      return serverTools.filter(isJsonObject).flatMap(({ id, name, status, raw }): readonly DialectFrame[] => {
        const [key, tool] = [nonEmptyString(id) ?? '', nonEmptyString(name) ?? ''];
        const type = isJsonObject(raw) ? nonEmptyString(raw['type']) : undefined;
        if (!isJsonObject(raw) || type === undefined) {
          const step = status === 'running' ? 'in_progress' : (status ?? 'completed');
          return writeItem({ id: key, type: `${tool}_call`, status: step }, key, `${tool}_call`);
        }
        if (!type.startsWith('response.')) return writeItem(raw, nonEmptyString(raw['id']) ?? key, type);
        return writeEvent(raw, key, /^response\.(mcp_list_tools|\w+?_call)/.exec(type)?.[1] ?? `${tool}_call`);
      });
    },
  };
}
