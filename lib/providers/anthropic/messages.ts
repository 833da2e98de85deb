import { growing } from '../../core/growing.js';
import { omit, omitUndefined, isJsonObject, asArray, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { toolCallsOf } from '../../core/message.js';
import type { Message, Part, TextPart, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { storedData } from '../../core/providerPart.js';
import { anthropicCallId } from '../shared/callIds.js';
import { encodeConversation } from '../../protocol/encodeOnce.js';
import { encodeSystemMessages } from '../shared/encode.js';
import { withProviderOptions } from '../shared/providerOptions.js';
import { toolResultContent, unsupportedResultFileError } from '../shared/toolResultContent.js';
import { encodeFile, isSupported } from './files.js';
import { isThinkingBlock } from './models.js';
import { mayHaveRefusedBlocks, removeRefusedBlocks, type WireMessage } from './repair.js';

const provider = 'anthropic';

/** Blank texts and empty messages are omitted: "text content blocks must contain non-whitespace text" (400). */
export function encodeMessages(messages: readonly Message[]): {
  readonly system: JsonValue | undefined;
  readonly messages: readonly JsonObject[];
} {
  const encoded = encodeAll(messages);
  const repaired = areAcceptable(encoded) ? encoded : repairMessages(encoded);
  return { system: encodeSystem(messages), messages: trimLastMessage(repaired) };
}

const encodeAll = /* @__PURE__ */ encodeConversation(encodeMessage);

/** Whether the API accepts the messages as they are encoded, which nearly all conversations are: nothing is copied. */
const areAcceptable = /* @__PURE__ */ growing<WireMessage, boolean>(
  true,
  (acceptable, message, previous) => acceptable && message.role !== previous?.role && !mayHaveRefusedBlocks(message),
);

const encodeSystem = /* @__PURE__ */ encodeSystemMessages((system): JsonValue | undefined => {
  const blocks = system.flatMap((message) => withOptions(message.parts.flatMap(encodeText), message));
  if (blocks.some((block) => Object.keys(omit(block, 'type', 'text')).length > 0)) return blocks;
  return nonEmptyString(blocks.map(({ text }) => nonEmptyString(text)).join('\n\n'));
});

function encodeMessage(message: Message, answered: Message | undefined): readonly WireMessage[] {
  const { role, parts } = message;
  if (role === 'system') return [];
  const blocks = role === 'user' ? encodeUserParts(parts, answered) : encodeModelParts(parts);
  const content = withOptions(blocks, message);
  return content.length === 0 ? [] : [{ role: role === 'user' ? 'user' : 'assistant', content }];
}

/** Merges the options of a message into its last block, except thinking, which the API accepts only unchanged. */
function withOptions(blocks: readonly JsonObject[], message: Message): readonly JsonObject[] {
  const last = blocks.findLastIndex(({ type }) => !isThinkingBlock(type));
  return blocks.map((block, index) => (index === last ? withProviderOptions(block, provider, message) : block));
}

/** A repair may empty a message between two messages of one role, which the API then requires as one message. */
function repairMessages(encoded: readonly WireMessage[]): readonly WireMessage[] {
  const messages = mergeAdjacent(encoded);
  const repaired = removeRefusedBlocks(messages);
  return repaired === messages ? messages : mergeAdjacent(repaired);
}

/** The API requires alternating roles. Messages with options of their own arrive here as separate messages. */
function mergeAdjacent(messages: readonly WireMessage[]): readonly WireMessage[] {
  const merged: WireMessage[] = [];
  for (const message of messages) {
    const previous = merged.at(-1);
    if (previous?.role !== message.role) merged.push(message);
    else merged[merged.length - 1] = { ...previous, content: [...previous.content, ...message.content] };
  }
  return merged;
}

/** The API requires tool results directly after the calls, before any text ("Handle tool calls"). */
function encodeUserParts(parts: readonly Part[], answered: Message | undefined): readonly JsonObject[] {
  const calls = new Map((answered ? toolCallsOf(answered) : []).map((call) => [call.id, call]));
  const results = parts.filter((part) => part.type === 'toolResult').map((part) => encodeResult(part, calls));
  const content = parts.flatMap((part) => {
    if (part.type === 'text') return encodeText(part);
    return part.type === 'file' ? [encodeFile(part)] : [];
  });
  return [...results, ...content];
}

const encodeText = (part: Part): readonly JsonObject[] =>
  part.type === 'text' ? textBlock(part.text).map((block) => withProviderOptions(block, provider, part)) : [];

/** "content cannot be empty if `is_error` is true" (400). A toolset's results name it (`ToolResultBlockParam`). */
function encodeResult(part: ToolResultPart, calls: ReadonlyMap<string, ToolCallPart>): JsonObject {
  const { id, error } = part;
  const call = calls.get(id);
  const block = omitUndefined({
    type: 'tool_result',
    tool_use_id: anthropicCallId(id),
    toolset_name: call && storedData(call, provider)['toolset_name'],
  });
  if (error !== undefined)
    return { ...block, content: error.trim() === '' ? 'The tool failed.' : error, is_error: true };
  const content = encodeResultContent(part);
  return content.length === 0 ? block : { ...block, content };
}

function encodeResultContent(part: ToolResultPart): string | readonly JsonObject[] {
  const contents = toolResultContent(part);
  if (!contents.some(({ type }) => type === 'file'))
    return contents.map((content) => (content.type === 'text' ? content.text : '')).join('');
  return contents.flatMap((content) => {
    if (content.type === 'text') return textBlock(content.text);
    if (!isSupported(content)) throw unsupportedResultFileError(provider, part.name, content);
    return [encodeFile(content)];
  });
}

/** In order of arrival: signed blocks are checked at their places. A block may repeat, or end, the text before it. */
function encodeModelParts(parts: readonly Part[]): readonly JsonObject[] {
  const blocks: JsonObject[] = [];
  let text = '';
  let owner: Pick<TextPart, 'providerOptions'> | undefined; // the part whose options the open text has
  const endText = (citations: JsonObject = {}) => {
    const own = owner ?? {};
    blocks.push(...textBlock(text).map((block) => withProviderOptions({ ...block, ...citations }, provider, own)));
    text = '';
    owner = undefined;
  };
  for (const part of parts) {
    if (part.type === 'toolCall') {
      endText();
      blocks.push(encodeCall(part));
    } else if (part.type === 'text') {
      if (owner) endText();
      text += part.text;
      if (part.providerOptions?.[provider]) owner = part;
    } else if (part.type === 'provider' && part.provider === provider) {
      const { type, citations, text: ownText } = part.data;
      if (type === 'text') endText(omitUndefined({ citations: citations && encodeCitations(citations) }));
      else if (type !== undefined) {
        if (typeof ownText === 'string' && ownText.endsWith(text)) text = '';
        endText();
        blocks.push(part.data);
      }
    }
  }
  endText();
  return blocks;
}

/** Without `file_id`, which responses have and the API refuses in requests (langchain-ai/langchain#32592). */
const encodeCitations = (citations: JsonValue): readonly JsonObject[] =>
  asArray(citations)
    .filter(isJsonObject)
    .map((citation) => omit(citation, 'file_id'));

const textBlock = (text: string): readonly JsonObject[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

function encodeCall(call: ToolCallPart): JsonObject {
  const { id, name, arguments: input } = call;
  return { type: 'tool_use', id: anthropicCallId(id), name, input, ...storedData(call, provider) };
}

/** The API rejects it: "cannot end with trailing whitespace". */
function trimLastMessage(messages: readonly WireMessage[]): readonly JsonObject[] {
  const lastMessage = messages.at(-1);
  const lastBlock = lastMessage?.content.at(-1);
  const text = lastBlock?.['text'];
  if (lastMessage?.role !== 'assistant' || typeof text !== 'string') return messages;
  const content = [...lastMessage.content.slice(0, -1), { ...lastBlock, text: text.trimEnd() }];
  return [...messages.slice(0, -1), { ...lastMessage, content }];
}
