import type { FinishReason } from '../../core/chunk.js';

/** A table of words by what they mean, turned round. */
export const byWord = (words: Partial<Record<FinishReason, readonly string[]>>): ReadonlyMap<string, FinishReason> =>
  new Map(Object.entries(words).flatMap(([reason, all]) => all.map((word) => [word, reason as FinishReason] as const)));

/** The words that answers end with, of all APIs. Compared in lower case: gateways pass on the words of other APIs (`MAX_TOKENS`, `end_turn`). */
const reasons = /* @__PURE__ */ byWord({
  stop: ['stop', 'eos', 'eos_token', 'end_turn', 'stop_sequence', 'complete', 'completed', 'done', 'end'],
  length: ['length', 'max_tokens', 'max_output_tokens', 'max_completion_tokens', 'model_length', 'model_context_window_exceeded'],
  toolCalls: ['tool_calls', 'tool_call', 'function_call', 'tool_use'],
  contentFilter: ['content_filter', 'safety', 'refusal', 'sensitive', 'recitation', 'prohibited_content', 'blocklist', 'spii'],
  error: ['error', 'network_error', 'insufficient_system_resource'],
});

/**
 * What a finish reason of a wire means, where the wire's own list has no such word: servers that speak another API than the model behind them pass on
 * the model's words.
 *
 * @param word As it came.
 * @returns `other` for a word that no API has.
 */
export function finishReasonOf(word: string): FinishReason {
  return reasons.get(word.toLowerCase()) ?? 'other';
}
