import type { Answers, Decision } from '../../core/approval.js';
import { ConfigurationError } from '../../core/errors.js';
import { isJsonObject, isRecord, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { base64, toolErrorTexts } from '../../core/message.js';
import type { FilePart, Message, Part, ToolCallPart, ToolResultPart } from '../../core/message.js';
import type { UiMessage } from './chunks.js';
import type { KeptResponse } from './responseStore.js';

/** What the messages of `useChat` say. */
export interface UiConversation {
  /** The conversation: the input of the next run. If a run waits, `checkpoint` is to be resumed instead. */
  readonly messages: readonly Message[];
  /** The response that goes on: the last message, if it is not the user's. Undefined: a response is to begin. */
  readonly response?: {
    /** The id of the message. */
    readonly id: string;
    /** The messages of the response so far. */
    readonly messages: readonly Message[];
    /** What the server has kept of it. */
    readonly kept?: KeptResponse | undefined;
    /** The decisions and the results of the browser, for `agent.resume(kept.checkpoint, answers)`. */
    readonly answers: Answers;
  };
}

/**
 * Converts the messages that `useChat` sends to the conversation for the next run.
 *
 * A response that the server has kept is taken from there, as the model wrote it, with the data that its provider
 * expects back. Any other response is taken from the browser: its text, files, calls and results, whatever the browser
 * made of them. The user's messages are always the browser's.
 *
 * ```ts
 * const { messages } = fromUiMessages(body.messages);
 * agent.stream(messages, { fragments: true }).pipe(toUiMessageStream());
 * ```
 *
 * @param messages The `messages` of the request. They are checked: nothing but the type promises their form.
 * @param kept The responses that the server has kept, by the ids of their messages. Default: none.
 * @returns The conversation, and the response that goes on.
 * @throws ConfigurationError `history` if the messages are not those of `useChat`; if one has the role `system`, since
 * the browser must not instruct the model; and if a call is approved that the server does not know.
 */
export function fromUiMessages(
  messages: readonly UiMessage[],
  kept: ReadonlyMap<string, KeptResponse> = new Map<string, KeptResponse>(),
): UiConversation {
  const checked: readonly unknown[] = messages;
  const groups = checked.map((message, index) => {
    if (!isUiMessage(message))
      throw invalid(`Message ${index} is not a message of useChat.`, 'Send { id, role, parts }.');
    if (message.role === 'system') throw systemError(index);
    if (message.role === 'user') return [userMessageOf(message)];
    return kept.get(message.id)?.messages ?? responseMessages(message);
  });
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return { messages: groups.flat() };
  const response = kept.get(last.id);
  if (!response?.checkpoint && toolParts(last).some(({ state, approval }) => isGranted(state, approval)))
    throw unknownApproval();
  const own = groups.at(-1) ?? [];
  return {
    messages: groups.flat(),
    response: { id: last.id, messages: own, kept: response, answers: answersOf(last, response) },
  };
}

/** Whether a value has the form of a message of `useChat`. Its parts can be any. */
export const isUiMessage = (value: unknown): value is UiMessage =>
  isRecord(value) &&
  typeof value['id'] === 'string' &&
  ['system', 'user', 'assistant'].includes(value['role'] as string) &&
  Array.isArray(value['parts']) &&
  value['parts'].every((part) => isRecord(part) && typeof part['type'] === 'string');

/** A part of a message, unchecked. */
type UnknownPart = Readonly<Record<string, unknown>>;

const partsOf = ({ parts }: UiMessage) => parts as readonly UnknownPart[];

const userMessageOf = (message: UiMessage): Message => ({
  role: 'user',
  parts: partsOf(message).flatMap((part) => contentPart(part) ?? []),
});

/** A text or a file. Other parts are for the screen: sources, data, thinking. */
function contentPart(part: UnknownPart): Part | undefined {
  const { type, text } = part;
  if (type === 'text') return nonEmptyString(text) === undefined ? undefined : { type, text: text as string };
  return type === 'file' ? filePartOf(part) : undefined;
}

function filePartOf({ url, mediaType, filename }: UnknownPart): FilePart {
  if (typeof url !== 'string' || typeof mediaType !== 'string')
    throw invalid('A file has no `url` or no `mediaType`.', 'Send files as useChat does.');
  const file = { type: 'file', mediaType, ...(typeof filename === 'string' ? { name: filename } : {}) } as const;
  const data = dataOf(url);
  if (data !== undefined) return { ...file, data };
  if (/^https?:/.test(url)) return { ...file, url };
  throw invalid(`A file has the URL "${url.slice(0, 40)}".`, 'Send a valid data URL, or an http(s) URL.');
}

/** The bytes of a data URL in base64; undefined if it is none. */
function dataOf(url: string): string | undefined {
  const [, encoding, data] = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url) ?? [];
  if (data === undefined || encoding) return data;
  try {
    return base64(new TextEncoder().encode(decodeURIComponent(data)));
  } catch {
    return undefined; // of decodeURIComponent
  }
}

/** A call in a message, unchecked. */
interface UiToolPart {
  readonly id: string;
  readonly name: string;
  readonly state: unknown;
  readonly input: JsonObject;
  readonly output: JsonValue;
  readonly errorText: unknown;
  readonly approval: UnknownPart;
}

/** The calls of a message, without those that the provider executes and those whose input is incomplete. */
const toolParts = (message: UiMessage): readonly UiToolPart[] =>
  partsOf(message).flatMap((part) => toolPart(part) ?? []);

function toolPart(part: UnknownPart): UiToolPart | undefined {
  const { type, toolName, toolCallId, state, input, output = null, errorText, approval, providerExecuted } = part;
  const name = type === 'dynamic-tool' ? toolName : /^tool-(.+)$/s.exec(type as string)?.[1];
  if (typeof name !== 'string' || typeof toolCallId !== 'string') return undefined;
  if (providerExecuted === true || state === 'input-streaming') return undefined;
  return {
    id: toolCallId,
    name,
    state: part['preliminary'] === true ? 'input-available' : state,
    input: isJsonObject(input) ? input : {},
    output: output as JsonValue,
    errorText,
    approval: isRecord(approval) ? approval : {},
  };
}

/** The messages of a response that the server has not kept: a model message and its results for each step. */
function responseMessages(message: UiMessage): readonly Message[] {
  const steps: UnknownPart[][] = [[]];
  for (const part of partsOf(message)) {
    if (part['type'] === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps.flatMap((step) => {
    const calls = step.flatMap((part) => toolPart(part) ?? []);
    const results = calls.flatMap((call) => resultOf(call) ?? []);
    const parts = step.flatMap((part) => contentPart(part) ?? callOf(toolPart(part)) ?? []);
    return [
      ...(parts.length > 0 ? [{ role: 'model', parts } as const] : []),
      ...(results.length > 0 ? [{ role: 'user', parts: results } as const] : []),
    ];
  });
}

const callOf = (call: UiToolPart | undefined): ToolCallPart | undefined =>
  call && { type: 'toolCall', id: call.id, name: call.name, arguments: call.input };

/** The outcome of a call; undefined if it has none. A history is repaired: such a call was cancelled. */
function resultOf({ id, name, state, output, errorText, approval }: UiToolPart): ToolResultPart | undefined {
  const part = { type: 'toolResult', id, name } as const;
  if (state === 'output-available') return { ...part, result: output };
  if (state === 'output-error')
    return { ...part, error: nonEmptyString(errorText) ?? 'The call failed.', code: 'failed' };
  const isDenied = state === 'output-denied' || (state === 'approval-responded' && approval['approved'] !== true);
  return isDenied ? { ...part, error: toolErrorTexts.denied, code: 'denied' } : undefined;
}

const isGranted = (state: unknown, approval: UnknownPart) =>
  state === 'approval-responded' && approval['approved'] === true;

/** The answers of the browser to the calls that wait. An answer to any other call is ignored. */
function answersOf(message: UiMessage, kept: KeptResponse | undefined): Answers {
  const waiting = new Set(kept?.checkpoint?.open?.waiting.map(({ id }) => id));
  const decisions: Record<string, Decision> = {};
  const results: Record<string, JsonValue> = {};
  const errors: Record<string, string> = {};
  for (const { id, state, output, errorText, approval } of toolParts(message)) {
    if (!waiting.has(id)) continue;
    if (state === 'approval-responded') decisions[id] = decisionOf(approval);
    if (state === 'output-available') results[id] = output;
    if (state === 'output-error') errors[id] = nonEmptyString(errorText) ?? 'The call failed.';
  }
  return { decisions, results, errors };
}

function decisionOf({ approved, reason }: UnknownPart): Decision {
  if (approved === true) return { approve: true };
  return { approve: false, ...(typeof reason === 'string' ? { reason } : {}) };
}

const invalid = (problem: string, nextStep: string) => new ConfigurationError('history', problem, nextStep);

const systemError = (index: number) =>
  invalid(`Message ${index} has the role "system".`, 'Pass instructions as the option `system` of the agent.');

const unknownApproval = () =>
  invalid(
    'The run that asked for this approval is not kept any more.',
    'Ask again, or keep responses longer (`store`).',
  );
