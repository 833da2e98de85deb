import { ConfigurationError } from '../../core/errors.js';
import { defined, objectOf } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import type { FilePart } from '../../core/message.js';
import { essence, inlined, textInFile } from '../shared/files.js';

const images: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/**
 * The content block for a file (Messages API reference, `ImageBlockParam` and `DocumentBlockParam`): images and PDF by address or as bytes, texts
 * as their text. Fields in the part's own `providerData.anthropic` go onto the block: `{ citations: { enabled: true } }`, `{ context: '...' }`.
 *
 * @throws ConfigurationError `options` for what the API does not take.
 */
export function encodeFile(part: FilePart): JsonObject {
  const file = inlined(part);
  const mediaType = essence(file.mediaType);
  const kind = mediaType.startsWith('image/') ? 'image' : 'document';
  return {
    type: kind,
    source: sourceOf(file, mediaType),
    ...defined({ title: kind === 'document' ? file.name : undefined }),
    ...objectOf(part.providerData?.['anthropic']),
  };
}

function sourceOf({ data, url }: FilePart, mediaType: string): JsonObject {
  const image = mediaType.startsWith('image/');
  if (url !== undefined) {
    if (image || mediaType === 'application/pdf') return { type: 'url', url };
    throw refused(`by address only images and PDF: ${url} (${mediaType})`, 'Fetch it and pass its bytes: filePart(bytes, mediaType).');
  }
  if (image ? images.has(mediaType) : mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data };
  const text = textInFile({ type: 'file', mediaType, data });
  if (text !== undefined) return { type: 'text', media_type: 'text/plain', data: text };
  throw refused(`no files of type ${mediaType}`, 'Pass JPEG, PNG, GIF, WebP, PDF or text.');
}

const refused = (what: string, next: string) => new ConfigurationError('options', `anthropic takes ${what}.`, next);
