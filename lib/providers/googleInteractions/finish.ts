import type { FinishReason } from '../../core/chunk.js';
import { readFinishReason } from '../shared/finishReasons.js';
import { GoogleUsage } from '../shared/googleUsage.js';

/** `InteractionStatus` (SDK 3.1): `incomplete` is the limit of output tokens. Undefined while it goes on. */
export function toFinishReason(status: string): FinishReason | undefined {
  if (/^(in_progress|queued)$/.test(status)) return undefined;
  return readFinishReason(status, [
    ['toolCalls', /^requires_action$/],
    ['length', /^(incomplete|budget_exceeded)$/],
    ['paused', /^requires_continuation$/],
    ['error', /^(failed|cancelled)$/],
  ]);
}

export const createUsage = (): GoogleUsage =>
  new GoogleUsage({
    input: 'total_input_tokens',
    toolInput: 'total_tool_use_tokens',
    cachedInput: 'total_cached_tokens',
    output: 'total_output_tokens',
    thoughts: 'total_thought_tokens',
    total: 'total_tokens',
  });
