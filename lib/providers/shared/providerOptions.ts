import type { JsonObject } from '../../core/json/json.js';
import type { Message, ProviderOptions } from '../../core/message.js';
import { mergeJson } from '../../protocol/request.js';

/**
 * Merges the `providerOptions` of a part, a message or a tool into its encoding.
 *
 * @param encoded The encoding.
 * @param provider The provider, whose options are merged. The options of other providers are ignored.
 * @param owner The part, message or tool.
 */
export function withProviderOptions(
  encoded: JsonObject,
  provider: string,
  { providerOptions }: { readonly providerOptions?: ProviderOptions },
): JsonObject {
  const options = providerOptions?.[provider];
  return options ? mergeJson(encoded, options) : encoded;
}

export function withMessageOptions(
  encoded: readonly JsonObject[],
  provider: string,
  message: Message,
): readonly JsonObject[] {
  const last = encoded.at(-1);
  if (!last || !message.providerOptions?.[provider]) return encoded;
  return [...encoded.slice(0, -1), withProviderOptions(last, provider, message)];
}
