import { isJsonObject, nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import { objectsIn } from '../history.js';
import type { HistoryRules } from '../historyRules.js';

/** Messages are the API's own. The guides are those of ai.google.dev. */
export const historyRules: HistoryRules = {
  'API reference, `Content.parts`': (contents, at) =>
    objectsIn(contents[at]?.['parts']).length === 0
      ? `* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.`
      : undefined,
  'API reference, `Content.role`': (contents, at) => {
    const role = contents[at]?.['role'];
    return role === undefined || role === 'user' || role === 'model'
      ? undefined
      : 'Please use a valid role: user, model.';
  },
  'Guide "Function calling": a response for each call, in the next content, and nothing else': (contents, at) => {
    const calls = inParts(contents[at], 'functionCall');
    const responses = inParts(contents[at + 1], 'functionResponse');
    const isAnswered = responses.length === calls.length && responses.length === partCount(contents[at + 1]);
    return calls.length === 0 || isAnswered
      ? undefined
      : 'Please ensure that the number of function response parts is equal to the number of ' +
          'function call parts of the function call turn.';
  },
  'Guide "Function calling": a response directly follows its call, and has its name and id': (contents, at) => {
    const calls = inParts(contents[at - 1], 'functionCall');
    const responses = inParts(contents[at], 'functionResponse');
    if (responses.length > 0 && calls.length === 0)
      return 'Please ensure that function response turn comes immediately after a function call turn.';
    const unmatched = responses.find(
      ({ name, id }) => !calls.some((call) => call['name'] === name && call['id'] === id),
    );
    return unmatched
      ? `Please ensure that function response ${JSON.stringify(unmatched['name'])} matches a function call.`
      : undefined;
  },
  'API reference, `FunctionResponse.response`: an object': (contents, at) =>
    inParts(contents[at], 'functionResponse').every(({ response }) => isJsonObject(response))
      ? undefined
      : 'Invalid value at function_response.response',
  '`FunctionResponsePart` of the SDK 3.1: bytes with a media type; a URL is not supported in the Gemini API': (
    contents,
    at,
  ) => {
    const files = inParts(contents[at], 'functionResponse')
      .flatMap(({ parts }) => objectsIn(parts))
      .map((part) => part['inlineData']);
    return files.every((file) => isJsonObject(file) && nonEmptyString(file['mimeType']) !== undefined)
      ? undefined
      : 'Invalid value at function_response.parts: media with a MIME type is required.';
  },
};

const partCount = (content: JsonObject | undefined): number => objectsIn(content?.['parts']).length;

const inParts = (content: JsonObject | undefined, field: string): readonly JsonObject[] =>
  objectsIn(content?.['parts'])
    .map((part) => part[field])
    .filter(isJsonObject);
