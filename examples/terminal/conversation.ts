import { toolCallsOf } from 'rivulet';
import type { JsonObject, JsonValue, Message } from 'rivulet';

/** A tool call since the latest question, with its result. */
export interface AnsweredCall {
  readonly name: string;
  readonly args: JsonObject;
  /** Absent where there is an error. */
  readonly result?: JsonValue;
  readonly error?: string;
}

/** The part of a request that the stand-in uses. */
export interface Conversation {
  /** The latest question. */
  readonly question: string;
  /** The calls that were answered since, in order. */
  readonly answeredCalls: readonly AnsweredCall[];
}

/**
 * Finds the latest question in a history, and the tool calls after it. A question that follows a stopped one shares its
 * message: the last text counts.
 */
export function readConversation(history: readonly Message[]): Conversation {
  const at = history.findLastIndex(({ role, parts }) => role === 'user' && parts.some(({ type }) => type === 'text'));
  const question = history[at]?.parts.findLast((part) => part.type === 'text')?.text ?? '';
  const after = history.slice(at + 1);
  const calls = new Map(after.flatMap(toolCallsOf).map((call) => [call.id, call]));
  const answeredCalls: AnsweredCall[] = [];
  for (const part of after.flatMap(({ parts }) => parts)) {
    const call = part.type === 'toolResult' ? calls.get(part.id) : undefined;
    if (part.type !== 'toolResult' || !call) continue;
    const outcome = part.error === undefined ? { result: part.result } : { error: part.error };
    answeredCalls.push({ name: call.name, args: call.arguments, ...outcome });
  }
  return { question, answeredCalls };
}
