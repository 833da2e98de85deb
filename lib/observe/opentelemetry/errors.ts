import { identity } from 'rxjs';
import { errorText, errorToJson } from '../../core/errors.js';
import { isRecord, type JsonObject } from '../../core/json/json.js';
import type { ModelRequest } from '../../core/model.js';
import { words } from '../../core/words.js';
import { createConversationFilter } from '../../protocol/conversationFilter.js';
import { conversationTexts } from '../../protocol/conversationTexts.js';

/** Messages of Rivulet's errors with these codes have no keys and no text of a user. Others may quote one. */
const safeCodes: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  connection context_length http protocol provider rate_limit stream_interrupted timeout
`);

/** Of another library's error, only the class: its codes may be ids of people or of records. */
export const errorType = (thrown: unknown): string => errorTypeOfJson(errorToJson(thrown), filterOf(thrown));

export function errorTypeOfJson({ providerCode, status, code, name }: JsonObject, hide: Filter): string {
  const number = typeof status === 'number' ? String(status) : undefined;
  return (
    [typeof providerCode === 'string' && hide(providerCode), number, code].find(isIdentifier) ??
    [name].find(isClass) ??
    '_OTHER'
  );
}

type Filter = (text: string) => string;

export const requestFilter = (request: ModelRequest): Filter => createConversationFilter(conversationTexts(request));

/** By the errors of models: one of a model with `debug` may repeat its request. */
const filters = new WeakMap<object, Filter>();
const filterOf = (thrown: unknown): Filter => filters.get(thrown as object) ?? identity;

export function noteRequest(thrown: unknown, request: ModelRequest): void {
  if (isRecord(thrown)) filters.set(thrown, requestFilter(request));
}

export function errorMessage(thrown: unknown, content: boolean): string | undefined {
  if (content) return errorText(thrown);
  if (!safeCodes.has(errorToJson(thrown)['code'])) return undefined;
  return filterOf(thrown)(errorText(thrown));
}

const isIdentifier = (value: unknown): value is string => typeof value === 'string' && /^[\w.:/-]{1,100}$/.test(value);

const isClass = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z]{0,50}(?:Error|Exception)$/.test(value);
