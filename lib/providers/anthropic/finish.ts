import type { FinishReason } from '../../core/chunk.js';
import { isRecord, finiteNumber } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { finishReasonOf as anyReason } from '../shared/finishReasons.js';

/** What a stop reason means. After `pause_turn` the API wants to be asked again, and so it does after `compaction`; no other API has such words. */
export const finishReasonOf = (word: string): FinishReason =>
  word === 'pause_turn' || word === 'compaction' ? 'paused' : anyReason(word);

/** Counts the tokens of one answer. */
export interface Counter {
  /** Takes a `usage` object of `message_start` or `message_delta`. */
  count(usage: unknown): void;
  usage(): Usage;
}

/**
 * The API counts cumulatively, and repeats of a count replace it: server tools raise the input as well. Cached tokens are counted beside
 * `input_tokens`, thinking within `output_tokens`. A 0 replaces nothing: compatible servers fill the second report with zeros.
 */
export function createCounter(): Counter {
  const counts = new Map<string, number>();
  const note = (name: string, value: unknown) => {
    const count = finiteNumber(value);
    if (count !== undefined && (count > 0 || !counts.has(name))) counts.set(name, count);
  };
  return {
    count(usage) {
      if (!isRecord(usage)) return;
      for (const name of ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'])
        note(name, usage[name]);
      const details = usage['output_tokens_details'];
      if (isRecord(details)) note('thinking_tokens', details['thinking_tokens']);
    },
    usage() {
      if ([...counts.values()].every((count) => count === 0)) return {}; // a prompt has a token at least: a placeholder
      const [plain, written, read] = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'].map(
        (name) => counts.get(name),
      );
      const known = [plain, written, read].filter((count) => count !== undefined);
      return usageOf({
        input: known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0),
        output: counts.get('output_tokens'),
        cachedInput: read,
        cacheWriteInput: written,
        reasoning: counts.get('thinking_tokens'),
      });
    },
  };
}
