import { asArray, finiteNumber, isJsonObject, nonEmptyString, omit, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { imageMediaType, inlineDataUrl } from '../shared/files.js';
import { provider } from './models.js';

interface KeyedSource {
  readonly key: string;
  readonly source: SourcePart;
}

interface KeyedFile {
  readonly key: string;
  readonly file: FilePart;
}

export function readCitedSources(holder: JsonObject): readonly KeyedSource[] {
  const { annotation, annotations: list, part, content } = holder;
  if (annotation === undefined && list === undefined && part === undefined && content === undefined) return noSources;
  const parts = [holder, part, ...asArray(content)].filter(isJsonObject);
  const annotations = parts.flatMap((citing) => [...asArray(citing['annotation']), ...asArray(citing['annotations'])]);
  return annotations.filter(isJsonObject).flatMap(readCitedSource);
}

/** Shared: a text delta, which has no annotations, allocates nothing. */
const noSources: readonly KeyedSource[] = [];

/** A cited file has a position for its insertion; the index of a `file_path` counts files (SDK openai 7.57). */
function readPosition({ type, start_index: start, end_index: end, index }: JsonObject) {
  const inserted = type === 'file_citation' ? finiteNumber(index) : undefined;
  return { start: finiteNumber(start) ?? inserted, end: finiteNumber(end) ?? inserted };
}

/** A page or a file; a `container_file_citation` names the container to fetch the file from. */
function readCitedSource(annotation: JsonObject): readonly KeyedSource[] {
  const citation = isJsonObject(annotation['url_citation']) ? annotation['url_citation'] : annotation;
  const url = nonEmptyString(citation['url']);
  const id = nonEmptyString(citation['file_id']);
  const container = nonEmptyString(citation['container_id']);
  if (url === undefined && id === undefined) return [];
  const title = nonEmptyString(citation['title']) ?? nonEmptyString(citation['filename']);
  const providerData = container === undefined ? undefined : { [provider]: { container_id: container } };
  const source: SourcePart = {
    type: 'source',
    ...omitUndefined({ id, url, title, ...readPosition(citation), providerData }),
  };
  return [{ key: JSON.stringify(['source', url, container, id]), source }];
}

export function readCreatedFiles(item: JsonObject): readonly KeyedFile[] {
  switch (item['type']) {
    case 'image_generation_call':
      return generatedImage(item);
    case 'code_interpreter_call':
      return asArray(item['outputs']).filter(isJsonObject).flatMap(displayedImage);
    default:
      return [];
  }
}

function generatedImage(item: JsonObject): readonly KeyedFile[] {
  const data = nonEmptyString(item['result']);
  if (data === undefined) return [];
  const mediaType = imageMediaType(nonEmptyString(item['output_format']) ?? 'png');
  const providerData = { [provider]: omit(item, 'result') };
  const file: FilePart = { type: 'file', mediaType, data, providerData };
  return [{ key: JSON.stringify(['generated', nonEmptyString(item['id']) ?? data]), file }];
}

function displayedImage(output: JsonObject): readonly KeyedFile[] {
  const url = output['type'] === 'image' ? nonEmptyString(output['url']) : undefined;
  if (url === undefined) return [];
  return [{ key: JSON.stringify(['shown', url]), file: inlineDataUrl({ type: 'file', mediaType: 'image/png', url }) }];
}
