import { asArray, finiteNumber, isRecord, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { SourcePart } from '../../core/message.js';

export function readAnnotations(delta: JsonObject): readonly SourcePart[] {
  return asArray(delta['annotations']).flatMap(readAnnotation);
}

function readAnnotation(annotation: unknown): SourcePart[] {
  if (!isRecord(annotation)) return [];
  const citation = isRecord(annotation['url_citation']) ? annotation['url_citation'] : annotation;
  const position = { start: finiteNumber(citation['start_index']), end: finiteNumber(citation['end_index']) };
  return toSource(citation['url'], citation['title'], citation['content'], position);
}

export function toSource(
  url: unknown,
  title?: unknown,
  text?: unknown,
  position: { readonly start?: number | undefined; readonly end?: number | undefined } = {},
): SourcePart[] {
  if (nonEmptyString(url) === undefined) return [];
  return [
    {
      type: 'source',
      ...omitUndefined({ url: nonEmptyString(url), title: nonEmptyString(title), text: nonEmptyString(text) }),
      ...omitUndefined(position),
    },
  ];
}
