import { nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import { objectsIn } from '../history.js';
import type { HistoryRules } from '../historyRules.js';

/** The pages are those of docs.cohere.com. */
export const historyRules: HistoryRules = {
  'Page "Tool use - basic usage", on managing the state: the results of all calls directly after them': (
    messages,
    at,
  ) => {
    const answered = resultsAfter(messages, at).map(({ tool_call_id: id }) => id);
    const open = callIdsOf(messages[at]).filter((id) => !answered.includes(id));
    return open.length === 0 ? undefined : `tool calls without results: ${open.join(', ')}`;
  },
  'Chat reference, `tool_call_id`: the id of a call directly before, once': (messages, at) => {
    if (messages[at]?.['role'] !== 'tool') return undefined;
    const call = messages.findLastIndex(({ role }, index) => index < at && role !== 'tool');
    const id = nonEmptyString(messages[at]['tool_call_id']) ?? '';
    const isRepeated = messages.slice(call + 1, at).some((message) => message['tool_call_id'] === id);
    return callIdsOf(messages[call]).includes(id) && !isRepeated
      ? undefined
      : 'tool_call_id does not match a tool call before it';
  },
  "Chat reference, `tool_plan`; the API's message": (messages, at) => {
    const { content, tool_calls: calls } = messages[at] ?? {};
    const hasText = typeof content === 'string' || objectsIn(content).some(({ type }) => type === 'text');
    return Array.isArray(calls) && hasText
      ? "text content is not allowed when tool_calls are provided. If you wish to pass a tool plan, use 'tool_plan'"
      : undefined;
  },
  '`ToolContent` of the SDK cohere-ai 8.1: the content of a result is texts and documents': (messages, at) => {
    if (messages[at]?.['role'] !== 'tool') return undefined;
    const bad = objectsIn(messages[at]['content']).find(({ type }) => type !== 'text' && type !== 'document');
    return bad && `invalid type of tool content: ${nonEmptyString(bad['type']) ?? ''}`;
  },
};

const callIdsOf = (message: JsonObject | undefined): readonly string[] =>
  objectsIn(message?.['tool_calls']).map(({ id }) => nonEmptyString(id) ?? '');

function resultsAfter(messages: readonly JsonObject[], at: number): readonly JsonObject[] {
  const end = messages.findIndex(({ role }, index) => index > at && role !== 'tool');
  return messages.slice(at + 1, end < 0 ? messages.length : end);
}
