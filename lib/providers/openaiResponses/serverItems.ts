import { asArray, isJsonObject, nonEmptyString, omit, omitUndefined, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { serverToolChunk, type ServerTool } from '../../core/metadata.js';
import { words } from '../../core/words.js';
import { isClientCallType, isStreamedCall } from './clientCalls.js';
import type { Item } from './item.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { unknownChunk } from '../shared/unknownChunk.js';
import { readCreatedFiles } from './sources.js';

export const isServerItem = (type: string): boolean =>
  type !== 'message' && type !== 'reasoning' && !isStreamedCall(type);

/** The calls of tools that OpenAI runs itself (`ResponseOutputItem` in the SDK openai 7.57). */
const serverCalls: ReadonlySet<string> = /* @__PURE__ */ words(`
  web_search_call file_search_call code_interpreter_call image_generation_call mcp_call mcp_list_tools
  mcp_approval_request program
`);

/** It has the id of a call, and is not an output. */
export function isUnknownCall({ type, callId, done }: Item): boolean {
  if (callId === undefined || !done || done['status'] === 'failed' || done['status'] === 'incomplete') return false;
  return !serverCalls.has(type) && !isClientCallType(type) && !isOutputType(type);
}

const isOutputType = (type: string): boolean => type.endsWith('_output');

const isToolType = (type: string): boolean =>
  serverCalls.has(type) || type.endsWith('_call') || isOutputType(type) || isClientCallType(type);

/** `response.mcp_call_arguments.delta` is the step `delta` of an `mcp_call`. */
export function parseServerEvent(type: string): { readonly itemType: string; readonly step: string } | undefined {
  if (type.length > MAX_TYPE_LENGTH) return undefined;
  const [, itemType, step] = /^response\.(\w+?_call|mcp_list_tools)(?:_\w+)?\.(\w+)$/.exec(type) ?? [];
  return itemType === undefined || step === undefined || !isServerItem(itemType) ? undefined : { itemType, step };
}

/** No documented type is half as long. The expression is quadratic in the length of the type. */
const MAX_TYPE_LENGTH = 100;

/** The final statuses. They are not reported separately, because the complete item contains its status. */
const endStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete']);

/** `raw` is the event of a step, or the item without the bytes of its image and its definitions. */
export class ServerItemReporter {
  readonly parseEvent = parseServerEvent;
  readonly createdFiles = readCreatedFiles;

  constructor(private readonly out: ChunkReceiver) {}

  reportAdded(item: Item): void {
    const status = nonEmptyString(item.added?.['status']);
    if (status !== undefined && isToolType(item.type)) this.reportStatus(item, status, item.added ?? {});
  }

  reportProgress(item: Item, step: string, event: JsonObject): void {
    switch (step) {
      case 'done':
        return; // the complete item contains the same data
      case 'delta':
        this.report(item, { status: 'running', raw: event });
        return;
      case 'partial_image':
        if (markReported(item, `image ${JSON.stringify(event['partial_image_index'])}`))
          this.report(item, { status: 'running', raw: event });
        return;
      default:
        this.reportStatus(item, step, event);
    }
  }

  reportSnapshot(item: Item, snapshot: JsonObject, all: readonly Item[]): void {
    if (!markReported(item, 'complete')) return;
    const raw = summaryOf(snapshot);
    if (isToolType(item.type))
      this.report(findCall(item, all), { status: readStatus(item, snapshot), ...readInputAndOutput(raw), raw });
    else this.out.emit(unknownChunk(raw));
  }

  reportEnd(item: Item): void {
    const { ended } = item;
    if (!ended || !markReported(item, 'complete')) return;
    this.report(item, { status: readStatus(item, { status: ended.status }), raw: ended.event });
  }

  private reportStatus(item: Item, status: string, event: JsonObject): void {
    if (endStatuses.has(status)) item.ended = { status, event };
    else if (markReported(item, `status ${status}`)) this.report(item, { status: 'running', raw: event });
  }

  private report(item: Item, change: Pick<ServerTool, 'status' | 'input' | 'output' | 'raw'>): void {
    this.out.emit(serverToolChunk({ id: item.id ?? item.key, name: toolName(item), ...change }));
  }
}

function markReported(item: Item, key: string): boolean {
  item.reported ??= new Set();
  if (item.reported.has(key) || item.reported.has('complete')) return false;
  item.reported.add(key);
  return true;
}

function findCall(item: Item, all: readonly Item[]): Item {
  if (!isOutputType(item.type) || item.callId === undefined) return item;
  return all.find(({ type, callId }) => callId === item.callId && !isOutputType(type)) ?? item;
}

function toolName({ type, added, done }: Item): string {
  const name = nonEmptyString((done ?? added)?.['name']);
  return name ?? type.replace(/_call(_output)?$/, '');
}

/** A call that the client has to approve or to answer runs until it does. */
function readStatus(item: Item, { type, status, error }: JsonObject): ServerTool['status'] {
  if (type === 'mcp_approval_request' || isUnknownCall(item)) return 'running';
  return status === 'failed' || status === 'incomplete' || isPresent(error) ? 'failed' : 'completed';
}

/** The fields of an item that contain what the tool received, and what it returned; the first that is set counts. */
const inputFields = ['action', 'queries', 'code', 'arguments', 'operation', 'input'] as const;
const outputFields = ['error', 'output', 'outputs', 'results', 'result', 'tools'] as const;

function readInputAndOutput(item: JsonObject): { readonly input?: JsonValue; readonly output?: JsonValue } {
  const first = (fields: readonly string[]) => fields.map((field) => item[field]).find(isPresent);
  const input = first(inputFields);
  const parsed = typeof input === 'string' && input === item['arguments'] ? tryParseJson(input) : undefined;
  return omitUndefined({ input: parsed ?? input, output: first(outputFields) });
}

const isPresent = (value: JsonValue | undefined): value is JsonValue => value !== undefined && value !== null;

/** The item without the bytes of its image, and with the names of tools instead of their definitions. */
function summaryOf(snapshot: JsonObject): JsonObject {
  const image = snapshot['type'] === 'image_generation_call' ? ['result'] : [];
  const { tools, ...fields } = omit(snapshot, 'encrypted_content', ...image);
  return omitUndefined({ ...fields, tools: tools && toolNames(tools) });
}

const toolNames = (tools: JsonValue): JsonValue =>
  asArray(tools).flatMap((tool) => (isJsonObject(tool) ? (nonEmptyString(tool['name']) ?? []) : []));
