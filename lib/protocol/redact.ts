import { catchError } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { isRecord } from '../core/json/json.js';

/** What stands where a secret stood. */
const mark = '[key]';

/** Every spelling in which a server, `fetch` or a stack trace may repeat a secret: as it is, without its scheme, in a URL, in JSON. Longest first. */
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

/** Fields of our own errors that never hold a secret, and that readers tell errors by: a key like `http` must not change them. */
const ours = new Set(['name', 'code', 'provider', 'subject', 'reason', 'phase']);

/**
 * Removes secrets from whatever was thrown, at the border to the reader: message, stack, body, data and causes. An error is cleaned in
 * place, so that it stays what it is; one that refuses is replaced.
 *
 * @param thrown The error, or anything else.
 * @param secrets The keys. Each occurrence becomes `[key]`; empty ones replace nothing.
 * @param provider The provider's name: a key that is the same (`ollama`, where any will do) is no secret, and the name stands in every
 * message.
 * @returns What was thrown, without them.
 */
export function redactThrown(thrown: unknown, secrets: readonly string[], provider: string): unknown {
  const words = spellings(secrets).filter((word) => word !== provider);
  const seen = new Set<unknown>();
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return words.reduce(withoutBeginnings, words.reduce(withoutWhole, value));
    if (typeof value !== 'object' || value === null || seen.has(value)) return value;
    seen.add(value);
    if (isError(value)) return cleanError(value);
    if (Array.isArray(value)) return value.map(clean);
    return isRecord(value) && isPlain(value)
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), clean(inner)]))
      : value;
  };
  const cleanError = (error: Error): Error => {
    for (const key of Object.getOwnPropertyNames(error).filter((name) => !ours.has(name))) {
      const before: unknown = Reflect.get(error, key);
      const after = clean(before);
      if (after !== before && !Reflect.set(error, key, after)) return new Error(String(clean(error.message)));
    }
    return error;
  };
  return words.length === 0 ? thrown : clean(thrown);
}

/** An Error of any realm: in jest, those of `fetch` are of another. */
const isError = (value: object): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

/** From here on a secret is looked for within words; a shorter one (`test`, `any`) stands in ordinary words too. */
const longEnough = 8;

/** A text without the secret. */
const withoutWhole = (text: string, secret: string): string => without(text, secret, secret.length);

/** A text without the beginnings of a secret: a server, or the limit of a message, may have cut the text within it. */
const withoutBeginnings = (text: string, secret: string): string =>
  without(text, secret, secret.length < longEnough ? secret.length : 4);

/** Replaces what is the secret, from its beginning on and for at least so many characters, where that can be nothing else. */
function without(text: string, secret: string, least: number): string {
  const beginning = secret.slice(0, least);
  let cut = '';
  let rest = text;
  for (let at = rest.indexOf(beginning); at >= 0; at = rest.indexOf(beginning)) {
    let length = least;
    while (length < secret.length && rest[at + length] === secret[length]) length++;
    const hidden = isHidden(secret, length, rest.slice(at + length), rest[at - 1] ?? cut.at(-1));
    cut += rest.slice(0, at) + (hidden ? mark : rest.charAt(at));
    rest = rest.slice(at + (hidden ? length : 1));
  }
  return cut + rest;
}

function isHidden(secret: string, length: number, after: string, before = ''): boolean {
  if (secret.length < longEnough) return !/[\w-]/.test(before + after.charAt(0));
  return (
    length >= Math.max(longEnough, secret.length / 3) ||
    length === secret.length ||
    after === '' ||
    after.startsWith('...')
  );
}

/** Removes secrets from the error of a stream. */
export function redactErrors<T>(secrets: readonly string[], provider: string): MonoTypeOperatorFunction<T> {
  return catchError((thrown: unknown) => {
    throw redactThrown(thrown, secrets, provider);
  });
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Names of headers that carry a key. */
const secretHeader =
  /^(?:[\w-]+-)?authorization$|^cookie$|(?:^|-)(?:api-?key|subscription-key|auth-token|access-token)$/i;
const secretParameter = /^(?:api[-_]?key|key|token|access[-_]token|auth|code|sig|signature|subscription-key)$/i;

/**
 * The secrets of a request that somebody set up by hand: values of headers that carry keys, keys and passwords in the URL.
 *
 * @param url Where the request goes; relative ones too.
 * @param headers What goes with it.
 */
export function secretsOf(url: string, headers: Readonly<Record<string, string>>): readonly string[] {
  const inHeaders = Object.entries(headers)
    .filter(([name]) => secretHeader.test(name))
    .map(([, value]) => value);
  const query = /\?([^#]*)/.exec(url)?.[1];
  const inQuery = [...(query === undefined ? [] : new URLSearchParams(query))]
    .filter(([name]) => secretParameter.test(name))
    .map(([, value]) => value);
  const password = /^[a-z][a-z\d+.-]*:\/\/[^/?#@]*:([^/?#@]+)@/i.exec(url)?.[1];
  return [...inHeaders, ...inQuery, ...(password === undefined ? [] : [password])].filter((secret) => secret !== '');
}
