import type { Chunk } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { createChunkEmitter } from '../shared/chunkEmitter.js';
import { endingOf, failureOf, isError, statusOf, usageIn } from './finish.js';
import { provider } from './models.js';
import { createOutput } from './output.js';
import { echoOf } from './replay.js';
import { isServerItem } from './serverItems.js';

/**
 * Reads one streamed answer of the Responses API ("Streaming events" of its reference), and of servers that send less than is documented: only
 * deltas, only snapshots of parts or items, or only the whole response at its end.
 *
 * @param emit Takes the chunks, in order.
 */
export function decodeResponses(emit: (chunk: Chunk) => void): Decoder {
  const answer = createChunkEmitter(provider, emit);
  const output = createOutput(answer.emit);
  let responseId: string | undefined;
  let stored: boolean | undefined;

  const note = (response: JsonObject) => {
    responseId ??= nonEmptyString(response['id']);
    if (typeof response['store'] === 'boolean') stored = response['store'];
    answer.addMetadata('responseId', responseId);
    answer.addMetadata('model', nonEmptyString(response['model']));
    const usage = usageIn(response);
    if (usage) answer.setUsage(usage);
  };
  const over = (status: string, response: JsonObject) => {
    output.response(response['output'], status !== 'completed');
    if (status === 'failed' || status === 'cancelled') throw failureOf(status, response);
    const { reason, word } = endingOf(status, response, output.called);
    answer.setFinishReason(output.refused ? 'contentFilter' : reason, word);
  };

  return {
    next(frame, event) {
      const type = nonEmptyString(frame['type']) ?? nonEmptyString(event);
      if (isError(type, frame)) throw providerError(provider, frame);
      const [name, response] =
        frame['object'] === 'response' ? ['response.completed', frame] : [type ?? '', frame['response']];
      if (!isJsonObject(response)) {
        output.event(name, frame);
        return undefined;
      }
      note(response);
      const status = statusOf(name, response);
      if (status !== undefined) over(status, response);
      return status === undefined ? undefined : 'end';
    },
    end(terminal) {
      answer.finishReason(terminal);
      output.settle();
      // What only the provider can read makes no part, and a message without parts is none: it has to be there to be answered (approvals).
      if (!output.visible && output.items.some(({ type, whole }) => whole && isServerItem(type)))
        answer.emit({ type: 'text', text: '', providerData: { [provider]: {} } });
      const data = echoOf(output.items, { responseId, stored }, output.tangled);
      if (data) answer.emit({ type: 'providerData', provider, data });
      answer.emitFinish();
    },
  };
}
