import { objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ProviderData } from '../../core/message.js';

/** The provider's name: the key of its data. */
export const provider = 'google';

/** Data of this provider, for a chunk or a part. */
export const toProviderData = (data: JsonObject): ProviderData => ({ [provider]: data });

/** The data of this provider on a part; empty where there are none. The data of other providers are ignored. */
export function providerDataOf(part: { readonly providerData?: ProviderData }): JsonObject {
  return objectOrEmpty(part.providerData?.[provider]);
}
