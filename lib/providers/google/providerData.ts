import { objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ProviderData } from '../../core/message.js';

/** The provider's name: the key of its data. */
export const provider = 'google';

/** Data for this provider. */
export const own = (data: JsonObject): ProviderData => ({ [provider]: data });

/** This provider's own data on a part; empty where there is none. Any other provider's is ignored. */
export function ownOf(part: { readonly providerData?: ProviderData }): JsonObject {
  return objectOrEmpty(part.providerData?.[provider]);
}

/**
 * The generation of a model by its name (`gemini-2.5-flash`: 2.5, `models/gemini-3-pro-preview`: 3); undefined where the name does not say
 * (`gemini-flash-latest`, a tuned model).
 */
export function generationOf(model: string): number | undefined {
  const found = /(?:^|\/)gemini-(\d+(?:\.\d+)?)(?![\d.])/.exec(model)?.[1];
  return found === undefined ? undefined : Number(found);
}
