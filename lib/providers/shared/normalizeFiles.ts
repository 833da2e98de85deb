import { mapChanged } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import type { FilePart, Message, Part } from '../../core/message.js';
import { inlineDataUrl, invalidFile, parseDataUrl } from './files.js';
import { isFilePart } from './toolResultContent.js';

/** Base64 without `data:` or line breaks. OpenAI and Anthropic refuse empty texts beside a file. */
export function normalizeFiles(message: Message): Message {
  const isEmpty = (part: Part) => part.type === 'text' && part.text === '';
  const hasFile = message.parts.some(({ type }) => type === 'file');
  const kept = hasFile && message.parts.some(isEmpty) ? message.parts.filter((part) => !isEmpty(part)) : message.parts;
  const parts = mapChanged(kept, normalizePart);
  return parts === message.parts ? message : { ...message, parts };
}

function normalizePart(part: Part): Part {
  if (part.type === 'file') return normalizeFile(part);
  if (part.type !== 'toolResult' || part.error !== undefined) return part;
  const { result } = part;
  const normalized = Array.isArray(result)
    ? mapChanged(result as readonly JsonValue[], normalizeItem)
    : normalizeItem(result);
  return normalized === result ? part : { ...part, result: normalized };
}

function normalizeItem(item: JsonValue): JsonValue {
  if (!isFilePart(item)) return item;
  try {
    return normalizeFile(item);
  } catch (error) {
    return `[${(error as Error).message}]`;
  }
}

/** Files are immutable, and each turn sends those of the history again. */
const normalizedFiles = new WeakMap<FilePart, FilePart>();

function normalizeFile(part: FilePart): FilePart {
  const known = normalizedFiles.get(part);
  if (known) return known;
  const file = inlineDataUrl(part);
  const mediaType = normalMediaType(file.mediaType);
  const data = file.data === undefined ? undefined : normalData(file.data, mediaType);
  const isSame = file === part && mediaType === part.mediaType && data === part.data;
  const normalized = isSame ? part : ({ ...file, mediaType, ...(data !== undefined && { data }) } as FilePart);
  normalizedFiles.set(part, normalized);
  return normalized;
}

/** Parameters keep their case. `image/jpg` is a common name of `image/jpeg`. */
function normalMediaType(mediaType: string): string {
  const type = mediaType.trim().replace(/^[^;]*/, (name) => name.toLowerCase());
  return type === 'image/jpg' ? 'image/jpeg' : type;
}

function normalData(data: string, mediaType: string): string {
  const plain = parseDataUrl(data)?.data ?? data;
  const clean = /[\s_-]/.test(plain) ? plain.replace(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/') : plain;
  const end = /=*$/.exec(clean.slice(-4))?.[0].length ?? 0;
  const length = clean.length - end;
  if (length === 0) throw invalidFile(mediaType, 'is empty');
  if (length % 4 === 1 || /[^A-Za-z\d+/]/.test(clean.slice(0, length))) throw invalidFile(mediaType, 'is not base64');
  const padding = (4 - (length % 4)) % 4;
  return end === padding ? clean : clean.slice(0, length) + '='.repeat(padding);
}
