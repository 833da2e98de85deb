import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import { omitUndefined } from '../../core/json/json.js';
import { base64, type FilePart, type SourcePart } from '../../core/message.js';
import type { SdkPartOf } from './openStream.js';
import { checkPart } from './parts.js';
import { metadataField } from './providerData.js';

type SdkSource = SdkPartOf<'source'>;

export interface SourceDecoder {
  /** A source inside a text is held until the end of the text, so that the text stays one part. */
  add(source: SdkSource, isInsideText: boolean): void;
  addCitations(citations: readonly LanguageModelV4Citation[]): void;
  readonly endText: () => void;
}

/** A citation and its part may have two ids (`@ai-sdk/anthropic`): the key is the URL, or title and file name. */
export function createSourceDecoder(provider: string, emit: (source: SourcePart) => void): SourceDecoder {
  const emittedKeys = new Set<string>();
  const heldSources = new Set<SdkSource>();
  const heldByKey = new Map<string, Set<SdkSource>>();
  const emitSource = (source: SdkSource) => {
    emittedKeys.add(getSourceKey(source));
    emit(toSource(source, provider));
  };
  const takeHeld = (key: string): SdkSource | undefined => {
    const sources = heldByKey.get(key);
    const source = sources?.values().next().value;
    if (source === undefined) return undefined;
    sources?.delete(source);
    heldSources.delete(source);
    return source;
  };
  const addCitation = ({ source, ...citation }: LanguageModelV4Citation) => {
    const key = getSourceKey(source);
    const passageKey = JSON.stringify([key, citation.citedText]);
    const cited = takeHeld(key);
    if (emittedKeys.has(passageKey) || (!cited && emittedKeys.has(key))) return;
    emittedKeys.add(passageKey);
    emit(toSource(cited ?? source, provider, citation));
  };
  return {
    add(source, isInsideText) {
      if (!isInsideText) {
        emitSource(source);
        return;
      }
      const key = getSourceKey(source);
      heldSources.add(source);
      heldByKey.set(key, (heldByKey.get(key) ?? new Set()).add(source));
    },
    addCitations(citations) {
      for (const citation of citations) {
        checkPart({ ...citation.source, type: 'source' });
        addCitation(citation);
      }
    },
    endText() {
      heldSources.forEach(emitSource);
      heldSources.clear();
      heldByKey.clear();
    },
  };
}

const getSourceKey = (source: SdkSource): string =>
  JSON.stringify(
    source.sourceType === 'url' ? { url: source.url } : { title: source.title, filename: source.filename },
  );

function toSource(
  source: SdkSource,
  provider: string,
  citation: Omit<LanguageModelV4Citation, 'source'> = {},
): SourcePart {
  const { id, title, providerMetadata } = source;
  const url = source.sourceType === 'url' ? source.url : undefined;
  const document = source.sourceType === 'document' ? { mediaType: source.mediaType, filename: source.filename } : {};
  const { citedText: text, startIndex: start, endIndex: end } = citation;
  const data = {
    ...omitUndefined(document),
    ...metadataField('metadata', providerMetadata),
  };
  return {
    type: 'source',
    id,
    ...omitUndefined({ url, title, text, start, end }),
    ...(Object.keys(data).length > 0 ? { providerData: { [provider]: data } } : {}),
  };
}

/** V4 tags the data with its type, V3 does not. */
export function toFile({ mediaType, data }: SdkPartOf<'file'>, providerData: Pick<FilePart, 'providerData'>): FilePart {
  const tagged = typeof data === 'object' && 'type' in data ? data : { type: 'data' as const, data };
  if (tagged.type === 'url') return { type: 'file', mediaType, url: new URL(tagged.url).href, ...providerData };
  if (typeof tagged.data !== 'string' && !ArrayBuffer.isView(tagged.data))
    throw new TypeError('its `data` is neither base64 nor bytes');
  const bytes = typeof tagged.data === 'string' ? tagged.data : base64(tagged.data);
  return { type: 'file', mediaType, data: bytes, ...providerData };
}
