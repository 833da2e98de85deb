import { asArray, contentParts, finiteNumber, isRecord, nonEmptyString, objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { FilePart, SourcePart } from '../../core/message.js';
import { parseDataUrl } from '../shared/files.js';
import type { MeasureReceiver, OtherContent } from './dialect.js';
import { toSource } from './sources.js';

export const otherContent: OtherContent = {
  readFiles,
  readReferences,
  readFrameSources,
  readReasoningDetails,
  readCost,
  addMeasures,
  readFailure,
};

/** OpenRouter's `images`, and Mistral's `ContentChunk`. */
function readFiles(delta: JsonObject): readonly FilePart[] {
  const images = asArray(delta['images']);
  const parts = contentParts(delta['content']);
  return images.length + parts.length === 0 ? [] : [...images, ...parts].flatMap(readFile);
}

function readFile(part: unknown): readonly FilePart[] {
  if (!isRecord(part)) return [];
  const { image_url: image, input_audio: audio, document_url: document, file_id: fileId } = part;
  if (audio !== undefined) return readAudio(audio);
  if (nonEmptyString(document) !== undefined)
    return toFiles(document, 'application/*', nonEmptyString(part['document_name']));
  if (part['type'] === 'file' && nonEmptyString(fileId) !== undefined) return [storedFile(String(fileId))];
  return toFiles(isRecord(image) ? image['url'] : image, 'image/*');
}

function toFiles(url: unknown, mediaType: string, name?: string): readonly FilePart[] {
  const text = nonEmptyString(url);
  if (text === undefined) return [];
  return [
    { type: 'file', ...(parseDataUrl(text) ?? { mediaType, url: text }), ...(name === undefined ? {} : { name }) },
  ];
}

/** Audio is base64 or a URL (Mistral), or an object with its format (OpenAI). */
function readAudio(audio: unknown): readonly FilePart[] {
  const fields = isRecord(audio) ? audio : { data: audio };
  const data = nonEmptyString(fields['data']);
  if (data === undefined) return [];
  if (/^(https?|data):/i.test(data)) return toFiles(data, 'audio/*');
  return [{ type: 'file', mediaType: `audio/${nonEmptyString(fields['format']) ?? '*'}`, data }];
}

/** A file that Mistral stores (`FileChunk`). Its content is at `GET /v1/files/{file_id}/content`. */
const storedFile = (fileId: string): FilePart => ({
  type: 'file',
  mediaType: 'application/octet-stream',
  url: `https://api.mistral.ai/v1/files/${encodeURIComponent(fileId)}/content`,
  providerData: { mistral: { file_id: fileId } },
});

function readReferences(delta: JsonObject): readonly SourcePart[] {
  return contentParts(delta['content']).flatMap(readReference);
}

/** Numbers of the documents in a tool's result (Mistral, "Citations and references"). */
function readReference(part: unknown): SourcePart[] {
  if (!isRecord(part)) return [];
  switch (part['type']) {
    case 'thinking': // its items are texts and references (Mistral, `ThinkChunk`)
      return asArray(part['thinking']).flatMap(readReference);
    case 'tool_reference':
      return toSource(part['url'], part['title'], part['description']);
    case 'reference':
      return asArray(part['reference_ids'])
        .filter((id) => typeof id === 'number' || nonEmptyString(id) !== undefined)
        .map((id) => ({ type: 'source', id: String(id) }));
    default:
      return [];
  }
}

const noSources: readonly SourcePart[] = [];

/** `search_results`, and the URLs in `citations` (documented by Perplexity and xAI). */
function readFrameSources(frame: JsonObject): readonly SourcePart[] {
  if (!frame['search_results'] && !frame['citations']) return noSources;
  return [
    ...asArray(frame['search_results'])
      .filter(isRecord)
      .flatMap((result) => toSource(result['url'], result['title'], result['snippet'])),
    ...asArray(frame['citations']).flatMap((url) => toSource(url)),
  ];
}

/** Texts and summaries (OpenRouter). Encrypted details have no readable text. */
function readReasoningDetails(delta: JsonObject): string {
  const details = delta['reasoning_details'];
  if (details === undefined) return '';
  return asArray(details)
    .map((detail) =>
      isRecord(detail) ? (nonEmptyString(detail['text']) ?? nonEmptyString(detail['summary']) ?? '') : '',
    )
    .join('');
}

function readCost(frame: JsonObject): number | undefined {
  return finiteNumber(objectOrEmpty(frame['usage'])['cost']);
}

/** llama.cpp sends `timings` of each token, and the `prompt_progress`, beside an empty delta. */
function addMeasures({ timings, prompt_progress }: JsonObject, report: MeasureReceiver): void {
  if (timings !== undefined) report.addUnknown({ timings });
  if (prompt_progress !== undefined) report.emitProgress({ prompt_progress });
}

/** MiniMax ends every response with a `base_resp`, in which 0 is success. */
function readFailure({ base_resp: status }: JsonObject): JsonObject | undefined {
  const code = objectOrEmpty(status)['status_code'];
  return typeof code === 'number' && code !== 0 ? objectOrEmpty(status) : undefined;
}
