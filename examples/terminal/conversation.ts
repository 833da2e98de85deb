import { toolCallsOf } from 'rivulet';
import type { JsonObject, JsonValue, Message } from 'rivulet';

/** A tool call of the current question, with what the tool answered. */
export interface Answered {
  readonly name: string;
  readonly args: JsonObject;
  /** Absent where there is an error. */
  readonly result?: JsonValue;
  readonly error?: string;
}

/** What the stand-in needs of a request. */
export interface Conversation {
  /** The latest question. */
  readonly question: string;
  /** What the tools have answered to it so far, in order. */
  readonly answered: readonly Answered[];
}

/** Finds the latest question in a history, and what became of it. One that follows another which was stopped stands in the same message: the last counts. */
export function conversationOf(history: readonly Message[]): Conversation {
  const at = history.findLastIndex(({ role, parts }) => role === 'user' && parts.some(({ type }) => type === 'text'));
  const since = history.slice(at + 1);
  const calls = new Map(since.flatMap(toolCallsOf).map((call) => [call.id, call]));
  const answered = since.flatMap(({ parts }) =>
    parts.flatMap((part): Answered[] => {
      const call = part.type === 'toolResult' ? calls.get(part.id) : undefined;
      if (part.type !== 'toolResult' || !call) return [];
      const { name, arguments: args } = call;
      return [{ name, args, ...(part.error === undefined ? { result: part.result } : { error: part.error }) }];
    }),
  );
  return { question: history[at]?.parts.findLast((part) => part.type === 'text')?.text ?? '', answered };
}
