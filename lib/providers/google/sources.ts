import { defined, isRecord, listOf, textOf } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';

/**
 * The sources that a candidate names: what grounds it (`groundingMetadata.groundingChunks`: of the web, of files, of maps), what it recites
 * (`citationMetadata.citationSources`), and the pages that it was sent to (`urlContextMetadata.urlMetadata`), each as often as it comes.
 */
export function sourcesIn(candidate: Record<string, unknown>): readonly SourcePart[] {
  const list = (holder: unknown, ...fields: string[]) =>
    isRecord(holder) ? fields.flatMap((field) => listOf(holder[field])).filter(isRecord) : [];
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
    .map((field) => textOf(found[field]))
    .find((address) => address !== undefined);
  const [title, text] = [textOf(found['title']), textOf(found['text'])];
  if (url === undefined && title === undefined && text === undefined) return [];
  return [{ type: 'source', ...defined({ url, title, text }) }];
}
