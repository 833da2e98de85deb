import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import { omitUndefined } from '../../core/json/json.js';
import { base64 } from '../../core/message.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import type { SdkPart } from './openStream.js';
import { metadataField } from './providerData.js';

type Source = Extract<SdkPart, { readonly type: 'source' }>;

/** The sources of one answer. */
export interface Sources {
  /** A source; one within a text waits for its end, so that the text stays one part. */
  add(source: Source, within: boolean): void;
  /** What the text cites: sources with the passage, but for one that was told already. */
  cite(citations: readonly LanguageModelV4Citation[]): void;
  /** The text has ended, or the answer has broken off. */
  readonly settle: () => void;
}

/**
 * Tells what the model cites.
 *
 * A citation may name a source that came by itself too, under another id (`@ai-sdk/anthropic` makes one up for the first and
 * counts documents for the second): pages are told apart by their address, documents by their title and file. One that still waits is told with its
 * passage.
 *
 * @param provider The name for what has no field of its own.
 * @param tell Takes the sources.
 */
export function createSources(provider: string, tell: (source: SourcePart) => void): Sources {
  const told = new Set<string>();
  let waiting: Source[] = [];
  const put = (source: Source) => {
    told.add(identity(source));
    tell(sourceOf(source, provider));
  };
  const citeOne = ({ source, ...citation }: LanguageModelV4Citation) => {
    const name = identity(source);
    const passage = JSON.stringify([name, citation.citedText]);
    const came = waiting.find((one) => identity(one) === name);
    waiting = waiting.filter((one) => one !== came);
    if (told.has(passage) || (!came && told.has(name))) return;
    told.add(passage);
    tell(sourceOf(came ?? source, provider, citation));
  };
  return {
    add(source, within) {
      if (within) waiting.push(source);
      else put(source);
    },
    cite(citations) {
      citations.forEach(citeOne);
    },
    settle() {
      waiting.forEach(put);
      waiting = [];
    },
  };
}

const identity = (source: Source): string =>
  JSON.stringify(
    source.sourceType === 'url' ? { url: source.url } : { title: source.title, filename: source.filename },
  );
type Of<Type extends SdkPart['type']> = Extract<SdkPart, { readonly type: Type }>;

/** A file that the model made. V4 tags its data, V3 does not. */
export function fileOf({ mediaType, data }: Of<'file'>, own: Pick<FilePart, 'providerData'>): FilePart {
  const tagged = typeof data === 'object' && 'type' in data ? data : { type: 'data' as const, data };
  if (tagged.type === 'url') return { type: 'file', mediaType, url: String(tagged.url), ...own };
  return { type: 'file', mediaType, data: typeof tagged.data === 'string' ? tagged.data : base64(tagged.data), ...own };
}

/** Something that the model cites, with the passage. What has no field of its own stays under the provider's name. */
export function sourceOf(
  part: Of<'source'>,
  provider: string,
  citation: Omit<LanguageModelV4Citation, 'source'> = {},
): SourcePart {
  const { id, title, providerMetadata } = part;
  const document = part.sourceType === 'document' ? { mediaType: part.mediaType, filename: part.filename } : {};
  const { citedText: text, startIndex, endIndex } = citation;
  const own = {
    ...omitUndefined({ ...document, startIndex, endIndex }),
    ...metadataField('metadata', providerMetadata),
  };
  return {
    type: 'source',
    id,
    ...(part.sourceType === 'url' ? { url: part.url } : {}),
    ...(title === undefined ? {} : { title }),
    ...(text === undefined ? {} : { text }),
    ...(Object.keys(own).length > 0 ? { providerData: { [provider]: own } } : {}),
  };
}
