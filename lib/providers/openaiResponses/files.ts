import { optionsError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, Part } from '../../core/message.js';
import { baseMediaType, dataUrl, fileName, inlineDataUrl } from '../shared/files.js';
import { withProviderOptions } from '../shared/providerOptions.js';
import { provider } from './models.js';

export function encodeContent(part: Part): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [withProviderOptions({ type: 'input_text', text: part.text }, provider, part)];
    case 'file':
      return [withProviderOptions(encodeFile(inlineDataUrl(part)), provider, part)];
    default:
      return [];
  }
}

/** The API accepts no audio and no video. */
export const isAudioOrVideo = ({ mediaType }: FilePart): boolean => /^(audio|video)\//.test(baseMediaType(mediaType));

/** PDFs, documents, spreadsheets and texts are accepted (guide "File inputs"). */
function encodeFile(file: FilePart): JsonObject {
  const mediaType = baseMediaType(file.mediaType);
  if (mediaType.startsWith('image/'))
    return { type: 'input_image', image_url: file.url ?? dataUrl(file), detail: 'auto' };
  if (isAudioOrVideo(file)) {
    throw optionsError(
      `The Responses API does not accept ${mediaType} files.`,
      'Use openaiChat() with an audio model, or send a transcript as text.',
    );
  }
  if (file.url !== undefined) return { type: 'input_file', file_url: file.url };
  return { type: 'input_file', filename: fileName(file), file_data: dataUrl(file) };
}
