import type { FinishReason } from '../../core/chunk.js';

/** The words that answers end with, of all APIs, in either case: gateways pass on the words of other APIs (`MAX_TOKENS`, `end_turn`). */
const reasons: readonly (readonly [FinishReason, RegExp])[] = [
  ['stop', /^(stop|stop_sequence|eos|eos_token|end|end_turn|complete|completed|done)$/i],
  [
    'length',
    /^(length|max_tokens|max_output_tokens|max_completion_tokens|model_length|model_context_window_exceeded)$/i,
  ],
  ['toolCalls', /^(tool_calls|tool_call|function_call|tool_use)$/i],
  ['contentFilter', /^(content_filter|safety|refusal|sensitive|recitation|prohibited_content|blocklist|spii)$/i],
  ['error', /^(error|network_error|insufficient_system_resource)$/i],
];
/**
 * What a finish reason of a wire means, where the wire's own list has no such word: servers that speak another API than the model behind them pass on
 * the model's words.
 *
 * @param word As it came.
 * @returns `other` for a word that no API has.
 */

export function finishReasonOf(word: string): FinishReason {
  return reasons.find(([, words]) => words.test(word))?.[0] ?? 'other';
}
