import type { ToolCallFragment } from '../../../core/chunk.js';
import { ConfigurationError } from '../../../core/errors.js';
import { isJsonObject, tryParseJson } from '../../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../../core/json/json.js';
import type { ProviderData } from '../../../core/message.js';

/** A call as a wire says it that has no words for pieces of one. */
export interface WholeCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly providerData?: ProviderData;
}

/** Gathers a script's fragments into whole calls. */
export interface WholeCalls {
  /** Takes a fragment; gives the calls to be written now: a fragment that is a whole call goes at once, behind those before it. */
  add(fragment: ToolCallFragment): readonly WholeCall[];
  /**
   * The calls still held.
   *
   * @throws ConfigurationError `script` for arguments that are no JSON object: the wire has no words for them.
   */
  flush(): readonly WholeCall[];
}

/** A gatherer that holds nothing. Fragments of a call are known by index or id; those with neither continue the call before. */
export function wholeCalls(): WholeCalls {
  let held = new Map<string, ToolCallFragment[]>();
  let current = '';
  let unkeyed = 0;
  const flush = () => {
    const calls = [...held.values()].map(whole);
    held = new Map();
    current = '';
    return calls;
  };
  return {
    add(fragment) {
      const key = fragment.index ?? (fragment.id === '' ? undefined : fragment.id);
      if (key !== undefined) current = String(key);
      else if (fragment.name !== undefined || current === '') current = `unkeyed ${++unkeyed}`;
      held.set(current, [...(held.get(current) ?? []), fragment]);
      return fragment.name !== undefined && isJsonObject(fragment.arguments) ? flush() : [];
    },
    flush,
  };
}

function whole(fragments: readonly ToolCallFragment[]): WholeCall {
  const name = fragments.map((fragment) => fragment.name ?? '').join('');
  const id = fragments.map((fragment) => fragment.id).find((given) => given !== undefined && given !== '');
  const objects = fragments.map((fragment) => fragment.arguments).filter(isJsonObject);
  const text = fragments.map((fragment) => (typeof fragment.arguments === 'string' ? fragment.arguments : '')).join('');
  const providerData = fragments.map((fragment) => fragment.providerData).find((data) => data !== undefined);
  return {
    ...(id === undefined ? {} : { id }),
    name,
    arguments: Object.assign({}, ...objects, text.trim() === '' ? {} : parsed(name, text)) as JsonObject,
    ...(providerData === undefined ? {} : { providerData }),
  };
}

function parsed(name: string, text: string): JsonObject {
  const value = tryParseJson(text);
  if (isJsonObject(value)) return value;
  throw new ConfigurationError(
    'script',
    `This wire has no words for the arguments of a call of "${name}" that are no JSON object: ${text}`,
    'Give the frames with the option raw.',
  );
}

/** Providers cut arguments by tokens, of a few characters each. */
const pieceLength = 8;

/** The JSON text of a value in pieces. By code points: a half surrogate is no text that a server could send. */
export function jsonPieces(value: JsonValue): readonly string[] {
  const points = Array.from(JSON.stringify(value));
  return Array.from({ length: Math.ceil(points.length / pieceLength) }, (_, at) =>
    points.slice(at * pieceLength, (at + 1) * pieceLength).join(''),
  );
}
