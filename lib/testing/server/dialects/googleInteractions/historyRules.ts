import { isJsonObject, nonEmptyString } from '../../../../core/json/json.js';
import type { JsonObject } from '../../../../core/json/json.js';
import { objectsIn } from '../history.js';
import type { HistoryRules } from '../historyRules.js';

/** The members of `Step` of the SDK 3.1. */
const stepTypes: readonly RegExp[] = [
  /^(user_input|model_output|thought)$/,
  /^(function|mcp_server_tool|processing|retrieval)_(call|result)$/,
  /^(code_execution|file_search|google_maps|google_search|url_context)_(call|result)$/,
];

/** The members of `Content` of the SDK 3.1. */
const contentTypes = /^(text|image|audio|video|document)$/;

/** The types are those of the SDK 3.1. */
export const historyRules: HistoryRules = {
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
