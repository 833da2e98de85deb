import { objectOrEmpty, type JsonObject } from '../../../core/json/json.js';
import type { CachedPrompt } from './dialect.js';

/** OpenAI caches every prefix (guide "Prompt caching"): for 30 minutes or `ttl`, by `prompt_cache_key`. */
export function implicitPrompt(body: JsonObject, fields: readonly string[]): CachedPrompt {
  const { ttl } = objectOrEmpty(body['prompt_cache_options']);
  const lifetime = ttl === '12h' ? 43_200_000 : 1_800_000;
  const values = fields.flatMap((field) => body[field] ?? []);
  return {
    scope: JSON.stringify([body['model'] ?? '', body['prompt_cache_key'] ?? '']),
    lookBack: 0,
    blocks: values.map((value) => ({ text: JSON.stringify(value), lifetime })),
  };
}
