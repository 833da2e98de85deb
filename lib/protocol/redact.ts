import { isRecord } from '../core/json/json.js';
import { createConversationFilter } from './conversationFilter.js';
import { findSecrets, replacement, replaceRanges, spellings } from './secrets.js';
import type { Range } from './secrets.js';

/** The texts that an error must not reveal. */
export interface Redaction {
  /**
   * The provider's name: a key that equals it (`ollama`, where any key will do) is not secret, and the name is part of
   * every message.
   */
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

/** Fields that contain what was sent or received, as it is. */
const rawFields = ['body', 'data', 'received', 'cause'];

/**
 * Removes from a thrown value what a log must not contain, before a reader sees it: secrets in any text, and, without
 * `debug`, what the provider sent (`body`, `data`, `received`, `cause`) and what it repeats of the conversation. An
 * error is redacted in place, so that it keeps its identity; one that cannot be changed is replaced.
 *
 * @param thrown The error, or any other value.
 * @param redaction What to remove.
 * @returns The thrown value, without it.
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

/** What is before the first hyphen or underscore of the keys of most providers, of at most `MAX_PREFIX` characters. */
const prefixes = 'sk|pk|rk|gsk|xai|hf|r8|pplx|csk|fw|nvapi|ghp|glpat';
const prefixEnd = /* @__PURE__ */ atEnd(prefixes, 'xox[abeoprs]', 'xapp');
const MAX_PREFIX = 5;

/** What a private key begins with. */
const pemStart = '-----BEGIN ';

/** What the lines of a private key consist of, in a text or in JSON. */
const keyLines = '[\\w+/=\\s\\\\:,-]';

/**
 * Keys by their shape: those that are not ours to know (a gateway's key for the model's provider, the key of an AI SDK
 * model).
 */
const keyShape = /* @__PURE__ */ joinPatterns(
  /* @__PURE__ */ afterPrefix('[\\w-]{16,}'),
  '\\bAIza[\\w-]{30,}',
  '\\bA[KS]IA[A-Z\\d]{16}',
  '\\bx(?:ox[abeoprs]|app)-[\\w-]{10,}',
  '(?<=\\bBearer )[\\w.~+/=-]{8,}',
  /* @__PURE__ */ privateKey(),
);

// Functions, so that a bundler can leave all of this out.
function privateKey(): string {
  const name = '[A-Z ]{0,30}PRIVATE KEY-----';
  return `-----BEGIN ${name}${keyLines}*?(?:-----END ${name}|(?!${keyLines}))`;
}

function openedPrivateKey(): string {
  return `^-----BEGIN [A-Z ]*(?:-{0,4}|(?<=PRIVATE KEY)-----${keyLines}*)$`;
}

function afterPrefix(pattern: string): string {
  return `\\b(?:${prefixes})[-_]${pattern}`;
}

function atEnd(...patterns: readonly string[]): RegExp {
  return new RegExp(`(?:${patterns.join('|')})$`);
}

function joinPatterns(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join('|'), 'g');
}

/** Three texts with dots in between, as in a JSON Web Token. A word begins only once, so that the search is linear. */
const dottedWords = /(?<![\w-])[\w-]{13,}\.[\w-]{10,}(?:\.[\w-]+)?/g;

/** Where a JSON Web Token begins among dotted words: its header, `{"`, is encoded as `eyJ`. */
function tokenStart(words: string): number | undefined {
  const start = words.search(/\beyJ/);
  return start >= 0 && words.indexOf('.') - start >= 13 ? start : undefined;
}

function hideToken(words: string): string {
  const start = tokenStart(words);
  return start === undefined ? words : words.slice(0, start) + replacement;
}

/** What other keys have, whatever escapes of JSON are before it. */
const keyParts = ['AIza', 'AKIA', 'ASIA', 'Bearer', 'eyJ', pemStart];

/**
 * Whether a text has what each key has. Most texts have nothing of it, and this search takes a tenth of the time of the
 * patterns: it counts for a recording, in which each text is several times.
 */
export function mayHaveKey(text: string): boolean {
  return keyParts.some((part) => text.includes(part)) || hasPrefix(text, '-') || hasPrefix(text, '_');
}

function hasPrefix(text: string, mark: '-' | '_'): boolean {
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1))
    if (prefixEnd.test(text.slice(Math.max(0, at - MAX_PREFIX), at))) return true;
  return false;
}

/** Where a text contains what has the shape of a key or of a JSON Web Token. */
export function findKeyShapes(text: string): readonly Range[] {
  if (!mayHaveKey(text)) return [];
  const keys = [...text.matchAll(keyShape)].map(({ 0: key, index }): Range => [index, index + key.length]);
  const tokens = [...(text.includes('eyJ') ? text.matchAll(dottedWords) : [])].flatMap(
    ({ 0: words, index }): readonly Range[] => {
      const start = tokenStart(words);
      return start === undefined ? [] : [[index + start, index + words.length]];
    },
  );
  return [...keys, ...tokens];
}

/** The first parts of what keys begin with, and of what is before a bearer token. */
const firstParts = /* @__PURE__ */ createFirstParts();

function createFirstParts(): ReadonlySet<string> {
  const words = `${prefixes}|AIza|AKIA|ASIA|xoxa|xoxb|xoxe|xoxo|xoxp|xoxr|xoxs|xapp|eyJ|Bearer`.split('|');
  return new Set(words.flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))));
}

const openPrefix = /* @__PURE__ */ joinPatterns(
  /* @__PURE__ */ afterPrefix(''),
  '\\bAIza',
  '\\bx(?:ox[abeoprs]|app)-',
  '\\bA[KS]IA[A-Z\\d]*$',
);
const openPrivateKey = /* @__PURE__ */ joinPatterns(/* @__PURE__ */ openedPrivateKey());
const endOfPrivateKey = /-----END [A-Z ]*-----/;

/**
 * Where the end of a text begins that is the first part of what has the shape of a key, or may become it. The length of
 * the text if there is none.
 */
export function openKeyShape(text: string): number {
  const word = text.slice(startOfEnd(text, /\w/));
  const key = startOfEnd(text, /[\w-]/);
  const dotted = startOfEnd(text, /[\w.-]/);
  const bearer = startOfEnd(text, /[\w.~+/=-]/) - 'Bearer '.length;
  const prefix = text.slice(key).search(openPrefix);
  const candidates = [
    firstParts.has(word) ? text.length - word.length : text.length,
    prefix < 0 ? text.length : key + prefix,
    /\beyJ/.test(text.slice(dotted)) ? dotted : text.length,
    bearer >= 0 && text.startsWith('Bearer ', bearer) ? bearer : text.length,
    openPrivateKeyStart(text),
  ];
  return Math.min(...candidates);
}

/** Where the characters of a kind begin with which a text ends. */
function startOfEnd(text: string, character: RegExp): number {
  let start = text.length;
  while (start > 0 && character.test(text.charAt(start - 1))) start--;
  return start;
}

function openPrivateKeyStart(text: string): number {
  if (!text.includes('-')) return text.length;
  const start = text.lastIndexOf(pemStart);
  if (start >= 0) {
    const rest = text.slice(start);
    if (rest.search(openPrivateKey) === 0 && !endOfPrivateKey.test(rest)) return start;
  }
  for (let length = pemStart.length - 1; length > 0; length--)
    if (text.endsWith(pemStart.slice(0, length))) return text.length - length;
  return text.length;
}

const hideKeys = (text: string, spelled: readonly string[]): string =>
  replaceRanges(text, findSecrets(text, spelled)).replace(keyShape, replacement).replace(dottedWords, hideToken);

/** Fields that identify our errors, and never contain a secret: a key like `http` must not change them. */
const publicFields = new Set(['name', 'code', 'provider', 'subject', 'reason', 'phase']);

/** Whether a value is an Error of any realm: in jest, those of `fetch` are of another one. */
const isError = (value: object): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
