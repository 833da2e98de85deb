import { isJsonObject, isRecord, nonEmptyString, objectOrEmpty } from '../../../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../../../core/json/json.js';
import { implicitPrompt } from '../implicitPrompt.js';
import { refusal, type Dialect, type DialectFrame, type Refusal } from '../dialect.js';
import { objectsIn } from '../history.js';
import { refusedByOpenai } from '../outputSchema.js';
import { historyObjection } from '../historyRules.js';
import { refusedByOpenaiSettings } from '../settings.js';
import { completeHistoryRules, historyRules } from './historyRules.js';

const refuse = (message: string, code?: string) => refusal('invalid_request_error', message, code);

export function refusalOf(body: unknown): Refusal | undefined {
  if (!isRecord(body))
    return refuse('We could not parse the JSON body of your request. The API expects a JSON object.');
  const unknown = ['messages', 'stop', 'seed', 'max_tokens', 'response_format'].find((field) => field in body);
  if (unknown !== undefined) return refuse(`Unsupported parameter: '${unknown}'.`, 'unsupported_parameter');
  const { model, tools = [], previous_response_id: previous } = body;
  const input = body['input'] ?? (previous === undefined ? undefined : []);
  if (nonEmptyString(model) === undefined)
    return refuse("Missing required parameter: 'model'.", 'missing_required_parameter');
  if (typeof input !== 'string' && !Array.isArray(input))
    return refuse("Missing required parameter: 'input'.", 'missing_required_parameter');
  if (input.length === 0 && previous === undefined) return refuse("Invalid 'input': it is empty.", 'empty_array');
  const nameless = Array.isArray(tools)
    ? tools.findIndex((tool) => isNamedTool(tool) && nonEmptyString(tool['name']) === undefined)
    : -1;
  if (nameless >= 0)
    return refuse(`Missing required parameter: 'tools[${nameless}].name'.`, 'missing_required_parameter');
  if (body['stream'] !== true)
    return refuse("This loopback server only streams: send 'stream': true.", 'unsupported_value');
  const settings = refusedByOpenaiSettings(body);
  if (settings) return refuse(settings.message, settings.code);
  const invalid = refusedByOpenai(objectOrEmpty(body['text'])['format'], 'response_format');
  if (invalid !== undefined) return refuse(invalid, 'invalid_json_schema');
  if (typeof input === 'string') return undefined;
  if (!input.every(isRecord)) return refuse("Invalid type for 'input': expected an array of objects.", 'invalid_type');
  const rules = previous === undefined ? { ...historyRules, ...completeHistoryRules } : historyRules;
  const objection = historyObjection(rules, objectsIn(input));
  return objection === undefined ? undefined : refuse(objection);
}

const isNamedTool = (tool: unknown): tool is Record<string, unknown> =>
  isRecord(tool) && (tool['type'] === 'function' || tool['type'] === 'custom');

/** Responses are stored, unless `store: false`. The complete conversation is checked, and what scripts get. */
export function withStore(dialect: Dialect): Dialect {
  const stored = new Map<string, readonly JsonValue[]>();
  const completeBody = (body: JsonObject): JsonObject => {
    const { previous_response_id: previous, ...rest } = body;
    const before = stored.get(nonEmptyString(previous) ?? '');
    return before ? { ...rest, input: [...before, ...inputOf(body)] } : body;
  };
  const store = (body: JsonObject, frames: readonly DialectFrame[]) => {
    const { data = '' } = frames.at(-1) ?? {};
    const last: unknown = data.startsWith('{') ? JSON.parse(data) : undefined; // `[DONE]` is not JSON
    const response = isJsonObject(last) ? last['response'] : undefined;
    if (body['store'] === false || !isJsonObject(response)) return;
    const { id, output } = response;
    stored.set(nonEmptyString(id) ?? '', [
      ...inputOf(completeBody(body)),
      ...(Array.isArray(output) ? (output as readonly JsonValue[]) : []),
    ]);
  };
  return {
    ...dialect,
    refusal(body, headers) {
      if (!isJsonObject(body)) return dialect.refusal(body, headers);
      const previous = nonEmptyString(body['previous_response_id']);
      return previous === undefined || stored.has(previous)
        ? dialect.refusal(completeBody(body), headers)
        : unknownResponse(previous);
    },
    messages: (body) => dialect.messages(completeBody(body)),
    history: (body) => dialect.history(completeBody(body)),
    promptOf: (body) => implicitPrompt(completeBody(body), ['tools', 'instructions', 'input']),
    writer(exchange) {
      const writer = dialect.writer(exchange);
      return {
        ...writer,
        end() {
          const frames = writer.end();
          store(exchange.body, frames);
          return frames;
        },
      };
    },
  };
}

function inputOf({ input }: JsonObject): readonly JsonValue[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? (input as readonly JsonValue[]) : [];
}

const unknownResponse = (id: string): Refusal => ({
  ...refuse(`Previous response with id '${id}' not found.`, 'previous_response_not_found'),
  param: 'previous_response_id',
});
