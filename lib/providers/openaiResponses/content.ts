import type { ToolCallFragment } from '../../core/chunk.js';
import { nonEmptyString, omitUndefined, type JsonObject } from '../../core/json/json.js';
import type { ChunkReceiver } from '../shared/chunkEmitter.js';
import { createCallData, isStreamedCall, readWholeCall } from './clientCalls.js';
import type { Item } from './item.js';
import { provider } from './models.js';
import { isEmptyArguments, snapshotTexts, type TextEvent, type TextKind } from './texts.js';

/** Servers repeat content in snapshots: of a snapshot, only what no delta contained is emitted. */
export class ContentEmitter {
  isRefused = false;
  hasCalls = false;
  textLength = 0;
  private lastItemWithText: Item | undefined;

  constructor(private readonly out: ChunkReceiver) {}

  addText(item: Item, { kind, index, text, complete }: TextEvent): void {
    if (kind === 'arguments' || kind === 'input') this.hasCalls = true;
    if (complete) this.emitRemainder(item, kind, index, text);
    else this.emitText(item, kind, index, text);
  }

  addSnapshot(item: Item, snapshot: JsonObject): void {
    if (isStreamedCall(item.type)) this.addCall(item, snapshot);
    for (const [kind, texts] of snapshotTexts(snapshot)) {
      if (item.texts.equals(kind, texts.join(''))) continue;
      texts.forEach((text, index) => this.emitRemainder(item, kind, index, text));
    }
  }

  addCall(item: Item, call: JsonObject | undefined): void {
    this.hasCalls = true;
    const name = nonEmptyString(call?.['name']);
    if (item.hasName || (name === undefined && item.callId === undefined)) return;
    item.hasName = name !== undefined;
    this.out.emit({ type: 'toolCallFragment', index: item.key, ...omitUndefined({ id: item.callId, name }) });
  }

  endCall(item: Item, complete: boolean): void {
    if (item.isEmitted) return;
    item.isEmitted = true;
    item.isCut = !complete;
    this.emitFragment(item, {
      arguments: complete && item.type === 'custom_tool_call' ? `${beginInput(item)}"}` : undefined,
      done: complete || undefined,
      providerData: { [provider]: createCallData(item) },
    });
  }

  addWholeCall(item: Item, snapshot: JsonObject): void {
    if (item.isEmitted) return;
    item.isEmitted = true;
    this.hasCalls = true;
    const providerData = { [provider]: createCallData(item) };
    this.emitFragment(item, { id: item.callId, ...readWholeCall(snapshot), done: true, providerData });
  }

  private emitText(item: Item, kind: TextKind, index: number, text: string): void {
    if (text === '') return;
    item.texts.add(kind, index, text);
    switch (kind) {
      case 'arguments':
        this.out.emit({ type: 'toolCallFragment', index: item.key, arguments: text });
        return;
      case 'input':
        this.out.emit({ type: 'toolCallFragment', index: item.key, arguments: beginInput(item) + escapeJson(text) });
        return;
      case 'summary':
      case 'reasoning':
        this.out.emit({ type: 'thinking', text });
        return;
      case 'refusal':
        this.isRefused = true;
        break;
      case 'text':
        break;
    }
    if (this.lastItemWithText !== item) this.beginMessage(item, kind === 'refusal');
    this.textLength += text.length;
    this.out.emit({ type: 'text', text });
  }

  /** OpenAI requires the id and the phase from models that send them. */
  private beginMessage(item: Item, isRefusal: boolean): void {
    const { id, hasText, done, added } = item;
    const data = omitUndefined({
      id: hasText ? undefined : id, // the texts of two messages were interleaved
      phase: (done ?? added)?.['phase'] ?? undefined,
      refusal: isRefusal ? true : undefined,
    });
    this.lastItemWithText = item;
    item.hasText = true;
    this.out.emit({ type: 'provider', provider, data: { type: 'message', ...data } });
  }

  /** Nothing is emitted if the text does not start with the deltas, unless these were a placeholder for arguments. */
  private emitRemainder(item: Item, kind: TextKind, index: number, text: string): void {
    const emitted = item.texts.get(kind, index);
    if (emitted === '' && item.texts.equals(kind, text)) return; // emitted under another index
    if (text.startsWith(emitted)) this.emitText(item, kind, index, text.slice(emitted.length));
    else if (kind === 'arguments' && isEmptyArguments(emitted)) this.emitText(item, kind, index, text);
  }

  private emitFragment(
    item: Item,
    fields: { readonly [Field in keyof ToolCallFragment]?: ToolCallFragment[Field] | undefined },
  ): void {
    const fragment = omitUndefined(fields);
    if (Object.keys(fragment).length > 0) this.out.emit({ type: 'toolCallFragment', index: item.key, ...fragment });
  }
}

function beginInput(item: Item): string {
  if (item.hasBegunInput) return '';
  item.hasBegunInput = true;
  return '{"input":"';
}

const escapeJson = (text: string): string => JSON.stringify(text).slice(1, -1);
