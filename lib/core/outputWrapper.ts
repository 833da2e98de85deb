import { isJsonObject, omitUndefined, type JsonObject, type JsonSchema, type JsonValue } from './json/json.js';
import { BracketScanner, isOpening, QUOTE } from './json/scan.js';

export const WRAPPER_KEY = 'value';

/** OpenAI requires an object without `anyOf` at the root (`lib/transform` of openai 7.57), as do tools on all wires. */
export const isWrapped = (schema: JsonSchema): boolean =>
  schema['type'] !== 'object' ||
  ['anyOf', 'oneOf', 'allOf', 'enum', 'const', '$ref'].some((keyword) => keyword in schema);

export const outputSchema = (schema: JsonSchema): JsonSchema => (isWrapped(schema) ? wrapSchema(schema) : schema);

/** Definitions stay at the root, where references find them; references to the root become those to the output. */
export function wrapSchema(schema: JsonSchema): JsonSchema {
  const known = wrappedSchemas.get(schema);
  if (known) return known;
  const wrapped = createWrapped(schema);
  wrappedSchemas.set(schema, wrapped);
  return wrapped;
}

const wrappedSchemas = new WeakMap<JsonSchema, JsonSchema>();

function createWrapped(schema: JsonSchema): JsonSchema {
  const { $defs, definitions, ...value } = moveReferences(schema) as JsonObject;
  return {
    type: 'object',
    properties: { [WRAPPER_KEY]: value },
    required: [WRAPPER_KEY],
    additionalProperties: false,
    ...omitUndefined({ $defs, definitions }),
  };
}

/** Keywords whose values are data, in which `$ref` is an ordinary property. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);

function moveReferences(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return (schema as readonly JsonValue[]).map(moveReferences);
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, inner]): [string, JsonValue] => {
      if (keyword === '$ref' && typeof inner === 'string') return [keyword, moveReference(inner)];
      return [keyword, dataKeywords.has(keyword) ? inner : moveReferences(inner)];
    }),
  );
}

const moveReference = (reference: string): string =>
  /^#(?:$|\/(?!\$defs\/|definitions\/))/.test(reference)
    ? `#/properties/${WRAPPER_KEY}${reference.slice(1)}`
    : reference;

export interface Unwrapper {
  /** Emits what is the output's. Returns true if that is the complete text. */
  read(text: string): boolean;
  release(): void;
}

/** The beginnings have no white space. Models without strict mode may add a code fence. */
const beginnings = ['{"value":', '```json{"value":', '```{"value":'] as const;
const beginning = /^\s*(?:```(?:json)?\s*)?\{\s*"value"\s*:/;

/** Characters held back until the beginning is recognized. */
const MAX_BEGINNING = 200;

/** Text that is not wrapped, or follows the value, passes: the validation decides. Linear however the text is cut. */
export function createUnwrapper(emit: (text: string) => void): Unwrapper {
  let state: 'beginning' | 'value' | 'end' | 'unwrapped' = 'beginning';
  let held = '';
  let findEnd: ((text: string) => number) | undefined;

  const emitHeld = () => {
    const text = held;
    held = '';
    state = 'unwrapped';
    if (text !== '') emit(text);
  };
  const readBeginning = (text: string) => {
    held += text;
    const compact = held.replace(/\s+/g, '');
    if (held.length <= MAX_BEGINNING && beginnings.some((start) => start.startsWith(compact) && start !== compact))
      return;
    const match = beginning.exec(held);
    if (!match) {
      emitHeld();
      return;
    }
    const value = held.slice(match[0].length);
    held = '';
    state = 'value';
    if (readValue(value)) emit(value);
  };
  const readValue = (text: string): boolean => {
    const rest = findEnd ? text : text.trimStart();
    if (rest === '') return false;
    findEnd ??= createEndFinder(rest.charCodeAt(0));
    const end = findEnd(rest);
    if (end < 0 && rest.length === text.length) return true;
    emit(end < 0 ? rest : rest.slice(0, end));
    if (end < 0) return false;
    state = 'end';
    held = rest.slice(end);
    return false;
  };

  return {
    read(text) {
      switch (state) {
        case 'beginning':
          readBeginning(text);
          return false;
        case 'value':
          return readValue(text);
        case 'end':
          held += text;
          return false;
        default:
          return true;
      }
    },
    release() {
      if (held !== '' && (state === 'beginning' || (state === 'end' && !isEnd(held)))) emitHeld();
    },
  };
}

function isEnd(text: string): boolean {
  const end = text.trim();
  return end === '' || end === '}' || /^\}\s*```$/.test(end);
}

/** Reads delta by delta; -1 if the end is not in the delta. */
function createEndFinder(first: number): (text: string) => number {
  if (!isOpening(first) && first !== QUOTE) return (text) => text.search(/[\s,}\]]/);
  const scanner = new BracketScanner();
  return (text) => scanner.scan(text, 0);
}
