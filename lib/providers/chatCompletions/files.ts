import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { FilePart } from '../../core/message.js';
import type { Dialect } from './dialect.js';
import { dataUrl, essence, fileName, inlined, textInFile } from '../shared/files.js';

/** The format of a sound, by its media type: the API documents two. */
function audioFormat(mediaType: string): string | undefined {
  if (/^audio\/(wav|wave|x-wav|vnd\.wave)$/.test(mediaType)) return 'wav';
  return /^audio\/(mp3|mpeg)$/.test(mediaType) ? 'mp3' : undefined;
}

/**
 * The content part for a file. Images go as `image_url`, by address or as bytes; WAV and MP3 as `input_audio`; texts as text, since the API takes
 * no text files (OpenAI's guide to file inputs: read the file and send its contents as a text part); all else, PDF above all, as `file`.
 *
 * @throws ConfigurationError `options` for an address where the API takes bytes only.
 */
export function encodeFile(part: FilePart, dialect: Dialect): JsonObject {
  const file = inlined(part);
  const own = dialect.file?.(file);
  if (own !== undefined) return own;
  const mediaType = essence(file.mediaType);
  if (mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url: file.url ?? dataUrl(file) } };
  const whole = (file_data: string): JsonObject => ({ type: 'file', file: { filename: fileName(file), file_data } });
  if (file.url !== undefined) return whole(takenByAddress(file.url, mediaType, dialect));
  const format = audioFormat(mediaType);
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: file.data, format } };
  const text = textInFile(file);
  return text === undefined ? whole(dataUrl(file)) : { type: 'text', text };
}

function takenByAddress(url: string, mediaType: string, { provider, fileUrls = false }: Dialect): string {
  if (fileUrls) return url;
  throw new ConfigurationError(
    'options',
    `${provider} takes images by address, but no other files: ${url} (${mediaType}).`,
    'Fetch it and pass its bytes: filePart(bytes, mediaType).',
  );
}
