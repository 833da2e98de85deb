import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { asArray, isJsonObject, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { toProviderData } from './providerData.js';

/** Turns the `functionCall` parts of one response into fragments. */
export interface CallDecoder {
  /**
   * Takes the call of a part.
   *
   * @param call The `functionCall`.
   * @param signature The `thoughtSignature` of the part.
   */
  add(call: JsonObject, signature: string | undefined): void;
  /** The response has ended. Unless it was truncated, the last call is complete. */
  end(truncated: boolean): void;
}

/** A call whose end has not been seen. */
interface OpenCall {
  /** Counted here: the wire has no index, but shows where the next call begins. */
  readonly index: number;
  readonly name: string | undefined;
  readonly id: string | undefined;
  /** Sent back with the call. Each fragment has all of it, since fragments are joined without merging it. */
  data: JsonObject;
  /** Whether `willContinue` was seen, so that its absence means the end. */
  hasMark: boolean;
  pathArguments: PathArguments | undefined;
}

/** The fields of a `functionCall`. */
interface CallFields {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly args: JsonObject | string | undefined;
  readonly partialArgs: readonly unknown[];
  readonly willContinue: boolean;
}

/**
 * Creates the decoder of the calls of one response.
 *
 * A part with a name and arguments is a complete call (API reference, `FunctionCall`). Two forms take several parts, of
 * which only the first has a name: arguments at JSON paths (`partialArgs`, until `willContinue` is absent or an empty
 * `functionCall: {}` arrives), and, from gateways, a name with empty arguments that is followed by the arguments. So a
 * call without arguments is complete only when the next call begins or the response ends.
 *
 * Arguments at paths are emitted when they are complete: half an object looks like a complete one, and must not run
 * when the response is truncated.
 *
 * @param emit Takes the fragments.
 */
export function createCallDecoder(emit: (chunk: Chunk) => void): CallDecoder {
  let openCall: OpenCall | undefined;
  let count = 0;

  const emitFragment = ({ index, id, data }: OpenCall, fields: Omit<ToolCallFragment, 'type'>) => {
    const providerData = Object.keys(data).length > 0 ? { providerData: toProviderData(data) } : {};
    emit({ type: 'toolCallFragment', index, ...(id === undefined ? {} : { id }), ...fields, ...providerData });
  };
  const closeCall = () => {
    if (openCall)
      emitFragment(openCall, { ...omitUndefined({ arguments: openCall.pathArguments?.value() }), done: true });
    openCall = undefined;
  };
  const startCall = (fields: CallFields, data: JsonObject) => {
    closeCall();
    const { id, name, args, partialArgs, willContinue } = fields;
    const call: OpenCall = { index: count++, name, id, data, hasMark: false, pathArguments: undefined };
    if (name !== undefined && args !== undefined && partialArgs.length === 0 && !willContinue) {
      emitFragment(call, { name, arguments: args, done: true });
      return;
    }
    openCall = call;
    if (name !== undefined) emitFragment(call, { name });
    extendCall(call, fields);
  };
  const extendCall = (call: OpenCall, fields: CallFields) => {
    const { args, partialArgs, willContinue } = fields;
    const isEnd = (call.hasMark && !willContinue) || isBare(fields);
    call.hasMark ||= willContinue;
    if (partialArgs.length > 0) call.pathArguments ??= createPathArguments();
    if (call.pathArguments && isJsonObject(args)) call.pathArguments.merge(args);
    else if (args !== undefined) emitFragment(call, { arguments: args });
    for (const partial of partialArgs) call.pathArguments?.add(partial);
    if (isEnd) closeCall();
  };

  return {
    add(functionCall, signature) {
      const fields = readFields(functionCall);
      const data = omitUndefined({ id: fields.id, thoughtSignature: signature });
      if (openCall && isContinuation(openCall, fields)) {
        openCall.data = { ...openCall.data, ...data };
        extendCall(openCall, fields);
        return;
      }
      const isEmpty = fields.id === undefined && isBare({ ...fields, willContinue: false });
      if (!isEmpty) startCall(fields, data);
    },
    end(truncated) {
      if (!truncated) closeCall();
    },
  };
}

function readFields(call: JsonObject): CallFields {
  return {
    id: nonEmptyString(call['id']),
    name: nonEmptyString(call['name']),
    args: readArguments(call['args']),
    partialArgs: asArray(call['partialArgs']),
    willContinue: call['willContinue'] === true,
  };
}

/** Arguments that are not empty: an object, or, from gateways, its JSON text. */
function readArguments(args: unknown): JsonObject | string | undefined {
  if (isJsonObject(args)) return Object.keys(args).length > 0 ? args : undefined;
  if (typeof args === 'string') return nonEmptyString(args);
  return args === undefined || args === null ? undefined : JSON.stringify(args);
}

/** Whether a call has neither a name nor arguments, and does not continue: it ends the call before it. */
const isBare = ({ name, args, partialArgs, willContinue }: CallFields): boolean =>
  name === undefined && args === undefined && partialArgs.length === 0 && !willContinue;

/**
 * A part without a name continues the open call; a part with a name does if the call announced it, or has the same id.
 */
function isContinuation(call: OpenCall, { id, name }: CallFields): boolean {
  const hasSameId = id !== undefined && id === call.id;
  const mayHaveSameId = hasSameId || id === undefined || call.id === undefined;
  if (name === undefined) return mayHaveSameId;
  return name === call.name && (hasSameId || (call.hasMark && mayHaveSameId));
}

/**
 * The arguments of a call that arrive as values at JSON paths (`partialArgs`; reference of the type `PartialArg`: a
 * path of RFC 9535, a value, and `willContinue` while the same path continues). A further string at a path is appended;
 * any other value replaces the one at its path.
 *
 * They are kept in maps, not in objects: a path may contain `__proto__`, or an index in the billions.
 */
interface PathArguments {
  /** Takes arguments that arrived as an object. */
  merge(args: JsonObject): void;
  /** Takes an entry of `partialArgs`. An entry without a path or a value is ignored. */
  add(partial: unknown): void;
  /** The arguments so far. */
  value(): JsonObject;
}

type Key = string | number;
type Node = Map<Key, Node | JsonValue>;

function createPathArguments(): PathArguments {
  const root: Node = new Map();
  return {
    merge(args) {
      for (const [key, value] of Object.entries(args)) root.set(key, toNode(value));
    },
    add(partial) {
      if (!isRecord(partial) || typeof partial['jsonPath'] !== 'string') return;
      const keys = parsePath(partial['jsonPath']);
      const value = readValue(partial);
      const lastKey = keys.pop();
      if (lastKey === undefined || value === undefined) return;
      const parent = keys.reduce<Node>(childNode, root);
      const before = parent.get(lastKey);
      parent.set(lastKey, typeof before === 'string' && typeof value === 'string' ? before + value : value);
    },
    value: () => toObject(root),
  };
}

function childNode(node: Node, key: Key): Node {
  const child = node.get(key);
  if (child instanceof Map) return child;
  const created: Node = new Map();
  node.set(key, created);
  return created;
}

/** `.name`, `[0]`, `['name']` or `["name"]`. */
const pathSegment = /\.?([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

function parsePath(path: string): Key[] {
  const keys: Key[] = [];
  pathSegment.lastIndex = path.startsWith('$') ? 1 : 0;
  for (let match = pathSegment.exec(path); match; match = pathSegment.exec(path)) {
    const [, plain, index, single, double] = match;
    if (index !== undefined) keys.push(Number(index));
    else keys.push(plain ?? (single ?? double ?? '').replace(/\\(.)/g, '$1'));
  }
  pathSegment.lastIndex = 0;
  return keys;
}

function readValue(partial: Record<string, unknown>): JsonValue | undefined {
  if ('nullValue' in partial) return null;
  const value = partial['stringValue'] ?? partial['numberValue'] ?? partial['boolValue'];
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** A value that arrived complete may still be continued by path. Empty containers stay as they are. */
function toNode(value: JsonValue): Node | JsonValue {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return value;
  if (isJsonObject(value)) return new Map(Object.entries(value).map(([key, child]) => [key, toNode(child)]));
  return new Map(value.map((child, index) => [index, toNode(child)]));
}

function toValue(node: Node | JsonValue): JsonValue {
  if (!(node instanceof Map)) return node;
  const isArray = [...node.keys()].every((key) => typeof key === 'number');
  if (!isArray) return toObject(node);
  return [...node].sort(([a], [b]) => Number(a) - Number(b)).map(([, child]) => toValue(child));
}

function toObject(node: Node): JsonObject {
  return Object.fromEntries([...node].map(([key, child]) => [key, toValue(child)]));
}
