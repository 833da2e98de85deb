import { ConfigurationError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { FilePart } from '../../core/message.js';
import type { Dialect } from './dialect.js';
import { dataUrl, essence, fileName, inlined, textInFile } from '../shared/files.js';

/** The two formats of sound that the API documents, and the media types they go by. */
const audioFormats: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/vnd.wave', 'wav'],
  ['audio/mp3', 'mp3'],
  ['audio/mpeg', 'mp3'],
]);

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
  if (file.url !== undefined)
    return { type: 'file', file: { filename: fileName(file), file_data: takenByAddress(file.url, mediaType, dialect) } };
  const format = audioFormats.get(mediaType);
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: file.data, format } };
  const text = textInFile(file);
  if (text !== undefined) return { type: 'text', text };
  return { type: 'file', file: { filename: fileName(file), file_data: dataUrl(file) } };
}

function takenByAddress(url: string, mediaType: string, { provider, fileUrls = false }: Dialect): string {
  if (fileUrls) return url;
  throw new ConfigurationError(
    'options',
    `${provider} takes images by address, but no other files: ${url} (${mediaType}).`,
    'Fetch it and pass its bytes: filePart(bytes, mediaType).',
  );
}
