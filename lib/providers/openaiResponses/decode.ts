import { vetoReasons, type Chunk } from '../../core/chunk.js';
import { finiteNumber, isJsonObject, nonEmptyString, omitUndefined, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { readEndStatus, readFinish, isErrorEvent, createResponseError, readUsage } from './finish.js';
import { provider } from './models.js';
import { OutputDecoder } from './output.js';
import type { ServerSupport } from './serverSupport.js';

/** "Streaming events". Some servers send only deltas, snapshots, or the response at the end. */
export const decodeResponses = (
  emit: (chunk: Chunk) => void,
  body: JsonObject = {},
  support?: ServerSupport,
): Decoder => new ResponsesDecoder(emit, finiteNumber(body['max_output_tokens']), support);

const cutFinish = { reason: 'length', rawReason: 'max_output_tokens' } as const;

class ResponsesDecoder implements Decoder {
  private readonly emitter: ChunkEmitter;
  private readonly output: OutputDecoder;
  private responseId: string | undefined;
  private stored: boolean | undefined;
  private background = false;
  private readonly sequence = new Sequence();

  constructor(
    emit: (chunk: Chunk) => void,
    private readonly maxOutputTokens: number | undefined,
    support: ServerSupport | undefined,
  ) {
    this.emitter = new ChunkEmitter(provider, emit);
    this.output = new OutputDecoder(this.emitter, support?.createReporter(this.emitter));
  }

  next(frame: JsonObject, event?: string): 'end' | undefined {
    const type = nonEmptyString(frame['type']) ?? nonEmptyString(event);
    if (isErrorEvent(type, frame)) throw providerError(provider, frame, contextLengthPatterns);
    // A response that is not streamed arrives as one frame.
    const isResponse = frame['object'] === 'response';
    const name = isResponse ? 'response.completed' : (type ?? '');
    const response = isResponse ? frame : frame['response'];
    if (!isJsonObject(response)) {
      this.readOutputEvent(name, frame);
      return undefined;
    }
    this.sequence.add(frame);
    this.updateResponse(response);
    const status = readEndStatus(name, response);
    if (status === undefined) return undefined;
    this.finishResponse(status, response);
    return 'end';
  }

  /** `[DONE]` does not complete a response: its own last event does. Gateways end a broken stream with that mark. */
  end(): void {
    const { emitter, output, responseId, stored } = this;
    const reason = emitter.finishReason(false);
    output.end();
    const data = omitUndefined({
      type: 'response',
      id: output.isContinuable(vetoReasons.has(reason)) ? responseId : undefined,
      stored: stored === false ? false : undefined,
      textLength: output.content.textLength,
      order: output.order(),
    });
    if (output.items.all.length > 0) emitter.emit({ type: 'provider', provider, data });
    emitter.emitFinish();
  }

  usage(): Usage | undefined {
    return this.emitter.usage;
  }

  private readOutputEvent(name: string, frame: JsonObject): void {
    const { sequence, output } = this;
    if (sequence.last === undefined && sequence.isAfterStart(frame)) output.startsInMiddle = true;
    const isRepeated = sequence.isRepeated(frame, (id) => output.items.has(id));
    // A complete text or item is read again: only what it has in addition is emitted.
    if (!isRepeated || name.endsWith('.done')) output.addEvent(name, frame);
  }

  /** Only a background response is produced without a connection (guide "Background mode", on resuming a stream). */
  resumePath(): string | undefined {
    const { background, responseId, sequence } = this;
    if (!background || responseId === undefined) return undefined;
    const after = sequence.last === undefined ? '' : `&starting_after=${sequence.last}`;
    return `/responses/${encodeURIComponent(responseId)}?stream=true${after}`;
  }

  private updateResponse(response: JsonObject): void {
    const { emitter } = this;
    this.responseId ??= nonEmptyString(response['id']);
    if (response['background'] === true) this.background = true;
    if (typeof response['store'] === 'boolean') this.stored = response['store'];
    emitter.addMetadata('responseId', this.responseId);
    emitter.addMetadata('model', nonEmptyString(response['model']));
    const usage = readUsage(response);
    if (usage) emitter.setUsage(usage);
  }

  private finishResponse(reported: string, response: JsonObject): void {
    const { output, emitter } = this;
    const status = reported === 'completed' && this.isCut(response) ? 'incomplete' : reported;
    output.addFinalOutput(response['output'], status !== 'completed');
    this.background = false; // it has ended: there is no rest
    if (status === 'failed' || status === 'cancelled') throw createResponseError(status, response);
    const finish = readFinish(status, response, output.content.hasCalls, output.unknownCall());
    const hasCutCall = status === 'completed' && output.items.all.some((item) => item.isCut);
    const { reason, rawReason } = status === reported && !hasCutCall ? finish : cutFinish;
    emitter.setFinishReason(output.content.isRefused ? 'contentFilter' : reason, rawReason);
  }

  /** llama.cpp, which has no `incomplete_details`, reports a response that it has cut as completed. */
  private isCut(response: JsonObject): boolean {
    const { maxOutputTokens: limit } = this;
    if (limit === undefined || 'incomplete_details' in response) return false;
    return (readUsage(response)?.output ?? 0) >= limit;
  }
}

/** Gateways that reconnect send events again. Some servers' numbers do not rise: such numbers do not count. */
export class Sequence {
  last: number | undefined;
  private isReliable = true;

  add(event: JsonObject): void {
    const number = finiteNumber(event['sequence_number']);
    if (number !== undefined && (this.last === undefined || number > this.last)) this.last = number;
  }

  isAfterStart(event: JsonObject): boolean {
    return (finiteNumber(event['sequence_number']) ?? 0) > 0;
  }

  isRepeated(event: JsonObject, hasItem: (id: string) => boolean): boolean {
    const number = finiteNumber(event['sequence_number']);
    if (number === undefined || !this.isReliable) return false;
    const { last } = this;
    if (last === undefined || number > last) {
      this.last = number;
      return false;
    }
    const id = nonEmptyString(event['item_id']) ?? nonEmptyString(objectOrEmpty(event['item'])['id']);
    const mayBeRepeated = last >= MINIMUM_REPLAY && (id === undefined || hasItem(id));
    if (!mayBeRepeated) this.isReliable = false;
    return mayBeRepeated;
  }
}

/** A server that sends one number in all events sends 0 or 1. */
const MINIMUM_REPLAY = 2;
