import { objectOrEmpty, type JsonObject } from './json/json.js';

/** What a provider needs to read a part again, under its name: a call's signature, a file's id. Others ignore it. */
export type ProviderData = JsonObject;

/**
 * What only one provider can read, at its place among the parts: signed thinking, encrypted reasoning, the calls of
 * tools that the provider ran, the id of its response. It is sent back to that provider only, and shown to nobody.
 */
export interface ProviderPart {
  readonly type: 'provider';
  readonly provider: string;
  /** What the model's wire has put there, and reads again. */
  readonly data: JsonObject;
}

export const storedData = (part: { readonly providerData?: ProviderData } | undefined, provider: string): JsonObject =>
  objectOrEmpty(part?.providerData?.[provider]);

export const providerDataOf = (
  { parts }: { readonly parts: readonly { readonly type: string }[] },
  provider: string,
): readonly JsonObject[] =>
  parts.flatMap((part) => (isProviderPart(part) && part.provider === provider ? [part.data] : []));

const isProviderPart = (part: { readonly type: string }): part is ProviderPart => part.type === 'provider';
