import type { FinishReason } from '../../core/chunk.js';

/**
 * The words of all APIs for the end of a response, in either case: gateways forward the words of other APIs
 * (`MAX_TOKENS`, `end_turn`).
 */
const finishReasons: readonly (readonly [FinishReason, RegExp])[] = [
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
 * The finish reason for a word that the wire's own list does not contain: a server in front of a model of another API
 * forwards that API's words.
 *
 * @param word The word, as it arrived.
 * @returns `other` for a word of no API.
 */
export function commonFinishReason(word: string): FinishReason {
  return finishReasons.find(([, words]) => words.test(word))?.[0] ?? 'other';
}
