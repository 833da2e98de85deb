import type { ToolCallFragment } from '../../core/chunk.js';
import { MAX_JSON_DEPTH } from '../../core/json/depth.js';
import { asArray, isJsonObject, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { toProviderData } from './providerData.js';

interface OpenCall {
  /** The position of the call in the response. Assigned here, because Google sends no index. */
  readonly index: number;
  readonly name: string | undefined;
  readonly id: string | undefined;
  /** Sent with the name and at the end: the last one counts. */
  data: JsonObject;
  /** Whether a part with `willContinue` has arrived. After it, a part without `willContinue` ends the call. */
  sawWillContinue: boolean;
  pathArguments: PathArguments | undefined;
}

interface CallFields {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly args: JsonObject | string | undefined;
  readonly partialArgs: readonly unknown[];
  readonly willContinue: boolean;
}

/** Arguments by path are emitted at the end of the call. Gateways send arguments in the part after the call. */
export class CallDecoder {
  private openCall: OpenCall | undefined;
  private count = 0;

  constructor(private readonly emitter: ChunkReceiver) {}

  add(functionCall: JsonObject, signature: string | undefined): void {
    const { openCall } = this;
    const fields = readFields(functionCall);
    const data = omitUndefined({ id: fields.id, thoughtSignature: signature });
    if (openCall && isContinuation(openCall, fields)) {
      openCall.data = { ...openCall.data, ...data };
      this.extend(openCall, fields);
    } else if (fields.id !== undefined || hasContent(fields)) this.start(fields, data);
  }

  /** Whether a call has not been completed: the API has announced more of it. */
  get hasOpenCall(): boolean {
    return this.openCall?.sawWillContinue === true;
  }

  end(truncated: boolean): void {
    if (!truncated && !this.hasOpenCall) this.close();
  }

  private start(fields: CallFields, data: JsonObject): void {
    this.close();
    const { id, name, args, partialArgs, willContinue } = fields;
    const index = this.count++;
    const call: OpenCall = { index, name, id, data, sawWillContinue: false, pathArguments: undefined };
    if (name !== undefined && args !== undefined && partialArgs.length === 0 && !willContinue) {
      this.emitFragment(call, { name, arguments: args, done: true });
      return;
    }
    this.openCall = call;
    if (name !== undefined) this.emitFragment(call, { name });
    this.extend(call, fields);
  }

  private extend(call: OpenCall, fields: CallFields): void {
    const { args, partialArgs, willContinue } = fields;
    const isEnd = (call.sawWillContinue && !willContinue) || !(willContinue || hasContent(fields));
    call.sawWillContinue ||= willContinue;
    if (partialArgs.length > 0) call.pathArguments ??= new PathArguments();
    if (call.pathArguments && isJsonObject(args)) call.pathArguments.merge(args);
    else if (args !== undefined) this.emitFragment({ ...call, data: {} }, { arguments: args });
    for (const partial of partialArgs) call.pathArguments?.add(partial);
    if (isEnd) this.close();
  }

  private close(): void {
    const { openCall } = this;
    if (openCall)
      this.emitFragment(openCall, { ...omitUndefined({ arguments: openCall.pathArguments?.value() }), done: true });
    this.openCall = undefined;
  }

  private emitFragment({ index, id, data }: OpenCall, fields: Omit<ToolCallFragment, 'type'>): void {
    const providerData = Object.keys(data).length > 0 ? { providerData: toProviderData(data) } : {};
    const idField = id === undefined ? {} : { id };
    this.emitter.emit({ type: 'toolCallFragment', index, ...idField, ...fields, ...providerData });
  }
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

function readArguments(args: unknown): JsonObject | string | undefined {
  if (isJsonObject(args)) return Object.keys(args).length > 0 ? args : undefined;
  if (typeof args === 'string') return nonEmptyString(args);
  return args === undefined || args === null ? undefined : JSON.stringify(args);
}

const hasContent = ({ name, args, partialArgs }: CallFields): boolean =>
  name !== undefined || args !== undefined || partialArgs.length > 0;

/** Without a name, unless the ids differ. With the same name, by equal ids or an announced continuation. */
function isContinuation(call: OpenCall, { id, name }: CallFields): boolean {
  const hasSameId = id !== undefined && id === call.id;
  const mayHaveSameId = hasSameId || id === undefined || call.id === undefined;
  if (name === undefined) return mayHaveSameId;
  return name === call.name && (hasSameId || (call.sawWillContinue && mayHaveSameId));
}

/** Type `PartialArg`; RFC 9535. Maps, because a path may contain `__proto__`, or an index in the billions. */
class PathArguments {
  private readonly root: PathNode = new Map();
  private tooDeepPath: string | undefined;

  merge(args: JsonObject): void {
    for (const [key, value] of Object.entries(args)) this.root.set(key, toNode(value));
  }

  add(partial: unknown): void {
    if (!isRecord(partial) || typeof partial['jsonPath'] !== 'string') return;
    const keys = parsePath(partial['jsonPath']);
    const value = readValue(partial);
    if (keys.length > MAX_JSON_DEPTH) this.tooDeepPath = partial['jsonPath'];
    const lastKey = keys.pop();
    if (lastKey === undefined || value === undefined || this.tooDeepPath !== undefined) return;
    const parent = keys.reduce<PathNode>(getOrCreateChild, this.root);
    const previous = parent.get(lastKey);
    parent.set(lastKey, typeof previous === 'string' && typeof value === 'string' ? previous + value : value);
  }

  /** Returns the arguments so far; a path that has too many levels, which is not JSON, makes them invalid. */
  value(): JsonObject | string {
    return this.tooDeepPath ?? toObject(this.root);
  }
}

type Key = string | number;
type PathNode = Map<Key, PathNode | JsonValue>;

function getOrCreateChild(node: PathNode, key: Key): PathNode {
  const child = node.get(key);
  if (child instanceof Map) return child;
  const created: PathNode = new Map();
  node.set(key, created);
  return created;
}

const pathSegment = /\.?([^.[\]]+)|\[\s*(\d+)\s*\]|\[\s*'((?:[^'\\]|\\.)*)'\s*\]|\[\s*"((?:[^"\\]|\\.)*)"\s*\]/y;

function parsePath(path: string): Key[] {
  const keys: Key[] = [];
  pathSegment.lastIndex = path.startsWith('$') ? 1 : 0;
  for (let match = pathSegment.exec(path); match; match = pathSegment.exec(path)) {
    const [, unquoted, index, singleQuoted, doubleQuoted] = match;
    if (index !== undefined) keys.push(Number(index));
    else keys.push(unquoted ?? unescapeName(singleQuoted ?? doubleQuoted ?? ''));
  }
  pathSegment.lastIndex = 0;
  return keys;
}

/** Replaces the escapes of a quoted name: those of JSON, and `\'` (RFC 9535, 2.3.1.2). */
const unescapeName = (quoted: string): string =>
  quoted.replace(/\\(?:u([\da-fA-F]{4})|(.))/g, (_, code: string | undefined, letter: string | undefined) =>
    code === undefined ? (controlCharacters.get(letter) ?? letter ?? '') : String.fromCharCode(parseInt(code, 16)),
  );

const controlCharacters: ReadonlyMap<string | undefined, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

function readValue(partial: Record<string, unknown>): JsonValue | undefined {
  if ('nullValue' in partial) return null;
  const value = partial['stringValue'] ?? partial['numberValue'] ?? partial['boolValue'];
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** Later paths may extend it. Empty ones stay: an empty map does not say whether it is an object. */
function toNode(value: JsonValue): PathNode | JsonValue {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return value;
  if (isJsonObject(value)) return new Map(Object.entries(value).map(([key, child]) => [key, toNode(child)]));
  return new Map(value.map((child, index) => [index, toNode(child)]));
}

function toValue(node: PathNode | JsonValue): JsonValue {
  if (!(node instanceof Map)) return node;
  const isArray = [...node.keys()].every((key) => typeof key === 'number');
  if (!isArray) return toObject(node);
  return [...node].sort(([a], [b]) => Number(a) - Number(b)).map(([, child]) => toValue(child));
}

function toObject(node: PathNode): JsonObject {
  return Object.fromEntries([...node].map(([key, child]) => [key, toValue(child)]));
}
