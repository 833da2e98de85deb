import { optionsError } from '../../core/errors.js';
import { growing, SharedList } from '../../core/growing.js';
import { nonEmptyArray, type JsonObject, type JsonValue } from '../../core/json/json.js';
import { toolCallsOf, type Message, type ToolCallPart } from '../../core/message.js';
import { providerDataOf } from '../../core/providerPart.js';
import { shortCallId } from '../shared/callIds.js';
import { encodeConversation } from '../../protocol/encodeOnce.js';
import { encodeSystemMessages, nonEmptyTexts } from '../shared/encode.js';
import { withProviderOptions } from '../shared/providerOptions.js';
import { encodeResult } from './clientOutputs.js';
import { encodeContent } from './files.js';
import { provider } from './models.js';
import { encodeModelMessage, type MapCallId } from './replay.js';

export const encodeInstructions = /* @__PURE__ */ encodeSystemMessages((system) => {
  const owners = system.flatMap((message) => [message, ...message.parts.filter((part) => part.type === 'text')]);
  if (owners.some(({ providerOptions }) => providerOptions?.[provider])) {
    throw optionsError(
      'The Responses API has no options for the system prompt: it is sent as `instructions`, which is a text.',
      'Omit its providerOptions, or set the fields of the request in providerOptions of the request.',
    );
  }
  const texts = system.flatMap(nonEmptyTexts);
  return nonEmptyArray(texts)?.join('\n\n');
});

export interface InputOptions {
  readonly stored: boolean;
  /** The API's id for each call id of the history that differs from it. Default: the ids of the history. */
  readonly callIds?: ReadonlyMap<string, string> | undefined;
  /** The calls of the response that the input continues, which the first message may answer. Default: none. */
  readonly openCalls?: readonly ToolCallPart[] | undefined;
  /** Omits items of tools that OpenAI runs, if it would refuse them. Default: none are omitted. */
  readonly select?: ((items: readonly JsonObject[]) => readonly JsonObject[]) | undefined;
}

export function encodeInput(
  messages: readonly Message[],
  { stored, callIds, openCalls, select }: InputOptions,
): readonly JsonObject[] {
  const items = openCalls
    ? encodeContinuation(messages, openCalls, callIds)
    : (stored ? encodeStored : encodeUnstored)(messages);
  const kept = select ? select(items) : items;
  const { isIrregular, isReasoning, ids, answered } = findPairing(kept);
  return isIrregular || isReasoning || answered < ids.length ? omitDanglingItems(kept) : kept;
}

const encodeComplete = (stored: boolean) =>
  encodeConversation((message, answered) => encodeMessage(message, callsOf(answered), shortId, stored));
const encodeStored = /* @__PURE__ */ encodeComplete(true);
const encodeUnstored = /* @__PURE__ */ encodeComplete(false);

const callsOf = (message: Message | undefined): Map<string, ToolCallPart> =>
  new Map((message ? toolCallsOf(message) : []).map((call) => [call.id, call]));

function encodeContinuation(
  messages: readonly Message[],
  openCalls: readonly ToolCallPart[],
  callIds: InputOptions['callIds'],
): readonly JsonObject[] {
  const calls = new Map(openCalls.map((call) => [call.id, call]));
  return messages.flatMap((message) => {
    const items = encodeMessage(message, calls, (id) => callIds?.get(id) ?? shortId(id), true);
    for (const call of toolCallsOf(message)) calls.set(call.id, call);
    return items;
  });
}

function encodeMessage(
  message: Message,
  calls: ReadonlyMap<string, ToolCallPart>,
  mapCallId: MapCallId,
  stored: boolean,
): readonly JsonObject[] {
  if (message.role === 'system') return [];
  return message.role === 'user'
    ? encodeUserMessage(message, calls, mapCallId)
    : encodeModelMessage(message, mapCallId, stored);
}

/** Ids of other providers may be longer: some contain a signature. */
const MAX_CALL_ID_LENGTH = 64;

const shortId: MapCallId = (id) => shortCallId(id, MAX_CALL_ID_LENGTH);

function encodeUserMessage(
  message: Message,
  calls: ReadonlyMap<string, ToolCallPart>,
  mapCallId: MapCallId,
): readonly JsonObject[] {
  const { parts } = message;
  const results = parts
    .filter((part) => part.type === 'toolResult')
    .map((part) => encodeResult(part, calls.get(part.id), mapCallId(part.id)));
  const content = parts.flatMap(encodeContent);
  const items =
    content.length === 0 ? [] : [withProviderOptions({ type: 'message', role: 'user', content }, provider, message)];
  const failures = results.filter((item) => !isOutput(item)); // a computer call without a screenshot
  return [...results.filter(isOutput), ...providerDataOf(message, provider), ...failures, ...items];
}

interface Pairing {
  readonly isIrregular: boolean;
  readonly isReasoning: boolean;
  readonly ids: SharedList<JsonValue | undefined>;
  readonly answered: number;
}

const findPairing = /* @__PURE__ */ growing<JsonObject, Pairing>(
  { isIrregular: false, isReasoning: false, ids: /* @__PURE__ */ new SharedList(), answered: 0 },
  ({ isIrregular, isReasoning, ids, answered }, item) => {
    const isAnswer = isOutput(item);
    return {
      isIrregular:
        isIrregular || (isReasoning && !isOfModel(item)) || (isAnswer && ids.at(answered) !== item['call_id']),
      isReasoning: item['type'] === 'reasoning',
      ids: isClientCall(item) ? ids.append([item['call_id']]) : ids,
      answered: isAnswer ? answered + 1 : answered,
    };
  },
);

const isOfModel = (item: JsonObject): boolean => item['role'] !== 'user' && !isOutput(item);

/** "No tool output found for ...", and reasoning "without its required following item" (400), if truncated. */
function omitDanglingItems(items: readonly JsonObject[]): readonly JsonObject[] {
  const answeredIds = new Set(items.filter(isOutput).map((item) => item['call_id']));
  const accepted: JsonObject[] = [];
  let isModelItemNext = false;
  for (const item of [...items].reverse()) {
    const isDangling: boolean =
      item['type'] === 'reasoning' ? !isModelItemNext : isClientCall(item) && !answeredIds.has(item['call_id']);
    if (!isDangling) accepted.push(item);
    isModelItemNext = !isDangling && isOfModel(item);
  }
  return accepted.reverse();
}

export const isOutput = (item: JsonObject): boolean => readType(item).endsWith('_output');

const isClientCall = (item: JsonObject): boolean =>
  readType(item).endsWith('_call') && typeof item['call_id'] === 'string';

const readType = ({ type }: JsonObject): string => (typeof type === 'string' ? type : '');
