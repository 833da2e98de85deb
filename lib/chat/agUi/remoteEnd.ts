import type { Question, WaitingCall } from '../../core/approval.js';
import type { FinishReason } from '../../core/chunk.js';
import { isJsonObject, nonEmptyString, objectOrEmpty, type JsonObject } from '../../core/json/json.js';
import { nestedId } from '../../core/nested.js';
import { addUsage, usageOf, type Usage } from '../../core/usage.js';
import { words } from '../../core/words.js';
import { RemoteRunError } from '../../transport/fromServerSentEvents.js';
import type { AgUiInterrupt, AgUiUsage, RunErrorEvent, RunFinishedEvent } from '../../transport/agUi/protocol.js';
import type { RunOutcome } from '../../transport/agUi/protocol.js';

export function remoteError({ message, code }: RunErrorEvent): RemoteRunError {
  return new RemoteRunError(nonEmptyString(code) ?? 'internal', nonEmptyString(message) ?? 'The run failed.', false);
}

export const toUsage = (counts: readonly AgUiUsage[]): Usage =>
  counts.reduce<Usage>(
    (sum, each) =>
      addUsage(
        sum,
        usageOf({
          input: each.inputTokens,
          output: each.outputTokens,
          total: each.totalTokens,
          cachedInput: each.cachedInputTokens,
          cacheWriteInput: each.cacheWriteInputTokens,
          reasoning: each.reasoningTokens,
        }),
      ),
    {},
  );

export interface RemoteEnd {
  readonly finishReason: FinishReason;
  readonly rawReason?: string;
  /**
   * The calls that wait. An interrupt without a call becomes a call: id = interrupt id, name = reason, arguments =
   * `{ message }`; one with the schema of an answer becomes a question.
   */
  readonly waiting: readonly WaitingCall[];
}

export function readEnd(
  { outcome, metadata }: RunFinishedEvent,
  callOf: (id: string) => WaitingCall | undefined,
): RemoteEnd {
  const { finishReason, rawReason } = objectOrEmpty(metadata?.['rivulet']);
  const waiting = waitingCalls(outcome, callOf);
  if (waiting.length > 0) return { finishReason: 'waiting', waiting };
  const reason = outcome?.type === 'cancelled' ? 'stopped' : readFinishReason(finishReason);
  return { finishReason: reason, ...(typeof rawReason === 'string' ? { rawReason } : {}), waiting };
}

function waitingCalls(
  outcome: RunOutcome | undefined,
  callOf: (id: string) => WaitingCall | undefined,
): readonly WaitingCall[] {
  const toWaitingCall = (id: string, name: string, args: JsonObject): WaitingCall => {
    const call = callOf(id);
    return call ? { id, name: call.name, arguments: call.arguments } : { id, name, arguments: args };
  };
  if (outcome?.type === 'success') return (outcome.pendingToolCallIds ?? []).map((id) => toWaitingCall(id, '', {}));
  if (outcome?.type !== 'interrupt') return [];
  return outcome.interrupts.map((interrupt) => {
    const { id, toolCallId = id, reason, message } = interrupt;
    const inner = pathOf(interrupt); // a call of a sub-agent is answered by its own id
    const call = toWaitingCall('path' in inner ? id : toolCallId, reason, message === undefined ? {} : { message });
    return toQuestion(interrupt) ?? { ...call, ...inner };
  });
}

function pathOf({ id, toolCallId = id }: AgUiInterrupt): Pick<WaitingCall, 'path'> {
  const outer = nestedId(toolCallId, '');
  return id.startsWith(outer) ? { path: [toolCallId, id.slice(outer.length)] } : {};
}

/** An interrupt with a schema that does not decide about a call is a question, which is answered by its own id. */
function toQuestion(interrupt: AgUiInterrupt): WaitingCall | undefined {
  const { id, reason, message = reason, responseSchema: schema, expiresAt = '', metadata } = interrupt;
  if (reason === 'tool_call' || !isJsonObject(schema)) return undefined;
  const { problem, details } = objectOrEmpty(metadata);
  const expires = Date.parse(expiresAt);
  const question: Question = {
    ...{ message, schema },
    ...(typeof problem === 'string' ? { problem } : {}),
    ...(Number.isNaN(expires) ? {} : { expires }),
  };
  return {
    ...{ id, name: 'ask', arguments: { message }, question },
    ...(isJsonObject(details) ? { details } : {}),
    ...pathOf(interrupt),
  };
}

const finishReasons: ReadonlySet<unknown> = /* @__PURE__ */ words(
  'stop length toolCalls contentFilter paused stopped maxTurns limit error other unspecified',
);

export const readFinishReason = (reason: unknown): FinishReason =>
  finishReasons.has(reason) ? (reason as FinishReason) : 'stop';
