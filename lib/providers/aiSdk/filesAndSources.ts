import type { LanguageModelV4Citation } from '@ai-sdk/provider';
import { defined } from '../../core/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { base64 } from '../../core/message.js';
import type { SdkPart } from './openStream.js';
import { metadataField } from './own.js';

type Of<Type extends SdkPart['type']> = Extract<SdkPart, { readonly type: Type }>;

/** A file that the model made. V4 tags its data, V3 does not. */
export function fileOf({ mediaType, data }: Of<'file'>, own: Pick<FilePart, 'providerData'>): FilePart {
  const tagged = typeof data === 'object' && 'type' in data ? data : { type: 'data' as const, data };
  if (tagged.type === 'url') return { type: 'file', mediaType, url: String(tagged.url), ...own };
  return { type: 'file', mediaType, data: typeof tagged.data === 'string' ? tagged.data : base64(tagged.data), ...own };
}

/** Something that the model cites, with the passage. What has no field of its own stays under the provider's name. */
export function sourceOf(part: Of<'source'>, provider: string, citation: Omit<LanguageModelV4Citation, 'source'> = {}): SourcePart {
  const { id, title, providerMetadata } = part;
  const document = part.sourceType === 'document' ? { mediaType: part.mediaType, filename: part.filename } : {};
  const { citedText: text, startIndex, endIndex } = citation;
  const own = { ...defined({ ...document, startIndex, endIndex }), ...metadataField('metadata', providerMetadata) };
  return {
    type: 'source',
    id,
    ...(part.sourceType === 'url' ? { url: part.url } : {}),
    ...(title === undefined ? {} : { title }),
    ...(text === undefined ? {} : { text }),
    ...(Object.keys(own).length > 0 ? { providerData: { [provider]: own } } : {}),
  };
}
