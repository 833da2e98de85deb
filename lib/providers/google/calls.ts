import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { omitUndefined, isJsonObject, isRecord, asArray, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { own } from './providerData.js';

/** Reads the `functionCall` parts of one answer. */
export interface CallReader {
  /**
   * A part's call.
   *
   * @param call The `functionCall`.
   * @param signature The part's `thoughtSignature`.
   */
  read(call: JsonObject, signature: string | undefined): void;
  /** The answer has ended. If it was not cut, the last call is whole. */
  end(cut: boolean): void;
}

/** A call whose end is not known yet. */
interface Open {
  /** Its place among the calls: the wire has none, but says where the next one begins. */
  readonly index: number;
  readonly name: string | undefined;
  readonly id: string | undefined;
  /** What must go back with it. Said whole each time: fragments are joined without looking into it. */
  data: JsonObject;
  /** `willContinue` was seen, so that its absence means the end. */
  marked: boolean;
  partial: PartialArguments | undefined;
}

/**
 * A part with a name and arguments is a whole call (API reference, `FunctionCall`). Two forms come in several parts, of which only the first has a
 * name: arguments at JSON paths (`partialArgs`, until `willContinue` is gone or a bare `functionCall: {}` comes), and, from gateways, a name with
 * empty arguments and then the arguments. So a call without arguments is whole only when the next one begins or the answer ends.
 *
 * Arguments at paths are given on when they are whole: half an object looks like a whole one, and must not run when the answer is cut.
 */
export function createCallReader(tell: (chunk: Chunk) => void): CallReader {
  let open: Open | undefined;
  let count = 0;

  const say = (fields: Omit<ToolCallFragment, 'type'>, { index, id, data }: Open) => {
    const providerData = Object.keys(data).length > 0 ? { providerData: own(data) } : {};
    tell({ type: 'toolCallFragment', index, ...(id === undefined ? {} : { id }), ...fields, ...providerData });
  };
  const close = () => {
    if (open) say({ ...omitUndefined({ arguments: open.partial?.value() }), done: true }, open);
    open = undefined;
  };

  return {
    read(call, signature) {
      const [id, name] = [nonEmptyString(call['id']), nonEmptyString(call['name'])];
      const args = argumentsIn(call['args']);
      const partials = asArray(call['partialArgs']);
      const continues = call['willContinue'] === true;
      const data = {
        ...(id === undefined ? {} : { id }),
        ...(signature === undefined ? {} : { thoughtSignature: signature }),
      };
      let current = open && goesOn(open, id, name) ? open : undefined;
      if (current) current.data = { ...current.data, ...data };
      else if (name === undefined && id === undefined && args === undefined && partials.length === 0) return;
      else {
        close();
        current = { index: count++, name, id, data, marked: false, partial: undefined };
        if (name !== undefined && args !== undefined && partials.length === 0 && !continues) {
          say({ name, arguments: args, done: true }, current);
          return;
        }
        open = current;
        if (name !== undefined) say({ name }, current);
      }
      const ended = current.marked && !continues;
      current.marked ||= continues;
      if (partials.length > 0) current.partial ??= createPartialArguments();
      if (current.partial && isJsonObject(args)) current.partial.merge(args);
      else if (args !== undefined) say({ arguments: args }, current);
      for (const partial of partials) current.partial?.add(partial);
      const bare = name === undefined && args === undefined && partials.length === 0 && !continues;
      if (ended || bare) close();
    },
    end(cut) {
      if (!cut) close();
    },
  };
}

/** Without a name a part can only continue; with one, if the call said that it would, or by its id. */
function goesOn(open: Open, id: string | undefined, name: string | undefined): boolean {
  const sameId = id !== undefined && id === open.id;
  if (name === undefined) return id === undefined || open.id === undefined || sameId;
  return name === open.name && (sameId || (open.marked && (id === undefined || open.id === undefined)));
}

/** Arguments that say something: an object, or its JSON text from gateways. */
function argumentsIn(args: unknown): JsonObject | string | undefined {
  if (isJsonObject(args)) return Object.keys(args).length > 0 ? args : undefined;
  if (args === undefined || args === null) return undefined;
  return nonEmptyString(args) ?? (typeof args === 'string' ? undefined : JSON.stringify(args));
}

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
  const value = ['stringValue', 'numberValue', 'boolValue']
    .map((field) => partial[field])
    .find((given) => given !== undefined);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** What came whole may still be continued by path. */
function nodeOf(value: JsonValue): Node | JsonValue {
  if (isJsonObject(value))
    return Object.keys(value).length > 0
      ? new Map(Object.entries(value).map(([key, held]) => [key, nodeOf(held)]))
      : value;
  return Array.isArray(value) && value.length > 0
    ? new Map((value as readonly JsonValue[]).map((held, at) => [at, nodeOf(held)]))
    : value;
}

function plain(node: Node | JsonValue): JsonValue {
  if (!(node instanceof Map)) return node;
  const isList = [...node.keys()].every((key) => typeof key === 'number');
  return isList ? [...node].sort(([a], [b]) => Number(a) - Number(b)).map(([, held]) => plain(held)) : objectOf(node);
}

function objectOf(node: Node): JsonObject {
  return Object.fromEntries([...node].map(([key, held]) => [key, plain(held)]));
}
