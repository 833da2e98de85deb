import { defined, isJsonObject, listOf, textOf } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { inlined } from '../shared/files.js';
import { provider } from './models.js';

/** The annotations of an event or of an item: one that was added, those of a part, those of all parts. */
export function annotationsIn(holder: JsonObject): readonly JsonObject[] {
  const parts = [holder, holder['part'], ...listOf(holder['content'])].filter(isJsonObject);
  return parts.flatMap((part) => [...listOf(part['annotation']), ...listOf(part['annotations'])]).filter(isJsonObject);
}

/**
 * The source that an annotation cites, with what tells it from others: a page (`url_citation`), or a file (`file_citation`, `file_path`, and
 * `container_file_citation`, whose container is needed to fetch it).
 */
export function sourceOf(annotation: JsonObject): { readonly key: string; readonly source: SourcePart } | undefined {
  const cited = isJsonObject(annotation['url_citation']) ? annotation['url_citation'] : annotation;
  const [url, id, container] = [textOf(cited['url']), textOf(cited['file_id']), textOf(cited['container_id'])];
  if (url === undefined && id === undefined) return undefined;
  const title = textOf(cited['title']) ?? textOf(cited['filename']);
  const source: SourcePart = {
    type: 'source',
    ...defined({
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
  const id = textOf(item['id']);
  const data = type === 'image_generation_call' ? textOf(result) : undefined;
  const mediaType = `image/${textOf(format) ?? 'png'}`;
  const own = defined({ providerData: id === undefined ? undefined : { [provider]: { id } } });
  const made =
    data === undefined
      ? []
      : [{ key: JSON.stringify(['made', id ?? data]), file: { type: 'file', mediaType, data, ...own } as const }];
  const shown = type === 'code_interpreter_call' ? listOf(item['outputs']).filter(isJsonObject) : [];
  const images = shown.flatMap((output) => {
    const url = output['type'] === 'image' ? textOf(output['url']) : undefined;
    return url === undefined
      ? []
      : [{ key: JSON.stringify(['shown', url]), file: inlined({ type: 'file', mediaType: 'image/png', url }) }];
  });
  return [...made, ...images];
}
