import { canonicalJson } from './json/canonical.js';
import { hasToolResults, toolCallsOf, type Message, type ToolCallPart } from './message.js';

/** Counts back to the user's last input, or to a turn without the call. Other calls do not matter. */
export function countRepeatedCalls(messages: readonly Message[], call: ToolCallPart): number {
  const text = textOf(call);
  let count = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (message?.role === 'model') {
      if (!textsOf(message).has(text)) break;
      count++;
    } else if (!hasToolResults(message)) break;
  }
  return count;
}

const textOf = ({ name, arguments: args }: ToolCallPart): string => canonicalJson([name, args]);

/** Each call of a turn is searched among all calls of the turns before it. */
const known = /* @__PURE__ */ new WeakMap<Message, ReadonlySet<string>>();

function textsOf(message: Message): ReadonlySet<string> {
  const texts = known.get(message) ?? new Set(toolCallsOf(message).map(textOf));
  known.set(message, texts);
  return texts;
}
