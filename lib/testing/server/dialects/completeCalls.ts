import type { ToolCallFragment } from '../../../core/chunk.js';
import { ConfigurationError } from '../../../core/errors.js';
import { isJsonObject, tryParseJson, type JsonObject, type JsonValue } from '../../../core/json/json.js';
import type { ProviderData } from '../../../core/providerPart.js';

export interface CompleteCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly providerData?: ProviderData;
}

export interface CallCollector {
  /** A fragment that is a complete call is written at once, after those before it. */
  add(fragment: ToolCallFragment): readonly CompleteCall[];
  /** Throws for arguments that are not a JSON object: the wire cannot express them. */
  flush(): readonly CompleteCall[];
}

/** Fragments belong to a call by index or id; fragments with neither continue the previous call. */
export function createCallCollector(): CallCollector {
  let open = new Map<string, ToolCallFragment[]>();
  let current = '';
  let unkeyed = 0;
  const flush = () => {
    const calls = [...open.values()].map(completeCall);
    open = new Map();
    current = '';
    return calls;
  };
  return {
    add(fragment) {
      const key = fragment.index ?? (fragment.id === '' ? undefined : fragment.id);
      if (key !== undefined) current = String(key);
      else if (fragment.name !== undefined || current === '') current = `unkeyed ${++unkeyed}`;
      open.set(current, [...(open.get(current) ?? []), fragment]);
      return fragment.name !== undefined && isJsonObject(fragment.arguments) ? flush() : [];
    },
    flush,
  };
}

function completeCall(fragments: readonly ToolCallFragment[]): CompleteCall {
  const name = fragments.map((fragment) => fragment.name ?? '').join('');
  const id = fragments.map((fragment) => fragment.id).find((given) => given !== undefined && given !== '');
  const objects = fragments.map((fragment) => fragment.arguments).filter(isJsonObject);
  const text = fragments.map((fragment) => (typeof fragment.arguments === 'string' ? fragment.arguments : '')).join('');
  const providerData = fragments.map((fragment) => fragment.providerData).find((data) => data !== undefined);
  const parsed = text.trim() === '' ? {} : parseArguments(name, text);
  return {
    ...(id === undefined ? {} : { id }),
    name,
    // Not Object.assign, which would set the prototype for a key `__proto__`.
    arguments: Object.fromEntries([...objects, parsed].flatMap((object) => Object.entries(object))),
    ...(providerData === undefined ? {} : { providerData }),
  };
}

function parseArguments(name: string, text: string): JsonObject {
  const value = tryParseJson(text);
  if (isJsonObject(value)) return value;
  throw new ConfigurationError(
    'script',
    `This wire cannot express arguments of "${name}" that are not a JSON object: ${text}`,
    'Pass the frames with the option raw.',
  );
}

export function splitInput(args: ToolCallFragment['arguments']): readonly string[] {
  const input = isJsonObject(args) ? args['input'] : args;
  return typeof input === 'string' ? splitText(input) : [];
}

export const splitJson = (value: JsonValue): readonly string[] => splitText(JSON.stringify(value));

/** Tokens have a few characters, as those of providers. By code points: no server sends half a surrogate pair. */
const splitText = (text: string): readonly string[] => text.match(/.{1,8}/gsu) ?? [];
