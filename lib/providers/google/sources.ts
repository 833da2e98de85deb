import { omitUndefined, isRecord, asArray, nonEmptyString } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';

/**
 * The sources that a candidate names: what grounds it (`groundingMetadata.groundingChunks`: of the web, of files, of maps), what it recites
 * (`citationMetadata.citationSources`), and the pages that it was sent to (`urlContextMetadata.urlMetadata`), each as often as it comes.
 */
export function sourcesIn(candidate: Record<string, unknown>): readonly SourcePart[] {
  const list = (holder: unknown, ...fields: string[]) =>
    isRecord(holder) ? fields.flatMap((field) => asArray(holder[field])).filter(isRecord) : [];
  return [
    ...list(candidate['groundingMetadata'], 'groundingChunks').flatMap((chunk) =>
      Object.values(chunk).filter(isRecord),
    ),
    ...list(candidate['citationMetadata'], 'citationSources', 'citations'),
    ...list(candidate['urlContextMetadata'] ?? candidate['url_context_metadata'], 'urlMetadata').filter(wasRead),
  ].flatMap(source);
}

const wasRead = ({ urlRetrievalStatus: status }: Record<string, unknown>) =>
  status === undefined || status === 'URL_RETRIEVAL_STATUS_SUCCESS';

function source(found: Record<string, unknown>): SourcePart[] {
  const url = ['uri', 'sourceUri', 'retrievedUrl']
    .map((field) => nonEmptyString(found[field]))
    .find((address) => address !== undefined);
  const [title, text] = [nonEmptyString(found['title']), nonEmptyString(found['text'])];
  if (url === undefined && title === undefined && text === undefined) return [];
  return [{ type: 'source', ...omitUndefined({ url, title, text }) }];
}
