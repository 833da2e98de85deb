import { vetoReasons } from '../../core/chunk.js';
import type { Chunk, FinishReason } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { firstChoice } from '../shared/firstChoice.js';
import { createDeltaDecoder } from './delta.js';
import { readCost, readError, toFinishReason, readRawReason, readUsage } from './finish.js';
import { readFrameSources } from './sources.js';

/**
 * Decodes one response of the Chat Completions API, from any server that implements it.
 *
 * The `finish` is emitted when the response ends, because usage (OpenAI) and even deltas (several gateways) may arrive
 * after the finish reason. The cost of the response, which OpenRouter reports with the usage, is emitted as the
 * metadata field `cost`, before the `finish`.
 *
 * @param provider The provider's name, used in errors and as the key of provider data.
 * @param emit Receives the chunks, in order.
 */
export function decodeChatCompletions(provider: string, emit: (chunk: Chunk) => void): Decoder {
  const emitter = new ChunkEmitter(provider, emit);
  const deltas = createDeltaDecoder(provider, (chunk) => emitter.emit(chunk));
  let cost: number | undefined;

  const readChoice = (choice: JsonObject) => {
    const { delta, message, text } = choice;
    if (isJsonObject(delta)) deltas.delta(delta);
    if (isJsonObject(message)) deltas.message(message);
    // The older Completions API sends `text`.
    else if (typeof text === 'string' && !isJsonObject(delta)) deltas.delta({ content: text });
    const rawReason = readRawReason(choice);
    if (rawReason !== undefined) emitter.setFinishReason(toFinishReason(rawReason), rawReason);
  };

  /** Replaces a normal end of a response that the model refused, or whose calls the client cannot answer. */
  const finalReason = (reason: FinishReason): FinishReason => {
    if (deltas.hasRefusal && reason !== 'error') return 'contentFilter';
    const isEnd = reason === 'stop' || reason === 'toolCalls' || reason === 'unspecified';
    return isEnd && deltas.hasOnlyUnknownCalls ? 'other' : reason;
  };

  return {
    next(frame, event) {
      if (!emitter.hasEmitted) addMetadata(emitter, frame);
      const choice = firstChoice(frame['choices']);
      if (choice) readChoice(choice);
      else deltas.addUnknown(frame);
      const error = readError(provider, frame, event, choice);
      if (error) throw error;
      readFrameSources(frame).forEach(deltas.emitSource);
      const usage = readUsage(frame, choice);
      if (usage) emitter.setUsage(usage);
      cost = readCost(frame) ?? cost;
    },
    end(terminal) {
      const reason = emitter.finishReason(terminal);
      deltas.end(vetoReasons.has(reason));
      if (cost !== undefined) emitter.emit({ type: 'metadata', metadata: { cost } });
      const data = deltas.providerData();
      if (data) emitter.emit({ type: 'providerData', provider, data });
      emitter.emitFinish(finalReason(reason));
    },
    usage: () => emitter.usage,
  };
}

/**
 * Fields of a frame and their names in the metadata. `provider` is the provider to which OpenRouter sent the request.
 */
const metadataFields = [
  ['id', 'responseId'],
  ['model', 'model'],
  ['system_fingerprint', 'systemFingerprint'],
  ['service_tier', 'serviceTier'],
  ['provider', 'upstreamProvider'],
] as const;

/** Skips empty values: the first frame of Azure has an empty id and model. */
function addMetadata(emitter: ChunkEmitter, frame: JsonObject): void {
  for (const [field, name] of metadataFields) {
    const value = frame[field];
    emitter.addMetadata(name, typeof value === 'number' ? String(value) : nonEmptyString(value));
  }
}
