import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { readEndStatus, readFinish, isErrorEvent, createResponseError, readUsage } from './finish.js';
import { provider } from './models.js';
import { createOutputDecoder } from './output.js';
import { createReplayData } from './replay.js';
import { isServerItem } from './serverItems.js';

/**
 * Decodes one streamed response of the Responses API ("Streaming events" in its reference). Servers that send fewer
 * events than documented are supported: those that send only deltas, only snapshots of parts or items, or only the
 * complete response at the end.
 *
 * @param emit Receives the chunks, in order.
 */
export function decodeResponses(emit: (chunk: Chunk) => void): Decoder {
  const emitter = new ChunkEmitter(provider, emit);
  const output = createOutputDecoder((chunk) => emitter.emit(chunk));
  let responseId: string | undefined;
  let stored: boolean | undefined;

  const updateResponse = (response: JsonObject) => {
    responseId ??= nonEmptyString(response['id']);
    if (typeof response['store'] === 'boolean') stored = response['store'];
    emitter.addMetadata('responseId', responseId);
    emitter.addMetadata('model', nonEmptyString(response['model']));
    const usage = readUsage(response);
    if (usage) emitter.setUsage(usage);
  };
  const finishResponse = (status: string, response: JsonObject) => {
    output.finalOutput(response['output'], status !== 'completed');
    if (status === 'failed' || status === 'cancelled') throw createResponseError(status, response);
    const { reason, rawReason } = readFinish(status, response, output.hasCalls, output.unknownCall);
    emitter.setFinishReason(output.isRefused ? 'contentFilter' : reason, rawReason);
  };

  return {
    next(frame, event) {
      const type = nonEmptyString(frame['type']) ?? nonEmptyString(event);
      if (isErrorEvent(type, frame)) throw providerError(provider, frame);
      // A response that is not streamed arrives as one frame.
      const isResponse = frame['object'] === 'response';
      const name = isResponse ? 'response.completed' : (type ?? '');
      const response = isResponse ? frame : frame['response'];
      if (!isJsonObject(response)) {
        output.event(name, frame);
        return undefined;
      }
      updateResponse(response);
      const status = readEndStatus(name, response);
      if (status === undefined) return undefined;
      finishResponse(status, response);
      return 'end';
    },
    end(terminal) {
      emitter.finishReason(terminal);
      output.end();
      // Provider data alone does not create a message, but the user can reply to an approval request only if a message
      // contains it. An empty text creates that message.
      if (!output.hasParts && output.items.some(({ type, done }) => done && isServerItem(type)))
        emitter.emit({ type: 'text', text: '', providerData: { [provider]: {} } });
      const data = createReplayData(output.items, { responseId, stored }, output.isInterleaved);
      if (data) emitter.emit({ type: 'providerData', provider, data });
      emitter.emitFinish();
    },
    usage: () => emitter.usage,
  };
}
