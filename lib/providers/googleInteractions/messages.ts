import { isJsonObject, nonEmptyArray, nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { toolCallsOf } from '../../core/message.js';
import type { FilePart, Message, Part, TextPart, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { storedData } from '../../core/providerPart.js';
import { encodeConversation } from '../../protocol/encodeOnce.js';
import { encodeSystemMessages, nonEmptyTexts } from '../shared/encode.js';
import { withMessageOptions } from '../shared/providerOptions.js';
import { toolResultContent } from '../shared/toolResultContent.js';
import { encodeContent } from './content.js';
import { provider } from './providerData.js';

export const encodeInstructions = /* @__PURE__ */ encodeSystemMessages((system) =>
  nonEmptyArray(system.flatMap(nonEmptyTexts))?.join('\n\n'),
);

/** `Step` of the SDK. Nothing is stored at Google, so thoughts and server steps are sent back in place. */
export const encodeSteps = /* @__PURE__ */ encodeConversation((message, answered) => {
  if (message.role === 'system') return [];
  return message.role === 'user' ? encodeUser(message, answered) : encodeModel(message);
});

function encodeModel(message: Message): readonly JsonObject[] {
  const steps: JsonObject[] = [];
  let content: JsonObject[] = [];
  const closeOutput = () => {
    if (content.length > 0) steps.push({ type: 'model_output', content });
    content = [];
  };
  for (const part of message.parts) {
    const step = encodeStep(part);
    if (step) {
      closeOutput();
      steps.push(step);
    } else if (isContent(part)) content.push(encodeContent(part));
  }
  closeOutput();
  return withMessageOptions(steps, provider, message);
}

function encodeUser(message: Message, answered: Message | undefined): readonly JsonObject[] {
  const calls = new Map((answered ? toolCallsOf(answered) : []).map((call) => [call.id, call]));
  const results = message.parts.flatMap((part) =>
    part.type === 'toolResult' ? [encodeResult(part, calls.get(part.id))] : [],
  );
  const content = message.parts.filter(isContent).map(encodeContent);
  const input = content.length > 0 ? [{ type: 'user_input', content }] : [];
  return withMessageOptions([...results, ...input], provider, message);
}

const isContent = (part: Message['parts'][number]): part is TextPart | FilePart =>
  (part.type === 'text' && part.text !== '') || part.type === 'file';

function encodeStep(part: Part): JsonObject | undefined {
  if (part.type === 'toolCall') return encodeCall(part);
  const step = part.type === 'provider' && part.provider === provider ? part.data['step'] : undefined;
  return isJsonObject(step) ? step : undefined;
}

/** The id as the API gave it: within a run, repeated ids are replaced. */
const wireId = (call: ToolCallPart): string => nonEmptyString(storedData(call, provider)['id']) ?? call.id;

function encodeCall(call: ToolCallPart): JsonObject {
  const { name, arguments: args } = call;
  const signature = nonEmptyString(storedData(call, provider)['signature']);
  return omitUndefined({ type: 'function_call', id: wireId(call), name, arguments: args, signature });
}

/** The API refuses an empty text: a result without content is an empty string. */
function encodeContents(contents: readonly (TextPart | FilePart)[]): JsonValue {
  const filled = contents.filter((content) => content.type === 'file' || content.text !== '');
  return filled.length === 0 ? '' : filled.map(encodeContent);
}

function encodeResult(part: ToolResultPart, call: ToolCallPart | undefined): JsonObject {
  const step = { type: 'function_result', call_id: call ? wireId(call) : part.id, name: part.name };
  if (part.error !== undefined)
    return { ...step, is_error: true, result: encodeContents([{ type: 'text', text: part.error }]) };
  return { ...step, result: encodeContents(toolResultContent(part)) };
}
