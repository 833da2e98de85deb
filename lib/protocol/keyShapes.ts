import { fromBase64, type Range } from './secrets.js';

/** Sources: each service's own documentation of its tokens or prefixes (GitHub, GitLab, npm, PyPI, Stripe, Slack). */
const shapes: readonly (readonly [beginnings: string, rest: string])[] = [
  ['sk|pk|rk|gsk|xai|hf|r8|pplx|csk|fw|nvapi', '[-_][\\w-]{16,}'],
  ['ghp|gho|ghu|ghs|ghr|github_pat', '_\\w{16,}(?:\\.eyJ[\\w-]*\\.[\\w-]+)?'],
  ['glpat|gldt|glrt|glptt|glsoat|glcbt|glft|glimt|gloas|glagent', '-[\\w-]{16,}(?:\\.[\\da-z]{2}\\.\\w{9})?'],
  ['xoxa|xoxb|xoxc|xoxd|xoxe|xoxo|xoxp|xoxr|xoxs|xapp|xwfp', '-[\\w%-]{10,}'],
  ['pypi', '-AgE[\\w-]{16,}'],
  ['GOCSPX|tvly|bedrock-api-key|CFPAT|tskey-auth|tskey-api|tskey-client', '-[\\w+/=-]{16,}'],
  ['pa', '-[\\w-]{40,}'],
  ['dop_v1|doo_v1|dor_v1|shpat|shpca|shppa|shpss|sbp|rubygems|bkua', '_[\\da-f]{32,}'],
  ['sb_secret|pscale_tkn|pscale_pw|dckr_pat|dckr_oat|lin_api|fo1|fm2|wandb_v1|mdb_sa_sk', '_[\\w+/=-]{20,}'],
  ['lsv2_pt|lsv2_sk|whsec|figd|figu|tgp_v1|glsa|glc|sntrys|sntryu|pcsk', '_[\\w+/=-]{20,}'],
  ['npm|ntn|jina|vck|vcp|e2b|ek|nfp|napi|squ|sqp|sqa|rpa|apify_api|phx|CCIPAT', '_[A-Za-z\\d]{20}[\\w-]*'],
  ['ops', '_eyJ[\\w+/=-]{20,}'], // 1Password: the JSON of a service account
  ['sq0atp|sq0csp|NRAK|PMAK|HRKU|sess|xkeysib|pul|llx|AGE-SECRET-KEY', '-[A-Za-z\\d]{20}[\\w-]*'],
  ['ak|as', '-(?=[a-z\\d]*[A-Z])[A-Za-z\\d]{22}(?![\\w-])'], // Modal
  ['key|fc', '-[\\da-f]{32}'],
  ['pat-na1|pat-eu1|sdk', '-[\\da-f-]{36}'],
];

/** Google Cloud "API keys" and "Token types", AWS "IAM identifiers", SendGrid, Vault, Doppler, Terraform. */
const plainShapes: readonly (readonly [beginnings: string, rest: string])[] = [
  ['AIza|1//0', '[\\w-]{30,}'],
  ['AKIA|ASIA', '[A-Z\\d]{16}'],
  ['ABSK', '[\\w+/=]{60,}'],
  ['ATATT3|ATCTT3', '[\\w=-]{60,}'],
  ['EAA', '[A-Za-z\\d]{100,}'], // base64 of any file may begin so, too
  ['ATBB', '[A-Za-z\\d]{32,}'],
  ['dapi', '[\\da-f]{32}'],
];

const dottedShapes: readonly (readonly [beginnings: string, rest: string])[] = [
  ['ya29', '\\.[\\w.-]{16,}'],
  ['AQ', '\\.[\\w-]{40,}'],
  ['SG|dt0c01|dt0s01', '\\.[\\w-]{16,}\\.[\\w-]{16,}'],
  ['hvs|hvb|hvr', '\\.[\\w-]{24,}'],
  ['dp\\.pt|dp\\.st|dp\\.ct', '\\.[\\w.-]{40,}'],
  ['atlasv1|sl|sl\\.u', '\\.[\\w-]{60,}'],
];

const colon = '\\\\?["\']?\\s{0,2}[:=]\\s{0,2}\\\\?["\']?';

const createNamedShapes = (): readonly (readonly [name: string, characters: string, least: number])[] => [
  [
    '(?:^|[\\s?&#;"\'])(?:sig|Signature|X-(?:Amz|Goog)-Signature|X-Amz-Security-Token|\\w{2,7}_token|client_secret)=',
    '[\\w%+/=.~-]',
    16,
  ],
  ['\\b(?:AccountKey|SharedAccessKey|_authToken)=', '[\\w+/=-]', 16],
  ['\\b\\w{3}\\dQ~', '[\\w.~-]', 31], // the secret of a client of Entra ID
  ['[?&;](?:[Pp]assword|PASSWORD|[Pp]wd|PWD)=', '[^\\s?&;"\'<>\\\\]', 4],
  [`\\b(?:access|refresh|id)_token${colon}`, '[\\w.~+/=-]', 16],
  [`(?:[Ss]ecret_?[Aa]ccess_?[Kk]ey|SECRET_ACCESS_KEY|[Cc]lient_?[Ss]ecret)${colon}`, '[\\w+/~.-]', 16],
  // Slack "Incoming webhooks", Discord "Webhook": whoever has the address may write.
  ['(?:hooks\\.slack\\.com|webhook\\.office\\.com|api\\\\?/webhooks)\\\\?/', '[\\w\\\\/@-]', 40],
  [`(?:[Aa][Pp][Ii][-_]?[Kk]ey|(?:API|SECRET)_KEY|PASSWORD|SECRET|TOKEN)${colon}(?=[\\w-]{0,64}\\d)`, '[\\w-]', 16],
  [`[Aa]uthorization${colon}(?:[A-Za-z]{3,12} )?(?=[\\w.~+/=-]{0,64}\\d)`, '[\\w.~+/=-]', 16],
];

/** Telegram "Bot API": its URLs have it after `bot`. */
const botToken = '\\d{8,10}:AA[\\w-]{33}(?![\\w-])';

/** Discord "Bot authorization header" (an id of digits in Base64), Twilio "API keys", and an account with its token. */
const bareKey =
  /()\b([MNO][DTjz]\w[w-z0-5][\w-]{20,24}\.[\w-]{6}\.[\w-]{27,40}|(?:SK|AC[\da-f]{32}:)[\da-f]{32})(?!\w)/g;

const keyLines = '[\\w+/=\\s\\\\:,.()-]';
const keyName = '[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----';

const pemStart = '-----BEGIN ';

// Functions, so that a bundler can leave all of this out.
const beginningsOf = (list: typeof shapes) => list.map(([some]) => some).join('|');
const createPattern = () => {
  const all = [...shapes, ...plainShapes, ...dottedShapes].map(([beginnings, rest]) => `(?:${beginnings})${rest}`);
  const pem = `-----BEGIN ${keyName}${keyLines}*?(?:-----END ${keyName}|(?!${keyLines}))`;
  return new RegExp(`(?:\\b|(?<=\\bbot))(?:${[...all, botToken].join('|')})|${pem}`, 'y');
};
const namedShapes = /* @__PURE__ */ createNamedShapes();
const createNamedPatterns = () =>
  namedShapes.map(([name, characters, least]) => new RegExp(`(${name})(${characters}{${least},})`, 'g'));
const createFirstParts = (): ReadonlySet<string> => {
  const words = `${prefixes}|${beginnings}|${dotted}|eyJ`.replaceAll('\\', '').split('|');
  return new Set(words.flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))));
};

const prefixes = /* @__PURE__ */ beginningsOf(shapes);
const beginnings = /* @__PURE__ */ beginningsOf(plainShapes);
const dotted = /* @__PURE__ */ beginningsOf(dottedShapes);
const beginningList = /* @__PURE__ */ beginnings.split('|');
const createMarks = (): readonly (readonly [mark: string, prefix: RegExp])[] => {
  const prefixEnd = new RegExp(`(?:${prefixes})$`);
  return [
    ['-', prefixEnd],
    ['_', prefixEnd],
    ['.', new RegExp(`(?:${dotted})$`)],
  ];
};
const marks = /* @__PURE__ */ createMarks();
const keyShape = /* @__PURE__ */ createPattern();
const namedPatterns = /* @__PURE__ */ createNamedPatterns();

const MAX_PREFIX = 16;

const gap = '(?:\\s{1,4}|%20|\\+)';
const createCredential = () => new RegExp(`\\b(bearer|basic)${gap}([\\w.~+/=-]{8,})`, 'gi');
const credential = /* @__PURE__ */ createCredential();

/** Up to the last `@`, which a password that is not encoded may contain. */
const urlPassword = /(:\/\/[^\s/:@"'<>\\]{0,256}:)([^\s/"'<>\\]{1,4096})@/g;

/** A JSON Web Token: three or five texts. The first begins with `{"`, the second may be empty. */
const tokenStart = 'eyJ';
const wordRest = /[\w-]*/y;
const otherParts = /\.(?:[\w-]{10,}|(?=\.[\w-]{10,}))(?:\.[\w-]+){0,3}/y;

/** What other keys have, whatever escapes of JSON are before it. */
const createKeyParts = () => [...beginningList, ':AA', '://', 'eyJ'];
const keyParts = /* @__PURE__ */ createKeyParts();
const keyNames =
  /(?:key|secret|token|sig|signature|authorization|p(?:assword|wd))\\?["']?\s{0,2}[:=]|hooks?[\\./]|\dQ~/i;

const MIN_FILE_LENGTH = 4096;
const dataUrl = /^data:[\w/+.;=-]{0,100},/;

/** Without an expression for the whole text: for 1 MB, its backtracking can exceed the stack. */
function isFile(text: string): boolean {
  const content = text.replace(dataUrl, '');
  const padding = ['==', '='].find((end) => content.endsWith(end)) ?? '';
  return !/[^A-Za-z\d+/]/.test(content.slice(0, content.length - padding.length));
}

/** A tenth of the time of the patterns, and most texts have nothing of a key. */
export function mayHaveKey(text: string): boolean {
  if (text.length > MIN_FILE_LENGTH && isFile(text)) return false;
  const hasPart = keyParts.some((part) => text.includes(part)) || text.includes(pemStart) || keyNames.test(text);
  if (hasPart || text.search(bareKey) >= 0 || /(?:earer|asic)[\s%+]/i.test(text)) return true;
  return marks.some(([mark, prefix]) => hasPrefix(text, mark, prefix));
}

function hasPrefix(text: string, mark: string, prefix: RegExp): boolean {
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1))
    if (prefix.test(text.slice(Math.max(0, at - MAX_PREFIX), at))) return true;
  return false;
}

function positionsOf(text: string, part: string): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) found.push(at);
  return found;
}

/** The pattern at each character took 200 times as long. */
function startsOfKeys(text: string): readonly number[] {
  return [
    ...marks.flatMap(([mark, prefix]) =>
      positionsOf(text, mark).flatMap((at) => {
        const found = prefix.exec(text.slice(Math.max(0, at - MAX_PREFIX), at));
        return found ? at - found[0].length : [];
      }),
    ),
    ...[pemStart, ...beginningList].flatMap((beginning) => positionsOf(text, beginning)),
    ...positionsOf(text, ':AA').map((at) => at - (/\d*$/.exec(text.slice(Math.max(0, at - 10), at))?.[0].length ?? 0)),
  ].sort((a, b) => a - b);
}

function keysIn(text: string): readonly Range[] {
  const found: Range[] = [];
  let last = 0;
  for (const start of startsOfKeys(text)) {
    const end = start < last ? start : endOfMatch(keyShape, text, start);
    if (end > start) found.push([start, (last = end)]);
  }
  return found;
}

export function findKeyShapes(text: string): readonly Range[] {
  if (!mayHaveKey(text)) return [];
  return [
    ...keysIn(text),
    ...(keyNames.test(text) ? namedPatterns.flatMap((pattern) => partsAfter(text, pattern, () => true)) : []),
    ...(text.includes('://') ? partsAfter(text, urlPassword, () => true) : []),
    ...partsAfter(text, credential, isCredential),
    ...partsAfter(text, bareKey, () => true),
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
  if (scheme.toLowerCase() === 'basic') return fromBase64(/^[^=.~_-]*={0,2}/.exec(value)?.[0] ?? '').includes(':');
  return scheme === 'Bearer' || value.length >= 20 || /\d/.test(value);
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
const createFirstSchemes = () =>
  new RegExp(`(?<!\\w)(?:b|be|bea|bear|beare|ba|bas|basi|(?:bearer|basic)(?:(?:${gap}|%2?)[\\w.~+/=-]*)?)$`, 'i');
const firstSchemes = /* @__PURE__ */ createFirstSchemes();

const createOpenBeginning = () => new RegExp(`\\b(?:(?:${prefixes})[-_]|(?:${dotted})\\.|${beginnings}|eyJ)`);
const openBeginning = /* @__PURE__ */ createOpenBeginning();

const createOpenContext = () =>
  new RegExp(
    [
      ':(?:\\/(?:\\/[^\\s/:@"\'<>\\\\]{0,256}(?::[^\\s/"\'<>\\\\]{0,4096})?)?)?',
      ...namedShapes.map(([name, characters]) => `${name.replace(/\(\?=.*/, '')}${characters}*`),
      '(?:\\b|(?<=\\bbot))\\d{1,10}(?::(?:A|AA[\\w-]*)?)?',
      '\\b(?:[MNO][DTjz][\\w-]{0,26}(?:\\.[\\w-]{0,40}){0,2}|(?:SK|AC)[\\da-f:]{0,65}|[ACSKMNO])',
    ]
      .map((part) => `(?:${part})$`)
      .join('|'),
  );
const openContext = /* @__PURE__ */ createOpenContext();
const createOpenPrivateKey = () =>
  new RegExp(`^-----BEGIN [A-Z ]*(?:-{0,4}|(?<=PRIVATE KEY(?: BLOCK)?)-----${keyLines}*)$`);
const openPrivateKey = /* @__PURE__ */ createOpenPrivateKey();
const endOfPrivateKey = /-----END [A-Z ]*-----/;

/** The place where the end of a text may become a key; the length if there is none. */
export function openKeyShape(text: string): number {
  const startOf = (pattern: RegExp, from: number) => {
    const at = text.slice(from).search(pattern);
    return at < 0 ? text.length : from + at;
  };
  return Math.min(
    openBeginningStart(text),
    startOf(openBeginning, startOfEnd(text, /[\w.+/=%~-]/)),
    startOf(firstSchemes, 0),
    startOf(openContext, 0),
    openPrivateKeyStart(text),
  );
}

function openBeginningStart(text: string): number {
  for (let start = Math.max(0, text.length - MAX_PREFIX); start < text.length; start++)
    if (!/\w/.test(text.charAt(start - 1)) && firstParts.has(text.slice(start))) return start;
  return text.length;
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
