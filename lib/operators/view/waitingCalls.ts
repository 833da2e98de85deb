import { chunksOf } from './partList.js';
import { isToolCallView, type PartView, type ToolCallView, type View } from './view.js';

/** The waiting calls of arrays of parts: of a view that grows, only the last array is new. */
const waiting = /* @__PURE__ */ new WeakMap<readonly PartView[], readonly ToolCallView[]>();

function waitingIn(parts: readonly PartView[]): readonly ToolCallView[] {
  const known = waiting.get(parts);
  if (known) return known;
  const calls = parts
    .filter(isToolCallView)
    .flatMap((call) => (call.nested ? waitingCalls(call.nested) : call.status === 'waiting' ? [call] : []));
  waiting.set(parts, calls);
  return calls;
}

/** The calls of a view that wait for a decision or a result. A call with an inner run waits for the calls in it. */
export function waitingCalls({ messages }: View): readonly ToolCallView[] {
  const calls: ToolCallView[] = [];
  for (const message of messages)
    for (const parts of chunksOf(message)) for (const call of waitingIn(parts)) calls.push(call);
  return calls;
}
