import type { ToolResultPart } from '../../core/message.js';

/** What a tool answered, as text for an API that has no mark for a failure: a text as it is, anything else as JSON, an error as `{"error": "..."}`. */
export function resultText(part: ToolResultPart): string {
  const answered = part.error === undefined ? part.result : { error: part.error };
  return typeof answered === 'string' ? answered : JSON.stringify(answered);
}
