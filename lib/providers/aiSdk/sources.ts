import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import { omitUndefined } from '../../core/json/json.js';
import { base64 } from '../../core/message.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import type { SdkPartOf } from './openStream.js';
import { metadataField } from './providerData.js';

type SdkSource = SdkPartOf<'source'>;

/** Turns the sources of one response into source parts, each once. */
export interface SourceDecoder {
  /** Takes a source. A source inside a text waits for the end of the text, so that the text stays one part. */
  add(source: SdkSource, isInsideText: boolean): void;
  /** Takes the citations of a text: sources with the cited passage, unless they were emitted already. */
  addCitations(citations: readonly LanguageModelV4Citation[]): void;
  /** The text has ended, or the response was interrupted. */
  readonly endText: () => void;
}

/**
 * Creates the decoder of sources.
 *
 * A citation may name a source that also arrived by itself, under another id (`@ai-sdk/anthropic` makes up an id for
 * the first and counts documents for the second). So pages are identified by their URL, documents by title and file
 * name. A source that still waits is emitted with the passage of its citation.
 *
 * @param provider The key of the fields that a source part has no place for.
 * @param emit Takes the sources.
 */
export function createSourceDecoder(provider: string, emit: (source: SourcePart) => void): SourceDecoder {
  const emitted = new Set<string>();
  let waiting: SdkSource[] = [];
  const emitSource = (source: SdkSource) => {
    emitted.add(getSourceKey(source));
    emit(toSource(source, provider));
  };
  const addCitation = ({ source, ...citation }: LanguageModelV4Citation) => {
    const identity = getSourceKey(source);
    const passage = JSON.stringify([identity, citation.citedText]);
    const cited = waiting.find((candidate) => getSourceKey(candidate) === identity);
    waiting = waiting.filter((candidate) => candidate !== cited);
    if (emitted.has(passage) || (!cited && emitted.has(identity))) return;
    emitted.add(passage);
    emit(toSource(cited ?? source, provider, citation));
  };
  return {
    add(source, isInsideText) {
      if (isInsideText) waiting.push(source);
      else emitSource(source);
    },
    addCitations(citations) {
      citations.forEach(addCitation);
    },
    endText() {
      waiting.forEach(emitSource);
      waiting = [];
    },
  };
}

const getSourceKey = (source: SdkSource): string =>
  JSON.stringify(
    source.sourceType === 'url' ? { url: source.url } : { title: source.title, filename: source.filename },
  );

/** A source part, with the cited passage. Fields that it has no place for are stored as provider data. */
function toSource(
  source: SdkSource,
  provider: string,
  citation: Omit<LanguageModelV4Citation, 'source'> = {},
): SourcePart {
  const { id, title, providerMetadata } = source;
  const url = source.sourceType === 'url' ? source.url : undefined;
  const document = source.sourceType === 'document' ? { mediaType: source.mediaType, filename: source.filename } : {};
  const { citedText: text, startIndex, endIndex } = citation;
  const data = {
    ...omitUndefined({ ...document, startIndex, endIndex }),
    ...metadataField('metadata', providerMetadata),
  };
  return {
    type: 'source',
    id,
    ...omitUndefined({ url, title, text }),
    ...(Object.keys(data).length > 0 ? { providerData: { [provider]: data } } : {}),
  };
}

/** A file that the model made. V4 tags its data, V3 does not. */
export function toFile({ mediaType, data }: SdkPartOf<'file'>, providerData: Pick<FilePart, 'providerData'>): FilePart {
  const tagged = typeof data === 'object' && 'type' in data ? data : { type: 'data' as const, data };
  if (tagged.type === 'url') return { type: 'file', mediaType, url: String(tagged.url), ...providerData };
  const bytes = typeof tagged.data === 'string' ? tagged.data : base64(tagged.data);
  return { type: 'file', mediaType, data: bytes, ...providerData };
}
