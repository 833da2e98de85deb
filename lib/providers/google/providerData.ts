import type { JsonObject } from '../../core/json/json.js';
import type { ProviderData } from '../../core/providerPart.js';

export const provider = 'google';

export const toProviderData = (data: JsonObject): ProviderData => ({ [provider]: data });
