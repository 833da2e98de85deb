import { omitUndefined, isJsonObject, asArray, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { inlineDataUrl } from '../shared/files.js';
import { provider } from './models.js';

/** The annotations of an event or of an item: one that was added, those of a part, those of all parts. */
export function annotationsIn(holder: JsonObject): readonly JsonObject[] {
  const parts = [holder, holder['part'], ...asArray(holder['content'])].filter(isJsonObject);
  return parts
    .flatMap((part) => [...asArray(part['annotation']), ...asArray(part['annotations'])])
    .filter(isJsonObject);
}

/**
 * The source that an annotation cites, with what tells it from others: a page (`url_citation`), or a file (`file_citation`, `file_path`, and
 * `container_file_citation`, whose container is needed to fetch it).
 */
export function sourceOf(annotation: JsonObject): { readonly key: string; readonly source: SourcePart } | undefined {
  const cited = isJsonObject(annotation['url_citation']) ? annotation['url_citation'] : annotation;
  const [url, id, container] = [
    nonEmptyString(cited['url']),
    nonEmptyString(cited['file_id']),
    nonEmptyString(cited['container_id']),
  ];
  if (url === undefined && id === undefined) return undefined;
  const title = nonEmptyString(cited['title']) ?? nonEmptyString(cited['filename']);
  const source: SourcePart = {
    type: 'source',
    ...omitUndefined({
      id,
      url,
      title,
      providerData: container === undefined ? undefined : { [provider]: { container_id: container } },
    }),
  };
  return { key: JSON.stringify(['source', url, container, id]), source };
}

/** The files that a server-side tool made: the image of `image_generation_call`, and the images among the outputs of `code_interpreter_call`. */
export function filesOf(item: JsonObject): readonly { readonly key: string; readonly file: FilePart }[] {
  const { type, result, output_format: format } = item;
  const id = nonEmptyString(item['id']);
  const data = type === 'image_generation_call' ? nonEmptyString(result) : undefined;
  const mediaType = `image/${nonEmptyString(format) ?? 'png'}`;
  const own = omitUndefined({ providerData: id === undefined ? undefined : { [provider]: { id } } });
  const made =
    data === undefined
      ? []
      : [{ key: JSON.stringify(['made', id ?? data]), file: { type: 'file', mediaType, data, ...own } as const }];
  const shown = type === 'code_interpreter_call' ? asArray(item['outputs']).filter(isJsonObject) : [];
  const images = shown.flatMap((output) => {
    const url = output['type'] === 'image' ? nonEmptyString(output['url']) : undefined;
    return url === undefined
      ? []
      : [{ key: JSON.stringify(['shown', url]), file: inlineDataUrl({ type: 'file', mediaType: 'image/png', url }) }];
  });
  return [...made, ...images];
}
