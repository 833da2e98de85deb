import type { FinishReason } from '../../core/chunk.js';
import { isRecord, finiteNumber } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { commonFinishReason } from '../shared/finishReasons.js';

/**
 * The finish reasons for the stop reasons of the Messages API (platform.claude.com, "Handling stop reasons"). After
 * `pause_turn` and `compaction`, the API expects the same conversation again.
 */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'toolCalls'],
  ['refusal', 'contentFilter'],
  ['pause_turn', 'paused'],
  ['compaction', 'paused'],
] as const);

/** Returns the finish reason for a stop reason. Compatible servers also send the stop reasons of other APIs. */
export const finishReasonOf = (stopReason: string): FinishReason =>
  finishReasons.get(stopReason) ?? commonFinishReason(stopReason);

/** Collects the token counts of one response. */
export interface UsageCounter {
  /** Adds the `usage` of `message_start` or `message_delta`. */
  add(usage: unknown): void;
  total(): Usage;
}

/**
 * Creates a usage counter.
 *
 * The API's counts are cumulative: a later count replaces an earlier one. This includes the input, which grows when
 * server tools run. `input_tokens` does not include cached tokens; `output_tokens` includes thinking. A 0 does not
 * replace an earlier count, because compatible servers fill the second report with zeros.
 */
export function createUsageCounter(): UsageCounter {
  const counts = new Map<string, number>();
  const setCount = (name: string, value: unknown) => {
    const count = finiteNumber(value);
    if (count !== undefined && (count > 0 || !counts.has(name))) counts.set(name, count);
  };
  return {
    add(usage) {
      if (!isRecord(usage)) return;
      for (const name of countNames) setCount(name, usage[name]);
      const details = usage['output_tokens_details'];
      if (isRecord(details)) setCount('thinking_tokens', details['thinking_tokens']);
    },
    total() {
      // A prompt has at least one token, so a report in which all counts are 0 is a placeholder.
      if ([...counts.values()].every((count) => count === 0)) return {};
      const inputs = inputNames.map((name) => counts.get(name)).filter((count) => count !== undefined);
      return usageOf({
        input: inputs.length === 0 ? undefined : inputs.reduce((sum, count) => sum + count, 0),
        output: counts.get('output_tokens'),
        cachedInput: counts.get('cache_read_input_tokens'),
        cacheWriteInput: counts.get('cache_creation_input_tokens'),
        reasoning: counts.get('thinking_tokens'),
      });
    },
  };
}

const inputNames = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const;
const countNames = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'] as const;
