import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, asArray, nonEmptyString, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { unknownCallReason, unknownChunk } from '../shared/unknownChunk.js';
import { BlockDecoder } from './blocks.js';
import { toFinishReason, UsageCounter } from './finish.js';

/** platform.claude.com, "Streaming messages". Unknown events and blocks are ignored: the API may add types. */
export const decodeAnthropic = (emit: (chunk: Chunk) => void): Decoder => new AnthropicDecoder(emit);

class AnthropicDecoder implements Decoder {
  private readonly emitter: ChunkEmitter;
  private readonly blocks: BlockDecoder;
  private readonly counter = new UsageCounter();
  private readonly endMetadata: Record<string, JsonValue> = {};

  constructor(emit: (chunk: Chunk) => void) {
    this.emitter = new ChunkEmitter('anthropic', emit);
    this.blocks = new BlockDecoder(this.emitter);
  }

  next(frame: JsonObject, event?: string): 'end' | undefined {
    const type = nonEmptyString(frame['type']) ?? event;
    switch (type) {
      case 'content_block_delta':
        this.blocks.delta(frame['index'], frame['delta']);
        return undefined;
      case 'content_block_start':
        this.blocks.start(frame['index'], frame['content_block']);
        return undefined;
      case 'content_block_stop':
        this.blocks.stop(frame['index']);
        return undefined;
      case 'message_start':
        this.startMessage(frame['message']);
        return undefined;
      case 'message_delta':
        this.updateMessage(frame['delta']);
        this.updateMessage(frame);
        this.counter.add(frame['usage']);
        return undefined;
      case 'message_stop':
        return 'end';
      case 'error':
        throw providerError('anthropic', frame, contextLengthPatterns);
      case 'ping':
        return undefined;
      default:
        if (type === undefined && frame['error']) throw providerError('anthropic', frame, contextLengthPatterns);
        // Before the first content, the report waits for it: an error in its place can still be retried.
        if (this.emitter.hasEmitted) this.emitter.emit(unknownChunk(frame));
        else this.emitter.addMetadata('unknown', frame);
        return undefined;
    }
  }

  end(terminal: boolean): void {
    const { emitter, blocks, endMetadata } = this;
    const reason = emitter.finishReason(terminal);
    blocks.end();
    emitter.setUsage(this.usage());
    const { container } = endMetadata;
    if (isJsonObject(container)) emitter.emit({ type: 'provider', provider: 'anthropic', data: { container } });
    if (Object.keys(endMetadata).length > 0) emitter.emit({ type: 'metadata', metadata: endMetadata });
    emitter.emitFinish(blocks.hasUnknownCall() ? unknownCallReason(reason) : undefined);
  }

  usage(): Usage {
    return this.counter.total();
  }

  /** Some compatible servers send the complete response in `message_start`. */
  private startMessage(message: unknown): void {
    if (!isJsonObject(message)) return;
    this.emitter.addMetadata('responseId', nonEmptyString(message['id']));
    this.emitter.addMetadata('model', nonEmptyString(message['model']));
    this.counter.add(message['usage']);
    for (const [index, block] of asArray(message['content']).entries()) {
      this.blocks.start(index, block);
      this.blocks.stop(index);
    }
    this.updateMessage(message);
  }

  private updateMessage(delta: unknown): void {
    if (!isJsonObject(delta)) return;
    const stopReason = nonEmptyString(delta['stop_reason']);
    if (stopReason !== undefined) this.emitter.setFinishReason(toFinishReason(stopReason), stopReason);
    for (const [field, name] of endFields) {
      const value = delta[field];
      if (value !== undefined && value !== '' && asArray(value).length > 0) this.endMetadata[name] = value;
    }
  }
}

/** Fields of `message_start` and `message_delta`, with the names of their metadata. A request needs the container. */
const endFields = [
  ['stop_sequence', 'stopSequence'],
  ['stop_details', 'stopDetails'],
  ['container', 'container'],
  ['context_management', 'contextManagement'],
  ['input_transformations', 'inputTransformations'],
  ['diagnostics', 'diagnostics'],
] as const;
