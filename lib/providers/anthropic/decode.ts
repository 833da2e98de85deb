import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, isRecord, asArray, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { createChunkEmitter } from '../shared/chunkEmitter.js';
import { createBlocks } from './blocks.js';
import { createCounter, finishReasonOf } from './finish.js';

/**
 * Reads one streamed answer of the Messages API (platform.claude.com, "Streaming messages").
 *
 * Content comes in blocks, which start, grow and stop; `message_delta` brings the stop reason and the last usage; `message_stop` is the end. Events
 * and blocks that are not known are no error: the API's versioning policy announces that there will be new ones.
 *
 * @param emit Takes the chunks, in order.
 */
export function decodeMessages(emit: (chunk: Chunk) => void): Decoder {
  const answer = createChunkEmitter('anthropic', emit);
  const blocks = createBlocks((chunk) => answer.emit(chunk));
  const counter = createCounter();
  const late: Record<string, JsonObject | string> = {};

  const start = (message: unknown) => {
    if (!isJsonObject(message)) return;
    answer.addMetadata('responseId', nonEmptyString(message['id']));
    answer.addMetadata('model', nonEmptyString(message['model']));
    counter.count(message['usage']);
    asArray(message['content']).forEach((block, at) => {
      blocks.start(at, block);
      blocks.stop(at);
    });
    delta(message);
  };
  const delta = (message: unknown) => {
    if (!isRecord(message)) return;
    const word = nonEmptyString(message['stop_reason']);
    if (word !== undefined) answer.setFinishReason(finishReasonOf(word), word);
    for (const [field, name] of lateFields) {
      const value = message[field];
      if (isJsonObject(value) || nonEmptyString(value) !== undefined) late[name] = value as JsonObject | string;
    }
  };

  return {
    next(frame, event) {
      const type = nonEmptyString(frame['type']) ?? event;
      if (type === 'error' || (type === undefined && frame['error'])) throw providerError('anthropic', frame);
      if (type === 'content_block_start') blocks.start(frame['index'], frame['content_block']);
      else if (type === 'content_block_delta') blocks.delta(frame['index'], frame['delta']);
      else if (type === 'content_block_stop') blocks.stop(frame['index']);
      else if (type === 'message_start') start(frame['message']);
      else if (type === 'message_delta') {
        delta(frame['delta']);
        counter.count(frame['usage']);
      } else if (type === 'message_stop') return 'end';
      return undefined;
    },
    end(terminal) {
      answer.finishReason(terminal);
      blocks.end();
      answer.setUsage(counter.usage());
      if (isJsonObject(late['container']))
        answer.emit({ type: 'providerData', provider: 'anthropic', data: { container: late['container'] } });
      if (Object.keys(late).length > 0) answer.emit({ type: 'metadata', metadata: late });
      answer.emitFinish();
    },
  };
}

/** What the end of an answer tells its reader: which stop text was met, why it was refused, where code ran (which the next request needs too). */
const lateFields = [
  ['stop_sequence', 'stopSequence'],
  ['stop_details', 'stopDetails'],
  ['container', 'container'],
] as const;
