import { type ConfigurationError, capabilityError } from '../../core/errors.js';
import { isRecord, type JsonValue } from '../../core/json/json.js';
import { editedArgumentsNote, type FilePart, type Part, type ToolResultPart } from '../../core/message.js';
import { resultText } from './encode.js';
import { encodeJson } from '../../protocol/encodeOnce.js';
import type { OfType } from '../../core/typesOf.js';

export type ToolResultContent = { readonly type: 'text'; readonly text: string } | FilePart;

/**
 * Splits the result of a tool into texts and files, for APIs that accept files in tool results. A result contains files
 * if it is a file part, or an array with at least one file part; the other items of the array are texts or JSON.
 *
 * @returns The contents in order. A result without files is one text.
 */
export function toolResultContent(part: ToolResultPart): readonly OfType<Part, 'text' | 'file'>[] {
  if (fileItems(part).length === 0) return [{ type: 'text', text: resultText(part) }];
  const note = editedArgumentsNote(part);
  return [...(note ? [note] : []), ...itemsOf(part)].map((item) =>
    isFilePart(item) ? item : { type: 'text', text: textOfItem(item) },
  );
}

export const fileItems = (part: ToolResultPart): readonly FilePart[] => itemsOf(part).filter(isFilePart);

const itemsOf = ({ result = null }: ToolResultPart): readonly JsonValue[] =>
  Array.isArray(result) ? (result as readonly JsonValue[]) : [result];

function textOfItem(item: JsonValue): string {
  if (typeof item === 'string') return item;
  if (isRecord(item) && item['type'] === 'text' && typeof item['text'] === 'string') return item['text'];
  return encodeJson(item);
}

export function isFilePart(value: unknown): value is FilePart {
  if (!isRecord(value) || value['type'] !== 'file' || typeof value['mediaType'] !== 'string') return false;
  return typeof value['data'] === 'string' || typeof value['url'] === 'string';
}

/**
 * Creates the error for a file in a tool result, for an API that accepts none, or none of this type.
 *
 * @param provider The provider, and the model where it matters.
 * @param tool The name of the tool.
 */
export function unsupportedResultFileError(
  provider: string,
  tool: string,
  { mediaType }: FilePart,
): ConfigurationError {
  return capabilityError(
    `${provider} does not accept ${mediaType} files in tool results (tool "${tool}").`,
    'Return a text or a URL from the tool, or use a model that reads files in tool results.',
  );
}
