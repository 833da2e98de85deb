import type { Chunk } from '../../core/chunk.js';
import { asArray, isJsonObject, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { createItems } from './items.js';
import type { Item } from './item.js';
import { provider } from './models.js';
import { createServerItemReporter, isServerItem, parseServerEvent } from './serverItems.js';
import { readCitedSources, readCreatedFiles } from './sources.js';
import { isEmptyArguments, readTextEvent, snapshotTexts } from './texts.js';
import type { TextEvent, TextKind } from './texts.js';

/** Turns the output items of one response into chunks. */
export interface OutputDecoder {
  readonly items: readonly Item[];
  /** Whether the model refused the request. */
  readonly isRefused: boolean;
  /** Whether the response contains a function call, which the client has to run. */
  readonly hasCalls: boolean;
  /** Whether the texts of two messages were interleaved. The joined text then cannot be split by their lengths. */
  readonly isInterleaved: boolean;
  /** Whether a chunk that becomes a part of the message was emitted. */
  readonly hasParts: boolean;
  /** Handles an event about an item or a part of an item; ignores any other event. */
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
  const serverItems = createServerItemReporter((data) => emit({ type: 'metadata', metadata: { [provider]: data } }));
  const emittedKeys = new Set<string>();

  const emitOnce = (key: string, chunk: Chunk) => {
    if (emittedKeys.has(key)) return;
    emittedKeys.add(key);
    emit(chunk);
  };
  const emitSources = (cited: JsonObject) => {
    for (const { key, source } of readCitedSources(cited)) emitOnce(key, { type: 'source', source });
  };

  const addItem = (item: Item) => {
    if (item.type === 'function_call') content.addCall(item, item.added);
    else if (isServerItem(item.type)) serverItems.added(item);
  };
  const updateItem = (type: string, event: JsonObject) => {
    const text = readTextEvent(type, event);
    if (text) content.addText(items.find(text.itemType, event), text);
    if (text?.itemType === 'message' || type === 'response.output_text.annotation.added') emitSources(event);
    const progress = text ? undefined : parseServerEvent(type);
    if (progress) serverItems.progress(items.find(progress.itemType, event), progress.step, event);
  };
  const completeItem = (item: Item, snapshot: JsonObject, truncated: boolean) => {
    content.addSnapshot(item, snapshot);
    if (item.type === 'message') emitSources(snapshot);
    if (isServerItem(item.type)) serverItems.snapshot(item, snapshot);
    for (const { key, file } of readCreatedFiles(snapshot)) emitOnce(key, { type: 'file', file });
    item.done = snapshot;
    if (item.type !== 'function_call') return;
    const { status } = snapshot;
    content.endCall(item, status === 'completed' || (status !== 'incomplete' && !truncated));
  };

  return {
    items: items.all,
    get isRefused() {
      return content.isRefused;
    },
    get hasCalls() {
      return content.hasCalls;
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
    },
    finalOutput(output, truncated) {
      for (const [item, snapshot] of items.match(asArray(output).filter(isJsonObject)))
        completeItem(item, snapshot, truncated);
    },
    end() {
      for (const item of items.all) {
        if (item.done) continue;
        if (item.added) content.addSnapshot(item, item.added);
        if (item.type === 'function_call') content.endCall(item, false);
        serverItems.end(item);
      }
    },
  };
}

/**
 * Creates an emitter for the texts, the thinking and the calls of items. It emits their content once, although servers
 * repeat it in snapshots of parts, of items and of the complete response: for a snapshot, it emits only the content
 * that no delta contained.
 */
function createContentEmitter(emit: (chunk: Chunk) => void) {
  const namedCalls = new Set<Item>();
  const endedCalls = new Set<Item>();
  const itemsWithText = new Set<Item>();
  let lastItemWithText: Item | undefined;
  let isRefused = false;
  let hasCalls = false;
  let isInterleaved = false;

  const emitText = (item: Item, kind: TextKind, index: number, text: string) => {
    if (text === '') return;
    item.texts.add(kind, index, text);
    switch (kind) {
      case 'arguments':
        emit({ type: 'toolCallFragment', index: item.key, arguments: text });
        return;
      case 'summary':
      case 'reasoning':
        emit({ type: 'thinking', text });
        return;
      case 'refusal':
        isRefused = true;
        break;
      case 'text':
        break;
    }
    if (lastItemWithText !== item && itemsWithText.has(item)) isInterleaved = true;
    lastItemWithText = item;
    itemsWithText.add(item);
    emit({ type: 'text', text });
  };
  /**
   * Emits the end of a complete text, after its deltas. If the text does not start with the deltas, nothing is emitted,
   * unless the deltas were a placeholder for arguments.
   */
  const emitRemainder = (item: Item, kind: TextKind, index: number, text: string) => {
    const emitted = item.texts.get(kind, index);
    if (emitted === '' && item.texts.equals(kind, text)) return; // emitted under another index
    if (text.startsWith(emitted)) emitText(item, kind, index, text.slice(emitted.length));
    else if (kind === 'arguments' && isEmptyArguments(emitted)) emitText(item, kind, index, text);
  };
  const addCall = (item: Item, call: JsonObject | undefined) => {
    hasCalls = true;
    const name = nonEmptyString(call?.['name']);
    if (namedCalls.has(item) || (name === undefined && item.callId === undefined)) return;
    if (name !== undefined) namedCalls.add(item);
    emit({ type: 'toolCallFragment', index: item.key, ...omitUndefined({ id: item.callId, name }) });
  };

  return {
    addCall,
    addText(item: Item, { kind, index, text, complete }: TextEvent): void {
      if (kind === 'arguments') hasCalls = true;
      if (complete) emitRemainder(item, kind, index, text);
      else emitText(item, kind, index, text);
    },
    addSnapshot(item: Item, snapshot: JsonObject): void {
      if (item.type === 'function_call') addCall(item, snapshot);
      for (const [kind, texts] of snapshotTexts(snapshot)) {
        if (item.texts.equals(kind, texts.join(''))) continue;
        texts.forEach((text, index) => emitRemainder(item, kind, index, text));
      }
    },
    endCall(item: Item, complete: boolean): void {
      if (endedCalls.has(item)) return;
      endedCalls.add(item);
      const done = complete || undefined;
      const providerData = item.id === undefined ? undefined : { [provider]: { id: item.id } };
      if (done || providerData)
        emit({ type: 'toolCallFragment', index: item.key, ...omitUndefined({ done, providerData }) });
    },
    get isRefused() {
      return isRefused;
    },
    get hasText() {
      return itemsWithText.size > 0;
    },
    get hasCalls() {
      return hasCalls;
    },
    get isInterleaved() {
      return isInterleaved;
    },
  };
}
