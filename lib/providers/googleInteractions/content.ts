import { asArray, isJsonObject, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import type { FilePart, SourcePart, TextPart } from '../../core/message.js';
import { baseMediaType, inlineDataUrl, textOfFile } from '../shared/files.js';
import { withProviderOptions } from '../shared/providerOptions.js';
import { provider } from './providerData.js';

export function encodeContent(part: TextPart | FilePart): JsonObject {
  const content = part.type === 'text' ? { type: 'text', text: part.text } : encodeFile(inlineDataUrl(part));
  return withProviderOptions(content, provider, part);
}

function encodeFile(file: FilePart): JsonObject {
  const mediaType = baseMediaType(file.mediaType);
  const text = documentTypes.test(mediaType) ? undefined : textOfFile(file);
  if (text !== undefined) return { type: 'text', text };
  const mimeType = mediaType.includes('*') ? undefined : mediaType;
  return omitUndefined({ type: contentType(mediaType), mime_type: mimeType, data: file.data, uri: file.url });
}

/** The media types of `DocumentContent`. Other texts are sent as text. */
const documentTypes = /^(application\/pdf|text\/csv)$/;

const contentType = (mediaType: string): string => /^(image|audio|video)\//.exec(mediaType)?.[1] ?? 'document';

/** `FunctionResultSubcontent`: bytes of an image or a document. */
export const acceptsInResult = ({ mediaType, url }: FilePart): boolean =>
  url === undefined && /^(image\/|text\/|application\/pdf)/.test(baseMediaType(mediaType));

export function readFile({ type, data, uri, mime_type: mimeType }: JsonObject): FilePart | undefined {
  const defaultType = defaultTypes.get(type);
  if (defaultType === undefined) return undefined;
  const mediaType = nonEmptyString(mimeType) ?? defaultType;
  const bytes = nonEmptyString(data);
  if (bytes !== undefined) return { type: 'file', mediaType, data: bytes };
  const url = nonEmptyString(uri);
  return url === undefined ? undefined : { type: 'file', mediaType, url };
}

const defaultTypes: ReadonlyMap<unknown, string> = /* @__PURE__ */ new Map([
  ['image', 'image/png'],
  ['audio', 'audio/wav'],
  ['video', 'video/mp4'],
  ['document', 'application/pdf'],
]);

export const readSources = (annotations: JsonValue | undefined): readonly SourcePart[] =>
  asArray(annotations).flatMap((annotation) => (isJsonObject(annotation) ? readSource(annotation) : []));

function readSource(annotation: JsonObject): readonly SourcePart[] {
  const url = nonEmptyString(annotation['url']) ?? nonEmptyString(annotation['document_uri']);
  const title =
    nonEmptyString(annotation['title']) ??
    nonEmptyString(annotation['file_name']) ??
    nonEmptyString(annotation['name']);
  const text = nonEmptyString(annotation['source']);
  if ((url ?? title) === undefined) return [];
  return [{ type: 'source', ...omitUndefined({ url, title, text }) }];
}
