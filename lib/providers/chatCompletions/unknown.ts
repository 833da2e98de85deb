import { contentParts, isJsonObject, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { setField } from '../../core/json/merge.js';
import { words } from '../../core/words.js';

/** Fields that are read, and `obfuscation`, which is padding. */
const knownFields: ReadonlySet<string> = /* @__PURE__ */ words(`
  role name content refusal tool_calls function_call audio images annotations reasoning_content reasoning
  reasoning_text reasoning_details obfuscation
`);

const knownParts: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  text output_text refusal thinking reasoning image_url input_audio document_url file reference tool_reference
`);

const knownFrameFields: ReadonlySet<string> = /* @__PURE__ */ words(`
  id object created model choices usage system_fingerprint service_tier provider citations search_results x_groq
  obfuscation
`);

export class UnknownCollector {
  data: Record<string, JsonValue> | undefined;

  addDelta(delta: JsonObject): void {
    this.addFields('delta', delta, knownFields);
    for (const part of contentParts(delta['content']))
      if (isJsonObject(part) && part['type'] !== undefined && !knownParts.has(part['type'])) {
        this.data ??= {};
        ((this.data['content'] ??= []) as JsonValue[]).push(part);
      }
  }

  addFrame(frame: JsonObject): void {
    this.addFields('frame', frame, knownFrameFields);
  }

  addLogprobs(logprobs: JsonValue): void {
    if (!isJsonObject(logprobs)) return;
    const all = ((this.data ??= {})['logprobs'] ??= {}) as Record<string, JsonValue>;
    for (const [field, tokens] of Object.entries(logprobs)) {
      if (!Array.isArray(tokens)) continue;
      const joined = (all[field] ??= []) as JsonValue[];
      for (const token of tokens as readonly JsonValue[]) joined.push(token);
    }
  }

  private addFields(group: string, fields: JsonObject, known: ReadonlySet<string>): void {
    for (const field in fields) {
      const value = fields[field];
      if (isEmpty(value) || known.has(field)) continue;
      this.data ??= {};
      setField((this.data[group] ??= {}) as Record<string, JsonValue>, field, value);
    }
  }
}

/** Servers send all fields of a delta, also empty ones. */
export const isEmpty = (value: JsonValue | undefined): value is undefined | null | '' | readonly never[] =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
