import type { FinishChunk } from '../../../core/chunk.js';
import type { JsonObject } from '../../../core/json.js';
import type { SourcePart } from '../../../core/message.js';
import type { Usage } from '../../../core/usage.js';

/** The annotation of a text for a source. */
export function annotation({ id, url, title }: SourcePart): JsonObject {
  if (url === undefined) return { type: 'file_citation', file_id: id ?? '', filename: title ?? '', index: 0 };
  return { type: 'url_citation', url, title: title ?? '', start_index: 0, end_index: 0 };
}

/** How the response ended, and what its last event says of it. */
export function statusOf({ reason, rawReason }: FinishChunk): { readonly status: string; readonly rest: JsonObject } {
  if (reason === 'stop' || reason === 'toolCalls') return { status: 'completed', rest: {} };
  const known = reason === 'length' ? 'max_output_tokens' : reason === 'contentFilter' ? 'content_filter' : reason;
  return { status: 'incomplete', rest: { incomplete_details: { reason: rawReason ?? known } } };
}

/** The counts, all of which the API always tells. */
export function wireUsage({ input = 0, output = 0, total = input + output, cachedInput = 0, reasoning = 0 }: Usage): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cachedInput },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  };
}
