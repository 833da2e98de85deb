import type { Chunk, FinishReason } from '../../core/chunk.js';
import { isJsonObject, isRecord, asArray, objectOrEmpty, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';
import { providerError, hasErrorField } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { createChunkEmitter } from '../shared/chunkEmitter.js';
import { firstChoice } from '../shared/firstChoice.js';
import { finishReasonOf, usageFrom } from './finish.js';
import { createPartReader } from './parts.js';
import { provider } from './providerData.js';
import { sourcesIn } from './sources.js';

/** An answer that ended so was cut: a call that has not ended is no call. */
const cut: readonly FinishReason[] = ['length', 'contentFilter', 'error'];

/**
 * Reads one answer of `streamGenerateContent` (API reference, `GenerateContentResponse`): each event has the next parts of the candidate, and the
 * usage so far. The protocol has no terminal mark: the finish is held until the body ends, since parts and usage may follow the reason.
 *
 * A prompt that is refused has a `promptFeedback.blockReason` and no candidate. What was found out beside the answer (grounding, and where an answer
 * was not simply finished why) comes once, before the finish.
 *
 * @param emit Takes the chunks, in order.
 */
export function decodeGoogle(emit: (chunk: Chunk) => void): Decoder {
  const answer = createChunkEmitter(provider, emit);
  const parts = createPartReader(answer.emit);
  let counts: Record<string, unknown> = {};
  const cited = new Set<string>();
  const found: Record<string, JsonValue> = {};
  const reasons: Record<string, JsonValue> = {};

  const cite = (source: SourcePart) => {
    const key = source.url ?? `${source.title}\n${source.text}`;
    if (!cited.has(key)) answer.emit({ type: 'source', source });
    cited.add(key);
  };
  const readCandidate = (candidate: JsonObject) => {
    for (const part of asArray(objectOrEmpty(candidate['content'])['parts'])) if (isJsonObject(part)) parts.read(part);
    sourcesIn(candidate).forEach(cite);
    collect(found, candidate, ['groundingMetadata', 'citationMetadata', 'urlContextMetadata']);
    collect(reasons, candidate, ['finishMessage', 'safetyRatings']);
    const word = nonEmptyString(candidate['finishReason']);
    if (word !== undefined && word !== 'FINISH_REASON_UNSPECIFIED') answer.setFinishReason(finishReasonOf(word), word);
  };

  return {
    next(frame) {
      answer.addMetadata('responseId', nonEmptyString(frame['responseId']));
      answer.addMetadata('model', nonEmptyString(frame['modelVersion']));
      const candidate = firstChoice(frame['candidates']);
      if (candidate) readCandidate(candidate);
      const blocked = nonEmptyString(objectOrEmpty(frame['promptFeedback'])['blockReason']);
      if (blocked !== undefined) {
        collect(reasons, frame, ['promptFeedback']);
        answer.setFinishReason('contentFilter', blocked);
      }
      if (isRecord(frame['usageMetadata'])) {
        counts = { ...counts, ...known(frame['usageMetadata']) };
        answer.setUsage(usageFrom(counts));
      }
      if (hasErrorField(frame)) throw providerError(provider, frame);
    },
    end(terminal) {
      const reason = answer.finishReason(terminal);
      parts.end(cut.includes(reason));
      const metadata = reason === 'stop' || reason === 'length' ? found : { ...found, ...reasons };
      if (Object.keys(metadata).length > 0) answer.emit({ type: 'metadata', metadata: { ...metadata } });
      answer.emitFinish();
    },
  };
}

/** The counts that are given: the last report may have fewer fields than the one before, which it then does not take back. */
const known = (counts: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => typeof count === 'number'));

/** The fields that say something; the last value counts. */
function collect(into: Record<string, JsonValue>, from: JsonObject, fields: readonly string[]): void {
  for (const field of fields) {
    const value = from[field];
    const says =
      typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : nonEmptyString(value) !== undefined;
    if (says && value !== undefined) into[field] = value;
  }
}
