import { isRecord } from '../core/json/json.js';
import { createConversationFilter } from './conversationFilter.js';
import { findKeyShapes } from './keyShapes.js';
import { findSecrets, mergeRanges, replaceRanges, spellings } from './secrets.js';

export interface Redaction {
  /** A key that equals the name (`ollama`, where any key will do) is not secret: the name is part of every message. */
  readonly provider: string;
  /** Each occurrence becomes `[key]`; an empty one replaces nothing. Default: none. */
  readonly secrets?: readonly string[] | undefined;
  /** The texts of the conversation, which a server may repeat in its error; called when there is one. Default: none. */
  readonly conversation?: (() => readonly string[]) | undefined;
  /** Whether the conversation and what the provider sent stay in the error. Default: false. */
  readonly debug?: boolean | undefined;
}

/** How much of a text an error keeps without `debug`, in characters: a longer one is not a message. */
const MAX_TEXT_LENGTH = 10_000;

const rawFields = ['body', 'data', 'received', 'cause'];

/**
 * Removes secrets and, without `debug`, what the provider sent and repeats of the conversation. An error is redacted in
 * place and keeps its identity; one that cannot be changed is replaced.
 */
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
      const after = redact(before);
      if (after !== before && !Reflect.set(error, key, after)) return copyError(error);
    }
    return error;
  };
  const copyError = (error: Error) => new Error(String(redact(error.message)));
  return redact(thrown);
}

const shorten = (text: string): string =>
  text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}...` : text;

const hideKeys = (text: string, spelled: readonly string[]): string =>
  replaceRanges(text, mergeRanges([...findSecrets(text, spelled), ...findKeyShapes(text)]));

/** Fields that identify our errors, and never contain a secret: a key like `http` must not change them. */
const publicFields = new Set(['name', 'code', 'provider', 'subject', 'reason', 'phase']);

/** Whether a value is an Error of any realm: in jest, those of `fetch` are of another one. */
const isError = (value: object): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
