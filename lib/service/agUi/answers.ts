import { answersFrom, type CallAnswers, type Decision, type WaitingCall } from '../../core/approval.js';
import { isRecord, isJsonObject, type JsonValue } from '../../core/json/json.js';
import { fromToolMessage } from '../../transport/agUi/messages.js';
import type { AgUiResume, RunAgentInput } from '../../transport/agUi/protocol.js';
import { AgUiRequestError } from './request.js';

export function readAnswers(
  { messages, resume = [] }: Pick<RunAgentInput, 'messages' | 'resume'>,
  waiting: readonly WaitingCall[],
  isInterrupt: (call: WaitingCall) => boolean,
): CallAnswers | undefined {
  const interrupts = new Map(waiting.filter(isInterrupt).map((call) => [call.id, call] as const));
  const decisions = new Map<string, Decision>();
  const results = new Map<string, JsonValue>();
  const errors = new Map<string, string>();
  for (const entry of resume) {
    const call = interrupts.get(entry.interruptId);
    if (!call || decisions.has(call.id) || results.has(call.id)) throw unknownInterrupt(entry.interruptId);
    if (call.question && entry.status === 'resolved') results.set(call.id, entry.payload ?? null);
    else decisions.set(call.id, toDecision(entry));
  }
  const missing = [...interrupts.keys()].filter((id) => !decisions.has(id) && !results.has(id));
  if (missing.length > 0) throw unanswered(missing);
  for (const { id, name } of waiting) {
    const message = messages.find((each) => each.role === 'tool' && each.toolCallId === id);
    if (message?.role !== 'tool' || interrupts.has(id)) continue;
    const { result, error } = fromToolMessage(message, name);
    if (error === undefined) results.set(id, result);
    else errors.set(id, error);
  }
  const count = decisions.size + results.size + errors.size;
  return count > 0 ? answersFrom(decisions, results, errors) : undefined;
}

/** A payload is `true`, or `{ approved, reason?, editedArgs? }`. Nothing else approves a call. */
function toDecision({ interruptId, status, payload }: AgUiResume): Decision {
  if (status === 'cancelled') return { approve: false, reason: 'The user did not answer.' };
  if (typeof payload === 'boolean') return { approve: payload };
  const { approved, reason, editedArgs } = isRecord(payload) ? payload : {};
  if (approved === false) return { approve: false, ...(typeof reason === 'string' ? { reason } : {}) };
  if (approved !== true || (editedArgs !== undefined && !isJsonObject(editedArgs))) throw noDecision(interruptId);
  return { approve: true, ...(editedArgs === undefined ? {} : { arguments: editedArgs }) };
}

const unknownInterrupt = (id: string) =>
  new AgUiRequestError(`nothing waits for an answer to the interrupt "${id}". It was answered, or the run is gone.`);

const unanswered = (ids: readonly string[]) =>
  new AgUiRequestError(`\`resume\` must answer all interrupts of the thread: ${ids.join(', ')}.`);

const noDecision = (id: string) =>
  new AgUiRequestError(`the payload for the interrupt "${id}" must be { "approved": true } or { "approved": false }.`);
