import { objectOrEmpty, isRecord } from '../../core/json/json.js';
import { limitDepth, MAX_JSON_DEPTH } from '../../core/json/depth.js';
import { base64Parts, replacement, spellings } from '../../protocol/secrets.js';

/** A sign-in has up to eight. */
const MAX_SECRETS = 30;

/** Shorter ones could be words. */
const MIN_LENGTH = 8;

const secretField = /(?:^|_)(?:token|code|verifier|secret|assertion|password)$/;

/** The secrets of a sign-in that a server may know: sent to it, received from it, or stored by the user's provider. */
export class KnownSecrets {
  private readonly newest = new Set<string>();
  /** One expression for all: 360 searches took 30 s for a result with 200,000 texts. Null if there are no secrets. */
  private pattern: RegExp | null | undefined;

  /** Also in Base64, for a search that knows it only from the beginning of a text. */
  get values(): readonly string[] {
    return [...this.newest].flatMap((secret) => [secret, ...base64Parts(secret)]);
  }

  add(secrets: readonly string[]): void {
    for (const secret of secrets) {
      const plain = secret.replace(/^(?:bearer|basic|dpop) +/i, '');
      this.newest.delete(plain);
      if (plain !== '') this.newest.add(plain);
    }
    for (const oldest of [...this.newest].slice(0, -MAX_SECRETS)) this.newest.delete(oldest);
    this.pattern = undefined;
  }

  /** What has secrets in its fields (tokens, a form, a client), or is one. */
  addFrom(passed: unknown): void {
    const fields = passed instanceof URLSearchParams ? [...passed] : Object.entries(objectOrEmpty(passed));
    const values = fields.flatMap(([name, value]) => (secretField.test(name) ? [value] : []));
    this.add([passed, ...values].filter((value) => typeof value === 'string'));
  }

  /** Replaces them in what a server has sent: in all texts, names of fields, and the bytes of files. */
  readonly hide = <T>(value: T): T => {
    if (this.pattern === undefined) this.pattern = this.createPattern();
    return this.pattern === null ? value : (this.hideIn(limitDepth(value, MAX_JSON_DEPTH)) as T);
  };

  private createPattern(): RegExp | null {
    const long = [...this.newest].filter(({ length }) => length >= MIN_LENGTH);
    const longestFirst = [...spellings(long), ...long.flatMap(base64Parts)].sort((a, b) => b.length - a.length);
    const alternatives = longestFirst.map((text) => text.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&'));
    return alternatives.length === 0 ? null : new RegExp(alternatives.join('|'), 'g');
  }

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
    return this.pattern && text.length >= MIN_LENGTH ? text.replace(this.pattern, replacement) : text;
  }
}

/** As characters; empty if the text is not in Base64. It may be broken into lines. */
function bytesOf(text: string): string {
  if (text.length < MIN_LENGTH || /[^A-Za-z\d+/=\s]/.test(text)) return '';
  try {
    return atob(text);
  } catch {
    return '';
  }
}
