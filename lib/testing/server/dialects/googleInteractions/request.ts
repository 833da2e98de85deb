import {
  asArray,
  finiteNumber,
  isRecord,
  objectOrEmpty,
  isJsonObject,
  nonEmptyString,
} from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import { words } from '../../../../core/words.js';
import { refusal, type Refusal } from '../dialect.js';
import { objectsIn } from '../history.js';
import { historyObjection, type HistoryRules } from '../historyRules.js';

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

/** The members of `Step` of the SDK 3.1. */
const stepTypes: readonly RegExp[] = [
  /^(user_input|model_output|thought)$/,
  /^(function|mcp_server_tool|processing|retrieval)_(call|result)$/,
  /^(code_execution|file_search|google_maps|google_search|url_context)_(call|result)$/,
];

const contentTypes = /^(text|image|audio|video|document)$/;

/** The types are those of the SDK 3.1. */
const historyRules: HistoryRules = {
  'Type `Step`: its members': (steps, at) => {
    const type = steps[at]?.['type'];
    return typeof type === 'string' && stepTypes.some((pattern) => pattern.test(type))
      ? undefined
      : `Invalid value at 'input[${at}].type'.`;
  },
  'Types `UserInputStep` and `ModelOutputStep`: an array of `Content`': (steps, at) => {
    const { type, content } = steps[at] ?? {};
    if (type !== 'user_input' && type !== 'model_output') return undefined;
    const isValid = objectsIn(content).length > 0 && objectsIn(content).every(isContent);
    return isValid ? undefined : `Invalid value at 'input[${at}].content'.`;
  },
  'Guide "Gemini thinking": every thought step has a signature': (steps, at) => {
    const { type, signature } = steps[at] ?? {};
    return type !== 'thought' || nonEmptyString(signature) !== undefined
      ? undefined
      : `Thought step 'input[${at}]' is missing a signature.`;
  },
  'Type `FunctionCallStep`: `id`, `name` and `arguments` are required': (steps, at) => {
    const { type, id, name, arguments: args } = steps[at] ?? {};
    if (type !== 'function_call') return undefined;
    const isValid = nonEmptyString(id) !== undefined && nonEmptyString(name) !== undefined && isJsonObject(args);
    return isValid ? undefined : `Invalid value at 'input[${at}]': a function call needs id, name and arguments.`;
  },
  'Type `FunctionResultStep`: `call_id` is the id of a function call before it': (steps, at) => {
    const { type, call_id: id } = steps[at] ?? {};
    const isAnswer = steps.slice(0, at).some((step) => step['type'] === 'function_call' && step['id'] === id);
    return type !== 'function_result' || isAnswer
      ? undefined
      : `No function call found for the function result 'input[${at}]'.`;
  },
  'Type `FunctionResultStep`: `result` is required': (steps, at) =>
    steps[at]?.['type'] === 'function_result' && steps[at]['result'] === undefined
      ? `Invalid value at 'input[${at}].result'.`
      : undefined,
  'Guide "Function calling": a result for each call before the model goes on': (steps, at) => {
    const { type, id } = steps[at] ?? {};
    if (type !== 'function_call') return undefined;
    const isAnswered = steps.slice(at + 1).some((step) => step['type'] === 'function_result' && step['call_id'] === id);
    return isAnswered ? undefined : `The function call 'input[${at}]' has no function result.`;
  },
};

const isContent = ({ type, text, data, uri }: JsonObject): boolean =>
  typeof type === 'string' &&
  contentTypes.test(type) &&
  (type === 'text' ? typeof text === 'string' : (data ?? uri) !== undefined);
