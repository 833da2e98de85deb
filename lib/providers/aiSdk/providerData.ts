import type { LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { isJsonObject, isRecord, asArray } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { toJson } from '../../core/json/toJson.js';
import type { ProviderData } from '../../core/message.js';

type Assistant = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/**
 * What goes back that is no part of a message: reasoning, calls that the provider ran itself with their results, files of the reasoning, its custom
 * content. Kept as the parts of the prompt that they will be.
 */
export type Echoed = Exclude<Assistant, { readonly type: 'text' | 'file' }>;

/** Under the provider's name in a part's `providerData`: its metadata, and what stood before the part. */
export function ownData(
  provider: string,
  metadata: unknown,
  before: readonly Echoed[],
): { readonly providerData?: ProviderData } {
  const own = { ...metadataField('metadata', metadata), ...(before.length > 0 ? { before: toJson(before) } : {}) };
  return Object.keys(own).length > 0 ? { providerData: { [provider]: own } } : {};
}

/** Whether a part's `providerMetadata` says anything. */
export const hasMetadata = (metadata: unknown): boolean =>
  isRecord(metadata) && Object.values(metadata).some((own) => isRecord(own) && Object.keys(own).length > 0);

/** `providerMetadata` under another name, where there is some: what came as metadata goes back as options. */
export function metadataField<Name extends string>(
  name: Name,
  metadata: unknown,
): Partial<Record<Name, Record<string, JsonObject>>> {
  return (hasMetadata(metadata) ? { [name]: toJson(metadata) } : {}) as Partial<
    Record<Name, Record<string, JsonObject>>
  >;
}

/** What `ownData` left with a part, for the prompt: data of another shape under this name is not ours. */
export function ownOf(
  provider: string,
  data: ProviderData | undefined,
): { readonly before: readonly Echoed[]; readonly options: { readonly providerOptions?: SharedV4ProviderOptions } } {
  const own = data?.[provider];
  if (!isJsonObject(own)) return { before: [], options: {} };
  const { metadata } = own;
  const options = isJsonObject(metadata) && Object.values(metadata).every(isJsonObject);
  return {
    before: echoedIn(own['before']),
    options: options ? { providerOptions: metadata as SharedV4ProviderOptions } : {},
  };
}

const kinds: ReadonlySet<JsonValue | undefined> = new Set([
  'reasoning',
  'reasoning-file',
  'custom',
  'tool-call',
  'tool-result',
] satisfies Echoed['type'][]);

/** The stored parts, with what JSON has made of an address undone. */
export function echoedIn(stored: JsonValue | undefined): readonly Echoed[] {
  return asArray(stored)
    .filter(isJsonObject)
    .filter(({ type }) => kinds.has(type))
    .map((part) => {
      const data = part['data'];
      const address = isJsonObject(data) && typeof data['url'] === 'string' ? new URL(data['url']) : undefined;
      return (address ? { ...part, data: { type: 'url', url: address } } : part) as unknown as Echoed;
    });
}
