import { errorText } from '../../core/errors.js';
import { words } from '../../core/words.js';

/** Messages of these contain no keys and nothing of the conversation. Any other may quote a user or a tool. */
const safeCodes: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  connection context_length http protocol provider rate_limit stream_interrupted timeout
`);

type ErrorFields = Partial<Record<'providerCode' | 'status' | 'code' | 'name' | 'retryable', unknown>>;

export function errorType(thrown: unknown): string {
  const { providerCode, status, code, name } = readFields(thrown);
  const number = typeof status === 'number' ? String(status) : undefined;
  return [providerCode, number, code, name].find(isIdentifier) ?? '_OTHER';
}

export function errorMessage(thrown: unknown, content: boolean): string | undefined {
  const { code, retryable } = readFields(thrown);
  const isSafe = safeCodes.has(code) && typeof retryable === 'boolean';
  return content || isSafe ? errorText(thrown) : undefined;
}

/** The code of a DOMException is a number, and says less than its name. */
const isIdentifier = (value: unknown): value is string => typeof value === 'string' && /^[\w.:/-]{1,100}$/.test(value);

function readFields(thrown: unknown): ErrorFields {
  if (typeof thrown !== 'object' || thrown === null) return {};
  try {
    const { providerCode, status, code, name, retryable } = thrown as ErrorFields;
    return { providerCode, status, code, name, retryable };
  } catch {
    return {};
  }
}
