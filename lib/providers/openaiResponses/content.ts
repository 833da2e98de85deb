import type { Chunk, ToolCallFragment } from '../../core/chunk.js';
import { nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { createCallData, isStreamedCall, readWholeCall } from './clientCalls.js';
import type { Item } from './item.js';
import { provider } from './models.js';
import { isEmptyArguments, snapshotTexts } from './texts.js';
import type { TextEvent, TextKind } from './texts.js';

/**
 * Creates an emitter for the texts, the thinking and the calls of items. It emits their content once, although servers
 * repeat it in snapshots of parts, of items and of the complete response: for a snapshot, it emits only the content
 * that no delta contained.
 */
export function createContentEmitter(emit: (chunk: Chunk) => void) {
  const namedCalls = new Set<Item>();
  const endedCalls = new Set<Item>();
  const begunInputs = new Set<Item>();
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
      case 'input':
        emit({ type: 'toolCallFragment', index: item.key, arguments: beginInput(item) + escapeJson(text) });
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
  /** The beginning of the JSON text of a free-form input; empty if it has been emitted. */
  const beginInput = (item: Item): string => {
    if (begunInputs.has(item)) return '';
    begunInputs.add(item);
    return '{"input":"';
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

  const emitFragment = (
    item: Item,
    fields: { readonly [Field in keyof ToolCallFragment]?: ToolCallFragment[Field] | undefined },
  ) => {
    const fragment = omitUndefined(fields);
    if (Object.keys(fragment).length > 0) emit({ type: 'toolCallFragment', index: item.key, ...fragment });
  };

  return {
    addCall,
    addText(item: Item, { kind, index, text, complete }: TextEvent): void {
      if (kind === 'arguments' || kind === 'input') hasCalls = true;
      if (complete) emitRemainder(item, kind, index, text);
      else emitText(item, kind, index, text);
    },
    addSnapshot(item: Item, snapshot: JsonObject): void {
      if (isStreamedCall(item.type)) addCall(item, snapshot);
      for (const [kind, texts] of snapshotTexts(snapshot)) {
        if (item.texts.equals(kind, texts.join(''))) continue;
        texts.forEach((text, index) => emitRemainder(item, kind, index, text));
      }
    },
    /** Ends a call whose arguments arrived in fragments. */
    endCall(item: Item, complete: boolean): void {
      if (endedCalls.has(item)) return;
      endedCalls.add(item);
      item.isEmitted = true;
      const data = createCallData(item.type, item.id, item.done ?? item.added ?? {});
      emitFragment(item, {
        arguments: complete && item.type === 'custom_tool_call' ? `${beginInput(item)}"}` : undefined,
        done: complete || undefined,
        providerData: Object.keys(data).length > 0 ? { [provider]: data } : undefined,
      });
    },
    /** Emits a call that arrived as a whole. */
    addWholeCall(item: Item, snapshot: JsonObject): void {
      if (endedCalls.has(item)) return;
      endedCalls.add(item);
      item.isEmitted = true;
      hasCalls = true;
      const providerData = { [provider]: createCallData(item.type, item.id, snapshot) };
      emitFragment(item, { id: item.callId, ...readWholeCall(snapshot), done: true, providerData });
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

/** Encodes a part of a JSON string, without its quotes. */
const escapeJson = (text: string): string => JSON.stringify(text).slice(1, -1);
