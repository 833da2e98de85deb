import { asArray, isJsonObject, nonEmptyString, objectOrEmpty, omit, omitUndefined } from '../../core/json/json.js';
import { parseJsonOrText, type JsonObject } from '../../core/json/json.js';
import type { ToolCallPart } from '../../core/message.js';
import { storedData } from '../../core/providerPart.js';
import { provider } from './models.js';
import { encodeJson } from '../../protocol/encodeOnce.js';

interface ClientCallKind {
  readonly tool?: string;
  /** A single field is the arguments; several are fields of the arguments. */
  readonly fields: readonly string[];
}

/** Kinds by the type of the item (`ResponseOutputItem` in the SDK openai 7.57). */
const kinds: ReadonlyMap<unknown, ClientCallKind> = new Map<unknown, ClientCallKind>([
  ['function_call', { fields: ['arguments', 'name'] }],
  ['custom_tool_call', { fields: ['input', 'name'] }],
  ['shell_call', { tool: 'shell', fields: ['action'] }],
  ['local_shell_call', { tool: 'local_shell', fields: ['action'] }],
  ['apply_patch_call', { tool: 'apply_patch', fields: ['operation'] }],
  ['tool_search_call', { tool: 'tool_search', fields: ['arguments'] }],
  ['computer_call', { tool: 'computer', fields: ['action', 'actions', 'pending_safety_checks'] }],
]);

export const isClientCallType = (type: unknown): boolean => kinds.has(type);

export const isStreamedCall = (type: unknown): boolean => type === 'function_call' || type === 'custom_tool_call';

export const isWholeCall = (type: unknown): boolean => kinds.has(type) && !isStreamedCall(type);

/** OpenAI answers a shell in a container, and a search on the server. */
export function isAnsweredByServer({ environment, execution, type, call_id }: JsonObject): boolean {
  if (type === 'tool_search_call') return execution === 'server' || (execution === undefined && !call_id);
  return type === 'shell_call' && nonEmptyString(objectOrEmpty(environment)['type'])?.startsWith('container') === true;
}

export function readWholeCall(item: JsonObject): { readonly name: string; readonly arguments: JsonObject } {
  const { tool = '', fields = [] } = kinds.get(item['type']) ?? {};
  const [field = ''] = fields;
  return { name: tool, arguments: fields.length === 1 ? toArguments(item[field]) : pickFields(item, fields) };
}

function toArguments(value: unknown): JsonObject {
  const parsed = typeof value === 'string' ? parseJsonOrText(value) : value;
  return isJsonObject(parsed) ? parsed : omitUndefined({ value: parsed as JsonObject | undefined });
}

const pickFields = (item: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([field, value]) => fields.includes(field) && value !== null));

interface CallItem {
  readonly type: string;
  readonly id: string | undefined;
  readonly callId: string | undefined;
  readonly done: JsonObject | undefined;
  readonly added: JsonObject | undefined;
}

/** The item without the content, which the part of the message contains. */
export function createCallData({ type, id, callId, done, added }: CallItem): JsonObject {
  const item = omitNulls(omit(done ?? added ?? {}, ...(kinds.get(type)?.fields ?? []), 'status'));
  return omitUndefined({ ...item, type, id, call_id: callId });
}

/** Servers send null for missing fields (`content`, `status`), but the API rejects null in a request. */
export const omitNulls = (item: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));

export function encodeCallItem(call: ToolCallPart, callId: string): JsonObject {
  const { name, arguments: args } = call;
  const data = storedData(call, provider);
  const { type = 'function_call' } = data;
  const identity = { ...data, type, call_id: callId };
  const { fields = [] } = kinds.get(type) ?? {};
  const [field = ''] = fields;
  switch (type) {
    case 'custom_tool_call':
      return { ...identity, name, input: nonEmptyString(args['input']) ?? '' };
    case 'computer_call':
      return {
        ...identity,
        pending_safety_checks: asArray(args['pending_safety_checks']) as readonly JsonObject[],
        ...pickFields(args, fields),
        status: 'completed',
      };
    case 'tool_search_call':
      return { ...identity, execution: 'client', arguments: args };
    case 'shell_call':
    case 'local_shell_call':
    case 'apply_patch_call':
      return { ...identity, [field]: args, status: 'completed' };
    default:
      return { ...identity, type: 'function_call', name, arguments: encodeJson(args) };
  }
}
