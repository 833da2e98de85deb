import type { LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { asArray, isJsonObject, isRecord } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { ProviderData } from '../../core/message.js';

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/**
 * A part of the AI SDK's prompt that is not a part of this library's messages, but must be sent back: reasoning, calls
 * that the provider ran and their results, files of the reasoning, and custom content.
 */
export type ReplayPart = Exclude<AssistantContent, { readonly type: 'text' | 'file' }>;

/**
 * Creates the provider data of a part of the message: its metadata, and the replay parts before it.
 *
 * @param provider The key of the data.
 * @param metadata The `providerMetadata` of the part.
 * @param before The replay parts that precede the part.
 */
export function toProviderData(
  provider: string,
  metadata: unknown,
  before: readonly ReplayPart[],
): { readonly providerData?: ProviderData } {
  const beforeField = before.length > 0 ? { before: toJson(before) } : {};
  const data = { ...metadataField('metadata', metadata), ...beforeField };
  return Object.keys(data).length > 0 ? { providerData: { [provider]: data } } : {};
}

/** Whether a `providerMetadata` contains anything. */
export const hasMetadata = (metadata: unknown): boolean =>
  isRecord(metadata) && Object.values(metadata).some((fields) => isRecord(fields) && Object.keys(fields).length > 0);

/**
 * Stores a `providerMetadata` in a field with the given name, unless it is empty. What arrives as metadata is sent back
 * as options.
 */
export function metadataField<Name extends string>(
  name: Name,
  metadata: unknown,
): Partial<Record<Name, Record<string, JsonObject>>> {
  return (hasMetadata(metadata) ? { [name]: toJson(metadata) } : {}) as Partial<
    Record<Name, Record<string, JsonObject>>
  >;
}

/**
 * Reads what `toProviderData` has stored with a part: the replay parts before it, and its metadata as the options to
 * send back. Data of any other shape is ignored.
 */
export function readProviderData(
  provider: string,
  providerData: ProviderData | undefined,
): { readonly before: readonly ReplayPart[]; readonly options?: SharedV4ProviderOptions } {
  const data = providerData?.[provider];
  if (!isJsonObject(data)) return { before: [] };
  const { metadata, before } = data;
  const isValid = isJsonObject(metadata) && Object.values(metadata).every(isJsonObject);
  return { before: readReplayParts(before), ...(isValid ? { options: metadata as SharedV4ProviderOptions } : {}) };
}

/** Creates the provider data of a message that ends with replay parts: no part of the message follows them. */
export const toEndData = (parts: readonly ReplayPart[]): JsonObject => ({ after: toJson(parts) });

/** Reads the replay parts that `toEndData` has stored with a message. */
export const readEndData = (data: JsonValue | undefined): readonly ReplayPart[] =>
  isJsonObject(data) ? readReplayParts(data['after']) : [];

/**
 * Returns the field `providerOptions` with all given options, merged provider by provider. Later options override
 * earlier ones. Without options, the field is omitted.
 */
export function optionsField(...list: readonly (Readonly<Record<string, object>> | undefined)[]): {
  readonly providerOptions?: SharedV4ProviderOptions;
} {
  const merged: Record<string, object> = {};
  for (const options of list)
    for (const [name, fields] of Object.entries(options ?? {})) merged[name] = { ...merged[name], ...fields };
  return Object.keys(merged).length > 0 ? { providerOptions: merged as SharedV4ProviderOptions } : {};
}

const replayTypes: ReadonlySet<JsonValue | undefined> = new Set([
  'reasoning',
  'reasoning-file',
  'custom',
  'tool-call',
  'tool-result',
] satisfies ReplayPart['type'][]);

/** Reads stored replay parts. A URL is stored as a string and becomes a `URL` again. */
function readReplayParts(stored: JsonValue | undefined): readonly ReplayPart[] {
  return asArray(stored)
    .filter(isJsonObject)
    .filter(({ type }) => replayTypes.has(type))
    .map((part) => {
      const { data } = part;
      const url = isJsonObject(data) && typeof data['url'] === 'string' ? new URL(data['url']) : undefined;
      return (url ? { ...part, data: { type: 'url', url } } : part) as unknown as ReplayPart;
    });
}
