import { growing } from '../../core/growing.js';
import { nonEmptyString, objectOrEmpty, type JsonObject } from '../../core/json/json.js';
import type { Message } from '../../core/message.js';
import { providerDataOf } from '../../core/providerPart.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { provider } from './models.js';
import { ServerItemReporter } from './serverItems.js';
import { readNotFoundText } from './session.js';

interface ToolRequest {
  readonly definition: JsonObject;
  readonly include?: readonly string[];
}

export type ServerSupport = typeof serverSupport;

export const serverSupport = {
  /** The tools of a request. `lost` is the id of a container that OpenAI no longer has. */
  encode(tools: readonly ToolRequest[], messages: readonly Message[], lost: string | undefined) {
    const usable = tools.filter(isUsable);
    const last = usable.some(({ definition }) => hasAutoContainer(definition))
      ? findLastContainer(messages)
      : undefined;
    const container = last === lost ? undefined : last;
    return {
      definitions: usable.map(({ definition }) => withContainer(definition, container)),
      include: usable.flatMap(({ include = [] }) => include),
      secrets: usable.flatMap(readSecrets),
      select: (items: readonly JsonObject[]) => (lost === undefined ? items : omitContainerItems(items, lost)),
      /** The container that a request failed for: they expire 20 minutes after their last use. */
      lostContainer: (error: unknown) => (/container/i.test(readNotFoundText(error) ?? '') ? container : undefined),
    };
  },
  createReporter: (out: ChunkReceiver) => new ServerItemReporter(out),
};

/** Whether a tool can be sent: the API rejects a file search without vector stores. */
function isUsable({ definition }: ToolRequest): boolean {
  const stores = definition['vector_store_ids'];
  return definition['type'] !== 'file_search' || (Array.isArray(stores) && stores.length > 0);
}

function readSecrets({ definition }: ToolRequest): readonly string[] {
  const { authorization, headers } = definition;
  return [authorization, ...Object.values(objectOrEmpty(headers))].flatMap((value) => nonEmptyString(value) ?? []);
}

const hasAutoContainer = ({ type, container }: JsonObject): boolean =>
  type === 'code_interpreter' && objectOrEmpty(container)['type'] === 'auto';

const withContainer = (definition: JsonObject, container: string | undefined): JsonObject =>
  container !== undefined && hasAutoContainer(definition) ? { ...definition, container } : definition;

const readContainerId = (item: JsonObject | undefined): string | undefined =>
  item?.['type'] === 'code_interpreter_call' ? nonEmptyString(item['container_id']) : undefined;

/** The container that the conversation's code last ran in, which has its files; undefined if no code has run. */
const findLastContainer = /* @__PURE__ */ growing<Message, string | undefined>(
  undefined,
  (last, message) =>
    providerDataOf(message, provider)
      .map(readContainerId)
      .findLast((id) => id !== undefined) ?? last,
);

/** Also the reasoning before them, which is rejected without the call ("Expected container_id: ..."). */
const omitContainerItems = (items: readonly JsonObject[], container: string): readonly JsonObject[] =>
  items.filter(
    (item, index) =>
      readContainerId(item) !== container &&
      !(item['type'] === 'reasoning' && readContainerId(items[index + 1]) === container),
  );
