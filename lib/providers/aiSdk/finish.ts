import type { FinishChunk, FinishReason } from '../../core/chunk.js';
import { StreamInterruptedError } from '../../core/errors.js';
import { numberOf, objectOf } from '../../core/json.js';
import { usageOf } from '../../core/usage.js';
import type { SdkPart } from './openStream.js';

type Finish = Extract<SdkPart, { readonly type: 'finish' }>;

const reasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'contentFilter',
  'tool-calls': 'toolCalls',
  error: 'error',
};
/** Anthropic's words for an answer that goes on when it is asked for again; the AI SDK has none of its own, and says `stop` or `other`. */
const pauses: ReadonlySet<string | undefined> = new Set(['pause_turn', 'compaction']);

/**
 * How an answer ended. A stream that was cut short also has a `finish`: V4 says `interrupted`; V3 says `other` without the provider's word for it, and
 * then there is no usage either, or a call whose input began and never ended.
 *
 * @param provider The model's provider.
 * @param part The part.
 * @param unfinished Whether a call has begun that is not whole.
 * @throws StreamInterruptedError for an answer that was cut short.
 */
export function finishOf(provider: string, { finishReason: { unified, raw }, usage }: Finish, unfinished: boolean): FinishChunk {
  const counts: unknown = usage; // a middleware that writes its own finish may leave it out
  const [input, output] = [objectOf(objectOf(counts)['inputTokens']), objectOf(objectOf(counts)['outputTokens'])];
  const said = usageOf({
    input: numberOf(input['total']),
    output: numberOf(output['total']),
    cachedInput: numberOf(input['cacheRead']),
    cacheWriteInput: numberOf(input['cacheWrite']),
    reasoning: numberOf(output['reasoning']),
  });
  const used = Object.keys(said).length > 0;
  const wordless = unified === 'other' && raw === undefined;
  if (unified === 'interrupted' || (wordless && (unfinished || !used)))
    throw new StreamInterruptedError(
      provider,
      `The answer of ${provider} ended without a finish reason. Send the request again for a whole answer.`,
    );
  const reason = pauses.has(raw) ? 'paused' : wordless ? 'unspecified' : (reasons[unified] ?? 'other');
  return { type: 'finish', reason, ...(raw === undefined ? {} : { rawReason: raw }), ...(used ? { usage: said } : {}) };
}
