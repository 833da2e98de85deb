import { asArray, finiteNumber, isJsonObject, nonEmptyString, omit, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Item } from './item.js';

/**
 * Reports the progress and results of server items: calls of tools that OpenAI runs, and any other item that is not a
 * message, reasoning or a function call. Each report is `{ type, id, ... }` with one of the following, without
 * repetitions:
 *
 * - `status` during the call (`in_progress`, `searching`, `generating`, `interpreting` ...);
 * - `delta`: a fragment of the code or of the arguments;
 * - `partial_image_b64` with `partial_image_index`: a preview of an image;
 * - the complete item when it is done, without the bytes of its image (which are emitted as a file), and with the names
 *   of its tools instead of their definitions.
 */
export interface ServerItemReporter {
  added(item: Item): void;
  progress(item: Item, step: string, event: JsonObject): void;
  snapshot(item: Item, snapshot: JsonObject): void;
  /** Reports the final status of an item that ended without a snapshot. Call it at the end of the response. */
  end(item: Item): void;
}

/** The types of items that become text, thinking and calls for the client. */
const clientItems: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call']);

/** Whether an item of this type is a server item. */
export const isServerItem = (type: string): boolean => !clientItems.has(type);

/**
 * Parses the name of an event about a server item: the type of the item, and the last word of the name. For
 * `response.mcp_call_arguments.delta`, the type is `mcp_call` and the step is `delta`.
 *
 * @returns The item type and the step; undefined for any other event.
 */
export function parseServerEvent(type: string): { readonly itemType: string; readonly step: string } | undefined {
  if (type.length > MAX_TYPE_LENGTH) return undefined;
  const [, itemType, step] = /^response\.(\w+?_call|mcp_list_tools)(?:_\w+)?\.(\w+)$/.exec(type) ?? [];
  return itemType === undefined || step === undefined || !isServerItem(itemType) ? undefined : { itemType, step };
}

/** No documented type is half as long. The expression is quadratic in the length of the type. */
const MAX_TYPE_LENGTH = 100;

/** The final statuses. They are not reported separately, because the complete item contains its status. */
const endStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete']);

/**
 * Creates a reporter for the items of one response.
 *
 * @param report Receives the reports, in order.
 */
export function createServerItemReporter(report: (data: JsonObject) => void): ServerItemReporter {
  const reportedKeys = new Map<Item, Set<string>>();
  const endStatusByItem = new Map<Item, string>();

  const reportOnce = (item: Item, key: string, data: JsonObject) => {
    const keys = reportedKeys.get(item) ?? new Set();
    if (keys.has(key) || keys.has('complete')) return;
    reportedKeys.set(item, keys.add(key));
    report({ ...pickIdentity(item), ...data });
  };
  const reportStatus = (item: Item, status: string) => {
    if (endStatuses.has(status)) endStatusByItem.set(item, status);
    else reportOnce(item, `status ${status}`, { status });
  };
  return {
    added(item) {
      const status = nonEmptyString(item.added?.['status']);
      if (status !== undefined) reportStatus(item, status);
    },
    progress(item, step, event) {
      switch (step) {
        case 'done':
          return; // the complete item contains the same data
        case 'delta': {
          const delta = nonEmptyString(event['delta']);
          if (delta !== undefined) report({ ...pickIdentity(item), delta });
          return;
        }
        case 'partial_image': {
          const image = nonEmptyString(event['partial_image_b64']);
          const index = finiteNumber(event['partial_image_index']) ?? 0;
          if (image !== undefined)
            reportOnce(item, `image ${index}`, { partial_image_index: index, partial_image_b64: image });
          return;
        }
        default:
          reportStatus(item, step);
      }
    },
    snapshot(item, snapshot) {
      reportOnce(item, 'complete', summarize(snapshot));
    },
    end(item) {
      const status = endStatusByItem.get(item);
      if (status !== undefined) reportOnce(item, 'complete', { status });
    },
  };
}

const pickIdentity = ({ type, id }: Item): JsonObject => omitUndefined({ type, id });

function summarize(snapshot: JsonObject): JsonObject {
  const { tools, ...fields } = omit(snapshot, 'result', 'encrypted_content');
  return omitUndefined({ ...fields, tools: tools && toolNames(tools) });
}

const toolNames = (tools: JsonValue): JsonValue =>
  asArray(tools).flatMap((tool) => (isJsonObject(tool) ? (nonEmptyString(tool['name']) ?? []) : []));
