import { errorText } from '../../core/errors.js';

/**
 * The errors of the network and the provider, whose messages Rivulet keeps free of keys and of the conversation. Any
 * other message may quote a user, a model or a tool.
 */
const safeCodes: ReadonlySet<unknown> = new Set([
  'connection',
  'context_length',
  'http',
  'protocol',
  'provider',
  'rate_limit',
  'stream_interrupted',
  'timeout',
]);

/** The fields of an error, or of its JSON. */
type ErrorFields = Partial<Record<'providerCode' | 'status' | 'code' | 'name' | 'retryable', unknown>>;

/**
 * The type of an error, for `error.type`: the provider's code, the HTTP status, the error's code, or its name.
 *
 * @param thrown The error, or its JSON.
 */
export function errorType(thrown: unknown): string {
  const { providerCode, status, code, name } = fieldsOf(thrown);
  const number = typeof status === 'number' ? String(status) : undefined;
  return [providerCode, number, code, name].find(isIdentifier) ?? '_OTHER';
}

/** The message of an error; undefined if it may be content that must not be recorded. */
export function errorMessage(thrown: unknown, content: boolean): string | undefined {
  const { code, retryable } = fieldsOf(thrown);
  const isSafe = safeCodes.has(code) && typeof retryable === 'boolean';
  return content || isSafe ? errorText(thrown) : undefined;
}

/** The code of a DOMException is a number, which says less than its name. */
const isIdentifier = (value: unknown): value is string => typeof value === 'string' && /^[\w.:/-]{1,100}$/.test(value);

/** The properties of a thrown value may throw when they are read. */
function fieldsOf(thrown: unknown): ErrorFields {
  if (typeof thrown !== 'object' || thrown === null) return {};
  try {
    const { providerCode, status, code, name, retryable } = thrown as ErrorFields;
    return { providerCode, status, code, name, retryable };
  } catch {
    return {};
  }
}
