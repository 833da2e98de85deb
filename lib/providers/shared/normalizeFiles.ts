import { ConfigurationError } from '../../core/errors.js';
import { isRecord } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import type { FilePart, Message, Part } from '../../core/message.js';
import { inlineDataUrl, parseDataUrl } from './files.js';
import { isFilePart } from './toolResultContent.js';

/**
 * Makes the files of a history such that every API accepts them: plain base64 (RFC 4648, 4) without a `data:` prefix,
 * line breaks or the URL alphabet, and media types in lower case. Empty texts beside a file are omitted, which OpenAI
 * and Anthropic refuse.
 *
 * @param messages The history.
 * @returns The same messages where nothing had to be changed.
 * @throws ConfigurationError `options` for a file whose data is empty or is not base64. In the result of a tool, such a
 * file becomes a text that says so: a run never ends by a file.
 */
export const normalizeFiles = (messages: readonly Message[]): readonly Message[] => messages.map(normalizeMessage);

function normalizeMessage(message: Message): Message {
  const { parts } = message;
  const hasFile = parts.some(({ type }) => type === 'file');
  const kept = hasFile ? parts.filter((part) => part.type !== 'text' || part.text !== '') : parts;
  const normalized = kept.map(normalizePart);
  const isSame = normalized.length === parts.length && normalized.every((part, index) => part === parts[index]);
  return isSame ? message : { ...message, parts: normalized };
}

function normalizePart(part: Part): Part {
  if (part.type === 'file') return normalizeFile(part);
  if (part.type !== 'toolResult' || part.error !== undefined) return part;
  const { result } = part;
  if (!isRecord(result) && !Array.isArray(result)) return part;
  const items = Array.isArray(result) ? (result as readonly JsonValue[]) : [result as JsonValue];
  const normalized = items.map(normalizeItem);
  if (normalized.every((item, index) => item === items[index])) return part;
  return { ...part, result: Array.isArray(result) ? normalized : (normalized[0] ?? null) };
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
  const changed: FilePart =
    file.data === undefined ? { ...file, mediaType } : { ...file, mediaType, data: normalData(file.data, mediaType) };
  const isSame = file === part && mediaType === part.mediaType && changed.data === part.data;
  const normalized = isSame ? part : changed;
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

const invalidFile = (mediaType: string, problem: string) =>
  new ConfigurationError(
    'options',
    `The data of a ${mediaType} file ${problem}.`,
    'Build the part with filePart(bytes, mediaType).',
  );
