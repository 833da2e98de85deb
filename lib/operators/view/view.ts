import type { Question } from '../../core/approval.js';
import type { FinishReason, RetryChunk } from '../../core/chunk.js';
import { mapChanged, omitUndefined, type JsonObject, type JsonValue } from '../../core/json/json.js';
import {
  isHandle,
  joinedResult,
  modelMessage,
  readableParts,
  resultsIn,
  unfinishedResult,
} from '../../core/message.js';
import type {
  FilePart,
  Message,
  ReadablePart,
  SourcePart,
  ToolCallPart,
  ToolErrorCode,
  ToolResultPart,
} from '../../core/message.js';
import type { ServerTool } from '../../core/metadata.js';
import { nestedId } from '../../core/nested.js';
import type { Usage } from '../../core/usage.js';
import type { Reconnection } from '../../core/connectionEvents.js';
import type { Plain } from '../../core/typesOf.js';

/**
 * The state of a run, for a UI.
 *
 * - `idle`: it has ended, or has not begun;
 * - `sending`: a request was sent, and nothing was received yet;
 * - `thinking`, `streaming`: the model thinks, or writes text or a call;
 * - `runningTools`: a tool runs;
 * - `waiting`: a call waits for a decision or a result;
 * - `stopped`: the user stopped it;
 * - `failed`: it failed; `error` says why.
 */
export type ViewStatus =
  | 'idle'
  | 'sending'
  | 'thinking'
  | 'streaming'
  | 'runningTools'
  | 'waiting'
  | 'stopped'
  | 'failed';

/** A conversation as a UI shows it. Immutable plain JSON: what did not change keeps its identity. */
export interface View {
  readonly status: ViewStatus;
  readonly messages: readonly MessageView[];
  /** The sum of the usage of all turns. */
  readonly usage: Usage;
  readonly finishReason?: FinishReason;
  /** The typed output of the run, if one was requested. */
  readonly output?: unknown;
  /** Set while a request waits to be sent again. */
  readonly retry?: Omit<RetryChunk, 'type'>;
  /** Set while the connection to the server is broken, and `remoteAgent` opens it again. */
  readonly reconnecting?: Reconnection;
  /** Set if the service has lost earlier answers of the conversation: the model received only their prompts. */
  readonly historyLost?: boolean;
  /** Set if the run has failed: `code` and `message` of its error. */
  readonly error?: JsonObject;
}

/** A message as a UI shows it. The answer of a run is one message, however many turns it takes. */
export interface MessageView {
  /** Unique within the view, and stable. */
  readonly id: string;
  readonly role: 'user' | 'model';
  readonly parts: readonly PartView[];
  /** Set if the message is not complete: the run was stopped, or failed. */
  readonly ended?: 'stopped' | 'failed';
}

/** A part of a message as a UI shows it. */
export type PartView = Plain<TextView | ThinkingView | ToolCallView | ServerToolView | FilePart | SourcePart>;

/** A text, complete or growing. */
interface TextView {
  readonly type: 'text';
  readonly text: string;
}

/** The model's reasoning. */
interface ThinkingView {
  readonly type: 'thinking';
  readonly text: string;
}

/** A call of a tool that the provider runs. */
interface ServerToolView {
  readonly type: 'serverTool';
  readonly tool: ServerTool;
}

/** A tool call. */
export interface ToolCallView {
  readonly type: 'toolCall';
  /** Empty while the arguments arrive, if the provider sends the id later. */
  readonly id: string;
  readonly name: string;
  /** The arguments so far; complete unless `receiving`. Those of the execution, if a person has changed them. */
  readonly arguments: JsonObject;
  /**
   * `receiving`: the arguments arrive; `pending`: the call has not begun; `waiting`: it waits for a decision or a
   * result; `running`; `completed`: it has a `result`; `denied`: a person has denied it, `reason` says why;
   * `cancelled`: it was not executed, or not to its end; `failed`: it has an `error`.
   */
  readonly status: 'receiving' | 'pending' | 'waiting' | 'running' | 'completed' | 'denied' | 'cancelled' | 'failed';
  /** What the person who decides should see: a preview, or an address to open. Only of a call that waits or waited. */
  readonly details?: JsonObject;
  /** Set while the call asks a person (`askTool`): its result is the answer. */
  readonly question?: Question;
  /** The last progress value. */
  readonly progress?: JsonValue;
  readonly result?: JsonValue;
  readonly error?: string;
  readonly code?: ToolErrorCode;
  /** What the person who denied the call has said. */
  readonly reason?: string;
  /**
   * The run of the agent behind the tool (`agentTool`): its answer, with its own calls. Their ids are those that
   * `decide` and `answer` take. A call whose inner calls wait is `waiting` too. Absent for any other tool.
   */
  readonly nested?: View;
}

/** The view before anything has happened. */
export const emptyView: View = { status: 'idle', messages: [], usage: {} };

/**
 * Creates the view of a history: what is stored shows again what was seen, except thinking and progress, which are not
 * part of a history.
 *
 * @param messages The history. System messages are not shown.
 */
export function viewOf(messages: readonly Message[]): View {
  const shown: { readonly id: string; readonly role: MessageView['role']; readonly parts: PartView[] }[] = [];
  const calls = new Map<string, { readonly parts: PartView[]; readonly position: number }>();
  const addResult = (answer: ToolResultPart): void => {
    const { parts = [], position = -1 } = calls.get(answer.id) ?? {};
    const call = parts[position];
    if (call?.type === 'toolCall') parts[position] = answeredCall(call, answer);
  };
  for (const message of messages) {
    const { role } = message;
    if (role === 'system') continue;
    resultsIn(message).forEach(addResult);
    const added = joinedResult(message) ? [] : partsOf(message);
    if (added.length === 0) continue;
    const last = shown.at(-1);
    const parts = role === 'model' && last?.role === 'model' ? last.parts : [];
    if (parts !== last?.parts) shown.push({ id: String(shown.length + 1), role, parts });
    for (const part of added) {
      if (part.type === 'toolCall') calls.set(part.id, { parts, position: parts.length });
      parts.push(part);
    }
  }
  return { ...emptyView, messages: shown };
}

/** What is shown of a message. Tool results are shown at their calls. */
export const partsOf = ({ parts }: Message): readonly PartView[] =>
  readableParts(parts)
    .filter((part) => part.type !== 'toolResult')
    .map(toPartView);

export function addParts(view: View, role: MessageView['role'], parts: readonly PartView[]): View {
  if (parts.length === 0) return view;
  return { ...view, messages: [...view.messages, { id: String(view.messages.length + 1), role, parts }] };
}

export function replaceLast(view: View, message: MessageView): View {
  return { ...view, messages: [...view.messages.slice(0, -1), message] };
}

export function toolCallView({ id, name, arguments: args }: ToolCallPart): ToolCallView {
  return { type: 'toolCall', id, name, arguments: args, status: 'pending' };
}

export function answeredCall({ question: _, ...call }: ToolCallView, answer: ToolResultPart): ToolCallView {
  const { error, code, reason, arguments: args = call.arguments } = answer;
  if (isHandle(answer)) return { ...call, arguments: args, status: 'running' };
  const ended = call.nested ? { ...call, nested: endedRun(call.nested, answer) } : call;
  if (error === undefined) return { ...ended, arguments: args, status: 'completed', result: answer.result };
  return { ...ended, arguments: args, status: unansweredStatus(code), error, ...omitUndefined({ code, reason }) };
}

const unansweredStatus = (code: ToolErrorCode = 'failed'): ToolCallView['status'] => {
  if (code === 'denied') return code;
  return code === 'cancelled' || code === 'not_executed' ? 'cancelled' : 'failed';
};

export const endedStatuses: readonly unknown[] = ['completed', 'denied', 'cancelled', 'failed'];

function toPartView(part: Exclude<ReadablePart, ToolResultPart>): PartView {
  if (part.type === 'toolCall') return toolCallView(part);
  return part.type === 'text' ? { type: 'text', text: part.text } : part;
}

/** The notices of a retry and of a broken connection are over as soon as something arrives. */
export function withoutNotices(view: View): View {
  if (!view.retry && !view.reconnecting) return view;
  const { retry: _, reconnecting: __, ...others } = view;
  return others;
}

/** With lists of lists, a page with 2,000 calls took ten times as long. */
export function callsOf({ messages }: View, calls: ToolCallView[] = []): readonly ToolCallView[] {
  for (const { parts } of messages)
    for (const part of parts)
      if (isToolCallView(part)) {
        calls.push(part);
        if (part.nested) callsOf(part.nested, calls);
      }
  return calls;
}

export const changeCall = (view: View, id: string, change: (call: ToolCallView) => ToolCallView): View =>
  mapCalls(view, (call) => {
    if (call.id === id) return change(call);
    return call.nested && id.startsWith(nestedId(call.id, ''))
      ? { ...call, nested: changeCall(call.nested, id, change) }
      : call;
  });

/** Changes all calls, also those of inner runs. */
export const changeCalls = (view: View, change: (call: ToolCallView) => ToolCallView): View =>
  mapCalls(view, (call) => {
    const nested = call.nested && changeCalls(call.nested, change);
    return change(nested && nested !== call.nested ? { ...call, nested } : call);
  });

/** The view of a run that is sent or joined again: without the end that it had. */
export function sendingView({ error: _, ...view }: View): View {
  const last = view.messages.at(-1);
  if (!last?.ended) return { ...view, status: 'sending' };
  const { ended: __, ...message } = last;
  return { ...replaceLast(view, message), status: 'sending' };
}

/** The view of a waiting run whose page was left while it executed calls. Others run at the service. */
export const waitAgain = (view: View, isForPage: (call: ToolCallView) => boolean): View => ({
  ...changeCalls(view, (call) =>
    call.status === 'running' && isForPage(call) ? { ...call, status: 'waiting' } : call,
  ),
  status: 'waiting',
});

/** The view of a waiting run that is not continued: the user stopped it, or sent another prompt. */
export const cancelView = (view: View): View =>
  endAnswer({ ...cancelCalls(withoutNotices(view)), status: 'stopped' }, 'stopped');

/** The view of a run that failed. What is shown stays, and its calls are cancelled. */
export const failView = (view: View, error: JsonObject = interruption): View =>
  endAnswer({ ...cancelCalls(withoutNotices(view)), status: 'failed', error }, 'failed');

export const textsOf = (messages: readonly Message[]): readonly Message[] =>
  messages
    .map((message) => ({ ...message, parts: message.parts.filter(({ type }) => type === 'text') }))
    .filter(({ parts }) => parts.length > 0);

export function answerText({ messages }: View): string {
  const answers = messages.filter(({ role }) => role === 'model').flatMap(({ parts }) => parts);
  return answers.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Returns the visible part of an answer, its text, as messages for the history of the next run. */
export function shownMessages(view: View): readonly Message[] {
  const text = answerText(view);
  return text === '' ? [] : [modelMessage(text)];
}

const interruption: JsonObject = {
  code: 'stream_interrupted',
  message: 'The answer ended when the page was left. Ask again.',
  retryable: true,
};

const cancelCalls = (view: View): View =>
  mapCalls(withoutIncompleteCalls(view), (call) =>
    endedStatuses.includes(call.status) ? call : answeredCall(call, unfinishedResult(call, 'cancelled')),
  );

function endedRun(view: View, { error, code }: ToolResultPart): View {
  if (['idle', 'stopped', 'failed'].includes(view.status)) return view;
  if (error === undefined) return { ...view, status: 'idle' };
  return code === 'cancelled' ? cancelView(view) : failView(view, { code: code ?? 'failed', message: error });
}

/** A view without the calls whose arguments did not arrive: the history does not have them. */
const withoutIncompleteCalls = (view: View): View => {
  const last = view.messages.at(-1);
  return last?.parts.some(isReceiving)
    ? replaceLast(view, { ...last, parts: last.parts.filter((part) => !isReceiving(part)) })
    : view;
};

function mapCalls(view: View, change: (call: ToolCallView) => ToolCallView): View {
  const messages = mapChanged(view.messages, (message) => {
    const parts = mapChanged(message.parts, (part) => (isToolCallView(part) ? change(part) : part));
    return parts === message.parts ? message : { ...message, parts };
  });
  return messages === view.messages ? view : { ...view, messages };
}

/** Marks the answer as incomplete, if there is one. */
export function endAnswer(view: View, ended: 'stopped' | 'failed'): View {
  const last = view.messages.at(-1);
  return last?.role === 'model' ? replaceLast(view, { ...last, ended }) : view;
}

export const isToolCallView = (part: PartView): part is ToolCallView => part.type === 'toolCall';

export const isReceiving = (part: PartView): boolean => isToolCallView(part) && part.status === 'receiving';
