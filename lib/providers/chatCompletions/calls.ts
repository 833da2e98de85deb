import type { ToolCallFragment } from '../../core/chunk.js';
import {
  asArray,
  isJsonObject,
  nonEmptyString,
  objectOrEmpty,
  omitUndefined,
  tryParseJson,
} from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';

/** From `tool_calls` or the older `function_call`. Fragments are not joined here. Unknown types become metadata. */
export class CallReader {
  hasCalls = false;
  hasUnknownCalls = false;
  /** Whether the calls are in `function_call`. Some gateways repeat them in the other field: the first one counts. */
  private isOlder = false;
  private customCalls: CustomCallReader | undefined;

  constructor(
    private readonly provider: string,
    private readonly out: ChunkReceiver,
    private readonly wholeCalls = false,
  ) {}

  read(delta: JsonObject): void {
    const { tool_calls, function_call } = delta;
    if (!tool_calls && !function_call) return;
    const toolCalls = asArray(tool_calls);
    const isOlder = !toolCalls.some(isJsonObject);
    if (this.hasCalls && isOlder !== this.isOlder) return;
    this.isOlder = isOlder;
    for (const call of isOlder ? asArray(function_call) : toolCalls) if (isJsonObject(call)) this.readCall(call);
  }

  end(): void {
    this.customCalls?.end();
  }

  private readCall(call: JsonObject): void {
    const { provider, out } = this;
    if (isJsonObject(call['custom'])) {
      this.hasCalls = true;
      this.customCalls ??= new CustomCallReader(provider, out);
      this.customCalls.read(call, call['custom']);
    } else if (isUnknownCall(call)) {
      this.hasUnknownCalls = true;
      out.emit({ type: 'metadata', metadata: { [provider]: { toolCall: call } } });
    } else {
      const fragment = readFragment(call, provider);
      if (!fragment) return;
      this.hasCalls = true;
      out.emit(this.wholeCalls && isWhole(fragment) ? { ...fragment, done: true } : fragment);
    }
  }
}

/** `{}` may go on: some servers send it as a placeholder. */
const isWhole = ({ id, name, arguments: args }: ToolCallFragment): boolean =>
  id !== undefined &&
  name !== undefined &&
  typeof args === 'string' &&
  Object.keys(objectOrEmpty(tryParseJson(args))).length > 0;

/** The arguments of `type: 'custom'` are `{ input }`: each text fragment becomes one of their JSON text. */
class CustomCallReader {
  private readonly open = new Map<string, Pick<ToolCallFragment, 'index' | 'id'>>();

  constructor(
    private readonly provider: string,
    private readonly out: ChunkReceiver,
  ) {}

  read(call: JsonObject, { name, input }: JsonObject): void {
    const index = typeof call['index'] === 'number' ? call['index'] : undefined;
    const id = nonEmptyString(call['id']);
    const key = String(index ?? id);
    const begin = this.open.has(key) ? '' : '{"input":"';
    const identity = omitUndefined({ index, id });
    if (begin !== '') this.open.set(key, identity);
    this.out.emit({
      type: 'toolCallFragment',
      ...identity,
      ...omitUndefined({ name: nonEmptyString(name) }),
      arguments: begin + JSON.stringify(nonEmptyString(input) ?? '').slice(1, -1),
      ...(begin === '' ? {} : { providerData: { [this.provider]: { type: 'custom' } } }),
    });
  }

  end(): void {
    for (const identity of this.open.values())
      this.out.emit({ type: 'toolCallFragment', ...identity, arguments: '"}', done: true });
  }
}

function isUnknownCall(call: JsonObject): boolean {
  const type = nonEmptyString(call['type']);
  if (type === undefined || type === 'function' || 'function' in call || 'extra_content' in call) return false;
  return !('name' in call) && !('arguments' in call);
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** Sets the fields one by one, for speed: spreading them took longer than parsing the frame. */
function readFragment(call: JsonObject, provider: string): ToolCallFragment | undefined {
  const functionFields = isJsonObject(call['function']) ? call['function'] : call;
  const { index, extra_content: extra } = call;
  const id = typeof call['id'] === 'number' ? String(call['id']) : nonEmptyString(call['id']);
  const name = nonEmptyString(functionFields['name']);
  const args = readArguments(functionFields['arguments']);
  // A signature may arrive in a separate entry, after its call (open-webui/computer#224).
  const isEmpty = id === undefined && name === undefined && !args && !isJsonObject(extra);
  if (isEmpty) return undefined;
  const fragment: Mutable<ToolCallFragment> = { type: 'toolCallFragment' };
  if (typeof index === 'number' || typeof index === 'string') fragment.index = index;
  if (id !== undefined) fragment.id = id;
  if (name !== undefined) fragment.name = name;
  if (args !== undefined) fragment.arguments = args;
  // Gemini's compatible endpoint rejects the next request without the signature here.
  if (isJsonObject(extra)) fragment.providerData = { [provider]: { extra_content: extra } };
  return fragment;
}

/** Any other value becomes JSON text, which is reported as invalid when the fragments are joined. */
function readArguments(value: unknown): string | JsonObject | null | undefined {
  if (value === undefined || value === null || typeof value === 'string' || isJsonObject(value)) return value;
  return JSON.stringify(value);
}
