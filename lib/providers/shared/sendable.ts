import { growingList } from '../../core/growing.js';
import { createHistoryRepair } from '../../core/history.js';
import { mapParts, type Message, type FilePart, type Part } from '../../core/message.js';
import type { ToolDefinition } from '../../core/tool.js';
import { holdsFile } from '../../protocol/encodeOnce.js';
import { mapChanged, type JsonValue } from '../../core/json/json.js';
import { inlineDataUrl, invalidFile, parseDataUrl } from './files.js';
import { isFilePart } from './toolResultContent.js';

export type ToSendable = (
  messages: readonly Message[],
  tools: readonly ToolDefinition[] | undefined,
) => readonly Message[];

/**
 * Makes a history that any provider accepts; each wire omits the `ProviderPart`s of others. Created once for a model:
 * of a conversation that has grown, it reads only the new messages. `isSeparate`: as for `repairHistory`; `placeFiles`
 * moves files out of results, if the API has to.
 */
export function createSendable(
  isSeparate: (message: Message) => boolean,
  placeFiles: (message: Message) => Message,
): ToSendable {
  const repair = createHistoryRepair(isSeparate);
  const converterFor = (oddNames: readonly string[]) => {
    const names = new Set(oddNames);
    return growingList((message: Message) => {
      const named = mapCallNames(message, names);
      return [named.parts.some(holdsFile) ? placeFiles(normalizeFiles(named)) : named];
    });
  };
  let oddNames: readonly string[] = [];
  let convert = converterFor(oddNames);
  return (messages, tools = []) => {
    const names = tools.map(({ name }) => name).filter(isOddName);
    if (names.join() !== oddNames.join()) {
      oddNames = names;
      convert = converterFor(names);
    }
    return convert(repair(messages));
  };
}

/** A name that the model has invented would fail each later request (opencode#48750). OpenAI, Google: 64 characters. */
function mapCallNames(message: Message, toolNames: ReadonlySet<string>): Message {
  return mapParts(message, (part) =>
    (part.type === 'toolCall' || part.type === 'toolResult') && isOddName(part.name) && !toolNames.has(part.name)
      ? { ...part, name: wireName(part.name) }
      : part,
  );
}

const isOddName = (name: string): boolean => !/^[A-Za-z_][\w-]{0,63}$/.test(name);

/** Google refuses a digit at the start. */
function wireName(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').replace(/\W+/g, '_').slice(0, 63);
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}

/** Base64 without `data:` or line breaks. OpenAI and Anthropic refuse empty texts beside a file. */
export function normalizeFiles(message: Message): Message {
  const isEmpty = (part: Part) => part.type === 'text' && part.text === '';
  const hasFile = message.parts.some(({ type }) => type === 'file');
  const kept = hasFile && message.parts.some(isEmpty) ? message.parts.filter((part) => !isEmpty(part)) : message.parts;
  // What a user sends is an error; the file of a model would fail each later request.
  const isAnswer = message.role === 'model';
  const parts = mapChanged(kept, (part) => (isAnswer ? normalizeAnswerPart(part) : normalizePart(part)));
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

function normalizeAnswerPart(part: Part): Part {
  try {
    return normalizePart(part);
  } catch (error) {
    return { type: 'text', text: `[${(error as Error).message}]` };
  }
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
