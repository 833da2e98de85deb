import { asArray, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';

/** `groundingChunks`, `citationSources` and `urlMetadata` of a candidate. Duplicates are not removed. */
export function readSources(candidate: Record<string, unknown>): readonly SourcePart[] {
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

const wasRead = ({ urlRetrievalStatus: status }: Record<string, unknown>) =>
  status === undefined || status === 'URL_RETRIEVAL_STATUS_SUCCESS';

function toSource(record: Record<string, unknown>): SourcePart[] {
  const url =
    nonEmptyString(record['uri']) ?? nonEmptyString(record['sourceUri']) ?? nonEmptyString(record['retrievedUrl']);
  const [title, text] = [nonEmptyString(record['title']), nonEmptyString(record['text'])];
  if (url === undefined && title === undefined && text === undefined) return [];
  return [{ type: 'source', ...omitUndefined({ url, title, text }) }];
}
