import { type ConfigurationError, optionsError } from '../../core/errors.js';
import { omitUndefined, type JsonObject } from '../../core/json/json.js';
import type { FilePart } from '../../core/message.js';
import { storedData } from '../../core/providerPart.js';
import { baseMediaType, inlineDataUrl, isImageFile, textOfFile } from '../shared/files.js';
import { withProviderOptions } from '../shared/providerOptions.js';

/** `ImageBlockParam` and `DocumentBlockParam`; provider data and options become fields of the block. */
export function encodeFile(part: FilePart): JsonObject {
  const file = inlineDataUrl(part);
  const source = encodeSource(file);
  if (!source) throw unsupportedFileError(file);
  const isImage = isImageFile(file);
  const block = {
    type: isImage ? 'image' : 'document',
    source,
    ...omitUndefined({ title: isImage ? undefined : file.name }),
    ...storedData(part, 'anthropic'),
  };
  return withProviderOptions(block, 'anthropic', part);
}

export const isSupported = (file: FilePart): boolean => encodeSource(inlineDataUrl(file)) !== undefined;

const imageTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

function encodeSource(file: FilePart): JsonObject | undefined {
  const { data, url } = file;
  const mediaType = baseMediaType(file.mediaType);
  const isPdf = mediaType === 'application/pdf';
  if (url !== undefined) return isPdf || isImageFile(file) ? { type: 'url', url } : undefined;
  if (isPdf || imageTypes.has(mediaType)) return { type: 'base64', media_type: mediaType, data };
  const text = textOfFile({ type: 'file', mediaType, data });
  return text === undefined ? undefined : { type: 'text', media_type: 'text/plain', data: text };
}

function unsupportedFileError({ mediaType, url }: FilePart): ConfigurationError {
  const type = baseMediaType(mediaType);
  return url === undefined
    ? optionsError(`anthropic does not accept files of type ${type}.`, 'Pass JPEG, PNG, GIF, WebP, PDF or text.')
    : optionsError(
        `anthropic accepts a URL only for images and PDFs, not for ${type} files: ${url}.`,
        'Fetch the file and pass its bytes: filePart(bytes, mediaType).',
      );
}
