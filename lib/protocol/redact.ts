import { isRecord } from '../core/json/json.js';
import { plainText } from '../core/plainText.js';
import { createConversationFilter } from './conversationFilter.js';
import { findKeyShapes } from './keyShapes.js';
import { findSecrets, mergeRanges, replaceRanges, spellings } from './secrets.js';

export interface Redaction {
  /** A key that equals the name (`ollama`, where any key will do) is not secret: every message has the name. */
  readonly provider: string;
  /** Each occurrence becomes `[key]`. Default: none. */
  readonly secrets?: readonly string[] | undefined;
  /** What a server may repeat; called when there is an error. Default: none. */
  readonly conversation?: (() => readonly string[]) | undefined;
  /** Keeps the conversation and what the provider sent. Default: false. */
  readonly debug?: boolean | undefined;
}

/** Characters: what is longer is not a message, and is kept only with `debug`. */
const MAX_TEXT_LENGTH = 10_000;

const rawFields = ['body', 'data', 'received', 'cause'];

/** Redacted in place, so that an error keeps its identity; one that cannot be changed is replaced. */
export function redactThrown(thrown: unknown, redaction: Redaction): unknown {
  const { secrets = [], conversation, debug = false, provider } = redaction;
  const spelled = spellings(secrets).filter((spelling) => spelling !== provider);
  const hideConversation = createConversationFilter(debug ? [] : (conversation?.() ?? []));
  const visited = new Map<unknown, unknown>();
  const redact = (value: unknown): unknown => {
    if (typeof value === 'string') return hideConversation(hideKeys(debug ? value : shorten(value), spelled));
    if (typeof value !== 'object' || value === null) return value;
    if (visited.has(value)) return visited.get(value);
    visited.set(value, value); // in a cycle
    const redacted = redactObject(value);
    visited.set(value, redacted);
    return redacted;
  };
  const redactObject = (value: object): unknown => {
    if (isError(value)) return redactError(value);
    if (Array.isArray(value)) return value.map(redact);
    if (!isRecord(value) || !isPlainObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), redact(inner)]));
  };
  const redactError = (error: Error): Error => {
    if (!debug && !rawFields.every((field) => Reflect.deleteProperty(error, field))) return copyError(error);
    for (const key of Object.getOwnPropertyNames(error).filter((name) => !publicFields.has(name))) {
      const before: unknown = Reflect.get(error, key);
      const isPrinted = typeof before === 'string' && (key === 'message' || key === 'stack');
      const after = redact(isPrinted ? plainText(before) : before);
      if (after !== before && !Reflect.set(error, key, after)) return copyError(error);
    }
    return error;
  };
  const copyError = (error: Error) => new Error(String(redact(plainText(error.message))));
  return redact(thrown);
}

const shorten = (text: string): string =>
  text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}...` : text;

export const hideKeys = (text: string, spelled: readonly string[] = []): string =>
  replaceRanges(text, mergeRanges([...findSecrets(text, spelled), ...findKeyShapes(text)]));

/** Fields that never contain a secret: a key like `http` must not change them. */
const publicFields = new Set(['name', 'code', 'provider', 'subject', 'reason', 'phase']);

/** In jest, errors of `fetch` are of another realm. */
const isError = (value: object): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
