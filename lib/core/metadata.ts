import type { Chunk } from './chunk.js';
import { isRecord, type JsonValue } from './json/json.js';
import { setField } from './json/merge.js';
import type { Metadata } from './message.js';
import type { OfType } from './typesOf.js';

/** The later value of a key wins, but `serverTools` are merged by `id`, and costs are added. */
export function mergeMetadata(earlier: Metadata | undefined, later: Metadata): Metadata {
  return new MetadataCollector(earlier).add(later).metadata ?? later;
}

/**
 * A call of a tool that the provider runs itself. It is metadata under `serverTools`: an event has the entry that
 * changed, and `turn.metadata` all entries of the turn, merged by `id`. A type and not an interface: only a type is
 * assignable to `JsonObject`.
 */
export type ServerTool = {
  /** The provider's id of the call. */
  readonly id: string;
  /** The provider's name of the tool: `web_search`, `code_interpreter`. */
  readonly name: string;
  readonly status: 'running' | 'completed' | 'failed';
  /** The arguments, once they are known. */
  readonly input?: JsonValue;
  /** The result or the error, once it is known. */
  readonly output?: JsonValue;
  /** The provider's own object, as it was received last. */
  readonly raw: JsonValue;
};

/** Creates the metadata event for a change of one server tool call. */
export function serverToolChunk(tool: ServerTool): OfType<Chunk, 'metadata'> {
  return { type: 'metadata', metadata: { serverTools: [tool] } };
}

/** In linear time: what was merged is extended and not copied. */
export class MetadataCollector {
  private merged: Record<string, JsonValue> | undefined;
  private tools: ToolList | undefined;

  constructor(initial?: Metadata) {
    if (initial) this.add(initial);
  }

  get metadata(): Metadata | undefined {
    return this.merged;
  }

  add(later: Metadata): this {
    this.merged ??= {};
    for (const [key, value] of Object.entries(later)) setField(this.merged, key, this.mergedValue(key, value));
    return this;
  }

  private mergedValue(key: string, value: JsonValue): JsonValue {
    const before = this.merged?.[key];
    if (key === 'cost') return typeof before === 'number' && typeof value === 'number' ? before + value : value;
    if (key !== 'serverTools' || !Array.isArray(value)) return value;
    if (!this.tools || before !== this.tools.entries) this.tools = new ToolList();
    for (const entry of value as readonly JsonValue[]) this.tools.add(entry);
    return this.tools.entries;
  }
}

/** Entries stay at the position of the first one with the id; the last value of a field wins. */
class ToolList {
  readonly entries: JsonValue[] = [];
  private readonly places = new Map<unknown, number>();

  add(entry: JsonValue): void {
    const id = isRecord(entry) ? entry['id'] : undefined;
    const place = this.places.get(id);
    if (place !== undefined) {
      this.entries[place] = { ...(this.entries[place] as Metadata), ...(entry as Metadata) };
      return;
    }
    if (id !== undefined) this.places.set(id, this.entries.length);
    this.entries.push(entry);
  }
}

export function metadataOfRetracted(metadata: Metadata | undefined): Metadata | undefined {
  const cost = metadata?.['cost'];
  return cost === undefined ? undefined : { cost };
}
