import { asArray, isJsonObject, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { imageMediaType, inlineDataUrl } from '../shared/files.js';
import { provider } from './models.js';

/** A source, with a key that is the same for the same source. */
interface KeyedSource {
  readonly key: string;
  readonly source: SourcePart;
}

/** A file, with a key that is the same for the same file. */
interface KeyedFile {
  readonly key: string;
  readonly file: FilePart;
}

/** The sources that an event or an item cites: in an annotation that was added, or in those of its parts. */
export function citedSources(holder: JsonObject): readonly KeyedSource[] {
  const { annotation, annotations: list, part, content } = holder;
  if (annotation === undefined && list === undefined && part === undefined && content === undefined) return noSources;
  const parts = [holder, part, ...asArray(content)].filter(isJsonObject);
  const annotations = parts.flatMap((one) => [...asArray(one['annotation']), ...asArray(one['annotations'])]);
  return annotations.filter(isJsonObject).flatMap(citedSource);
}

/** Deltas of text have no annotations: nothing is allocated for them. */
const noSources: readonly KeyedSource[] = [];

/**
 * The source of an annotation: a page (`url_citation`), or a file (`file_citation`, `file_path`, and
 * `container_file_citation`, whose container is needed to fetch it).
 */
function citedSource(annotation: JsonObject): readonly KeyedSource[] {
  const citation = isJsonObject(annotation['url_citation']) ? annotation['url_citation'] : annotation;
  const url = nonEmptyString(citation['url']);
  const id = nonEmptyString(citation['file_id']);
  const container = nonEmptyString(citation['container_id']);
  if (url === undefined && id === undefined) return [];
  const title = nonEmptyString(citation['title']) ?? nonEmptyString(citation['filename']);
  const providerData = container === undefined ? undefined : { [provider]: { container_id: container } };
  const source: SourcePart = { type: 'source', ...omitUndefined({ id, url, title, providerData }) };
  return [{ key: JSON.stringify(['source', url, container, id]), source }];
}

/** The files that a server-side tool made: a generated image, or the images that a code interpreter showed. */
export function createdFiles(item: JsonObject): readonly KeyedFile[] {
  switch (item['type']) {
    case 'image_generation_call':
      return generatedImage(item);
    case 'code_interpreter_call':
      return asArray(item['outputs']).filter(isJsonObject).flatMap(shownImage);
    default:
      return [];
  }
}

function generatedImage(item: JsonObject): readonly KeyedFile[] {
  const data = nonEmptyString(item['result']);
  if (data === undefined) return [];
  const id = nonEmptyString(item['id']);
  const mediaType = imageMediaType(nonEmptyString(item['output_format']) ?? 'png');
  const providerData = id === undefined ? undefined : { [provider]: { id } };
  const file: FilePart = { type: 'file', mediaType, data, ...omitUndefined({ providerData }) };
  return [{ key: JSON.stringify(['generated', id ?? data]), file }];
}

function shownImage(output: JsonObject): readonly KeyedFile[] {
  const url = output['type'] === 'image' ? nonEmptyString(output['url']) : undefined;
  if (url === undefined) return [];
  return [{ key: JSON.stringify(['shown', url]), file: inlineDataUrl({ type: 'file', mediaType: 'image/png', url }) }];
}
