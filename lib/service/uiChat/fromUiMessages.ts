import { answersFrom, type CallAnswers, type Decision } from '../../core/approval.js';
import type { Checkpoint } from '../../core/checkpoint.js';
import { ConfigurationError } from '../../core/errors.js';
import type { StreamEvent } from '../../core/event.js';
import { asArray, isJsonObject, isRecord, nonEmptyString } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { base64, hasToolResults, toolCallsOf, toolErrorTexts } from '../../core/message.js';
import type { FilePart, Message, Part, ToolCallPart, ToolResultPart } from '../../core/message.js';
import { outerIds } from '../../core/nested.js';
import { unknownResult } from '../runs/leftMessages.js';
import type { UiMessage } from './chunks.js';

/** The data of a response that a server stores, as plain JSON. */
export interface KeptResponse {
  /** The messages of the response, as the model wrote them. */
  readonly messages: readonly Message[];
  /** The run, if it waits for the browser. It is trusted: do not send it to the browser. */
  readonly checkpoint?: Checkpoint | undefined;
  /** The events of the run so far, if it waits: a browser that connects later receives them first. */
  readonly events?: readonly StreamEvent[] | undefined;
}

/** What a server knows of its tools, and of responses. */
export interface ServerKnowledge {
  readonly executed?: ReadonlySet<string> | undefined;
  readonly lost?: ReadonlySet<string> | undefined;
}

/** The conversation in the messages of `useChat`. */
export interface UiConversation {
  /** The conversation: the input of the next run. If a run waits, `checkpoint` is to be resumed instead. */
  readonly messages: readonly Message[];
  /** The response that the run continues: the last message, if it is not the user's. Undefined: a new response. */
  readonly response?: {
    /** The id of the message. */
    readonly id: string;
    /** The messages of the response so far. */
    readonly messages: readonly Message[];
    /** The data that the server stored for it. */
    readonly kept?: KeptResponse | undefined;
    /** The decisions and the results of the browser, for `agent.resume(kept.checkpoint, answers)`. */
    readonly answers: CallAnswers;
  };
}

/**
 * Converts the messages that `useChat` sends to the conversation for the next run.
 *
 * A response that the server has stored is read from there, as the model wrote it, with the data that its provider
 * expects back. Any other response comes from the browser, which may have changed it: its text, files, calls and
 * results. The user's messages always come from the browser.
 *
 * ```ts
 * const { messages } = fromUiMessages(body.messages);
 * agent.stream(messages, { fragments: true }).pipe(toUiMessageStream());
 * ```
 *
 * @param messages The `messages` of the request. They are validated, since a browser can send anything.
 * @param kept The responses that the server has stored, by the ids of their messages. Default: none.
 * @param server What the server knows besides: the names of the tools that it executes (`executed`), of which the
 * browser has no results; and the ids of the responses whose process has ended (`lost`). Default: none.
 * @returns The conversation, and the response that the run continues.
 * @throws ConfigurationError `history` if the messages are not those of `useChat`; if one has the role `system`, since
 * the browser must not instruct the model; if a response is repeated; and if the browser answers a call that does not
 * wait.
 */
export function fromUiMessages(
  messages: readonly UiMessage[],
  kept: ReadonlyMap<string, KeptResponse> = new Map<string, KeptResponse>(),
  { executed = noNames, lost = noNames }: ServerKnowledge = {},
): UiConversation {
  const unchecked: readonly unknown[] = messages;
  const ids = new Set<string>();
  const groups = unchecked.map((message, index) => {
    if (!isUiMessage(message))
      throw invalid(`Message ${index} is not a message of useChat.`, 'Send { id, role, parts }.');
    if (message.role === 'system') throw systemError(index);
    if (message.role === 'user') return [toUserMessage(message)];
    if (ids.has(message.id))
      throw invalid(`Message ${index} has the id of an earlier response.`, 'Send each one once.');
    ids.add(message.id);
    const stored = kept.get(message.id);
    const shown = () => responseMessages(message, lost.has(message.id) ? executed : noNames);
    if (!stored) return shown();
    if (lost.has(message.id)) return [...stored.messages, ...messagesAfter(stored.messages, shown())];
    return message === messages.at(-1)
      ? stored.messages
      : [...stored.messages, ...pageResults(message, stored, executed)];
  });
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return { messages: groups.flat() };
  const response = kept.get(last.id);
  const written = groups.at(-1) ?? [];
  return {
    messages: groups.flat(),
    response: { id: last.id, messages: written, kept: response, answers: readAnswers(last, response) },
  };
}

const noNames: ReadonlySet<string> = new Set();

/** What a page shows of a response after the calls that the server has stored. */
function messagesAfter(stored: readonly Message[], shown: readonly Message[]): readonly Message[] {
  const ids = new Set(stored.flatMap(toolCallsOf).map(({ id }) => id));
  const last = shown.findLastIndex((message) => toolCallsOf(message).some(({ id }) => ids.has(id)));
  const after = last < 0 ? [] : shown.slice(last + 1);
  return hasToolResults(after[0]) ? after.slice(1) : after;
}

/** Whether a value has the form of a message of `useChat`. Its parts can be any. */
export const isUiMessage = (value: unknown): value is UiMessage =>
  isRecord(value) &&
  typeof value['id'] === 'string' &&
  ['system', 'user', 'assistant'].includes(value['role'] as string) &&
  Array.isArray(value['parts']) &&
  value['parts'].every((part) => isRecord(part) && typeof part['type'] === 'string');

type UnknownPart = Readonly<Record<string, unknown>>;

const uncheckedParts = ({ parts }: UiMessage) => parts as readonly UnknownPart[];

const toUserMessage = (message: UiMessage): Message => ({
  role: 'user',
  parts: uncheckedParts(message).flatMap((part) => contentPart(part) ?? []),
});

/** Converts a text or a file. Other parts (sources, data, thinking) are only displayed. */
function contentPart(part: UnknownPart): Part | undefined {
  const { type, text } = part;
  if (type === 'text') return nonEmptyString(text) === undefined ? undefined : { type, text: text as string };
  return type === 'file' ? toFilePart(part) : undefined;
}

function toFilePart({ url, mediaType, filename }: UnknownPart): FilePart {
  if (typeof url !== 'string' || typeof mediaType !== 'string')
    throw invalid('A file has no `url` or no `mediaType`.', 'Send files as useChat does.');
  const file = { type: 'file', mediaType, ...(typeof filename === 'string' ? { name: filename } : {}) } as const;
  const data = readDataUrl(url);
  if (data !== undefined) return { ...file, data };
  if (/^https?:/.test(url)) return { ...file, url };
  throw invalid(`A file has the URL "${url.slice(0, 40)}".`, 'Send a valid data URL, or an http(s) URL.');
}

function readDataUrl(url: string): string | undefined {
  const [, encoding, data] = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url) ?? [];
  if (data === undefined || encoding) return data;
  try {
    return base64(new TextEncoder().encode(decodeURIComponent(data)));
  } catch {
    return undefined; // decodeURIComponent rejects the URL
  }
}

interface UiToolPart {
  readonly id: string;
  readonly name: string;
  readonly state: unknown;
  readonly input: JsonObject;
  readonly output: JsonValue;
  readonly errorText: unknown;
  readonly approval: UnknownPart;
}

/** Returns the calls of a message, without those that the provider executes and those with incomplete input. */
const toolParts = (message: UiMessage): readonly UiToolPart[] =>
  uncheckedParts(message).flatMap((part) => toolPart(part) ?? []);

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

/**
 * Converts a response that the server has not stored: each step becomes a model message and its results.
 *
 * @param begun The names of the tools of which a call without a result may have taken effect.
 */
function responseMessages(message: UiMessage, begun: ReadonlySet<string>): readonly Message[] {
  const steps: UnknownPart[][] = [[]];
  for (const part of uncheckedParts(message)) {
    if (part['type'] === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  const all = toolParts(message);
  const ids = new Set(all.map(({ id }) => id));
  const outerOfOpen = new Set(
    all.filter(hasNoOutcome).flatMap(({ id }) => outerIds(id).filter((outer) => ids.has(outer))),
  );
  return steps.flatMap((step) => {
    const calls = step.flatMap((part) => ownCall(part, ids) ?? []);
    const results = calls.flatMap((call) => {
      // The output of a call whose inner run waits is the view of that run.
      const result = outerOfOpen.has(call.id) ? undefined : toToolResult(call);
      const isUnknown = begun.has(call.name) && !String(call.state).startsWith('approval-');
      return result ?? (isUnknown ? unknownResult(call) : []);
    });
    const parts = step.flatMap((part) => contentPart(part) ?? toToolCall(ownCall(part, ids)) ?? []);
    return [
      ...(parts.length > 0 ? [{ role: 'model', parts } as const] : []),
      ...(results.length > 0 ? [{ role: 'user', parts: results } as const] : []),
      ...step.flatMap(promptOf),
    ];
  });
}

/** The prompt that joined the run after a step (AI SDK 7). */
function promptOf({ type, parts }: UnknownPart): readonly Message[] {
  if (type !== 'steering-message') return [];
  const content = asArray(parts)
    .filter(isRecord)
    .flatMap((part) => contentPart(part) ?? []);
  return content.length > 0 ? [{ role: 'user', parts: content }] : [];
}

/** What the page has answered to the calls of a run that waits, if the next prompt is sent instead of the answers. */
function pageResults(
  message: UiMessage,
  { checkpoint }: KeptResponse,
  executed: ReadonlySet<string>,
): readonly Message[] {
  const parts = new Map(toolParts(message).map((part) => [part.id, part]));
  const results = (checkpoint?.open?.waiting ?? []).flatMap(({ id, name, path }) => {
    const part = parts.get(id);
    const result = part && !path ? toToolResult({ ...part, name }) : undefined;
    return result && (result.code === 'denied' || !executed.has(name)) ? [result] : [];
  });
  return results.length > 0 ? [{ role: 'user', parts: results }] : [];
}

/** A call of the run itself. Those of inner runs are shown, but they are not part of its conversation. */
function ownCall(part: UnknownPart, ids: ReadonlySet<string>): UiToolPart | undefined {
  const call = toolPart(part);
  return call && outerIds(call.id).some((id) => ids.has(id)) ? undefined : call;
}

const toToolCall = (call: UiToolPart | undefined): ToolCallPart | undefined =>
  call && { type: 'toolCall', id: call.id, name: call.name, arguments: call.input };

/** Converts the outcome of a call; undefined if it has none: the repair of a history then marks it as cancelled. */
function toToolResult({ id, name, state, output, errorText, approval }: UiToolPart): ToolResultPart | undefined {
  const part = { type: 'toolResult', id, name } as const;
  if (state === 'output-available') return { ...part, result: output };
  if (state === 'output-error')
    return { ...part, error: nonEmptyString(errorText) ?? 'The call failed.', code: 'failed' };
  const isDenied = state === 'output-denied' || (state === 'approval-responded' && approval['approved'] !== true);
  return isDenied ? { ...part, error: toolErrorTexts.denied, code: 'denied' } : undefined;
}

const hasNoOutcome = ({ state }: UiToolPart): boolean =>
  ['input-available', 'approval-requested', 'approval-responded'].includes(String(state));

/**
 * Reads the browser's answers to the calls that wait. A page sends the outputs of earlier calls again; but a decision
 * about one of them is that of a page which has not learned that the call was answered, and so is any answer of a page
 * that does not show all calls that wait.
 */
function readAnswers(message: UiMessage, kept: KeptResponse | undefined): CallAnswers {
  const waiting = new Map(kept?.checkpoint?.open?.waiting.map((call) => [call.id, call]));
  const parts = toolParts(message);
  const shown = new Set(parts.map(({ id }) => id));
  const isBehind = [...waiting.keys()].some((id) => !shown.has(id));
  const decisions = new Map<string, Decision>();
  const results = new Map<string, JsonValue>();
  const errors = new Map<string, string>();
  for (const { id, state, output, errorText, approval } of parts) {
    const call = waiting.get(id);
    const isDecision = state === 'approval-responded';
    if (!call) {
      if (isDecision ? (kept ?? approval['approved'] === true) : isBehind && isOutput(state)) throw notWaiting();
      continue;
    }
    if (isDecision) decisions.set(id, toDecision(approval));
    if (state === 'output-available') results.set(id, output);
    if (state === 'output-error' && call.question) decisions.set(id, toDecision({ reason: nonEmptyString(errorText) }));
    else if (state === 'output-error') errors.set(id, nonEmptyString(errorText) ?? 'The call failed.');
  }
  return answersFrom(decisions, results, errors);
}

const isOutput = (state: unknown) => state === 'output-available' || state === 'output-error';

function toDecision({ approved, reason }: UnknownPart): Decision {
  if (approved === true) return { approve: true };
  return { approve: false, ...(typeof reason === 'string' ? { reason } : {}) };
}

const invalid = (problem: string, nextStep: string) => new ConfigurationError('history', problem, nextStep);

const systemError = (index: number) =>
  invalid(`Message ${index} has the role "system".`, 'Pass instructions as the option `system` of the agent.');

const notWaiting = () =>
  invalid(
    'A call of this message was answered already, or its run is not kept any more.',
    'Load the chat again, or keep responses longer (`store`).',
  );
