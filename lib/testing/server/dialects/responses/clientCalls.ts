import type { ToolCallFragment } from '../../../../core/chunk.js';
import { isJsonObject, nonEmptyString, omitUndefined, type JsonObject } from '../../../../core/json/json.js';

export interface CallFields {
  readonly type: string;
  readonly fields: JsonObject;
}

export function callFieldsOf({ providerData }: ToolCallFragment): CallFields {
  const data = providerData?.['openai'];
  const { type, namespace, async, caller } = isJsonObject(data) ? data : ({} as JsonObject);
  return { type: nonEmptyString(type) ?? 'function_call', fields: omitUndefined({ namespace, async, caller }) };
}

/** The content of a call that is sent at once; undefined: its arguments are sent in deltas (OpenAI's output items). */
export function undividedCall(type: string, args: JsonObject): JsonObject | undefined {
  switch (type) {
    case 'shell_call':
      return { action: { timeout_ms: null, max_output_length: null, ...args }, environment: { type: 'local' } };
    case 'local_shell_call':
      return { action: { type: 'exec', env: {}, ...args } };
    case 'apply_patch_call':
      return { operation: args };
    case 'computer_call':
      return { pending_safety_checks: [], ...args };
    case 'tool_search_call':
      return { arguments: args, execution: 'client' };
    default:
      return undefined;
  }
}

/** The output item that answers a call, and the name that OpenAI's errors have for the call. */
export const outputTypes: ReadonlyMap<unknown, readonly [output: string, call: string]> = new Map([
  ['function_call', ['function_call_output', 'function call']],
  ['custom_tool_call', ['custom_tool_call_output', 'custom tool call']],
  ['shell_call', ['shell_call_output', 'shell call']],
  ['local_shell_call', ['local_shell_call_output', 'local shell call']],
  ['apply_patch_call', ['apply_patch_call_output', 'apply patch call']],
  ['computer_call', ['computer_call_output', 'computer call']],
  ['tool_search_call', ['tool_search_output', 'tool search call']],
] as const);
