import { errorText, errorToJson } from '../../core/errors.js';
import type { JsonObject } from '../../core/json/json.js';
import { words } from '../../core/words.js';

/** Messages of Rivulet's errors with these codes have no keys and no text of a user. Others may quote one. */
const safeCodes: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  connection context_length http protocol provider rate_limit stream_interrupted timeout
`);

/** Of another library's error, only the class: its codes may be ids of people or of records. */
export const errorType = (thrown: unknown): string => errorTypeOfJson(errorToJson(thrown));

export function errorTypeOfJson({ providerCode, status, code, name }: JsonObject): string {
  const number = typeof status === 'number' ? String(status) : undefined;
  return [providerCode, number, code].find(isIdentifier) ?? [name].find(isClass) ?? '_OTHER';
}

export function errorMessage(thrown: unknown, content: boolean): string | undefined {
  return content || safeCodes.has(errorToJson(thrown)['code']) ? errorText(thrown) : undefined;
}

const isIdentifier = (value: unknown): value is string => typeof value === 'string' && /^[\w.:/-]{1,100}$/.test(value);

const isClass = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z]{0,50}(?:Error|Exception)$/.test(value);
