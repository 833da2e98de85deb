import type { FinishChunk, FinishReason } from '../../core/chunk.js';
import { finiteNumber, objectOrEmpty } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { interrupted } from '../../protocol/untilFinish.js';
import type { SdkPartOf } from './openStream.js';

/** The AI SDK's unified finish reasons. `other` is `unspecified` where there is no raw reason either. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['content-filter', 'contentFilter'],
  ['tool-calls', 'toolCalls'],
  ['error', 'error'],
] as const);

/**
 * Anthropic's raw reasons for a response that continues when the conversation is sent again. The AI SDK has no unified
 * reason for it, and sends `stop` or `other`.
 */
const pauseReasons: ReadonlySet<string | undefined> = new Set(['pause_turn', 'compaction']);

/**
 * The finish of a response.
 *
 * An interrupted stream also has a `finish`: in V4 its reason is `interrupted`; in V3 it is `other` without a raw
 * reason, and then there is no usage either, or a call whose input started and never ended.
 *
 * @param provider The model's provider.
 * @param part The `finish` part.
 * @param hasOpenCall Whether a call has started that is not complete.
 * @throws StreamInterruptedError for an interrupted response.
 */
export function toFinish(
  provider: string,
  { finishReason: { unified, raw }, usage: counts }: SdkPartOf<'finish'>,
  hasOpenCall: boolean,
): FinishChunk {
  const usage = readUsage(counts);
  const hasUsage = Object.keys(usage).length > 0;
  const isUnspecified = unified === 'other' && raw === undefined;
  if (unified === 'interrupted' || (isUnspecified && (hasOpenCall || !hasUsage)))
    throw interrupted(provider, `The response of ${provider} ended without a finish reason.`);
  return {
    type: 'finish',
    reason: isUnspecified ? 'unspecified' : toFinishReason(unified, raw),
    ...(raw === undefined ? {} : { rawReason: raw }),
    ...(hasUsage ? { usage } : {}),
  };
}

const toFinishReason = (unified: string, raw: string | undefined): FinishReason =>
  pauseReasons.has(raw) ? 'paused' : (finishReasons.get(unified) ?? 'other');

/** A middleware that writes its own `finish` may omit the usage. */
function readUsage(usage: unknown): Usage {
  const input = objectOrEmpty(objectOrEmpty(usage)['inputTokens']);
  const output = objectOrEmpty(objectOrEmpty(usage)['outputTokens']);
  return usageOf({
    input: finiteNumber(input['total']),
    output: finiteNumber(output['total']),
    cachedInput: finiteNumber(input['cacheRead']),
    cacheWriteInput: finiteNumber(input['cacheWrite']),
    reasoning: finiteNumber(output['reasoning']),
  });
}
