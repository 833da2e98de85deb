import { asArray, contentParts, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { parseDataUrl } from '../shared/files.js';

/** Reads the images of a delta or a message (OpenRouter's `images`, and image parts in `content`), each as a file. */
export function readFiles(delta: JsonObject): readonly FilePart[] {
  const images = asArray(delta['images']);
  const parts = contentParts(delta['content']);
  return images.length + parts.length === 0 ? [] : [...images, ...parts].flatMap(toImageFile);
}

function toImageFile(part: unknown): FilePart[] {
  const image = isRecord(part) ? part['image_url'] : undefined;
  const url = nonEmptyString(isRecord(image) ? image['url'] : image);
  if (url === undefined) return [];
  return [{ type: 'file', ...(parseDataUrl(url) ?? { mediaType: 'image/*', url }) }];
}

/** Reads the sources that a delta or a message cites: Mistral's reference parts, and `url_citation` annotations. */
export function readSources(delta: JsonObject): readonly SourcePart[] {
  const parts = contentParts(delta['content']);
  const annotations = asArray(delta['annotations']);
  if (parts.length + annotations.length === 0) return [];
  return [...parts.flatMap(readReferences), ...annotations.flatMap(readAnnotation)];
}

/** `reference_ids` refer to the documents by their numbers in a tool's result (Mistral, "Citations and references"). */
function readReferences(part: unknown): SourcePart[] {
  if (!isRecord(part)) return [];
  switch (part['type']) {
    case 'tool_reference':
      return toSource(part['url'], part['title'], part['description']);
    case 'reference':
      return asArray(part['reference_ids'])
        .filter((id) => typeof id === 'number' || nonEmptyString(id) !== undefined)
        .map((id) => ({ type: 'source', id: String(id) }));
    default:
      return [];
  }
}

function readAnnotation(annotation: unknown): SourcePart[] {
  if (!isRecord(annotation)) return [];
  const citation = isRecord(annotation['url_citation']) ? annotation['url_citation'] : annotation;
  return toSource(citation['url'], citation['title'], citation['content']);
}

/** Reads the sources of a frame: `search_results`, and the URLs in `citations` (documented by Perplexity and xAI). */
export function readFrameSources(frame: JsonObject): readonly SourcePart[] {
  if (!frame['search_results'] && !frame['citations']) return [];
  return [
    ...asArray(frame['search_results'])
      .filter(isRecord)
      .flatMap((result) => toSource(result['url'], result['title'], result['snippet'])),
    ...asArray(frame['citations']).flatMap((url) => toSource(url)),
  ];
}

function toSource(url: unknown, title?: unknown, text?: unknown): SourcePart[] {
  if (nonEmptyString(url) === undefined) return [];
  return [
    {
      type: 'source',
      ...omitUndefined({ url: nonEmptyString(url), title: nonEmptyString(title), text: nonEmptyString(text) }),
    },
  ];
}
