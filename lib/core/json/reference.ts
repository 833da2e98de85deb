import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from './json.js';
import { decode } from '../uri.js';

/** The schema at a JSON pointer of the same document, such as `#/$defs/item`. */
export function resolveReference(reference: JsonValue | undefined, root: JsonSchema): JsonObject | undefined {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return undefined; // also for an `$anchor`
  let found: JsonValue | undefined = root;
  for (const segment of reference.slice(1).split('/').slice(1)) {
    const key = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as JsonObject)[key];
  }
  return isJsonObject(found) ? found : undefined;
}
