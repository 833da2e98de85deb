import type { Chunk, FinishReason } from '../../core/chunk.js';
import { asArray, isJsonObject, isRecord, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';
import { hasErrorField, providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter } from '../shared/chunkEmitter.js';
import { firstChoice } from '../shared/firstChoice.js';
import { createUsageCounter, finishReasonOf } from './finish.js';
import { createPartReports } from './partReports.js';
import { createPartDecoder } from './parts.js';
import { provider } from './providerData.js';
import { readSources } from './sources.js';

/**
 * Decodes one response of `streamGenerateContent` (API reference, `GenerateContentResponse`).
 *
 * Each event contains the next parts of the candidate and the usage so far. The protocol has no terminal marker. The
 * `finish` is emitted when the body ends, because parts and usage may follow the finish reason. For a refused prompt,
 * the response contains `promptFeedback.blockReason` and no candidate.
 *
 * A response that stopped with `CONTINUATION` has a token, which the next request sends back to continue it.
 *
 * The grounding of the response, and an explanation of any finish reason other than `stop` and `length`, are emitted as
 * metadata once, before the finish.
 *
 * @param emit Receives the chunks, in order.
 */
export function decodeGoogle(emit: (chunk: Chunk) => void): Decoder {
  const emitter = new ChunkEmitter(provider, emit);
  let responseId: string | undefined;
  const reports = createPartReports(
    (chunk) => emitter.emit(chunk),
    () => responseId,
  );
  const parts = createPartDecoder((chunk) => emitter.emit(chunk), reports);
  const usage = createUsageCounter();
  const emittedSources = new Set<string>();
  const grounding: Record<string, JsonValue> = {};
  const explanation: Record<string, JsonValue> = {};
  let continuationToken: string | undefined;

  const emitSource = (source: SourcePart) => {
    const key = source.url ?? `${source.title}\n${source.text}`;
    if (!emittedSources.has(key)) emitter.emit({ type: 'source', source });
    emittedSources.add(key);
  };
  const readCandidate = (candidate: JsonObject) => {
    for (const part of asArray(objectOrEmpty(candidate['content'])['parts'])) if (isJsonObject(part)) parts.add(part);
    readSources(candidate).forEach(emitSource);
    copyNonEmpty(candidate, ['groundingMetadata', 'citationMetadata', 'urlContextMetadata'], grounding);
    copyNonEmpty(candidate, ['finishMessage', 'safetyRatings'], explanation);
    continuationToken = nonEmptyString(candidate['continuationToken']) ?? continuationToken;
    const rawReason = nonEmptyString(candidate['finishReason']);
    if (rawReason !== undefined && rawReason !== 'FINISH_REASON_UNSPECIFIED')
      emitter.setFinishReason(finishReasonOf(rawReason), rawReason);
  };

  return {
    next(frame) {
      responseId ??= nonEmptyString(frame['responseId']);
      emitter.addMetadata('responseId', responseId);
      emitter.addMetadata('model', nonEmptyString(frame['modelVersion']));
      const candidate = firstChoice(frame['candidates']);
      if (candidate) readCandidate(candidate);
      const blockReason = nonEmptyString(objectOrEmpty(frame['promptFeedback'])['blockReason']);
      if (blockReason !== undefined) {
        copyNonEmpty(frame, ['promptFeedback'], explanation);
        emitter.setFinishReason('contentFilter', blockReason);
      }
      if (isRecord(frame['usageMetadata'])) usage.add(frame['usageMetadata']);
      if (hasErrorField(frame)) throw providerError(provider, frame);
    },
    end(terminal) {
      const reason = emitter.finishReason(terminal);
      parts.end(truncatingReasons.has(reason));
      reports.end(grounding);
      if (reason === 'paused' && continuationToken !== undefined)
        emitter.emit({ type: 'providerData', provider, data: { continuationToken } });
      const metadata = reason === 'stop' || reason === 'length' ? grounding : { ...grounding, ...explanation };
      if (Object.keys(metadata).length > 0) emitter.emit({ type: 'metadata', metadata: { ...metadata } });
      emitter.setUsage(usage.total());
      // An end that looks normal would hide the call.
      emitter.emitFinish(reports.hasUnknownCall && reason === 'stop' ? 'other' : undefined);
    },
    usage: () => usage.total(),
  };
}

/** The finish reasons after which the last call may be incomplete. */
const truncatingReasons: ReadonlySet<FinishReason> = new Set(['length', 'contentFilter', 'error'] as const);

/** Copies the fields that are neither missing nor empty. They replace earlier values. */
function copyNonEmpty(from: JsonObject, fields: readonly string[], to: Record<string, JsonValue>): void {
  for (const field of fields) {
    const value = from[field];
    const isNonEmptyObject = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (value !== undefined && (isNonEmptyObject || nonEmptyString(value) !== undefined)) to[field] = value;
  }
}
