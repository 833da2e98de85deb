import { asArray, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';

/**
 * The sources of a candidate: what grounds it (`groundingMetadata.groundingChunks`: web pages, files, places on maps),
 * what it recites (`citationMetadata.citationSources`), and the pages that the URL context tool has read
 * (`urlContextMetadata.urlMetadata`). A source that is named several times is returned several times.
 */
export function sourcesIn(candidate: Record<string, unknown>): readonly SourcePart[] {
  const grounding = recordsIn(candidate['groundingMetadata'], 'groundingChunks');
  const citations = recordsIn(candidate['citationMetadata'], 'citationSources', 'citations');
  const pages = recordsIn(candidate['urlContextMetadata'] ?? candidate['url_context_metadata'], 'urlMetadata');
  return [
    ...grounding.flatMap((chunk) => Object.values(chunk).filter(isRecord)), // { web: { uri, title } }
    ...citations,
    ...pages.filter(wasRead),
  ].flatMap(toSource);
}

const recordsIn = (holder: unknown, ...fields: string[]): Record<string, unknown>[] =>
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
