import { ConfigurationError } from '../../core/errors.js';
import { omitUndefined } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';

/** A file whose address is a data URL, with its bytes: it holds them, and few APIs take it as an address. Others as they are. */
export function inlineDataUrl(file: FilePart): FilePart {
  const inline = file.url === undefined ? undefined : parseDataUrl(file.url);
  if (!inline) return file;
  const { mediaType, name, providerData } = file;
  return { type: 'file', mediaType, data: inline.data, ...omitUndefined({ name, providerData }) };
}

/** A media type without parameters, in lower case. */
export const baseMediaType = (mediaType: string): string => (mediaType.split(';')[0] ?? '').trim().toLowerCase();

/**
 * What a text file says, behind its name: for APIs that take no text files.
 *
 * @param file The file.
 * @returns Undefined for what is no text, and for what is given by address.
 * @throws ConfigurationError `options` when the data is not base64.
 */
export function textOfFile({ data, mediaType, name }: FilePart): string | undefined {
  if (data === undefined || !isTextMediaType(baseMediaType(mediaType))) return undefined;
  const text = decodeText(data, mediaType);
  return name === undefined ? text : `${name}:\n${text}`;
}

/** Whether a media type, in its essence, is one of text. */
export const isTextMediaType = (mediaType: string): boolean =>
  mediaType.startsWith('text/') || /^application\/(.*\+)?(json|xml|yaml)$/.test(mediaType);

/**
 * The text of base64 data.
 *
 * @throws ConfigurationError `options` when it is not base64.
 */
export function decodeText(data: string, mediaType: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0)));
  } catch (cause) {
    throw new ConfigurationError(
      'options',
      `The data of a ${mediaType} file is not base64 (${String(cause)}).`,
      'Build the part with filePart(bytes, mediaType).',
    );
  }
}

/** The bytes of a file as a data URL. */
export const dataUrl = ({ mediaType, data }: FilePart): string => `data:${mediaType};base64,${data}`;

/** A name for a file, for APIs that want one. A short subtype is the usual extension (`pdf`). */
export function fileName({ name, mediaType }: FilePart): string {
  const subtype = baseMediaType(mediaType).split('/')[1] ?? '';
  return name ?? `file.${/^[a-z0-9]{1,5}$/.test(subtype) ? subtype : 'bin'}`;
}

/** A data URL taken apart, or undefined when it is none in base64. */
export function parseDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(',');
  const [mediaType, ...attributes] = url.slice('data:'.length, Math.max(comma, 0)).split(';');
  if (comma < 0 || !attributes.some((attribute) => attribute.trim().toLowerCase() === 'base64')) return undefined;
  return {
    mediaType: mediaType === undefined || mediaType === '' ? 'text/plain' : mediaType,
    data: url.slice(comma + 1),
  };
}
