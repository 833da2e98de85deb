import type { LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { isJsonObject, isRecord, objectOrEmpty, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { ProviderData, ProviderPart } from '../../core/providerPart.js';

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

export type ReplayPart = Exclude<AssistantContent, { readonly type: 'text' | 'file' }>;

export function toProviderData(provider: string, metadata: unknown): { readonly providerData?: ProviderData } {
  return hasMetadata(metadata) ? { providerData: { [provider]: metadataField('metadata', metadata) } } : {};
}

export const hasMetadata = (metadata: unknown): boolean =>
  isRecord(metadata) && Object.values(metadata).some((fields) => isRecord(fields) && Object.keys(fields).length > 0);

/** Omitted if it is empty. What arrives as metadata is sent back as options. */
export function metadataField<Name extends string>(
  name: Name,
  metadata: unknown,
): Partial<Record<Name, Record<string, JsonObject>>> {
  return (hasMetadata(metadata) ? { [name]: toJson(metadata) } : {}) as Partial<
    Record<Name, Record<string, JsonObject>>
  >;
}

export const readOptions = (provider: string, providerData: ProviderData | undefined) =>
  asOptions(objectOrEmpty(providerData?.[provider])['metadata']);

const asOptions = (metadata: JsonValue | undefined): SharedV4ProviderOptions | undefined =>
  isJsonObject(metadata) && Object.values(metadata).every(isJsonObject)
    ? (metadata as SharedV4ProviderOptions)
    : undefined;

export const readTextEnd = ({ data: { type, providerOptions } }: ProviderPart): SharedV4ProviderOptions | undefined =>
  type === 'text' ? (asOptions(providerOptions) ?? {}) : undefined;

/** All given options, merged provider by provider. Later ones override earlier ones. */
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

/** Reads a provider part. A URL is stored as a string and becomes a `URL` again. */
export function readReplayPart({ data: part }: ProviderPart): readonly ReplayPart[] {
  if (!replayTypes.has(part['type'])) return [];
  const { data } = part;
  const url = isJsonObject(data) && typeof data['url'] === 'string' ? new URL(data['url']) : undefined;
  return [(url ? { ...part, data: { type: 'url', url } } : part) as unknown as ReplayPart];
}
