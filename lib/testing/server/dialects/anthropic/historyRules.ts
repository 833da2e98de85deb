import { isJsonObject, isRecord, nonEmptyString, objectOrEmpty, type JsonObject } from '../../../../core/json/json.js';
import { words } from '../../../../core/words.js';
import { objectsIn } from '../history.js';
import { textOf, type HistoryRules } from '../historyRules.js';

/** Messages are the API's own, pages those of platform.claude.com; an issue reports a refused request. */
export const historyRules: HistoryRules = {
  'Messages API reference, `messages.role`': (messages, at) => {
    const role = messages[at]?.['role'];
    const isKnown = role === 'user' || role === 'assistant';
    return isKnown ? undefined : `messages.${at}.role: Input should be 'user' or 'assistant'`;
  },
  'Messages API reference, `messages.content`': (messages, at) =>
    blocksOf(messages[at]).length === 0 && at < messages.length - 1
      ? `messages.${at}: all messages must have non-empty content`
      : undefined,
  'Messages API reference, `text.text`': forBlocks(({ type, text }, at) =>
    type === 'text' && textOf(text).trim() === ''
      ? `messages.${at}: text content blocks must contain non-whitespace text`
      : undefined,
  ),
  'Page "Prefill": a last message of the model must not end with whitespace': (messages, at) => {
    const text = blocksOf(messages[at]).at(-1)?.['text'];
    const endsBlank = typeof text === 'string' && text !== text.trimEnd();
    return isLast(messages, at) && isFromModel(messages[at]) && endsBlank
      ? `messages.${at}: final assistant content cannot end with trailing whitespace`
      : undefined;
  },
  'Page "Extended thinking", "Preserving thinking blocks"': forBlocks(({ type, signature }, at) =>
    type === 'thinking' && nonEmptyString(signature) === undefined
      ? `messages.${at}: Invalid \`signature\` in \`thinking\` block`
      : undefined,
  ),
  'tailcallhq/forgecode#2107, NousResearch/hermes-agent#11098, router-for-me/CLIProxyAPI#5321': (messages, at) => {
    const type = nonEmptyString(blocksOf(messages[at]).at(-1)?.['type']) ?? '';
    return /^(redacted_)?thinking$/.test(type)
      ? `messages.${at}: The final block in an assistant message cannot be \`thinking\`.`
      : undefined;
  },
  'anthropics/claude-code#6696: an input that was cut off is a string': forBlocks(({ type, input }, at, index) =>
    isCall(type) && !isJsonObject(input)
      ? `messages.${at}.content.${index}.${textOf(type)}.input: Input should be a valid dictionary`
      : undefined,
  ),
  'langchain-ai/langchain#32592: citations of a response have a field that those of a request do not have': forBlocks(
    ({ type, citations }, at, index) => {
      const extra = objectsIn(citations).findIndex(({ file_id }) => file_id !== undefined);
      if (type !== 'text' || extra < 0) return undefined;
      const kind = nonEmptyString(objectsIn(citations)[extra]?.['type']) ?? '';
      const field = `text.citations.${extra}.${kind}.file_id`;
      return `messages.${at}.content.${index}.${field}: Extra inputs are not permitted`;
    },
  ),
  'Page "Handle tool calls": an error needs a content': forBlocks(({ type, is_error, content }, at) =>
    type === 'tool_result' && is_error === true && isBlank(content)
      ? `messages.${at}: tool_result: content cannot be empty if \`is_error\` is true`
      : undefined,
  ),
  '`ToolResultBlockParam` of the SDK 1.12: what a result may contain': forBlocks(({ type, content }, at) => {
    if (type !== 'tool_result') return undefined;
    const where = `messages.${at}.content.tool_result.content`;
    const bad = objectsIn(content).find((block) => !resultTypes.has(block['type']));
    if (bad) return `${where}: ${nonEmptyString(bad['type']) ?? 'no type'} is not allowed`;
    return objectsIn(content).some((block) => block['type'] === 'image' && !isImageSource(block['source']))
      ? `${where}.image.source: Input should be a valid image`
      : undefined;
  }),
  'Messages API reference, `tool_use.id`': forBlocks(({ type, id }, at) =>
    type === 'tool_use' && !/^[a-zA-Z0-9_-]+$/.test(textOf(id))
      ? `messages.${at}.content.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`
      : undefined,
  ),
  'Page "Handle tool calls": results come first, directly after their calls; anthropics/claude-code#3886': (
    messages,
    at,
  ) => {
    const answered = idsOf(leadingResults(messages[at + 1]), 'tool_result', 'tool_use_id');
    const open = idsOf(blocksOf(messages[at]), 'tool_use', 'id').filter((id) => !answered.includes(id));
    return open.length === 0
      ? undefined
      : `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks ` +
          `immediately after: ${open.join(', ')}`;
  },
  'Page "Handle tool calls"; `toolset_name` in `ToolResultBlockParam` of the SDK 1.12': (messages, at) => {
    const calls = blocksOf(messages[at - 1]).filter(({ type }) => type === 'tool_use');
    const results = blocksOf(messages[at]).filter(({ type }) => type === 'tool_result');
    for (const { tool_use_id: id, toolset_name: toolset } of results) {
      const call = calls.find((one) => one['id'] === id);
      if (!call) return `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${textOf(id)}`;
      if (call['toolset_name'] !== toolset)
        return `messages.${at}: tool_result: toolset_name does not match the tool_use`;
    }
    return undefined;
  },
  'Page "Handling stop reasons", `tool_use` and `pause_turn`; pydantic/pydantic-ai#2600': (messages, at) => {
    const turn = restOfTurn(messages, at);
    if (!turn) return undefined;
    const results = new Set(turn.filter(isServerResult).map((block) => block['tool_use_id']));
    const open = blocksOf(messages[at]).find(({ type, id }) => isServerCall(type) && !results.has(id));
    if (!open) return undefined;
    const name = textOf(open['name']);
    const result = open['type'] === 'mcp_tool_use' ? 'mcp_tool_result' : `${name}_tool_result`;
    return (
      `messages.${at}: \`${name}\` tool use with id \`${textOf(open['id'])}\` was found without a ` +
      `corresponding \`${result}\` block`
    );
  },
  'anthropics/claude-code#66944, mozilla-ai/otari#795: a result needs its call before it': (messages, at) => {
    const before = turnBefore(messages, at).filter(({ type }) => isServerCall(type));
    const calls = new Set(before.map(({ id }) => id));
    for (const block of blocksOf(messages[at])) {
      if (isServerCall(block['type'])) calls.add(block['id']);
      if (!isServerResult(block) || calls.has(block['tool_use_id'])) continue;
      return (
        `messages.${at}: unexpected \`tool_use_id\` found in \`${textOf(block['type'])}\` blocks: ` +
        `${textOf(block['tool_use_id'])}. Each block must have a corresponding \`server_tool_use\` block before it.`
      );
    }
    return undefined;
  },
  'Page "Programmatic tool calling": the caller of a call is a call before it': (messages, at) => {
    const calls = new Set([...turnBefore(messages, at), ...blocksOf(messages[at])].map(({ id }) => id));
    const callers = blocksOf(messages[at]).map(({ caller }) => objectOrEmpty(caller)['tool_id']);
    const unknown = callers.find((id) => id !== undefined && !calls.has(id));
    return unknown === undefined
      ? undefined
      : `messages.${at}: \`caller.tool_id\` refers to an unknown tool use: ${textOf(unknown)}`;
  },
};

function forBlocks(
  objection: (block: JsonObject, at: number, index: number) => string | undefined,
): HistoryRules[string] {
  return (messages, at) =>
    blocksOf(messages[at])
      .map((block, index) => objection(block, at, index))
      .find((found) => found !== undefined);
}

const isLast = (messages: readonly JsonObject[], at: number): boolean => at === messages.length - 1;
const isFromModel = (message: JsonObject | undefined): boolean => message?.['role'] === 'assistant';
const isServerCall = (type: unknown): boolean => type === 'server_tool_use' || type === 'mcp_tool_use';
const isCall = (type: unknown): boolean => type === 'tool_use' || isServerCall(type);
const isServerResult = ({ type }: JsonObject): boolean => textOf(type).endsWith('_tool_result');

const answersOnly = (message: JsonObject): boolean =>
  message['role'] === 'user' && blocksOf(message).every(({ type }) => type === 'tool_result');

function restOfTurn(messages: readonly JsonObject[], at: number): readonly JsonObject[] | undefined {
  if (!isFromModel(messages[at])) return undefined;
  const end = messages.findIndex((message, index) => index > at && !isFromModel(message) && !answersOnly(message));
  return end < 0 ? undefined : messages.slice(at, end).filter(isFromModel).flatMap(blocksOf);
}

function turnBefore(messages: readonly JsonObject[], at: number): readonly JsonObject[] {
  const before = messages.slice(0, at);
  const start = before.findLastIndex((message) => !isFromModel(message) && !answersOnly(message));
  return before
    .slice(start + 1)
    .filter(isFromModel)
    .flatMap(blocksOf);
}

function leadingResults(message: JsonObject | undefined): readonly JsonObject[] {
  const blocks = blocksOf(message);
  const end = blocks.findIndex(({ type }) => type !== 'tool_result');
  return end < 0 ? blocks : blocks.slice(0, end);
}

/** `ToolResultBlockParam` of the SDK 1.12. */
const resultTypes: ReadonlySet<unknown> = /* @__PURE__ */ words(`
  text image search_result document tool_reference browser_state
`);

const isImageSource = (source: unknown): boolean =>
  isRecord(source) &&
  (source['type'] !== 'base64' || /^image\/(jpeg|png|gif|webp)$/.test(textOf(source['media_type'])));

const isBlank = (content: unknown) =>
  typeof content === 'string' ? content.trim() === '' : !Array.isArray(content) || content.length === 0;

export function blocksOf(message: JsonObject | undefined): readonly JsonObject[] {
  const content = message?.['content'];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

export const idsOf = (blocks: readonly JsonObject[], type: string, field: string): readonly string[] =>
  blocks.filter((block) => block['type'] === type).map((block) => textOf(block[field]));
