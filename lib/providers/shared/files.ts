import { type ConfigurationError, optionsError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import { bytesOfBase64, type FilePart, type Part } from '../../core/message.js';
import type { OfType } from '../../core/typesOf.js';

/** Replaces a data URL with its bytes, because few APIs accept data URLs. Any other file is unchanged. */
export function inlineDataUrl(file: FilePart): OfType<Part, 'file'> {
  const inline = file.url === undefined ? undefined : parseDataUrl(file.url);
  if (!inline) return file;
  const { mediaType, name, providerData, providerOptions } = file;
  return { type: 'file', mediaType, data: inline.data, ...omitUndefined({ name, providerData, providerOptions }) };
}

/** A media type without parameters, in lower case. */
export const baseMediaType = (mediaType: string): string => (mediaType.split(';')[0] ?? '').trim().toLowerCase();

export function imageMediaType(format: string): string {
  const subtype = format.toLowerCase();
  return `image/${subtype === 'svg' ? 'svg+xml' : subtype}`;
}

/**
 * Returns the content of a text file, after the file's name, for APIs that do not accept text files.
 *
 * @param file The file.
 * @returns The text; undefined for a file that is not text or has only a URL.
 * @throws ConfigurationError `options` if the data is not base64.
 */
export function textOfFile({ data, mediaType, name }: FilePart): string | undefined {
  if (data === undefined || !isTextMediaType(baseMediaType(mediaType))) return undefined;
  const bytes = bytesOfBase64(data);
  if (!bytes) throw invalidFile(mediaType, 'is not base64');
  const text = new TextDecoder().decode(bytes);
  return name === undefined ? text : `${name}:\n${text}`;
}

const isTextMediaType = (mediaType: string): boolean =>
  mediaType.startsWith('text/') || /^application\/(.*\+)?(json|xml|yaml)$/.test(mediaType);

export const invalidFile = (mediaType: string, problem: string): ConfigurationError =>
  optionsError(`The data of a ${mediaType} file ${problem}.`, 'Build the part with filePart(bytes, mediaType).');

export const isImageFile = ({ mediaType }: FilePart): boolean => baseMediaType(mediaType).startsWith('image/');

export const dataUrl = ({ mediaType, data = '' }: FilePart): string => `data:${mediaType};base64,${data}`;

export function fileName({ name, mediaType }: FilePart): string {
  const subtype = (baseMediaType(mediaType).split('/')[1] ?? '').replace('svg+xml', 'svg');
  return name ?? `file.${/^[a-z0-9]{1,5}$/.test(subtype) ? subtype : 'bin'}`;
}

export function parseDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(',');
  if (comma < 0) return undefined;
  const [mediaType, ...attributes] = url.slice('data:'.length, comma).split(';');
  if (!attributes.some((attribute) => attribute.trim().toLowerCase() === 'base64')) return undefined;
  return {
    mediaType: mediaType === undefined || mediaType === '' ? 'text/plain' : mediaType,
    data: url.slice(comma + 1),
  };
}
