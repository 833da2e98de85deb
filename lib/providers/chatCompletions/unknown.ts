import { contentParts, isJsonObject } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { setField } from '../../core/json/merge.js';

/** The fields of a delta or a message that are read, and `obfuscation`, which is padding. */
const knownFields: ReadonlySet<string> = new Set([
  'role',
  'name',
  'content',
  'refusal',
  'tool_calls',
  'function_call',
  'audio',
  'images',
  'annotations',
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'reasoning_details',
  'obfuscation',
]);

/** The types of the parts of `content` that are read. */
const knownParts: ReadonlySet<unknown> = new Set([
  undefined,
  'text',
  'output_text',
  'refusal',
  'thinking',
  'reasoning',
  'image_url',
  'input_audio',
  'document_url',
  'file',
  'reference',
  'tool_reference',
]);

/** The fields of a frame that are read, or that say nothing about the response. */
const knownFrameFields: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'system_fingerprint',
  'service_tier',
  'provider',
  'citations',
  'search_results',
  'x_groq',
  'obfuscation',
]);

/** Collects what a response contains beside the documented fields. */
export interface UnknownCollector {
  /** Adds the unknown fields and parts of a delta or a message. The last value of a field counts. */
  addDelta(delta: JsonObject): void;
  /** Adds the unknown fields of a frame without a choice. */
  readonly addFrame: (frame: JsonObject) => void;
  /** What was collected: `{ delta, frame, content }`; undefined if there is nothing. */
  data(): JsonObject | undefined;
}

const isEmpty = (value: JsonValue): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** Creates the collector of one response. */
export function createUnknownCollector(): UnknownCollector {
  const groups: Record<string, JsonValue> = {};
  const addFields = (group: string, fields: JsonObject, known: ReadonlySet<string>) => {
    for (const field in fields) {
      const value = fields[field];
      if (known.has(field) || value === undefined || isEmpty(value)) continue;
      const collected = (groups[group] ??= {}) as Record<string, JsonValue>;
      setField(collected, field, value);
    }
  };
  return {
    addDelta(delta) {
      addFields('delta', delta, knownFields);
      for (const part of contentParts(delta['content']))
        if (isJsonObject(part) && !knownParts.has(part['type']))
          groups['content'] = [...((groups['content'] ?? []) as readonly JsonValue[]), part];
    },
    addFrame: (frame) => addFields('frame', frame, knownFrameFields),
    data: () => (Object.keys(groups).length > 0 ? groups : undefined),
  };
}
