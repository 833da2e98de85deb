import { ConfigurationError } from './errors.js';
import type { Message, Part, ToolCallPart, ToolResultPart } from './message.js';

/**
 * Makes a history acceptable to any provider: system messages first (as one), neighbours of a role merged, every tool call answered in the message
 * that follows it, empty messages left out. A call without its result (a run that was cancelled) is answered as cancelled.
 *
 * @param messages The conversation, oldest first.
 * @returns The same messages where nothing had to change, otherwise new ones.
 * @throws ConfigurationError `history` when a tool result answers no call: there is nothing that it could be sent as.
 */
export function validHistory(messages: readonly Message[]): readonly Message[] {
  const system = messages.filter(({ role }) => role === 'system');
  const rest = messages.filter(({ role, parts }) => role !== 'system' && parts.length > 0);
  return merged([...system, ...answered(rest)]);
}

/** Joins neighbours of a role: several APIs refuse two user messages in a row. */
function merged(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const previous = joined.at(-1);
    if (previous?.role === message.role) joined[joined.length - 1] = join(previous, message);
    else joined.push(message);
  }
  return joined;
}

function join(a: Message, b: Message): Message {
  const metadata = a.metadata || b.metadata ? { metadata: { ...a.metadata, ...b.metadata } } : {};
  return { role: a.role, parts: [...a.parts, ...b.parts], ...metadata };
}

const cancelled = ({ id, name }: ToolCallPart): ToolResultPart => ({ type: 'toolResult', id, name, error: 'cancelled' });

/** Puts the results of a message's calls right behind it, first among the user's parts. */
function answered(messages: readonly Message[]): Message[] {
  const out: Message[] = [];
  let open = new Map<string, ToolCallPart>();
  const close = () => {
    if (open.size > 0) out.push({ role: 'user', parts: [...open.values()].map(cancelled) });
    open = new Map();
  };
  messages.forEach((message, index) => {
    if (message.role === 'model') {
      const calls = message.parts.filter((part) => part.type === 'toolCall');
      if (calls.length > 0 || !open.size) close();
      out.push(message);
      for (const call of calls) open.set(call.id, call);
      return;
    }
    const results = message.parts.filter((part) => part.type === 'toolResult');
    for (const { id, name } of results) if (!open.delete(id)) throw orphan(index, id, name);
    // Results of one turn may come in several messages: the calls stay open while only results follow.
    const others: readonly Part[] = message.parts.filter((part) => part.type !== 'toolResult');
    if (results.length === message.parts.length && open.size > 0 && messages[index + 1]?.role === 'user') out.push(message);
    else {
      const missing = [...open.values()].map(cancelled);
      open = new Map();
      out.push(missing.length > 0 || results.length > 0 ? { ...message, parts: [...results, ...missing, ...others] } : message);
    }
  });
  close();
  return out;
}

const orphan = (index: number, id: string, name: string) =>
  new ConfigurationError(
    'history',
    `Message ${index} of the history holds a result of tool "${name}" (id "${id}") that answers no open call.`,
    "Keep the model's message with the call right before its results, or drop both.",
  );

/** The ids of all tool calls of a conversation: a new call must not take one of them. */
export function toolCallIds(messages: readonly Message[]): Set<string> {
  return new Set(messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'toolCall').map(({ id }) => id)));
}
