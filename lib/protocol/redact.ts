import { isRecord } from '../core/json/json.js';

/** Replaces each secret. */
const replacement = '[key]';

/**
 * Removes secrets from a thrown value before a reader sees it: from message, stack, body, data and causes. An error is
 * redacted in place, so that it keeps its identity; one that cannot be changed is replaced.
 *
 * @param thrown The error, or any other value.
 * @param secrets The secrets. Each occurrence becomes `[key]`; an empty one replaces nothing.
 * @param provider The provider's name: a key that equals it (`ollama`, where any key will do) is not secret, and the
 * name is part of every message.
 * @returns The thrown value, without the secrets.
 */
export function redactThrown(thrown: unknown, secrets: readonly string[], provider: string): unknown {
  const hidden = spellings(secrets).filter((spelling) => spelling !== provider);
  const visited = new Set<unknown>();
  const redact = (value: unknown): unknown => {
    if (typeof value === 'string') return hidden.reduce(hidePrefixes, hidden.reduce(hideComplete, value));
    if (typeof value !== 'object' || value === null || visited.has(value)) return value;
    visited.add(value);
    if (isError(value)) return redactError(value);
    if (Array.isArray(value)) return value.map(redact);
    if (!isRecord(value) || !isPlainObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), redact(inner)]));
  };
  const redactError = (error: Error): Error => {
    for (const key of Object.getOwnPropertyNames(error).filter((name) => !publicFields.has(name))) {
      const before: unknown = Reflect.get(error, key);
      const after = redact(before);
      if (after !== before && !Reflect.set(error, key, after)) return new Error(String(redact(error.message)));
    }
    return error;
  };
  return hidden.length === 0 ? thrown : redact(thrown);
}

/**
 * All spellings in which a server, `fetch` or a stack trace may repeat a secret: as it is, without its scheme, encoded
 * for a URL, escaped for JSON. The longest comes first.
 */
export function spellings(secrets: readonly string[]): readonly string[] {
  const plain = secrets
    .flatMap((secret) => [secret, secret.trim(), secret.trim().replace(/^[A-Za-z]+ +/, '')])
    .filter((secret) => secret !== '');
  const all = plain.flatMap((secret) => [
    secret,
    encodeURIComponent(secret.replace(/[\ud800-\udfff]/gu, '')),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return [...new Set(all)].sort((a, b) => b.length - a.length);
}

/** Fields that identify our errors, and never contain a secret: a key like `http` must not change them. */
const publicFields = new Set(['name', 'code', 'provider', 'subject', 'reason', 'phase']);

/** Whether a value is an Error of any realm: in jest, those of `fetch` are of another one. */
const isError = (value: object): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Secrets of this length and more are also found within words; shorter ones (`test`, `any`) occur in ordinary words.
 */
const distinctiveLength = 8;

const hideComplete = (text: string, secret: string): string => hide(text, secret, secret.length);

/**
 * Hides the beginnings of a secret, too: a server, or the length limit of a message, may have cut the text within it.
 */
const hidePrefixes = (text: string, secret: string): string =>
  hide(text, secret, secret.length < distinctiveLength ? secret.length : 4);

/** Hides each occurrence of at least the first `minLength` characters of a secret that can be nothing else. */
function hide(text: string, secret: string, minLength: number): string {
  const prefix = secret.slice(0, minLength);
  let result = '';
  let unread = text;
  for (let start = unread.indexOf(prefix); start >= 0; start = unread.indexOf(prefix)) {
    let length = minLength;
    while (length < secret.length && unread[start + length] === secret[length]) length++;
    const before = unread[start - 1] ?? result.at(-1);
    const isHidden = isSecret(secret, length, unread.slice(start + length), before);
    result += unread.slice(0, start) + (isHidden ? replacement : unread.charAt(start));
    unread = unread.slice(start + (isHidden ? length : 1));
  }
  return result + unread;
}

/**
 * Whether the first `length` characters of a secret, found between two texts, are the secret and not an ordinary word.
 */
function isSecret(secret: string, length: number, after: string, before = ''): boolean {
  if (secret.length < distinctiveLength) return !/[\w-]/.test(before + after.charAt(0));
  if (length === secret.length || length >= Math.max(distinctiveLength, secret.length / 3)) return true;
  return after === '' || after.startsWith('...');
}

/** Names of headers that carry a key. */
const secretHeader =
  /^(?:[\w-]+-)?authorization$|^cookie$|(?:^|-)(?:api-?key|subscription-key|auth-token|access-token)$/i;
const secretParameter = /^(?:api[-_]?key|key|token|access[-_]token|auth|code|sig|signature|subscription-key)$/i;

/**
 * The secrets in a URL and headers that a user has set up: the values of headers and query parameters that carry keys,
 * and the password.
 *
 * @param url The URL of a request; may be relative.
 * @param headers The headers of the request.
 */
export function secretsOf(url: string, headers: Readonly<Record<string, string>>): readonly string[] {
  const headerSecrets = Object.entries(headers)
    .filter(([name]) => secretHeader.test(name))
    .map(([, value]) => value);
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  const querySecrets = [...new URLSearchParams(query)]
    .filter(([name]) => secretParameter.test(name))
    .map(([, value]) => value);
  const password = /^[a-z][a-z\d+.-]*:\/\/[^/?#@]*:([^/?#@]+)@/i.exec(url)?.[1] ?? '';
  return [...headerSecrets, ...querySecrets, password].filter((secret) => secret !== '');
}
