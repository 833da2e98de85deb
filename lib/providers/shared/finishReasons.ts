import type { FinishReason } from '../../core/chunk.js';

type FinishReasons = readonly (readonly [FinishReason, RegExp])[];

/** In upper or lower case. Gateways forward the reasons of other APIs (`MAX_TOKENS`, `end_turn`). */
const finishReasons: FinishReasons = [
  ['stop', /^(stop|stop_sequence|eos|eos_token|end|end_turn|complete|completed|done)$/i],
  [
    'length',
    /^(length|incomplete|repetition|max_(output_|completion_)?tokens|model_length|model_context_window_exceeded)$/i,
  ],
  ['toolCalls', /^(tool_calls|tool_call|function_call|tool_use)$/i],
  ['contentFilter', /^(content_filter|safety|refusal|sensitive|recitation|prohibited_content|blocklist|spii)$/i],
  ['contentFilter', /^(content-filter|filtered|guardrail_intervened)$/i],
  ['error', /^(error|network_error|insufficient_system_resource|abort|malformed_function_call)$/i],
  ['error', /^(aborted|(user_)?cancel(l?ed)?|timeout)$/i],
];

export const readFinishReason = (rawReason: string, own: FinishReasons): FinishReason =>
  [...own, ...finishReasons].find(([, pattern]) => pattern.test(rawReason))?.[0] ?? 'other';

/**
 * Converts a raw finish reason that the wire's own list does not contain: a server may forward the raw finish reasons
 * of another API.
 *
 * @param rawReason The finish reason as the provider sent it.
 * @returns The finish reason; `other` if the raw finish reason is unknown.
 */
export function commonFinishReason(rawReason: string): FinishReason {
  return readFinishReason(rawReason, []);
}
