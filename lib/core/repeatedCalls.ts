import { isSameJson } from './json/equal.js';
import { hasToolResults, toolCallsOf, type Message, type ToolCallPart } from './message.js';

/** Counts back to the user's last input, or to a turn without the call. Other calls do not matter. */
export function countRepeatedCalls(messages: readonly Message[], call: ToolCallPart): number {
  let count = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (message?.role === 'model') {
      if (!toolCallsOf(message).some((other) => isSameCall(other, call))) break;
      count++;
    } else if (!hasToolResults(message)) break;
  }
  return count;
}

const isSameCall = (a: ToolCallPart, b: ToolCallPart): boolean =>
  a.name === b.name && isSameJson(a.arguments, b.arguments);
