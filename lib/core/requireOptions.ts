import { from } from 'rxjs';
import { type ConfigurationError, optionsError } from './errors.js';
import { isRecord } from './json/json.js';
import { requireNumber } from './options.js';

/** A number: at least that, or Infinity. `Observable`: what `from` accepts. `any`: checked elsewhere. */
type SimpleKind =
  | 'string'
  | 'number'
  | 'boolean'
  | 'function'
  | 'object'
  | 'array'
  | 'Observable'
  | 'AbortSignal'
  | 'any'
  | number;

/** Nested options are complete: any other name is an error. */
interface NestedKinds {
  readonly [name: string]: Kind;
}

type Kind = SimpleKind | NestedKinds | readonly (SimpleKind | NestedKinds)[];

export type OptionKinds<Options> = Readonly<Record<keyof Options, Kind>>;

const otherNames: Readonly<Record<string, string>> = {
  inputSchema: 'parameters',
  instructions: 'system',
  maxSteps: 'maxTurns',
  maxTokens: 'maxOutputTokens',
  messages: 'history',
};

/**
 * Checks what TypeScript rejects. A name that is nearly an option's, or another library's, is a mistake; others are
 * ignored: an object may have fields for others. Texts are not repeated: they may be keys.
 */
export function requireOptions(owner: string, options: unknown, kinds: OptionKinds<Readonly<Record<string, unknown>>>) {
  if (!isRecord(options)) throw wrongKind(`The options of ${owner} are`, options, ['object']);
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) refuseNear(owner, name, kinds);
    else if (value !== undefined && (typeof kind !== 'string' || !isOfKind(value, kind)))
      requireKind(owner, name, value, Array.isArray(kind) ? kind : [kind]);
  }
}

function refuseNear(owner: string, name: string, kinds: NestedKinds): void {
  const meant = nearestName(name, Object.keys(kinds));
  if (meant !== undefined) throw noOption(owner, name, `Did you mean "${meant}"?`);
}

const noOption = (owner: string, name: string, nextStep: string) =>
  optionsError(`${owner}: there is no option "${name}".`, nextStep);

function requireKind(owner: string, name: string, value: unknown, kinds: readonly (SimpleKind | NestedKinds)[]): void {
  const nested = kinds.find((kind) => typeof kind === 'object');
  const minimum = kinds.find((kind) => typeof kind === 'number');
  if (nested && isRecord(value)) {
    requireOptions(`${owner}: ${name}`, value, nested);
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(nested, key));
    if (unknown === undefined) return;
    throw noOption(`${owner}: ${name}`, unknown, `Its options are: ${Object.keys(nested).join(', ')}.`);
  }
  if (typeof value === 'number' && minimum !== undefined) requireNumber(`${owner}: "${name}"`, value, minimum);
  else if (!kinds.some((kind) => isOfKind(value, kind))) throw wrongKind(`${owner}: "${name}" is`, value, kinds);
}

function wrongKind(what: string, value: unknown, kinds: readonly (SimpleKind | NestedKinds)[]): ConfigurationError {
  const shown = typeof value === 'number' ? value : `of the type ${kindOf(value)}`;
  const types = kinds.map((kind) => (typeof kind === 'string' ? kind : typeof kind)).join(' or ');
  return optionsError(`${what} ${shown}.`, `Pass a value of the type ${types}.`);
}

function isOfKind(value: unknown, kind: SimpleKind | NestedKinds): boolean {
  if (kind === 'any') return true;
  if (kind === 'number') return Number.isFinite(value);
  if (kind === 'AbortSignal') return 'aborted' in Object(value);
  if (kind !== 'Observable') return kindOf(value) === kind;
  try {
    return Boolean(from(value as never));
  } catch {
    return false;
  }
}

const kindOf = (value: unknown) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);

/** The option with the fewest changed characters, at most two. */
const nearestName = (name: string, names: readonly string[]): string | undefined =>
  [0, 1, 2]
    .map((changes) => names.find((each) => isNear(name.toLowerCase(), each.toLowerCase(), changes)))
    .concat(names.filter((each) => each === otherNames[name]))
    .find((each) => each !== undefined);

function isNear(from: string, to: string, changes: number): boolean {
  if (Math.abs(from.length - to.length) > changes) return false;
  if (from === '' || to === '') return true;
  const [fromRest, toRest] = [from.slice(1), to.slice(1)];
  if (from.startsWith(to.charAt(0))) return isNear(fromRest, toRest, changes);
  const rest = changes - 1;
  return rest >= 0 && (isNear(fromRest, to, rest) || isNear(from, toRest, rest) || isNear(fromRest, toRest, rest));
}
