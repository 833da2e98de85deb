import { defer, forkJoin, map, Observable, take, throwIfEmpty, type Subscriber } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import { deferCall } from '../../core/deferCall.js';
import { requireOptions } from '../../core/requireOptions.js';
import { settled } from '../../core/settled.js';
import { mergeHeaders } from '../../protocol/request.js';
import { secretsOf } from '../../protocol/secrets.js';

/** A value, or a function that is called for each request, retries included (the first value of an Observable). */
export type PerRequest<T> = T | (() => T | Promise<T> | Observable<T>);

type Headers = Readonly<Record<string, string>>;

export interface Credentials {
  /** Absent if the user's headers contain credentials, and where no key is sent. */
  readonly key?: string | undefined;
  readonly headers: Headers;
}

export interface CredentialSources {
  readonly provider: string;
  readonly vendorUrl: string;
  /** The key in the environment. `domains`: the vendor's other domains. */
  readonly apiKey?: { readonly variable: string; readonly domains?: readonly string[] | undefined } | undefined;
  readonly options: {
    readonly apiKey?: PerRequest<string> | undefined;
    readonly baseUrl?: string | undefined;
    readonly headers?: PerRequest<Headers> | undefined;
  };
}

/** The user's header, else `apiKey`, else the environment's key, only for the vendor's hosts. Asked per request. */
export function withCredentials<T>(
  sources: CredentialSources,
  open: (credentials: Credentials) => Observable<T>,
): Observable<T> {
  const { provider, options } = sources;
  const { headers: plainHeaders, apiKey: plainKey } = options;
  if (typeof plainHeaders !== 'function' && typeof plainKey !== 'function')
    return openWith(sources, open, plainHeaders, plainKey); // nearly every model: nothing is asked
  const found = forkJoin([
    readSource(options.headers, () => missingValue(provider, 'headers')),
    readSource(options.apiKey, () => missingValue(provider, 'apiKey')),
  ]);
  return new Observable<T>((out) =>
    found.subscribe({
      next: ([headers, key]) => subscribeWith(out, deferCall(openWith, sources, open, headers, key)),
      error: (thrown: unknown) => out.error(thrown),
    }),
  );
}

/** Without a subscriber in between, so that a stop inside of a synchronous emission reaches the source. */
const subscribeWith = <T>(out: Subscriber<T>, source: Observable<T>): void => out.add(source.subscribe(out));

function openWith<T>(
  sources: CredentialSources,
  open: (credentials: Credentials) => Observable<T>,
  userHeaders: Headers | undefined,
  optionKey: string | undefined,
): Observable<T> {
  const given = { headers: userHeaders ?? undefined, apiKey: optionKey ?? undefined };
  requireOptions(`a request of ${sources.provider}`, given, { headers: 'object', apiKey: 'string' });
  const headers = userHeaders ? mergeHeaders(userHeaders) : {};
  const hasCredentials = Object.keys(headers).some((name) => credentialHeader.test(name) && headers[name]?.trim());
  return open({ headers, key: hasCredentials ? undefined : chooseKey(sources, optionKey, headers) });
}

/** Headers of gateways (`helicone-auth`) come in addition to these. */
const credentialHeader = /^(?:authorization|(?:x-(?:goog-)?)?api-key)$/;

function chooseKey(sources: CredentialSources, optionKey: string | undefined, headers: Headers): string | undefined {
  const { provider, apiKey, options } = sources;
  const key = optionKey?.trim();
  if (key) return key;
  if (typeof options.apiKey === 'function') throw missingValue(provider, 'apiKey');
  if (apiKey === undefined || !isVendorUrl(sources)) return undefined;
  const environmentKey = environment()[apiKey.variable]?.trim();
  if (environmentKey) return environmentKey;
  // A gateway's token may stand for the key.
  if (secretsOf('', headers).length > 0) return undefined;
  throw new ConfigurationError(
    'apiKey',
    `There is no API key for ${provider}.`,
    `Set ${apiKey.variable} or pass { apiKey }.`,
  );
}

/** The environment's key goes to `vendorUrl`, and over https to the vendor's other hosts (`eu.api.openai.com`). */
function isVendorUrl({ vendorUrl, apiKey, options }: CredentialSources): boolean {
  if (options.baseUrl === undefined) return true;
  const [vendor, url] = [parseUrl(vendorUrl), parseUrl(options.baseUrl)];
  if (!vendor || !url) return false;
  const domains = [vendor.hostname, ...(apiKey?.domains ?? [])];
  const isBelow = domains.some((domain) => url.hostname === domain || url.hostname.endsWith(`.${domain}`));
  return url.origin === vendor.origin || (isBelow && url.protocol === 'https:' && url.port === '');
}

function parseUrl(url: string): URL | undefined {
  try {
    return new URL(url.trim());
  } catch {
    return undefined; // relative: a service of the page's own host, which adds the key
  }
}

/** What to do if the server answers 401 or 403. Undefined if something was sent that may be a key. */
export function adviceWithoutKey(sources: CredentialSources, { key, headers }: Credentials): string | undefined {
  if (key !== undefined || secretsOf('', headers).length > 0) return undefined;
  const variable = sources.apiKey?.variable;
  if (variable === undefined) return 'No key was sent: pass { apiKey }.';
  return `No key was sent, since ${variable} is only sent to the vendor: pass { apiKey: process.env.${variable} }.`;
}

/** Asks each function among the sources per request; without functions, it combines once. */
export function combineHeaders(
  combine: (...headers: readonly (Headers | undefined)[]) => Headers | undefined,
  ...sources: readonly (PerRequest<Headers> | undefined)[]
): PerRequest<Headers> | undefined {
  if (sources.every((source) => typeof source !== 'function')) return combine(...sources);
  const noValue = () => missingValue('the model', 'headers');
  return () => forkJoin(sources.map((source) => readSource(source, noValue))).pipe(map((all) => combine(...all) ?? {}));
}

const readSource = <T>(source: PerRequest<T> | undefined, noValue: () => Error): Observable<T | undefined> =>
  defer(() => settled(typeof source === 'function' ? (source as () => T)() : source)).pipe(
    take(1),
    throwIfEmpty(noValue),
  );

const missingValue = (provider: string, option: string) =>
  new ConfigurationError('apiKey', `The function "${option}" of ${provider} returned no value.`, 'Return one.');

function environment(): Readonly<Record<string, string | undefined>> {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
}
