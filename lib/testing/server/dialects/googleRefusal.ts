import { isJsonObject, isRecord } from '../../../core/json.js';
import type { JsonObject } from '../../../core/json.js';
import type { Refusal } from './dialect.js';

const refused = (message: string): Refusal => ({ status: 400, type: 'INVALID_ARGUMENT', message });

/** The fields of `GenerateContentRequest`; the API refuses any other. */
const known = new Set([
  'contents',
  'tools',
  'toolConfig',
  'safetySettings',
  'systemInstruction',
  'generationConfig',
  'cachedContent',
  'labels',
]);

/** What the Gemini API objects to in a body, in its words. */
export function googleRefusal(body: unknown): Refusal | undefined {
  if (!isRecord(body)) return refused('Invalid JSON payload received.');
  const unknown = Object.keys(body).find((field) => !known.has(field));
  if (unknown !== undefined) return refused(`Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`);
  if (isMixed(body))
    return refused('Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.');
  const { contents } = body as { readonly contents?: unknown };
  if (!Array.isArray(contents) || contents.length === 0) return refused('* GenerateContentRequest.contents: contents is not specified');
  const list = contents.filter(isJsonObject);
  const empty = list.findIndex((content) => partsOf(content).length === 0);
  if (empty >= 0) return refused(`* GenerateContentRequest.contents[${empty}].parts: contents.parts must not be empty.`);
  const role = list.map((content) => content['role']).find((name) => name !== undefined && name !== 'user' && name !== 'model');
  if (role !== undefined) return refused('Please use a valid role: user, model.');
  return list.map((content, at) => unanswered(content, list[at + 1])).find((refusal) => refusal !== undefined);
}

/** Functions beside tools of the API's own, and not the setting that it wants for that. */
function isMixed({ tools, toolConfig }: Record<string, unknown>): boolean {
  if (!Array.isArray(tools) || (isRecord(toolConfig) && toolConfig['includeServerSideToolInvocations'] === true)) return false;
  const kinds = tools.filter(isRecord).flatMap((tool) => Object.keys(tool));
  return kinds.includes('functionDeclarations') && kinds.some((kind) => kind !== 'functionDeclarations');
}

const partsOf = (content: JsonObject | undefined): readonly JsonObject[] =>
  Array.isArray(content?.['parts']) ? content['parts'].filter(isJsonObject) : [];

/** Each call is answered in the next content: as many, by the same names and ids. */
function unanswered(content: JsonObject, next: JsonObject | undefined): Refusal | undefined {
  const calls = inParts(content, 'functionCall');
  if (calls.length === 0) return undefined;
  const responses = inParts(next, 'functionResponse');
  if (responses.length !== calls.length || partsOf(next).length !== calls.length) {
    return refused(
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    );
  }
  const stranger = responses.find(({ name, id }) => !calls.some((call) => call['name'] === name && call['id'] === id));
  if (stranger) return refused(`Please ensure that function response ${JSON.stringify(stranger['name'])} matches a function call.`);
  return responses.every(({ response }) => isJsonObject(response)) ? undefined : refused('Invalid value at function_response.response');
}

function inParts(content: JsonObject | undefined, field: string): readonly JsonObject[] {
  return partsOf(content)
    .map((part) => part[field])
    .filter(isJsonObject);
}
