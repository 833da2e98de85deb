import { from } from 'rxjs';
import { ConfigurationError } from './errors.js';
import { isRecord } from './json/json.js';

/**
 * What the value of an option has to be. `Observable`: anything that `from` of RxJS accepts. `any`: it may be several
 * things, or is checked elsewhere.
 */
type Kind = 'string' | 'number' | 'boolean' | 'function' | 'object' | 'array' | 'Observable' | 'AbortSignal' | 'any';

/** The options of a function, and what each value has to be; one of several kinds. */
export type OptionKinds<Options> = Readonly<Record<keyof Options, Kind | readonly Kind[]>>;

/** What other libraries call some options. */
const otherNames: Readonly<Record<string, string>> = {
  inputSchema: 'parameters',
  instructions: 'system',
  maxSteps: 'maxTurns',
  maxTokens: 'maxOutputTokens',
  messages: 'history',
};

/**
 * Checks options that JavaScript may pass: TypeScript rejects the same.
 *
 * A name that is nearly that of an option, or that another library has for one, is a mistake. Any other name is
 * ignored: an object may have fields for others.
 *
 * @param owner Whose options they are, for the error.
 * @param options The options.
 * @param kinds The options that exist.
 * @throws ConfigurationError `options` for such a name, and for a value of another kind. Texts are not repeated in it,
 * since they may be keys.
 */
export function requireOptions(owner: string, options: unknown, kinds: OptionKinds<Readonly<Record<string, unknown>>>) {
  if (!isRecord(options)) throw wrongKind(`The options of ${owner} are`, options, 'object');
  for (const [name, value] of Object.entries(options)) {
    const accepted = [kinds[name] ?? []].flat();
    const [kind] = accepted;
    const meant = kind ? undefined : nearestName(name, Object.keys(kinds));
    if (meant !== undefined)
      throw new ConfigurationError('options', `${owner}: there is no option "${name}".`, `Did you mean "${meant}"?`);
    if (kind && kind !== 'any' && value !== undefined && !accepted.some((each) => isOfKind(value, each)))
      throw wrongKind(`${owner}: "${name}" is`, value, kind, accepted.join(' or '));
  }
}

function wrongKind(what: string, value: unknown, kind: Kind, expected: string = kind): ConfigurationError {
  const isShown = typeof value === 'number' || kind === 'number';
  const shown = isShown ? JSON.stringify(value) : `of the type ${kindOf(value)}`;
  return new ConfigurationError('options', `${what} ${shown}.`, `Pass a value of the type ${expected}.`);
}

function isOfKind(value: unknown, kind: Kind): boolean {
  if (kind === 'AbortSignal') return 'aborted' in Object(value);
  if (kind !== 'Observable') return kindOf(value) === kind;
  try {
    return Boolean(from(value as never));
  } catch {
    return false;
  }
}

const kindOf = (value: unknown) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);

/** The name that was meant: the one with the fewest changed characters, at most two. */
const nearestName = (name: string, names: readonly string[]): string | undefined =>
  [0, 1, 2]
    .map((changes) => names.find((each) => isNear(name.toLowerCase(), each.toLowerCase(), changes)))
    .concat(names.filter((each) => each === otherNames[name]))
    .find((each) => each !== undefined);

/** Whether a text becomes another one if at most so many characters are inserted, removed or replaced. */
function isNear(from: string, to: string, changes: number): boolean {
  if (from === '' || to === '') return from.length + to.length <= changes;
  const [fromRest, toRest] = [from.slice(1), to.slice(1)];
  if (from.startsWith(to.charAt(0))) return isNear(fromRest, toRest, changes);
  const rest = changes - 1;
  return rest >= 0 && (isNear(fromRest, to, rest) || isNear(from, toRest, rest) || isNear(fromRest, toRest, rest));
}
