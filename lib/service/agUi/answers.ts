import type { CallAnswers, Decision, WaitingCall } from '../../core/approval.js';
import { isRecord, isJsonObject } from '../../core/json/json.js';
import type { JsonValue } from '../../core/json/json.js';
import { fromToolMessage } from '../../transport/agUi/messages.js';
import type { AgUiResume, RunAgentInput } from '../../transport/agUi/protocol.js';
import { isInterrupt } from './outcome.js';
import { AgUiRequestError } from './request.js';

export function readAnswers(
  { messages, resume = [] }: Pick<RunAgentInput, 'messages' | 'resume'>,
  waiting: readonly WaitingCall[],
  isClientTool: (name: string) => boolean,
): CallAnswers | undefined {
  const interrupts = new Map(
    waiting.filter((call) => isInterrupt(call, isClientTool)).map((call) => [call.id, call] as const),
  );
  const decisions: Record<string, Decision> = {};
  const results: Record<string, JsonValue> = {};
  for (const entry of resume) {
    const call = interrupts.get(entry.interruptId);
    if (!call) throw unknownInterrupt(entry.interruptId);
    if (call.question && entry.status === 'resolved') results[call.id] = entry.payload ?? null;
    else decisions[call.id] = toDecision(entry);
  }
  const missing = [...interrupts.keys()].filter((id) => !Object.hasOwn(decisions, id) && !Object.hasOwn(results, id));
  if (missing.length > 0) throw unanswered(missing);
  const errors: Record<string, string> = {};
  for (const { id, name } of waiting) {
    const message = messages.find((each) => each.role === 'tool' && each.toolCallId === id);
    if (message?.role !== 'tool' || interrupts.has(id)) continue;
    const { result, error } = fromToolMessage(message, name);
    if (error === undefined) results[id] = result;
    else errors[id] = error;
  }
  const answers = { decisions, results, errors };
  return Object.values(answers).some((each) => Object.keys(each).length > 0) ? answers : undefined;
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
