import type { ToolCallFragment } from '../../core/chunk.js';
import { asArray, isJsonObject, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';

/**
 * Reads the fragments of tool calls in a delta or a message: one per entry of `tool_calls`, or one for the older
 * `function_call`. Fragments are not joined here. Empty entries are skipped.
 *
 * @param delta The delta or message.
 * @param provider The key of the provider data.
 */
export function readFragments(delta: JsonObject, provider: string): readonly ToolCallFragment[] {
  if (!delta['tool_calls'] && !delta['function_call']) return [];
  const toolCalls = asArray(delta['tool_calls']).filter(isJsonObject);
  const calls = toolCalls.length > 0 ? toolCalls : asArray(delta['function_call']).filter(isJsonObject);
  const fragments: ToolCallFragment[] = [];
  for (const call of calls) {
    const fragment = readFragment(call, provider);
    if (fragment) fragments.push(fragment);
  }
  return fragments;
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
