import { ConfigurationError } from './errors.js';
import { JsonMerger } from './json/merge.js';
import { toolCallsOf, unfinishedResult } from './message.js';
import type { Message, Metadata, Part, ToolCallPart, ToolResultPart } from './message.js';

/**
 * Makes a history acceptable to any provider. System messages come first, merged into one; adjacent messages of a role
 * are merged; empty messages are omitted; and the result of each tool call is in the next message. A call without a
 * result (from a cancelled run) gets a `cancelled` result.
 *
 * @param messages The conversation, oldest first.
 * @param isSeparate Whether a message must not be merged with adjacent messages, so that two messages of a role may
 * follow each other. Default: all messages may be merged.
 * @returns The same array if nothing had to change, otherwise a new one.
 * @throws ConfigurationError `history` if a tool result belongs to no call: no provider accepts it.
 */
export function repairHistory(
  messages: readonly Message[],
  isSeparate: (message: Message) => boolean = () => false,
): readonly Message[] {
  if (isValid(messages, isSeparate)) return messages;
  const system = messages.filter(({ role }) => role === 'system');
  const others = messages.filter(({ role, parts }) => role !== 'system' && parts.length > 0);
  return [...mergeAdjacent(system, isSeparate), ...addMissingResults(mergeAdjacent(others, isSeparate))];
}

/** The usual case: only the first turn may be invalid. It runs in each turn, so it allocates nothing. */
function isValid(messages: readonly Message[], isSeparate: (message: Message) => boolean): boolean {
  let previous: Message | undefined;
  for (const message of messages) {
    const { role, parts } = message;
    if (role === 'system' ? previous !== undefined : parts.length === 0) return false;
    if (role === previous?.role && !isSeparate(message) && !isSeparate(previous)) return false;
    if (role === 'user' ? !hasExactResults(parts, modelParts(previous)) : hasCalls(modelParts(previous))) return false;
    previous = message;
  }
  return !hasCalls(modelParts(previous));
}

const none: readonly Part[] = [];

const modelParts = (message: Message | undefined): readonly Part[] =>
  message?.role === 'model' ? message.parts : none;

const hasCalls = (parts: readonly Part[]): boolean => parts.some(isCall);

const isCall = ({ type }: Part): boolean => type === 'toolCall';

/** Merges adjacent messages of a role: several APIs reject two user messages in a row. */
function mergeAdjacent(messages: readonly Message[], isSeparate: (message: Message) => boolean): Message[] {
  const groups: Message[][] = [];
  let separate = false;
  for (const message of messages) {
    const group = groups.at(-1);
    const previousIsSeparate = separate;
    separate = isSeparate(message);
    if (group?.[0]?.role === message.role && !previousIsSeparate && !separate) group.push(message);
    else groups.push([message]);
  }
  return groups.flatMap(merge);
}

function merge(messages: readonly Message[]): readonly Message[] {
  const [first] = messages;
  if (!first || messages.length === 1) return messages;
  const merger = new JsonMerger().add({});
  for (const { metadata = {} } of messages) merger.add(metadata);
  const metadata = merger.value as Metadata;
  const parts = messages.flatMap((message) => message.parts);
  return [{ role: first.role, parts, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) }];
}

const cancelledResult = (call: ToolCallPart): ToolResultPart => unfinishedResult(call, 'cancelled');

function addMissingResults(messages: readonly Message[]): Message[] {
  const repaired: Message[] = [];
  let open: readonly ToolCallPart[] = [];
  for (const message of messages) {
    repaired.push(message.role === 'user' ? withResults(message, open, messages) : message);
    open = message.role === 'model' ? [...open, ...toolCallsOf(message)] : [];
  }
  if (open.length > 0) repaired.push({ role: 'user', parts: open.map(cancelledResult) });
  return repaired;
}

function withResults(message: Message, calls: readonly ToolCallPart[], history: readonly Message[]): Message {
  if (hasExactResults(message.parts, calls)) return message;
  const results = message.parts.filter((part) => part.type === 'toolResult');
  const open = new Map(calls.map((call) => [call.id, call]));
  for (const { id, name } of results) if (!open.delete(id)) throw orphanError(history.indexOf(message), id, name);
  return {
    ...message,
    parts: [
      ...results,
      ...[...open.values()].map(cancelledResult),
      ...message.parts.filter((part) => part.type !== 'toolResult'),
    ],
  };
}

/** Whether no result has to be moved: `executeTools` emits such messages. */
function hasExactResults(parts: readonly Part[], calls: readonly Part[]): boolean {
  let answered = 0;
  for (const call of calls) {
    if (call.type !== 'toolCall') continue;
    const result = parts[answered++];
    if (result?.type !== 'toolResult' || result.id !== call.id) return false;
  }
  for (let at = answered; at < parts.length; at++) if (parts[at]?.type === 'toolResult') return false;
  return true;
}

const orphanError = (index: number, id: string, name: string) =>
  new ConfigurationError(
    'history',
    `Message ${index} of the merged history contains a result of tool "${name}" (id "${id}") without a matching call.`,
    "Keep the model's message with the call immediately before its results, or remove both.",
  );

/** The ids of all tool calls of a conversation. A new call must not reuse one. */
export function toolCallIds(messages: readonly Message[]): Set<string> {
  const ids = new Set<string>();
  // This runs in each turn with calls. Nested loops rather than intermediate arrays: 10,000 turns took a third of the
  // time (measured).
  for (const { role, parts } of messages)
    if (role === 'model') for (const part of parts) if (part.type === 'toolCall') ids.add(part.id);
  return ids;
}
