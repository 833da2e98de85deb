import type { Chunk } from '../../core/chunk.js';
import { asArray, isJsonObject, type JsonObject } from '../../core/json/json.js';
import { words } from '../../core/words.js';
import { isAnsweredByServer, isStreamedCall, isWholeCall, omitNulls } from './clientCalls.js';
import { ContentEmitter } from './content.js';
import { Items } from './items.js';
import type { Item } from './item.js';
import { provider } from './models.js';
import { emitOnce, type ChunkReceiver } from '../shared/chunkEmitter.js';
import { unknownChunk } from '../shared/unknownChunk.js';
import { isServerItem, isUnknownCall, type ServerItemReporter } from './serverItems.js';
import { readCitedSources } from './sources.js';
import { readTextEvent, readUnknownParts, type TextEvent } from './texts.js';

export class OutputDecoder {
  readonly items = new Items();
  readonly content: ContentEmitter;
  /** Whether the stream begins in the middle of a response: items have begun that were not announced. */
  startsInMiddle = false;
  private isReasoningLate = false;
  private emittedKeys: Set<string> | undefined;
  /** OpenAI may have answered them, which only the end shows. The values: whether the response was not completed. */
  private heldCalls: Map<Item, boolean> | undefined;

  /** Without a reporter, an item of a tool that OpenAI runs is the metadata `unknown`, like any other. */
  constructor(
    private readonly out: ChunkReceiver,
    private readonly serverItems: ServerItemReporter | undefined,
  ) {
    this.content = new ContentEmitter(out);
  }

  /** Undefined if there is none. The client would have to answer it. */
  unknownCall(): string | undefined {
    return this.items.all.find((item) => isUnknownCall(item) && !this.isAnswered(item))?.type;
  }

  /** Refused after reasoning at the end (openai/openai-agents-python#1611), and with a call without output. */
  isContinuable(truncated: boolean): boolean {
    const { all } = this.items;
    const isCut = truncated && all.some((item) => item.isCut && item.callId !== undefined);
    return !isCut && all.at(-1)?.type !== 'reasoning' && this.unknownCall() === undefined;
  }

  /** The ids of the items in their order, if a reasoning was done after a later item had begun (llama.cpp). */
  order(): readonly string[] | undefined {
    return this.isReasoningLate ? this.items.all.flatMap(({ callId, id }) => callId ?? id ?? []) : undefined;
  }

  addEvent(type: string, event: JsonObject): void {
    const { item } = event;
    if (!isJsonObject(item)) this.updateItem(type, event);
    else if (type === 'response.output_item.added') this.addItem(this.items.added(item, event));
    else if (type === 'response.output_item.done') this.completeItem(this.items.done(item, event), item, false);
    else this.out.emit(unknownChunk(event));
  }

  addFinalOutput(output: unknown, truncated: boolean): void {
    for (const [item, snapshot] of this.items.match(asArray(output).filter(isJsonObject)))
      this.completeItem(item, snapshot, truncated);
    this.settleCalls();
  }

  end(): void {
    for (const item of this.items.all) {
      if (item.done) continue;
      if (item.added) this.content.addSnapshot(item, item.added);
      for (const text of item.held ?? []) this.content.addText(item, text);
      if (isStreamedCall(item.type)) this.content.endCall(item, false);
      this.serverItems?.reportEnd(item);
    }
    this.settleCalls();
  }

  private addItem(item: Item): void {
    if (isStreamedCall(item.type)) this.content.addCall(item, item.added);
    else if (isReportedItem(item)) this.serverItems?.reportAdded(item);
  }

  private updateItem(type: string, event: JsonObject): void {
    const text = readTextEvent(type, event);
    if (text) this.addText(this.items.find(text.itemType, event), text);
    if (text?.itemType === 'message' || type === 'response.output_text.annotation.added') this.emitSources(event);
    if (text || silentEvents.has(type)) return;
    const progress = this.serverItems?.parseEvent(type);
    if (!progress) {
      if (type !== '') this.out.emit(unknownChunk(event));
      return;
    }
    const item = this.items.find(progress.itemType, event);
    if (isReportedItem(item)) this.serverItems?.reportProgress(item, progress.step, event);
  }

  private addText(item: Item, text: TextEvent): void {
    if (this.startsInMiddle && !item.added && !text.complete) (item.held ??= []).push(text);
    else {
      if (text.complete) item.held = undefined;
      this.content.addText(item, text);
    }
  }

  private completeItem(item: Item, snapshot: JsonObject, truncated: boolean): void {
    item.done = snapshot;
    this.content.addSnapshot(item, snapshot);
    if (item.type === 'message') this.emitSources(snapshot);
    for (const { key, file } of this.serverItems?.createdFiles(snapshot) ?? [])
      this.emitOnce(key, { type: 'file', file });
    for (const part of readUnknownParts(snapshot))
      this.emitOnce(JSON.stringify(['unknown', item.key, part]), unknownChunk(part));
    if (isStreamedCall(item.type)) this.content.endCall(item, isComplete(snapshot, truncated));
    else if (isReportedItem(item)) this.addServerItem(item, snapshot);
    else if (isWholeCall(item.type)) (this.heldCalls ??= new Map<Item, boolean>()).set(item, truncated);
    else if (item.type === 'reasoning') {
      this.isReasoningLate ||= !item.isEmitted && this.items.all.at(-1) !== item;
      this.emitPart(item, { summary: [], ...omitNulls(snapshot) });
    }
  }

  private addServerItem(item: Item, snapshot: JsonObject): void {
    if (item.type.endsWith('_output')) this.settleCalls(item.callId);
    const { serverItems } = this;
    if (serverItems) serverItems.reportSnapshot(item, snapshot, this.items.all);
    else if (!item.isEmitted) this.out.emit(unknownChunk(snapshot));
    // A generated image is a file, which contains the other fields of its item.
    const isFile = serverItems && item.type === 'image_generation_call';
    if (!isFile && item.type !== '') this.emitPart(item, snapshot);
  }

  private settleCalls(answeredId?: string): void {
    for (const [item, truncated] of this.heldCalls ?? []) {
      const { done, callId } = item;
      if (!done || (answeredId !== undefined && answeredId !== callId)) continue;
      this.heldCalls?.delete(item);
      if (this.isAnswered(item)) this.addServerItem(item, done);
      else if (isComplete(done, truncated)) this.content.addWholeCall(item, done);
      else item.isCut = true;
    }
  }

  private emitPart(item: Item, data: JsonObject): void {
    if (item.isEmitted) return;
    item.isEmitted = true;
    const part = { type: 'provider', provider, data } as const;
    this.out.emit(isServerItem(item.type) ? { ...part, standsAlone: true } : part);
  }

  private isAnswered({ callId }: Item): boolean {
    if (callId === undefined) return false;
    return this.items.all.some(({ type, callId: id }) => id === callId && type.endsWith('_output'));
  }

  private emitSources(cited: JsonObject): void {
    for (const { key, source } of readCitedSources(cited)) this.emitOnce(key, { type: 'source', source });
  }

  private emitOnce(key: string, chunk: Chunk): void {
    this.emittedKeys ??= new Set();
    emitOnce(this.out, this.emittedKeys, key, chunk);
  }
}

const isReportedItem = ({ type, added, done }: Item): boolean =>
  isServerItem(type) && (!isWholeCall(type) || isAnsweredByServer(done ?? added ?? {}));

/** Whether a call is complete. In a response that was not completed, only its own status shows it. */
const isComplete = ({ status }: JsonObject, truncated: boolean): boolean =>
  status === 'completed' || (status !== 'incomplete' && !truncated);

/** The events that contain nothing that another event does not contain, and keep-alives. */
const silentEvents: ReadonlySet<string> = /* @__PURE__ */ words(`
  response.created response.queued response.in_progress response.content_part.added response.content_part.done
  response.reasoning_summary_part.added response.reasoning_summary_part.done response.reasoning_part.added
  response.reasoning_part.done response.output_text.annotation.added response.output_item.added
  response.output_item.done response.compaction.compacting keepalive ping
`);
