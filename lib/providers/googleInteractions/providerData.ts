import { objectOrEmpty } from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import type { ProviderData } from '../../core/message.js';

/** The provider's name, in errors and as the key of its provider data. */
export const provider = 'google-interactions';

/** Creates the provider data of a chunk or a part. */
export const toProviderData = (data: JsonObject): ProviderData => ({ [provider]: data });

/** Returns this provider's data of a part; an empty object if the part has none. */
export const readProviderData = (part: { readonly providerData?: ProviderData }): JsonObject =>
  objectOrEmpty(part.providerData?.[provider]);
