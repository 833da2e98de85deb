import { objectOrEmpty, isRecord } from '../../core/json/json.js';
import { limitDepth, MAX_JSON_DEPTH } from '../../core/json/depth.js';
import {
  base64Parts,
  fromBase64,
  LONGEST_WINDOW,
  mergeRanges,
  replacement,
  replaceRanges,
  spellings,
} from '../../protocol/secrets.js';

/** A sign-in has up to eight. */
const MAX_SECRETS = 30;

/** Shorter ones could be words. */
const MIN_LENGTH = 8;

/** Of a longer one, only the beginning is known: no header has room for it. */
const MAX_LENGTH = 16_384;

const secretField = /(?:^|_)(?:token|code|verifier|secret|assertion|password)$/;

/** The secrets of a sign-in that a server may know: sent to it, received from it, or stored by the user's provider. */
export class KnownSecrets {
  private readonly newest = new Set<string>();
  /** Undefined if there are new secrets. */
  private replaceAll: ((text: string) => string) | undefined;

  /** Also in Base64, for a search that knows it only from the beginning of a text. */
  get values(): readonly string[] {
    return [...this.newest].flatMap((secret) => [secret, ...base64Parts(secret)]);
  }

  add(secrets: readonly string[]): void {
    for (const secret of secrets) {
      const plain = secret.replace(/^(?:bearer|basic|dpop) +/i, '').slice(0, MAX_LENGTH);
      if (plain === '') continue;
      if (!this.newest.delete(plain)) this.replaceAll = undefined;
      this.newest.add(plain);
    }
    for (const oldest of [...this.newest].slice(0, -MAX_SECRETS)) this.newest.delete(oldest);
  }

  /** What has secrets in its fields (tokens, a form, a client), or is one. */
  addFrom(passed: unknown): void {
    const fields = passed instanceof URLSearchParams ? [...passed] : Object.entries(objectOrEmpty(passed));
    const values = fields.flatMap(([name, value]) => (secretField.test(name) ? [value] : []));
    this.add([passed, ...values].filter((value) => typeof value === 'string'));
  }

  /** Replaces them in what a server has sent: in all texts, names of fields, and the bytes of files. */
  readonly hide = <T>(value: T): T => {
    const long = [...this.newest].filter(({ length }) => length >= MIN_LENGTH);
    if (long.length === 0) return value;
    this.replaceAll ??= replacerOf(long);
    return this.hideIn(limitDepth(value, MAX_JSON_DEPTH)) as T;
  };

  private hideIn(value: unknown): unknown {
    if (typeof value === 'string') return this.hideInText(value);
    if (Array.isArray(value)) return value.map((item) => this.hideIn(item));
    if (!isRecord(value)) return value;
    const isFile = (name: string) => name === 'blob' || (name === 'data' && 'mimeType' in value);
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        this.replaceIn(name),
        typeof inner === 'string' ? this.hideInText(inner, isFile(name)) : this.hideIn(inner),
      ]),
    );
  }

  /** Base64 stays valid: a provider would refuse the file. */
  private hideInText(text: string, isFile = false): string {
    const bytes = bytesOf(text);
    const hiddenBytes = this.replaceIn(bytes);
    const encoded = hiddenBytes === bytes ? text : btoa(hiddenBytes);
    const hidden = this.replaceIn(encoded);
    return isFile && hidden !== encoded ? btoa(replacement) : hidden;
  }

  private replaceIn(text: string): string {
    if (!this.replaceAll || text.length < MIN_LENGTH) return text;
    const replaced = this.replaceAll(text);
    const plain = plainSpelling(replaced);
    const hidden = plain === replaced ? plain : this.replaceAll(plain);
    return hidden === plain ? replaced : hidden;
  }
}

/** In linear time. One expression finds all beginnings: 360 searches took 30 s for a result with 200,000 texts. */
function replacerOf(secrets: readonly string[]): (text: string) => string {
  const spelled = [...spellings(secrets), ...secrets.flatMap(base64Parts)].sort((a, b) => b.length - a.length);
  const escaped = spelled.map((text) => text.slice(0, LONGEST_WINDOW).replace(/[$()*+./?[\\\]^{|}]/g, '\\$&'));
  const beginning = new RegExp(`(?=${[...new Set(escaped)].join('|')})`, 'g');
  return (text) => {
    const found: [from: number, to: number][] = [];
    const compared: number[] = []; // until where, with each
    for (const { index: at } of text.matchAll(beginning)) {
      const whole = spelled.find((secret, index) => {
        let end = Math.max(at, compared[index] ?? 0);
        if (end === at) while (end < at + secret.length && secret[end - at] === text[end]) end++;
        compared[index] = end;
        return end === at + secret.length;
      });
      if (whole !== undefined) found.push([at, at + whole.length]);
    }
    return replaceRanges(text, mergeRanges(found));
  };
}

/** Without escapes that JSON does not need, and without line breaks within Base64. In linear time. */
const plainSpelling = (text: string): string =>
  text
    .replace(/\\(?:\\|\/|u00(?!22|5[cC])([2-7][\da-fA-F]))/g, (escaped, hex?: string) =>
      hex ? String.fromCharCode(parseInt(hex, 16)) : escaped.replace('\\/', '/'),
    )
    .replace(/\r?\n(?<=[\w+/-]{16}\r?\n)(?=[\w+/=-])/g, '');

/** Empty if the text is not in Base64. It may be broken into lines. */
const bytesOf = (text: string): string =>
  text.length < MIN_LENGTH || /[^A-Za-z\d+/=\s]/.test(text) ? '' : fromBase64(text);
