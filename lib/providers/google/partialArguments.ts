import { isJsonObject, isRecord } from '../../core/json.js';
import type { JsonObject, JsonValue } from '../../core/json.js';

/**
 * The arguments of a call that stream as values at JSON paths (`partialArgs`; reference of the type `PartialArg`: a path of RFC 9535, a value, and
 * `willContinue` while the same path goes on). A further string at a path continues it; anything else replaces what was there.
 *
 * In maps, and not in the objects that come out: a path may name `__proto__` or an index in the billions.
 */
export interface PartialArguments {
  /** Arguments that came whole. */
  merge(args: JsonObject): void;
  /** An entry of `partialArgs`. One that names no path or has no value says nothing. */
  add(partial: unknown): void;
  /** The arguments so far. */
  value(): JsonObject;
}

type Key = string | number;
type Node = Map<Key, Node | JsonValue>;

/** Arguments of which nothing has come. */
export function createPartialArguments(): PartialArguments {
  const root: Node = new Map();
  return {
    merge(args) {
      for (const [key, value] of Object.entries(args)) root.set(key, nodeOf(value));
    },
    add(partial) {
      if (!isRecord(partial) || typeof partial['jsonPath'] !== 'string') return;
      const keys = keysIn(partial['jsonPath']);
      const value = valueIn(partial);
      const last = keys.pop();
      if (last === undefined || value === undefined) return;
      const at = keys.reduce<Node>(inner, root);
      const held = at.get(last);
      at.set(last, typeof held === 'string' && typeof value === 'string' ? held + value : value);
    },
    value: () => objectOf(root),
  };
}

function inner(node: Node, key: Key): Node {
  const held = node.get(key);
  if (held instanceof Map) return held;
  const made: Node = new Map();
  node.set(key, made);
  return made;
}

/** `.name`, `[0]`, `['name']` or `["name"]`. */
const segment = /\.?([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

function keysIn(path: string): Key[] {
  const keys: Key[] = [];
  segment.lastIndex = path.startsWith('$') ? 1 : 0;
  for (let found = segment.exec(path); found; found = segment.exec(path)) {
    const [, plain, index, single, double] = found;
    keys.push(index === undefined ? (plain ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')) : Number(index));
  }
  segment.lastIndex = 0;
  return keys;
}

function valueIn(partial: Record<string, unknown>): JsonValue | undefined {
  if ('nullValue' in partial) return null;
  const value = ['stringValue', 'numberValue', 'boolValue'].map((field) => partial[field]).find((given) => given !== undefined);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** What came whole may still be continued by path. */
function nodeOf(value: JsonValue): Node | JsonValue {
  if (isJsonObject(value))
    return Object.keys(value).length > 0 ? new Map(Object.entries(value).map(([key, held]) => [key, nodeOf(held)])) : value;
  return Array.isArray(value) && value.length > 0 ? new Map((value as readonly JsonValue[]).map((held, at) => [at, nodeOf(held)])) : value;
}

function plain(node: Node | JsonValue): JsonValue {
  if (!(node instanceof Map)) return node;
  const isList = [...node.keys()].every((key) => typeof key === 'number');
  return isList ? [...node].sort(([a], [b]) => Number(a) - Number(b)).map(([, held]) => plain(held)) : objectOf(node);
}

function objectOf(node: Node): JsonObject {
  return Object.fromEntries([...node].map(([key, held]) => [key, plain(held)]));
}
