import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, asArray, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { unknownCallReason, unknownChunk } from '../shared/unknownChunk.js';
import { createBlockDecoder } from './blocks.js';
import { createUsageCounter, finishReasonOf } from './finish.js';

/**
 * Decodes one streamed response of the Messages API (platform.claude.com, "Streaming messages").
 *
 * Content arrives in blocks. A block starts, receives deltas and stops. `message_delta` contains the stop reason and
 * the final usage; `message_stop` ends the response. Unknown events and blocks are not errors: the API's versioning
 * policy says that new types may be added.
 *
 * @param emit Receives the chunks, in order.
 */
export function decodeAnthropic(emit: (chunk: Chunk) => void): Decoder {
  const emitter = new ChunkEmitter('anthropic', emit);
  const blocks = createBlockDecoder((chunk) => emitter.emit(chunk));
  const usage = createUsageCounter();
  const endMetadata: Record<string, JsonValue> = {};

  /** Some compatible servers send the complete response in `message_start`. */
  const startMessage = (message: unknown) => {
    if (!isJsonObject(message)) return;
    emitter.addMetadata('responseId', nonEmptyString(message['id']));
    emitter.addMetadata('model', nonEmptyString(message['model']));
    usage.add(message['usage']);
    asArray(message['content']).forEach((block, index) => {
      blocks.start(index, block);
      blocks.stop(index);
    });
    updateMessage(message);
  };
  const updateMessage = (delta: unknown) => {
    if (!isJsonObject(delta)) return;
    const stopReason = nonEmptyString(delta['stop_reason']);
    if (stopReason !== undefined) emitter.setFinishReason(finishReasonOf(stopReason), stopReason);
    for (const [field, name] of endFields) {
      const value = delta[field];
      if (value !== undefined && value !== '' && asArray(value).length > 0) endMetadata[name] = value;
    }
  };

  /** Before the first content, the report waits for it: an error in its place can still be retried. */
  const reportUnknown = (frame: JsonObject) => {
    if (emitter.hasEmitted) emitter.emit(unknownChunk(frame));
    else emitter.addMetadata('unknown', frame);
  };

  return {
    next(frame, event) {
      const type = nonEmptyString(frame['type']) ?? event;
      switch (type) {
        case 'content_block_delta':
          blocks.delta(frame['index'], frame['delta']);
          return undefined;
        case 'content_block_start':
          blocks.start(frame['index'], frame['content_block']);
          return undefined;
        case 'content_block_stop':
          blocks.stop(frame['index']);
          return undefined;
        case 'message_start':
          startMessage(frame['message']);
          return undefined;
        case 'message_delta':
          updateMessage(frame['delta']);
          updateMessage(frame);
          usage.add(frame['usage']);
          return undefined;
        case 'message_stop':
          return 'end';
        case 'error':
          throw providerError('anthropic', frame);
        case 'ping':
          return undefined;
        default:
          if (type === undefined && frame['error']) throw providerError('anthropic', frame);
          reportUnknown(frame);
          return undefined;
      }
    },
    end(terminal) {
      const reason = emitter.finishReason(terminal);
      blocks.end();
      emitter.setUsage(usage.total());
      const { container } = endMetadata;
      if (isJsonObject(container)) emitter.emit({ type: 'providerData', provider: 'anthropic', data: { container } });
      if (Object.keys(endMetadata).length > 0) emitter.emit({ type: 'metadata', metadata: endMetadata });
      emitter.emitFinish(blocks.hasUnknownCall ? unknownCallReason(reason) : undefined);
    },
    usage: () => usage.total(),
  };
}

/**
 * The fields of `message_start` and `message_delta` that become metadata, with the names of their metadata: the stop
 * sequence that ended the response, the reason for a refusal, the container that code ran in, which the next request
 * needs, and what the API did to the request (removed tool results, dropped thinking, a missed cache).
 */
const endFields = [
  ['stop_sequence', 'stopSequence'],
  ['stop_details', 'stopDetails'],
  ['container', 'container'],
  ['context_management', 'contextManagement'],
  ['input_transformations', 'inputTransformations'],
  ['diagnostics', 'diagnostics'],
] as const;
