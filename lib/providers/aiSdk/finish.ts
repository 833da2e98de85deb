import type { FinishChunk, FinishReason } from '../../core/chunk.js';
import { finiteNumber, objectOrEmpty } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { interrupted } from '../../protocol/untilFinish.js';
import type { SdkPartOf } from './openStream.js';

/** `other` without a raw reason is `unspecified`. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['content-filter', 'contentFilter'],
  ['tool-calls', 'toolCalls'],
  ['error', 'error'],
] as const);

/** Anthropic's raw reasons, for which the AI SDK sends `stop` or `other`: the conversation is to be sent again. */
const pauseReasons: ReadonlySet<string | undefined> = new Set(['pause_turn', 'compaction']);

/** An interrupted V3 stream ends with `other`, without a raw reason, and without usage or with an incomplete call. */
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
    ...(typeof raw === 'string' ? { rawReason: raw } : {}),
    ...(hasUsage ? { usage } : {}),
  };
}

const toFinishReason = (unified: string, raw: string | undefined): FinishReason =>
  pauseReasons.has(raw) ? 'paused' : (finishReasons.get(unified) ?? 'other');

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
