import type { ToolCallFragment } from '../../core/chunk.js';
import { asArray, isJsonObject, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/** Reads the tool calls of one response. */
export interface CallReader {
  /**
   * Reads the fragments of tool calls in a delta or a message: one per entry of `tool_calls`, or one for the older
   * `function_call`. Fragments are not joined here. Empty entries, and calls of an unknown type, are skipped.
   */
  read(delta: JsonObject): readonly ToolCallFragment[];
  /** Returns the last fragments of the free-form calls. Call it at the end of a response that is not truncated. */
  end(): readonly ToolCallFragment[];
}

/**
 * Creates the reader of one response's tool calls.
 *
 * @param provider The key of the provider data.
 * @param onUnknown Receives the calls of an unknown type.
 */
export function createCallReader(provider: string, onUnknown: (call: JsonObject) => void): CallReader {
  const customCalls = createCustomCallReader(provider);
  const readCall = (call: JsonObject): ToolCallFragment | undefined => {
    const { custom } = call;
    if (isJsonObject(custom)) return customCalls.read(call, custom);
    if (!isUnknownCall(call)) return readFragment(call, provider);
    onUnknown(call);
    return undefined;
  };
  return {
    read(delta) {
      if (!delta['tool_calls'] && !delta['function_call']) return [];
      const toolCalls = asArray(delta['tool_calls']).filter(isJsonObject);
      const calls = toolCalls.length > 0 ? toolCalls : asArray(delta['function_call']).filter(isJsonObject);
      const fragments: ToolCallFragment[] = [];
      for (const call of calls) {
        const fragment = readCall(call);
        if (fragment) fragments.push(fragment);
      }
      return fragments;
    },
    end: customCalls.end,
  };
}

/**
 * Creates the reader of calls with a free-form input (`type: 'custom'`), whose arguments are `{ input }`. The input is
 * text, so each fragment becomes a fragment of the JSON text of the arguments.
 */
function createCustomCallReader(provider: string) {
  const open = new Map<string, Pick<ToolCallFragment, 'index' | 'id'>>();
  return {
    read(call: JsonObject, { name, input }: JsonObject): ToolCallFragment {
      const index = typeof call['index'] === 'number' ? call['index'] : undefined;
      const id = nonEmptyString(call['id']);
      const key = String(index ?? id);
      const begin = open.has(key) ? '' : '{"input":"';
      const identity = omitUndefined({ index, id });
      if (begin !== '') open.set(key, identity);
      return {
        type: 'toolCallFragment',
        ...identity,
        ...omitUndefined({ name: nonEmptyString(name) }),
        arguments: begin + JSON.stringify(nonEmptyString(input) ?? '').slice(1, -1),
        ...(begin === '' ? {} : { providerData: { [provider]: { type: 'custom' } } }),
      };
    },
    end: (): readonly ToolCallFragment[] =>
      [...open.values()].map((identity) => ({ type: 'toolCallFragment', ...identity, arguments: '"}', done: true })),
  };
}

/** Whether a call is of an unknown type: it has neither a function nor a name, but other fields. */
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
  // Gemini's OpenAI-compatible endpoint sends the signature of a call here, and rejects the next request if it is
  // missing.
  if (isJsonObject(extra)) fragment.providerData = { [provider]: { extra_content: extra } };
  return fragment;
}

/**
 * Reads the arguments of a call: a fragment of their JSON text, or a complete object. Any other value is converted to
 * its JSON text, which is reported as invalid when the fragments are joined.
 */
function readArguments(value: unknown): string | JsonObject | null | undefined {
  if (value === undefined || value === null || typeof value === 'string' || isJsonObject(value)) return value;
  return JSON.stringify(value);
}
