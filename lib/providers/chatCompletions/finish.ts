import { isRecord, numberOf, objectOf } from '../../core/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';

/** The wire's finish reason, if it is one: servers send `""` and `"null"` for none. */
export function finishWord(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const word = value.trim();
  return word === '' || word.toLowerCase() === 'null' ? undefined : word;
}

/**
 * The usage of a frame: at its top, in `x_groq` (Groq), or in the choice (Moonshot). Undefined where no count is given, or all are 0: a prompt has
 * at least one token, so zeros are a server's placeholder (LocalAI sends them with every chunk).
 */
export function usageIn(frame: Record<string, unknown>, choice: Record<string, unknown> | undefined): Usage | undefined {
  const groq = frame['x_groq'];
  if (!frame['usage'] && !groq && !choice?.['usage']) return undefined; // nearly every frame
  const places = [frame['usage'], objectOf(groq)['usage'], choice?.['usage']];
  return places
    .filter(isRecord)
    .map(usageFrom)
    .find((usage) => Object.values(usage).some((count) => count > 0));
}

/** Cached tokens are told of in four places: OpenAI's, DeepSeek's, Moonshot's and Together's, and that of gateways to Anthropic. */
function usageFrom(usage: Record<string, unknown>): Usage {
  const ofPrompt = objectOf(usage['prompt_tokens_details']);
  const ofCompletion = objectOf(usage['completion_tokens_details']);
  const first = (...values: unknown[]) => values.map(numberOf).find((value) => value !== undefined);
  const input = first(usage['prompt_tokens'], usage['input_tokens']);
  const completion = first(usage['completion_tokens'], usage['output_tokens']);
  const total = first(usage['total_tokens']);
  const reasoning = first(ofCompletion['reasoning_tokens'], usage['reasoning_tokens']);
  return usageOf({
    input,
    output: countsReasoningApart(input, completion, reasoning, total) ? (completion ?? 0) + (reasoning ?? 0) : completion,
    total,
    cachedInput: first(
      ofPrompt['cached_tokens'],
      usage['prompt_cache_hit_tokens'],
      usage['cached_tokens'],
      usage['cache_read_input_tokens'],
    ),
    cacheWriteInput: first(ofPrompt['cache_write_tokens'], usage['cache_creation_input_tokens']),
    reasoning,
  });
}

/** xAI counts reasoning beside the completion, OpenAI within it. The total tells which. */
function countsReasoningApart(input = 0, completion = 0, reasoning = 0, total?: number): boolean {
  return reasoning > 0 && (total === undefined ? reasoning > completion : total === input + completion + reasoning);
}
