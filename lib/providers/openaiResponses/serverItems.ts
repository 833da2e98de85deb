import { asArray, finiteNumber, isJsonObject, nonEmptyString, omit, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { Item } from './items.js';

/**
 * Reports the items that OpenAI runs: calls of server-side tools, and any item that is not a message, a reasoning or a
 * function call. Each report is `{ type, id, ... }` and is made once:
 *
 * - `status` during the call (`in_progress`, `searching`, `generating`, `interpreting` ...);
 * - `delta`, a fragment of the code or the arguments;
 * - `partial_image_b64` with `partial_image_index`, a preview of an image;
 * - the complete item when it is done, without the bytes of its image (these are a file), and with the names of its
 *   tools instead of their definitions.
 */
export interface ServerItemReporter {
  added(item: Item): void;
  progress(item: Item, step: string, event: JsonObject): void;
  snapshot(item: Item, snapshot: JsonObject): void;
  /** The response has ended: reports an item whose end was announced but that was never sent. */
  end(item: Item): void;
}

/** The types of items that become text, thinking and calls of the client. */
const clientItems: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call']);

/** Whether OpenAI runs an item. */
export const isServerItem = (type: string): boolean => !clientItems.has(type);

/**
 * The type of the item that an event of a server-side tool belongs to, and the last word of the event's name:
 * `response.mcp_call_arguments.delta` belongs to an `mcp_call`.
 */
export function serverEvent(type: string): { readonly itemType: string; readonly step: string } | undefined {
  const [, itemType, step] = /^response\.(\w+?_call|mcp_list_tools)(?:_\w+)?\.(\w+)$/.exec(type) ?? [];
  return itemType === undefined || step === undefined || !isServerItem(itemType) ? undefined : { itemType, step };
}

/** The statuses that the complete item reports, together with its result. */
const endStatuses: ReadonlySet<string> = new Set(['completed', 'failed', 'incomplete']);

/**
 * Creates a reporter for the items of one response.
 *
 * @param report Takes the reports, in order.
 */
export function createServerItemReporter(report: (data: JsonObject) => void): ServerItemReporter {
  const reported = new Map<Item, Set<string>>();
  const ended = new Map<Item, string>();

  const reportOnce = (item: Item, key: string, data: JsonObject) => {
    const keys = reported.get(item) ?? new Set();
    if (keys.has(key) || keys.has('complete')) return;
    reported.set(item, keys.add(key));
    report({ ...identityOf(item), ...data });
  };
  const reportStatus = (item: Item, status: string) => {
    if (endStatuses.has(status)) ended.set(item, status);
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
          return; // the complete item holds it
        case 'delta': {
          const delta = nonEmptyString(event['delta']);
          if (delta !== undefined) report({ ...identityOf(item), delta });
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
      const status = ended.get(item);
      if (status !== undefined) reportOnce(item, 'complete', { status });
    },
  };
}

const identityOf = ({ type, id }: Item): JsonObject => omitUndefined({ type, id });

function summarize(snapshot: JsonObject): JsonObject {
  const { tools, ...fields } = omit(snapshot, 'result', 'encrypted_content');
  return omitUndefined({ ...fields, tools: tools && toolNames(tools) });
}

const toolNames = (tools: JsonValue): JsonValue =>
  asArray(tools).flatMap((tool) => (isJsonObject(tool) ? (nonEmptyString(tool['name']) ?? []) : []));
