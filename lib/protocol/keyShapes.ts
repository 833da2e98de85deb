import type { Range } from './secrets.js';

/**
 * Sources: GitHub "About authentication to GitHub", npm "About access tokens", PyPI "API token", Stripe "API keys" and
 * "Webhook signatures", Slack "Token types", SendGrid, Google Cloud "API keys" and "Token types", AWS "IAM
 * identifiers", GitLab "Token overview", DigitalOcean, Telegram "Bot API", Azure "Service SAS".
 */
const shapes: readonly (readonly [beginnings: string, rest: string])[] = [
  ['sk|pk|rk|gsk|xai|hf|r8|pplx|csk|fw|nvapi|glpat', '[-_][\\w-]{16,}'],
  ['ghp|gho|ghu|ghs|ghr|github_pat', '_\\w{16,}'],
  ['xoxa|xoxb|xoxe|xoxo|xoxp|xoxr|xoxs|xapp', '-[\\w-]{10,}'],
  ['npm', '_[A-Za-z\\d]{36}'],
  ['pypi', '-AgE[\\w-]{16,}'],
  ['whsec', '_[\\w+/=]{16,}'],
  ['GOCSPX|tvly', '-[\\w-]{16,}'],
  ['pa', '-[\\w-]{40,}'],
  ['dop_v1|doo_v1|dor_v1', '_[\\da-f]{32,}'],
  ['lsv2_pt|lsv2_sk', '_\\w{16,}'],
];

const otherShapes = [
  'AIza[\\w-]{30,}',
  'A[KS]IA[A-Z\\d]{16}',
  'ya29\\.[\\w.-]{16,}',
  'SG\\.[\\w-]{16,}\\.[\\w-]{16,}',
  '\\d{8,10}:AA[\\w-]{33}(?![\\w-])',
];

const keyLines = '[\\w+/=\\s\\\\:,-]';

const pemStart = '-----BEGIN ';

// Functions, so that a bundler can leave all of this out.
const createPrefixes = () => shapes.map(([beginnings]) => beginnings).join('|');
const createPattern = () =>
  new RegExp(
    [
      `\\b(?:${[...shapes.map(([beginnings, rest]) => `(?:${beginnings})${rest}`), ...otherShapes].join('|')})`,
      `-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----${keyLines}*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|(?!${keyLines}))`,
      '(?<=[?&](?:sig|X-Amz-Signature)=)[\\w%+/=-]{16,}',
      '(?<=\\bAccountKey=)[\\w+/=]{40,}',
    ].join('|'),
    'g',
  );
const createFirstParts = (): ReadonlySet<string> => {
  const words = `${prefixes}|AIza|AKIA|ASIA|ya29|SG|eyJ|AccountKey`.split('|');
  return new Set(words.flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))));
};

const prefixes = /* @__PURE__ */ createPrefixes();
const createPrefixEnd = () => new RegExp(`(?:${prefixes})$`);
const prefixEnd = /* @__PURE__ */ createPrefixEnd();
const keyShape = /* @__PURE__ */ createPattern();

const MAX_PREFIX = 10;

const credential = /\b(bearer|basic) ([\w.~+/=-]{8,})/gi;

const urlPassword = /(:\/\/[^\s/:@"'<>\\]{0,64}:)([^\s/@"'<>\\]{1,256})@/g;

/** A JSON Web Token: three texts with dots in between, of which the header begins with `{"`. A word is read once. */
const tokenStart = 'eyJ';
const wordRest = /[\w-]*/y;
const otherParts = /\.[\w-]{10,}(?:\.[\w-]+)?/y;

/** What other keys have, whatever escapes of JSON are before it. */
const keyParts = ['AIza', 'AKIA', 'ASIA', 'ya29.', 'SG.', ':AA', '://', 'sig=', 'Signature=', 'AccountKey=', 'eyJ'];

/** A longer text of nothing but Base64 is a file. */
const MIN_FILE_LENGTH = 4096;
const file = /^(?:data:[\w/+.;=-]{0,100},)?[A-Za-z\d+/]+={0,2}$/;

/** A tenth of the time of the patterns, and most texts have nothing of a key. */
export function mayHaveKey(text: string): boolean {
  if (text.length > MIN_FILE_LENGTH && file.test(text)) return false;
  const hasPart = keyParts.some((part) => text.includes(part)) || text.includes(pemStart);
  return hasPart || hasPrefix(text, '-') || hasPrefix(text, '_') || /(?:earer|asic) /i.test(text);
}

function hasPrefix(text: string, mark: '-' | '_'): boolean {
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1))
    if (prefixEnd.test(text.slice(Math.max(0, at - MAX_PREFIX), at))) return true;
  return false;
}

/** Where a text contains what has the shape of a key, of a credential or of a JSON Web Token. In no order. */
export function findKeyShapes(text: string): readonly Range[] {
  if (!mayHaveKey(text)) return [];
  return [
    ...Array.from(text.matchAll(keyShape), ({ 0: key, index }): Range => [index, index + key.length]),
    ...(text.includes('://') ? partsAfter(text, urlPassword, () => true) : []),
    ...partsAfter(text, credential, isCredential),
    ...(text.includes('eyJ') ? tokensIn(text) : []),
  ];
}

const partsAfter = (
  text: string,
  pattern: RegExp,
  isSecret: (before: string, part: string) => boolean,
): readonly Range[] =>
  Array.from(text.matchAll(pattern)).flatMap(({ 0: all, 1: before = '', 2: part = '', index }): readonly Range[] => {
    const start = index + all.indexOf(part, before.length);
    return isSecret(before, part) ? [[start, start + part.length]] : [];
  });

/** "Bearer authentication" and "basic understanding" are ordinary words. */
function isCredential(scheme: string, value: string): boolean {
  if (scheme.toLowerCase() === 'basic') return hasColon(value);
  return scheme === 'Bearer' || value.length >= 20 || /\d/.test(value);
}

function hasColon(value: string): boolean {
  try {
    return atob(/^[^=.~_-]*={0,2}/.exec(value)?.[0] ?? '').includes(':');
  } catch {
    return false; // it is not Base64
  }
}

function tokensIn(text: string): readonly Range[] {
  const found: Range[] = [];
  let start = text.indexOf(tokenStart);
  while (start >= 0) {
    let end = start + tokenStart.length;
    if (start === 0 || !/\w/.test(text.charAt(start - 1))) {
      end = endOfMatch(wordRest, text, start);
      const tokenEnd = end - start >= 13 ? endOfMatch(otherParts, text, end) : end;
      if (tokenEnd > end) found.push([start, tokenEnd]);
    }
    start = text.indexOf(tokenStart, end);
  }
  return found;
}

function endOfMatch(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

const firstParts = /* @__PURE__ */ createFirstParts();
const firstSchemes = /(?<!\w)(?:b|be|bea|bear|beare|ba|bas|basi|(?:bearer|basic)(?: [\w.~+/=-]*)?)$/i;

const createOpenPrefix = () => new RegExp(`\\b(?:(?:${prefixes})[-_]|AIza|A[KS]IA[A-Z\\d]*$)`);
const openPrefix = /* @__PURE__ */ createOpenPrefix();
const openToken = /\b(?:eyJ|SG\.|ya29\.)/;

/** What may become a URL with a password or a signature, or a key with a colon. */
const createOpenContext = () =>
  new RegExp(
    [
      ':(?:\\/(?:\\/[^\\s/:@"\'<>\\\\]{0,64}(?::[^\\s/@"\'<>\\\\]{0,256})?)?)?',
      '[?&](?:\\w{0,2}|X-Amz-[a-z]*|(?:sig|X-Amz-Signature)(?:=[\\w%+/=-]*)?)',
      '\\bAccountKey=[\\w+/=]*',
      '\\b\\d{1,10}(?::(?:A|AA[\\w-]*)?)?',
    ]
      .map((part) => `(?:${part})$`)
      .join('|'),
    'i',
  );
const openContext = /* @__PURE__ */ createOpenContext();
const createOpenPrivateKey = () => new RegExp(`^-----BEGIN [A-Z ]*(?:-{0,4}|(?<=PRIVATE KEY)-----${keyLines}*)$`);
const openPrivateKey = /* @__PURE__ */ createOpenPrivateKey();
const endOfPrivateKey = /-----END [A-Z ]*-----/;

/** Where the end of a text begins that may become a key. The length of the text if there is none. */
export function openKeyShape(text: string): number {
  const word = text.slice(startOfEnd(text, /\w/));
  const key = startOfEnd(text, /[\w-]/);
  const dotted = startOfEnd(text, /[\w.-]/);
  const startOf = (pattern: RegExp, from: number) => {
    const at = text.slice(from).search(pattern);
    return at < 0 ? text.length : from + at;
  };
  return Math.min(
    firstParts.has(word) ? text.length - word.length : text.length,
    startOf(openPrefix, key),
    openToken.test(text.slice(dotted)) ? dotted : text.length,
    startOf(firstSchemes, 0),
    startOf(openContext, 0),
    openPrivateKeyStart(text),
  );
}

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
