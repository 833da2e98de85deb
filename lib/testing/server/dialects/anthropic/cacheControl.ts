import { isJsonObject, isRecord, omit, type JsonObject } from '../../../../core/json/json.js';
import type { CachedPrompt } from '../dialect.js';
import { objectsIn } from '../history.js';

/** The limit of a request (its page "Prompt caching"). */
const maxBreakpoints = 4;

/** `CacheControlEphemeral`, and the page "Prompt caching". The request's own `cache_control` counts as one. */
export function cacheObjection(body: Readonly<Record<string, unknown>>): string | undefined {
  const blocks = [
    ...objectsIn(body['tools']),
    ...objectsIn(body['system']),
    ...objectsIn(body['messages']).flatMap(blocksIn),
  ];
  if (
    blocks.some(
      ({ type, cache_control: control }) => (type === 'thinking' || type === 'redacted_thinking') && isRecord(control),
    )
  )
    return 'messages: thinking.cache_control: Extra inputs are not permitted';
  const breakpoints = [body, ...blocks].map((holder) => holder['cache_control']).filter(isJsonObject);
  if (breakpoints.some(({ type }) => type !== 'ephemeral')) return "cache_control.type: Input should be 'ephemeral'";
  if (breakpoints.some(({ ttl }) => ttl !== undefined && ttl !== '5m' && ttl !== '1h'))
    return "cache_control.ttl: Input should be '5m' or '1h'";
  if (breakpoints.length <= maxBreakpoints) return undefined;
  return `A maximum of ${maxBreakpoints} blocks with cache_control may be provided. Found ${breakpoints.length}.`;
}

const blocksIn = ({ content }: JsonObject): readonly JsonObject[] =>
  objectsIn(content).flatMap((block) => [block, ...objectsIn(block['content'])]);

/** Parts are in the order of the cache. Breakpoints are not cached themselves. */
export function promptOf(body: JsonObject): CachedPrompt {
  const contents = objectsIn(body['messages']).flatMap(({ role = '', content = '' }) =>
    typeof content === 'string' ? [{ role, content }] : objectsIn(content).map((block) => ({ role, ...block })),
  );
  const system = typeof body['system'] === 'string' ? [{ type: 'text', text: body['system'] }] : body['system'];
  const blocks: readonly JsonObject[] = [...objectsIn(body['tools']), ...objectsIn(system), ...contents];
  return {
    scope: JSON.stringify(body['model'] ?? ''),
    lookBack: 20,
    blocks: blocks.map((block) => {
      const control = block['cache_control'];
      const text = JSON.stringify(omit(block, 'cache_control'));
      if (!isJsonObject(control)) return { text };
      return { text, lifetime: control['ttl'] === '1h' ? 3_600_000 : 300_000 };
    }),
  };
}
