import { answeredResult, editedBy, hasAnswer, type CallAnswers } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { omitUndefined } from '../../core/json/json.js';
import { toolCallsOf, unfinishedResult, userMessage } from '../../core/message.js';
import type { Message, ToolCallPart, ToolResultPart } from '../../core/message.js';

export const unknownText =
  'The outcome of the call is unknown: it had begun when its process ended, so it may have taken effect. It was not ' +
  'executed again. Check what it has done before you call the tool again.';

export const unknownResult = ({ id, name }: Pick<ToolCallPart, 'id' | 'name'>): ToolResultPart => ({
  type: 'toolResult',
  id,
  name,
  error: unknownText,
  code: 'outcome_unknown',
});

/**
 * The messages of a run that nobody continues from its checkpoint. What ran keeps its result, and what was answered its
 * answer. Nobody knows the result of a call that was approved.
 */
export function leftMessages({ emitted, open }: Checkpoint, answers: CallAnswers = {}): readonly Message[] {
  const { messages } = emitted;
  if (!open) return messages;
  const results = new Map(open.results.map((result) => [result.id, result]));
  const edited = new Map(Object.entries(open.edited ?? {}));
  const decisions = new Map(Object.entries(answers.decisions ?? {}));
  const waiting = new Set(open.waiting.flatMap(({ id }) => (hasAnswer(answers, id) ? [] : [id])));
  const parts = messages
    .slice(-1)
    .flatMap(toolCallsOf)
    .map((call): ToolResultPart => {
      const { id } = call;
      const ended = results.get(id) ?? answeredResult(answers, call);
      if (ended || waiting.has(id)) return ended ?? unfinishedResult(call, 'cancelled');
      return { ...unknownResult(call), ...omitUndefined({ arguments: editedBy(decisions.get(id)) ?? edited.get(id) }) };
    });
  return parts.length > 0 ? [...messages, userMessage(parts)] : messages;
}
