import { answeredIds, type CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { toolCallsOf, unfinishedResult, userMessage, type Message, type ToolResultPart } from '../../core/message.js';

export const unknownText =
  'The outcome of the call is unknown: it had begun when its process ended, so it may have taken effect. It was not ' +
  'executed again. Check what it has done before you call the tool again.';

/**
 * The messages of a run that nobody continues from its checkpoint. What ran keeps its result, and nobody knows that of
 * what was answered.
 */
export function leftMessages({ emitted, open }: Checkpoint, answers: CallAnswers = {}): readonly Message[] {
  const { messages } = emitted;
  if (!open) return messages;
  const results = new Map(open.results.map((result) => [result.id, result]));
  const answered = new Set(answeredIds(answers));
  const waiting = new Set(open.waiting.flatMap(({ id }) => (answered.has(id) ? [] : [id])));
  const parts = messages
    .slice(-1)
    .flatMap(toolCallsOf)
    .map(({ id, name }): ToolResultPart => {
      const cancelled = waiting.has(id) ? unfinishedResult({ id, name }, 'cancelled') : undefined;
      const unknown = { type: 'toolResult', id, name, error: unknownText, code: 'outcome_unknown' } as const;
      return results.get(id) ?? cancelled ?? unknown;
    });
  return parts.length > 0 ? [...messages, userMessage(parts)] : messages;
}
