import { base64 } from '../core/message.js';
import { decode } from '../core/uri.js';

export const replacement = '[key]';

type Context = 'error' | 'recording';

export type Range = readonly [from: number, to: number];

/** Shorter secrets occur in ordinary words; these are also found within words, and in part. */
const DISTINCTIVE_LENGTH = 8;

/** The shortest part of a secret next to the sign of an omission: `sk-p...MNOP`. */
const SHORTEST_PART = 4;

/** A search compares all of a window at each place, in the worst case. */
export const LONGEST_WINDOW = 64;

/** Servers, `fetch` and stack traces repeat secrets in these forms. The longest first. */
export function spellings(secrets: readonly string[]): readonly string[] {
  const plain = secrets.map((secret) => secret.trim().replace(/^(?:bearer|basic|token|key|apikey|api-key) +/i, ''));
  const all = plain.flatMap((secret) => [
    secret,
    ...inUrl(secret.replace(/[\ud800-\udfff]/gu, '')),
    ...inJson(secret),
    ...inBase64(new TextEncoder().encode(secret)),
  ]);
  return [...new Set(all)].filter((text) => text !== '').sort((a, b) => b.length - a.length);
}

function inUrl(secret: string): readonly string[] {
  const url = encodeURIComponent(secret);
  const form = new URLSearchParams({ '': secret }).toString().slice(1);
  return [url, url.replace(/%../g, (escaped) => escaped.toLowerCase()), form];
}

/** JavaScript, PHP, Gson and .NET escape different characters. */
function inJson(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [json, json.replaceAll('/', '\\/'), json.replaceAll('=', '\\u003d'), json.replaceAll('+', '\\u002B')];
}

function inBase64(bytes: Uint8Array): readonly string[] {
  const text = base64(bytes).replace(/=+$/, '');
  return [text, text.replaceAll('+', '-').replaceAll('/', '_')];
}

/** The bytes as characters; empty if the text is not in Base64. */
export function fromBase64(text: string): string {
  try {
    return atob(text);
  } catch {
    return '';
  }
}

/** What the Base64 of something longer contains of a secret, whatever bytes are before and after it. */
export function base64Parts(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  const all = [0, 1, 2].flatMap((before) => {
    const end = Math.floor(((before + bytes.length) * 4) / 3);
    return inBase64(Uint8Array.of(...Array<number>(before).fill(0), ...bytes)).map((text) =>
      text.slice(before && before + 1, end),
    );
  });
  return [...new Set(all)];
}

/** Servers mask or cut secrets: such parts count. In an error, fewer than eight characters count only as a word. */
export function findSecrets(text: string, spelled: readonly string[], context: Context = 'error'): readonly Range[] {
  return mergeRanges(spelled.flatMap((secret) => occurrences(text, secret, context)));
}

export function mergeRanges(ranges: readonly Range[]): readonly Range[] {
  const merged: [from: number, to: number][] = [];
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last && from < last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function replaceRanges(text: string, ranges: readonly Range[], by: string = replacement): string {
  let result = '';
  let end = 0;
  for (const [from, to] of ranges) {
    result += text.slice(end, from) + by;
    end = to;
  }
  return result + text.slice(end);
}

/** Finds parts, too: any part that counts contains a window, which `indexOf` finds in linear time. */
function occurrences(text: string, secret: string, context: Context): readonly Range[] {
  const { length } = secret;
  const size = length < DISTINCTIVE_LENGTH ? length : Math.ceil(Math.max(DISTINCTIVE_LENGTH, length / 3) / 2);
  const starts = Array.from({ length: Math.floor(length / size) }, (_, index) => index * size);
  const windows = starts.map((start): Range => [start, start + Math.min(size, LONGEST_WINDOW)]);
  if (size > SHORTEST_PART) windows.push([0, SHORTEST_PART], [length - SHORTEST_PART, length]);
  else windows.push([length - size, length]);
  return windows.flatMap(([start, end]) => findAround(text, secret, [start, end], context));
}

/** In linear time: what was compared is not compared again, but for a few characters that may be of both parts. */
function findAround(text: string, secret: string, [start, end]: Range, context: Context): readonly Range[] {
  const window = secret.slice(start, end);
  const found: Range[] = [];
  let first = 0;
  let at = text.indexOf(window);
  while (at >= 0) {
    let [from, to] = [start, end];
    while (from > 0 && at - start + from > first && text[at - start + from - 1] === secret[from - 1]) from--;
    while (to < secret.length && text[at - start + to] === secret[to]) to++;
    const range: Range = [at - start + from, at - start + to];
    const before = text.slice(Math.max(0, range[0] - 3), range[0]);
    const after = text.slice(range[1], range[1] + 3);
    const isHidden =
      isSecret(secret, from, to, before, after) ||
      (context === 'recording' && to - from === secret.length) ||
      (context === 'error' && to - from >= SHORTEST_PART && isAtEdge(secret, from, to, before, after));
    if (isHidden) found.push(range);
    first = range[1] - SHORTEST_PART;
    at = text.indexOf(window, isHidden ? range[1] : range[1] - window.length + 1);
  }
  return found;
}

const omissionBefore = /(?:\.\.\.|[*\u2022\u2026])$/;
const omissionAfter = /^(?:\.\.\.|[*\u2022\u2026])/;

function isSecret(secret: string, from: number, to: number, before: string, after: string): boolean {
  const length = to - from;
  if (secret.length < DISTINCTIVE_LENGTH)
    return length === secret.length && !/[\w-]/.test(before.slice(-1) + after.charAt(0));
  if (length >= Math.max(1.5 * DISTINCTIVE_LENGTH, secret.length / 2)) return true;
  if (length < SHORTEST_PART) return false;
  const isLong = length >= Math.max(DISTINCTIVE_LENGTH, secret.length / 3);
  if (from === 0 && (isLong || omissionAfter.test(after))) return true;
  return to === secret.length && (isLong || omissionBefore.test(before));
}

const isAtEdge = (secret: string, from: number, to: number, before: string, after: string): boolean =>
  secret.length >= DISTINCTIVE_LENGTH && ((from === 0 && after === '') || (to === secret.length && before === ''));

const secretHeader = /^(?:.+[-_])?(?:authorization|auth|token|secret|password|cookie|credentials?|jwt)$|^x-key$/i;
const secretKeyHeader = /^(?:.+[-_])?(?:api|access|auth|private|secret|subscription|functions|account)[-_]?key$/i;
const secretParameter =
  /^(?:.+[-_])?(?:key|apikey|token|auth|code|sig|signature|secret|password|pwd|credential|accesstoken)$/i;

export function secretsOf(url: string, headers: Readonly<Record<string, string>>): readonly string[] {
  const headerSecrets = Object.entries(headers)
    .filter(([name, value]) => secretHeader.test(name) || secretKeyHeader.test(name) || isKey(value))
    .map(([, value]) => value);
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  const querySecrets = [...new URLSearchParams(query)]
    .filter(([name]) => secretParameter.test(name))
    .map(([, value]) => value);
  const { passwords, path } = splitUrl(url);
  const all = [
    ...headerSecrets,
    ...headerSecrets.flatMap(partsOfHeader),
    ...querySecrets,
    ...passwords,
    ...path.split('/').filter(isKey),
  ];
  return [...new Set(all)].filter((secret) => secret !== '');
}

function partsOfHeader(value: string): readonly string[] {
  const basic = /^basic +([\w+/]+={0,2})$/i.exec(value)?.[1];
  if (basic !== undefined && basic.length % 4 === 0) return [atob(basic).replace(/^[^:]*:/, '')];
  return value
    .split('; ')
    .map((cookie) => cookie.slice(cookie.indexOf('=') + 1))
    .filter((part) => part.length >= DISTINCTIVE_LENGTH && part !== value);
}

/** An error may name their values, such as a beta that the provider does not know. */
const shownHeader = /^accept|^content-type$|^user-agent$|[-_](?:beta|version)$/i;

/** Servers repeat names of tenants and customers in errors. Short values are ordinary words. */
export const headerValues = (headers: Readonly<Record<string, string>> = {}): readonly string[] =>
  Object.keys(headers).flatMap((name) => {
    const value = headers[name] ?? '';
    return value.length < DISTINCTIVE_LENGTH || shownHeader.test(name) ? [] : [value];
  });

/** By its prefix or name, a UUID, or many letters and digits without a break. */
const keysInPath = [
  /^(?:bot\d+:|(?:sk|pk|rk|gsk|xai|hf)[-_])[\w:-]{8,}$/,
  /^(?=.*\d)[\w-]*(?:key|token|secret)[\w-]{4,}$/i,
  /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i,
  /^(?=.*\d.*\d)(?=.*[A-Za-z])[A-Za-z\d_]{20,}$/,
];

const isKey = (segment: string): boolean => segment.length > 512 || keysInPath.some((shape) => shape.test(segment));

export function displayUrl(url: string): string {
  const { origin, path } = splitUrl(url);
  const segments = path.split('/').map((segment) => (isKey(segment) ? replacement : segment));
  return origin + segments.join('/');
}

interface UrlParts {
  readonly origin: string;
  /** All candidates: a password may contain `@` and `/`, so that its end is uncertain. */
  readonly passwords: readonly string[];
  readonly path: string;
}

function splitUrl(url: string): UrlParts {
  const location = url.replace(/[?#].*$/s, '');
  const scheme = /^(?:[a-z][a-z\d+.-]*:)?\/\//i.exec(location)?.[0] ?? '';
  const afterScheme = location.slice(scheme.length);
  const ends = endsOfUserInfo(afterScheme);
  const start = (ends[0] ?? -1) + 1;
  const host = afterScheme.slice(start).split('/', 1)[0] ?? '';
  const passwords = ends.map((end) => afterScheme.slice(afterScheme.indexOf(':') + 1, end));
  return {
    origin: scheme + host,
    passwords: passwords.flatMap((password) => [password, decode(password)]),
    path: afterScheme.slice(start + host.length),
  };
}

const MAX_PASSWORDS = 8;

/** The last `@` first. `host/@scope` and `host:80/@scope` have none, `user:p@ss@host` and `user:p/ss@host` have. */
function endsOfUserInfo(afterScheme: string): readonly number[] {
  const authority = afterScheme.split('/', 1)[0] ?? '';
  const hasUser = authority.includes('@') || /^[^:[\]]+:(?!\d*$)/.test(authority);
  if (!hasUser) return [];
  const all = [...afterScheme.matchAll(/@/g)].map(({ index }) => index).reverse();
  return (authority.includes(':') ? all : all.filter((at) => at < authority.length)).slice(0, MAX_PASSWORDS);
}
