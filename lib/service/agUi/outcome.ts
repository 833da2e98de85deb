import type { Question, WaitingCall } from '../../core/approval.js';
import type { RunResult } from '../../core/event.js';
import { omitUndefined, type JsonObject, type JsonValue } from '../../core/json/json.js';
import type { Usage } from '../../core/usage.js';
import type { EditOptions } from '../http/requestRules.js';
import type { AgUiInterrupt, AgUiUsage, RunAgentInput, RunFinishedEvent } from '../../transport/agUi/protocol.js';
import type { RunOutcome } from '../../transport/agUi/protocol.js';
import { requireSync } from '../../core/options.js';

export interface OutcomeOptions extends EditOptions {
  /**
   * The names of the agent's own tools without `execute`. The client answers their calls, like calls of the tools in
   * its request. Default: none.
   */
  readonly clientTools?: readonly string[] | undefined;
  /**
   * Describes a call that needs an approval to the user: `message`, `responseSchema`, `expiresAt`, `metadata`. Default:
   * a question with the name of the tool, and a schema with `approved`, `reason` and `editedArgs`; of a question
   * (`askTool`), what it has.
   */
  readonly describeCall?: ((call: WaitingCall) => Partial<Omit<AgUiInterrupt, 'id' | 'toolCallId'>>) | undefined;
}

export function finishedEvent(
  { threadId, runId, tools = [] }: Pick<RunAgentInput, 'threadId' | 'runId'> & Partial<Pick<RunAgentInput, 'tools'>>,
  result: RunResult,
  answered: ReadonlySet<string>,
  options: OutcomeOptions,
): RunFinishedEvent {
  const { output, usage, finishReason, rawReason } = result;
  const counts = toAgUiUsage(usage);
  const clientTools = new Set([...tools.map(({ name }) => name), ...(options.clientTools ?? [])]);
  return {
    type: 'RUN_FINISHED',
    threadId,
    runId,
    ...(output === undefined ? {} : { result: output as JsonValue }),
    outcome: toOutcome(result, (call) => isInterrupt(call, clientTools, options), answered, options),
    ...(Object.keys(counts).length > 0 ? { usage: [counts] } : {}),
    metadata: { rivulet: omitUndefined({ finishReason, rawReason }) },
  };
}

function toOutcome(
  { finishReason, waiting = [] }: RunResult,
  isInterrupting: (call: WaitingCall) => boolean,
  answered: ReadonlySet<string>,
  options: OutcomeOptions,
): RunOutcome {
  if (finishReason === 'stopped') return { type: 'cancelled' };
  const interrupts = waiting.filter(isInterrupting);
  if (interrupts.length > 0)
    return { type: 'interrupt', interrupts: interrupts.map((call) => toInterrupt(call, options)) };
  const pending = waiting.filter(({ id }) => !answered.has(id)).map(({ id }) => id);
  return { type: 'success', ...(pending.length > 0 ? { pendingToolCallIds: pending } : {}) };
}

/**
 * A call that the client does not execute is a decision or a question. An inner run has none of the tools of a request:
 * there, only those in the option are the client's, whatever names a request has.
 */
export const isInterrupt = (
  { name, question, path }: WaitingCall,
  clientTools: ReadonlySet<unknown>,
  options: Pick<OutcomeOptions, 'clientTools'>,
): boolean => question !== undefined || !(path ? options.clientTools?.includes(name) : clientTools.has(name));

/** The JSON Schema of a decision about a call, as AG-UI recommends it. */
const decisionSchema = (allowEdits: boolean): JsonObject => ({
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', description: 'Why the call is denied, for the model.' },
    ...(allowEdits ? { editedArgs: { type: 'object', description: 'Replaces the arguments of the call.' } } : {}),
  },
  required: ['approved'],
});

const toInterrupt = (call: WaitingCall, { describeCall, allowEdits = true }: OutcomeOptions): AgUiInterrupt => ({
  ...(call.question
    ? toQuestion(call.question, call.details)
    : {
        reason: 'tool_call',
        message: `Run the tool "${call.name}"?`,
        responseSchema: decisionSchema(allowEdits),
      }),
  ...requireSync('describeCall', describeCall?.(call)),
  id: call.id,
  toolCallId: call.path?.[0] ?? call.id, // the client knows only the calls of the run itself
  ...(call.path ? { subagentRunId: call.path.slice(0, -1).join('/') } : {}),
});

const toQuestion = ({ message, schema, problem, expires }: Question, details: JsonObject | undefined) => ({
  reason: 'input_required',
  message,
  responseSchema: schema,
  ...(expires === undefined ? {} : { expiresAt: new Date(expires).toISOString() }),
  ...(problem === undefined && !details ? {} : { metadata: omitUndefined({ problem, details }) }),
});

const toAgUiUsage = ({ input, output, total, cachedInput, cacheWriteInput, reasoning }: Usage): AgUiUsage =>
  omitUndefined({
    inputTokens: input,
    outputTokens: output,
    totalTokens: total,
    reasoningTokens: reasoning,
    cachedInputTokens: cachedInput,
    cacheWriteInputTokens: cacheWriteInput,
  });
