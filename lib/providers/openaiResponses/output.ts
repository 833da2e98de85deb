import type { Chunk } from '../../core/chunk.js';
import { asArray, isJsonObject } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { isAnsweredByServer, isStreamedCall, isWholeCall } from './clientCalls.js';
import { createContentEmitter } from './content.js';
import { createItems } from './items.js';
import type { Item } from './item.js';
import { unknownChunk } from '../shared/unknownChunk.js';
import { createServerItemReporter, isServerItem, isUnknownCall, parseServerEvent } from './serverItems.js';
import { readCitedSources, readCreatedFiles } from './sources.js';
import { readTextEvent, readUnknownParts } from './texts.js';

/** Turns the output items of one response into chunks. */
export interface OutputDecoder {
  readonly items: readonly Item[];
  /** Whether the model refused the request. */
  readonly isRefused: boolean;
  /** Whether the response contains a call that the client has to answer. */
  readonly hasCalls: boolean;
  /**
   * The type of an item that is not known and looks like a call without an answer; undefined if there is none. The
   * client would have to answer it.
   */
  readonly unknownCall: string | undefined;
  /** Whether the texts of two messages were interleaved. The joined text then cannot be split by their lengths. */
  readonly isInterleaved: boolean;
  /** Whether a chunk that becomes a part of the message was emitted. */
  readonly hasParts: boolean;
  /** Handles an event about an item or a part of an item. An event that is not known is emitted as metadata. */
  event(type: string, event: JsonObject): void;
  /**
   * Emits the content of the final response that has not been emitted yet.
   *
   * @param output The `output` of the final response.
   * @param truncated Whether the response was not completed. A call is then complete only if its status is `completed`.
   */
  finalOutput(output: unknown, truncated: boolean): void;
  /** Emits the items that have started but are not done, as far as they arrived. Call it at the end of the response. */
  end(): void;
}

/**
 * Creates a decoder for the output of one response.
 *
 * @param emit Receives the chunks, in order.
 */
export function createOutputDecoder(emit: (chunk: Chunk) => void): OutputDecoder {
  const items = createItems();
  const content = createContentEmitter(emit);
  const serverItems = createServerItemReporter(emit);
  const emittedKeys = new Set<string>();
  const unknownParts = new Set<string>();
  /** The calls that OpenAI may have answered: only the end of the response shows it. */
  const heldCalls = new Map<Item, { readonly truncated: boolean }>();

  const emitOnce = (key: string, chunk: Chunk) => {
    if (emittedKeys.has(key)) return;
    emittedKeys.add(key);
    emit(chunk);
  };
  const emitSources = (cited: JsonObject) => {
    for (const { key, source } of readCitedSources(cited)) emitOnce(key, { type: 'source', source });
  };
  const emitUnknownPart = (item: Item, part: JsonObject) => {
    const key = JSON.stringify([item.key, part]);
    if (!unknownParts.has(key)) emit(unknownChunk(part));
    unknownParts.add(key);
  };
  const isAnswered = ({ callId }: Item) =>
    callId !== undefined && items.all.some(({ type, callId: id }) => id === callId && type.endsWith('_output'));

  const addItem = (item: Item) => {
    if (isStreamedCall(item.type)) content.addCall(item, item.added);
    else if (isReportedItem(item)) serverItems.added(item);
  };
  const updateItem = (type: string, event: JsonObject) => {
    const text = readTextEvent(type, event);
    if (text) content.addText(items.find(text.itemType, event), text);
    if (text?.itemType === 'message' || type === 'response.output_text.annotation.added') emitSources(event);
    if (text || silentEvents.has(type)) return;
    const progress = parseServerEvent(type);
    if (!progress) {
      if (type !== '') emit(unknownChunk(event));
      return;
    }
    const item = items.find(progress.itemType, event);
    if (isReportedItem(item)) serverItems.progress(item, progress.step, event);
  };
  const completeItem = (item: Item, snapshot: JsonObject, truncated: boolean) => {
    content.addSnapshot(item, snapshot);
    if (item.type === 'message') emitSources(snapshot);
    for (const { key, file } of readCreatedFiles(snapshot)) emitOnce(key, { type: 'file', file });
    item.done = snapshot;
    for (const part of readUnknownParts(snapshot)) emitUnknownPart(item, part);
    if (isStreamedCall(item.type)) content.endCall(item, isComplete(snapshot, truncated));
    else if (isReportedItem(item)) serverItems.snapshot(item, snapshot, items.all);
    else if (isWholeCall(item.type)) heldCalls.set(item, { truncated });
  };
  const settleCalls = () => {
    for (const [item, { truncated }] of heldCalls) {
      const { done } = item;
      if (!done) continue;
      if (isAnswered(item)) serverItems.snapshot(item, done, items.all);
      else if (isComplete(done, truncated)) content.addWholeCall(item, done);
    }
    heldCalls.clear();
  };

  return {
    items: items.all,
    get isRefused() {
      return content.isRefused;
    },
    get hasCalls() {
      return content.hasCalls;
    },
    get unknownCall() {
      return items.all.find((item) => isUnknownCall(item) && !isAnswered(item))?.type;
    },
    get isInterleaved() {
      return content.isInterleaved;
    },
    get hasParts() {
      return content.hasText || content.hasCalls || emittedKeys.size > 0;
    },
    event(type, event) {
      const { item } = event;
      if (!isJsonObject(item)) updateItem(type, event);
      else if (type === 'response.output_item.added') addItem(items.added(item, event));
      else if (type === 'response.output_item.done') completeItem(items.done(item, event), item, false);
      else emit(unknownChunk(event));
    },
    finalOutput(output, truncated) {
      for (const [item, snapshot] of items.match(asArray(output).filter(isJsonObject)))
        completeItem(item, snapshot, truncated);
      settleCalls();
    },
    end() {
      for (const item of items.all) {
        if (item.done) continue;
        if (item.added) content.addSnapshot(item, item.added);
        if (isStreamedCall(item.type)) content.endCall(item, false);
        serverItems.end(item);
      }
      settleCalls();
    },
  };
}

/** Whether an item is reported as metadata while it streams. A call that the client may answer is not. */
const isReportedItem = ({ type, added, done }: Item): boolean =>
  isServerItem(type) && (!isWholeCall(type) || isAnsweredByServer(done ?? added ?? {}));

/** Whether a call is complete. In a response that was not completed, only its own status shows it. */
const isComplete = ({ status }: JsonObject, truncated: boolean): boolean =>
  status === 'completed' || (status !== 'incomplete' && !truncated);

/** The events that contain nothing that another event does not contain, and keep-alives. */
const silentEvents: ReadonlySet<string> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.content_part.added',
  'response.content_part.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'response.reasoning_part.added',
  'response.reasoning_part.done',
  'response.output_text.annotation.added',
  'response.output_item.added',
  'response.output_item.done',
  'response.compaction.compacting',
  'keepalive',
  'ping',
]);
