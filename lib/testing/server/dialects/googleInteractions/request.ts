import { asArray, finiteNumber, isRecord, objectOrEmpty } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import { words } from '../../../../core/words.js';
import { refusal } from '../dialect.js';
import type { Refusal } from '../dialect.js';
import { objectsIn } from '../history.js';
import { historyObjection } from '../historyRules.js';
import { historyRules } from './historyRules.js';

/** `CreateModelInteraction` (SDK 3.1). */
const requestFields: ReadonlySet<string> = /* @__PURE__ */ words(`
  background cached_content continuation_token environment generation_config input labels model
  previous_interaction_id response_format response_mime_type response_modalities safety_settings service_tier store
  stream system_instruction tools webhook_config
`);

/** `GenerationConfig` (SDK 3.1). */
const configFields: ReadonlySet<string> = /* @__PURE__ */ words(`
  image_config max_output_tokens seed speech_config stop_sequences temperature thinking_level thinking_summaries
  tool_choice top_p transcription_config video_config
`);

const unknownField = (fields: ReadonlySet<string>, value: unknown): string | undefined => {
  const unknown = Object.keys(objectOrEmpty(value)).find((field) => !fields.has(field));
  return unknown === undefined ? undefined : `Invalid JSON payload received. Unknown name "${unknown}".`;
};

const rules: Readonly<Record<string, (body: JsonObject) => string | undefined>> = {
  'Type `CreateModelInteraction`': (body) => unknownField(requestFields, body),
  'Type `GenerationConfig`': (body) => unknownField(configFields, body['generation_config']),
  'Type `CreateModelInteraction.model`: required': ({ model }) =>
    typeof model === 'string' && model !== '' ? undefined : 'model is required.',
  'Guide "Interactions API": `input`, unless an interaction is continued': ({
    input,
    previous_interaction_id: previous,
  }) =>
    previous !== undefined || typeof input === 'string' || objectsIn(input).length > 0
      ? undefined
      : 'input is required.',
  'API reference, `GenerationConfig.temperature`: from 0 to 2': ({ generation_config: config }) => {
    const { temperature } = objectOrEmpty(config);
    const value = finiteNumber(temperature);
    const isValid = temperature === undefined || (value !== undefined && value >= 0 && value <= 2);
    return isValid ? undefined : 'generation_config.temperature must be in the range [0.0, 2.0].';
  },
  'Type `ToolChoiceType`, and `AllowedTools.mode`': ({ generation_config: config }) => {
    const { tool_choice: choice } = objectOrEmpty(config);
    const mode = isRecord(choice) ? objectOrEmpty(choice['allowed_tools'])['mode'] : choice;
    return mode === undefined || (typeof mode === 'string' && ['auto', 'any', 'none', 'validated'].includes(mode))
      ? undefined
      : "Invalid value at 'generation_config.tool_choice'.";
  },
  'API reference, `FunctionDeclaration.name`': ({ tools }) => {
    const functions = asArray(tools)
      .filter(isRecord)
      .filter(({ type }) => type === 'function');
    const isValid = functions.every(
      ({ name }) => typeof name === 'string' && /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name),
    );
    return isValid ? undefined : "Invalid value at 'tools': invalid function name.";
  },
};

export function refusedByInteractions(body: unknown): Refusal | undefined {
  if (!isRecord(body)) return refused('Invalid JSON payload received.');
  for (const objection of Object.values(rules)) {
    const found = objection(body as JsonObject);
    if (found !== undefined) return refused(found);
  }
  const found = historyObjection(historyRules, objectsIn(body['input']));
  return found === undefined ? undefined : refused(found);
}

const refused = (message: string) => refusal('invalid_request', message);
