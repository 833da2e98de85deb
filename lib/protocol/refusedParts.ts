import { asArray, isRecord, objectOrEmpty } from '../core/json/json.js';
import type { JsonValue } from '../core/json/json.js';
import { errorText } from '../core/errors.js';
import type { FilePart, Message, ToolResultPart } from '../core/message.js';

export type RefusedPart = FilePart | ToolResultPart;

/**
 * The files or the tool result that an error names: by their place in the body, or by their kind ("Could not process
 * image"). The newest ones of a kind come first; if those were not the cause (`isAgain`), all of it.
 */
export function refusedParts(
  error: unknown,
  messages: readonly Message[],
  body: unknown,
  isAgain: boolean,
): readonly RefusedPart[] {
  const { errors } = objectOrEmpty(error);
  const thrown = asArray(errors).at(-1) ?? error; // of `fallback`: the error of the last model
  if (!isRefusal(thrown)) return [];
  const text = errorText(thrown);
  const placed = partsAt(text, messages, body);
  if (placed.length > 0) return placed;
  const kind = fileKinds.find(([named]) => named.test(text))?.[1];
  if (!kind) return [];
  const candidates = messages
    .map((message) => filesOf(message).filter(({ mediaType }) => kind.test(mediaType)))
    .filter((files) => files.length > 0);
  return isAgain ? candidates.flat() : (candidates.at(-1) ?? []);
}

/** The statuses that are about the key, the account or the size of the whole request. */
const otherStatuses: readonly unknown[] = [401, 402, 403, 413];

function isRefusal(thrown: unknown): boolean {
  const { code, status, retryable } = objectOrEmpty(thrown);
  if (retryable === true) return false;
  return code === 'configuration' || code === 'provider' || (code === 'http' && !otherStatuses.includes(status));
}

const fileKinds: readonly (readonly [named: RegExp, mediaType: RegExp])[] = [
  [/\b(?:image|images|picture|image_url|vision)\b/i, /^image\//i],
  [/\baudio\b/i, /^audio\//i],
  [/\bvideo\b/i, /^video\//i],
  [/\b(?:pdf|documents?)\b/i, /^(?:application|text)\//i],
  [/\bfiles?\b|\b(?:mime|media)[ _-]?type\b/i, /./],
];

/** The files of a message, also those that its tools returned. */
const filesOf = ({ parts }: Message): readonly FilePart[] =>
  parts.flatMap((part): readonly unknown[] => (part.type === 'toolResult' ? itemsOf(part) : [part])).filter(isFile);

export const itemsOf = ({ result = null }: ToolResultPart): readonly JsonValue[] =>
  Array.isArray(result) ? (result as readonly JsonValue[]) : [result];

export const isFile = (item: unknown): item is FilePart =>
  isRecord(item) && item['type'] === 'file' && typeof item['mediaType'] === 'string';

/** `messages.3.content.1.image.source`, `input[2].content[0].image_url`, `contents[0].parts[2].inline_data`. */
const place = /\b(?:messages|input|contents)[.[]+\d+\]?(?:[.[]+\w+\]?)*/;

function partsAt(text: string, messages: readonly Message[], body: unknown): readonly RefusedPart[] {
  const path = place.exec(text)?.[0].match(/\w+/g) ?? [];
  const found: unknown[] = [body];
  for (const key of path) {
    // A step that the body does not have is skipped: Anthropic adds the type of a block to the path.
    const next = (found.at(-1) as Readonly<Record<string, unknown>>)[key];
    if (typeof next === 'object' && next !== null) found.push(next);
  }
  if (found.length < 3) return []; // not even a message
  const element = JSON.stringify(found.at(-1));
  const files = messages.flatMap(filesOf).filter(({ data, url }) => element.includes(data ?? url));
  if (files.length > 0) return files;
  const id = found.map(resultId).findLast((known) => known !== undefined);
  return messages
    .flatMap(({ parts }) => parts.filter((part) => part.type === 'toolResult' && part.id === id))
    .slice(-1) as ToolResultPart[];
}

/** The id of the call to which an element of a body has the result. */
function resultId(element: unknown): unknown {
  const { tool_call_id, tool_use_id, call_id, output, functionResponse } = objectOrEmpty(element);
  const own = tool_call_id ?? tool_use_id ?? (output === undefined ? undefined : call_id);
  return own ?? objectOrEmpty(functionResponse)['id'];
}
