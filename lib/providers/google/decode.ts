import { vetoReasons, type Chunk } from '../../core/chunk.js';
import { asArray, isJsonObject, isRecord, nonEmptyString, objectOrEmpty, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';
import type { Usage } from '../../core/usage.js';
import { contextLengthPatterns } from '../../protocol/contextLengthPatterns.js';
import { hasErrorField, providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { ChunkEmitter, emitOnce } from '../shared/chunkEmitter.js';
import { firstChoice } from '../shared/firstChoice.js';
import { createUsage, toFinishReason } from './finish.js';
import { PartReports, wasRead } from './partReports.js';
import { PartDecoder } from './parts.js';
import { provider } from './providerData.js';

/** The `finish` waits for the end: parts and usage may follow the reason. A refused prompt has no candidate. */
export const decodeGoogle = (emit: (chunk: Chunk) => void): Decoder => new GoogleDecoder(emit);

class GoogleDecoder implements Decoder {
  private readonly emitter: ChunkEmitter;
  private readonly reports: PartReports;
  private readonly parts: PartDecoder;
  private readonly counter = createUsage();
  private readonly grounding: Record<string, JsonValue> = {};
  private readonly explanation: Record<string, JsonValue> = {};
  private emittedSources: Set<string> | undefined;
  private continuationToken: string | undefined;

  constructor(emit: (chunk: Chunk) => void) {
    this.emitter = new ChunkEmitter(provider, emit);
    this.reports = new PartReports(this.emitter);
    this.parts = new PartDecoder(this.emitter, this.reports);
  }

  next(frame: JsonObject): void {
    this.reports.responseId ??= nonEmptyString(frame['responseId']);
    if (!this.emitter.hasEmitted) {
      this.emitter.addMetadata('responseId', this.reports.responseId);
      this.emitter.addMetadata('model', nonEmptyString(frame['modelVersion']));
    }
    const candidate = firstChoice(frame['candidates']);
    if (candidate) this.readCandidate(candidate);
    if (frame['promptFeedback'] !== undefined) this.readFeedback(frame);
    if (isRecord(frame['usageMetadata'])) this.counter.add(frame['usageMetadata']);
    if (frame['error'] !== undefined && hasErrorField(frame))
      throw providerError(provider, frame, contextLengthPatterns);
  }

  end(terminal: boolean): void {
    const { emitter, grounding } = this;
    const reason = emitter.finishReason(terminal);
    const isComplete = this.parts.end(vetoReasons.has(reason)); // the last call may be incomplete
    this.reports.end(grounding);
    if (reason === 'paused' && this.continuationToken !== undefined)
      emitter.emit({ type: 'provider', provider, data: { continuationToken: this.continuationToken } });
    const metadata = reason === 'stop' || reason === 'length' ? grounding : { ...grounding, ...this.explanation };
    if (Object.keys(metadata).length > 0) emitter.emit({ type: 'metadata', metadata: { ...metadata } });
    emitter.setUsage(this.usage());
    // With `stop`, the run would end as if the model had asked for nothing.
    emitter.emitFinish((this.reports.hasUnknownCall || !isComplete) && reason === 'stop' ? 'other' : undefined);
  }

  usage(): Usage {
    return this.counter.total();
  }

  private readCandidate(candidate: JsonObject): void {
    const content = candidate['content'];
    if (isJsonObject(content))
      for (const part of asArray(content['parts'])) if (isJsonObject(part)) this.parts.add(part);
    if (hasDetails(candidate)) this.readDetails(withCamelCase(candidate));
    const rawReason = nonEmptyString(candidate['finishReason']);
    if (rawReason !== undefined && rawReason !== 'FINISH_REASON_UNSPECIFIED')
      this.emitter.setFinishReason(toFinishReason(rawReason), rawReason);
  }

  private readDetails(candidate: JsonObject): void {
    for (const source of readSources(candidate)) this.emitSource(source);
    copyNonEmpty(candidate, groundingFields, this.grounding);
    copyNonEmpty(candidate, explanationFields, this.explanation);
    this.continuationToken = nonEmptyString(candidate['continuationToken']) ?? this.continuationToken;
  }

  private emitSource(source: SourcePart): void {
    const key = source.url ?? `${source.title}\n${source.text}`;
    this.emittedSources ??= new Set();
    emitOnce(this.emitter, this.emittedSources, key, { type: 'source', source });
  }

  private readFeedback(frame: JsonObject): void {
    const blockReason = nonEmptyString(objectOrEmpty(frame['promptFeedback'])['blockReason']);
    if (blockReason === undefined) return;
    copyNonEmpty(frame, ['promptFeedback'], this.explanation);
    this.emitter.setFinishReason('contentFilter', blockReason);
  }
}

const groundingFields = ['groundingMetadata', 'citationMetadata', 'urlContextMetadata'] as const;
const explanationFields = ['finishMessage', 'safetyRatings'] as const;

/** Some responses spell it as the guide "URL context" does: `url_context_metadata`. */
const withCamelCase = ({ url_context_metadata: pages, ...candidate }: JsonObject): JsonObject =>
  pages === undefined ? candidate : { urlContextMetadata: pages, ...candidate };

const hasDetails = (candidate: JsonObject): boolean =>
  candidate['groundingMetadata'] !== undefined ||
  candidate['citationMetadata'] !== undefined ||
  candidate['urlContextMetadata'] !== undefined ||
  candidate['url_context_metadata'] !== undefined ||
  candidate['finishMessage'] !== undefined ||
  candidate['safetyRatings'] !== undefined ||
  candidate['continuationToken'] !== undefined;

function copyNonEmpty(from: JsonObject, fields: readonly string[], to: Record<string, JsonValue>): void {
  for (const field of fields) {
    const value = from[field];
    const isNonEmptyObject = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (value !== undefined && (isNonEmptyObject || nonEmptyString(value) !== undefined)) to[field] = value;
  }
}

/** `groundingChunks`, `citationSources` and `urlMetadata` of a candidate. Duplicates are not removed. */
function readSources(candidate: Record<string, unknown>): readonly SourcePart[] {
  const grounding = readRecords(candidate['groundingMetadata'], 'groundingChunks');
  const recitations = readRecords(candidate['citationMetadata'], 'citationSources', 'citations');
  const pages = readRecords(candidate['urlContextMetadata'], 'urlMetadata');
  return [
    ...grounding.flatMap((chunk) => Object.values(chunk).filter(isRecord)), // { web: { uri, title } }
    ...recitations,
    ...pages.filter(wasRead),
  ].flatMap(toSource);
}

const readRecords = (holder: unknown, ...fields: string[]): Record<string, unknown>[] =>
  isRecord(holder) ? fields.flatMap((field) => asArray(holder[field])).filter(isRecord) : [];

function toSource(record: Record<string, unknown>): SourcePart[] {
  const url =
    nonEmptyString(record['uri']) ?? nonEmptyString(record['sourceUri']) ?? nonEmptyString(record['retrievedUrl']);
  const [title, text] = [nonEmptyString(record['title']), nonEmptyString(record['text'])];
  if (url === undefined && title === undefined && text === undefined) return [];
  return [{ type: 'source', ...omitUndefined({ url, title, text }) }];
}
