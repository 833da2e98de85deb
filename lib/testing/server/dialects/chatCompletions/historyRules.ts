import { isRecord, nonEmptyString, type JsonObject } from '../../../../core/json/json.js';
import { objectsIn } from '../history.js';
import { textOf, type HistoryRules } from '../historyRules.js';

/** These hold for any server. The messages are OpenAI's. */
export const historyRules: HistoryRules = {
  'Chat Completions reference, `messages.content`: required unless the message has calls': (messages, at) => {
    const { role, content, tool_calls: calls, refusal, audio } = messages[at] ?? {};
    const hasContent = content !== null && content !== undefined;
    if (hasContent || (role === 'assistant' && [calls, refusal, audio].some((field) => field !== undefined)))
      return undefined;
    return `Invalid value for 'content': expected a string, got null. (messages.[${at}].content)`;
  },
  'Chat Completions reference, `tool_calls`; aliasrobotics/cai#111': (messages, at) => {
    const open = callIdsOf(messages[at]).filter((id) => !resultIdsAfter(messages, at).includes(id));
    return open.length === 0
      ? undefined
      : "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
          `'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`;
  },
  'Chat Completions reference, `tool_call_id`; run-llama/llama_index#10493': (messages, at) => {
    if (messages[at]?.['role'] !== 'tool') return undefined;
    const call = messages.findLastIndex(({ role }, index) => index < at && role !== 'tool');
    return callIdsOf(messages[call]).includes(textOf(messages[at]['tool_call_id']))
      ? undefined
      : "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
  },
};

/** More rules, of OpenAI and of servers that do not support files in results. */
export const textResultRules: HistoryRules = {
  '`ChatCompletionToolMessageParam.content` of the SDK openai 7.57: the parts of a result are texts': (
    messages,
    at,
  ) => {
    if (messages[at]?.['role'] !== 'tool') return undefined;
    const parts = objectsIn(messages[at]['content']);
    const index = parts.findIndex(({ type }) => type !== 'text');
    if (index < 0) return undefined;
    const type = textOf(parts[index]?.['type']);
    return `Invalid 'messages[${at}].content[${index}].type': '${type}'. Supported values are: 'text'.`;
  },
};

/** Error code 3280. */
export const mistralIdRules: HistoryRules = {
  'anomalyco/opencode#1680, nearai/ironclaw#1241: the ids of calls': (messages, at) => {
    const { tool_call_id: id } = messages[at] ?? {};
    const bad = [...callIdsOf(messages[at]), ...(nonEmptyString(id) === undefined ? [] : [textOf(id)])].find(
      (one) => !/^[a-zA-Z0-9]{9}$/.test(one),
    );
    return bad === undefined ? undefined : `Tool call id was ${bad} but must be a-z, A-Z, 0-9, with a length of 9.`;
  },
};

/** Error code 3230. */
export const mistralOrderRules: HistoryRules = {
  'datapizza-labs/datapizza-ai#98: the order of roles': (messages, at) =>
    messages[at]?.['role'] === 'user' && messages[at - 1]?.['role'] === 'tool'
      ? "Unexpected role 'user' after role 'tool'"
      : undefined,
  'docs.mistral.ai, "Prefix": the last message': (messages, at) =>
    at === messages.length - 1 && messages[at]?.['role'] === 'assistant' && messages[at]['prefix'] !== true
      ? 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
      : undefined,
};

const callIdsOf = (message: JsonObject | undefined): readonly string[] =>
  objectsIn(message?.['tool_calls']).map(({ id }) => textOf(id));

function resultIdsAfter(messages: readonly JsonObject[], at: number): readonly string[] {
  const end = messages.findIndex(({ role }, index) => index > at && role !== 'tool');
  return messages
    .slice(at + 1, end < 0 ? messages.length : end)
    .map((message) => (isRecord(message) ? textOf(message['tool_call_id']) : ''));
}
