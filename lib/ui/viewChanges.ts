import { runOf } from '../core/failedRun.js';
import type { JsonObject } from '../core/json/json.js';
import { modelMessage, unfinishedResult } from '../core/message.js';
import type { Message } from '../core/message.js';
import { answeredCall, withoutRetry } from './view.js';
import type { MessageView, PartView, ToolCallView, View } from './view.js';

/** The calls of a view. */
export const callsOf = (view: View): readonly ToolCallView[] =>
  view.messages.flatMap(({ parts }) => parts.filter(isToolCallView));

/** The calls of a view that wait for a decision or a result. */
export const waitingCalls = (view: View): readonly ToolCallView[] =>
  callsOf(view).filter(({ status }) => status === 'waiting');

/** Changes one call of a view. */
export const changeCall = (view: View, id: string, change: Partial<ToolCallView>): View =>
  mapCalls(view, (call) => (call.id === id ? { ...call, ...change } : call));

/** The view of a waiting run whose page was left while it executed calls. */
export const waitAgain = (view: View): View => ({
  ...mapCalls(view, (call) => (call.status === 'running' ? { ...call, status: 'waiting' } : call)),
  status: 'waiting',
});

/** The view of a waiting run that is not continued: the user stopped it, or went on with another prompt. */
export const cancelView = (view: View): View => endAnswer({ ...cancelCalls(view), status: 'stopped' }, 'stopped');

/** The view of a run that failed. What is shown stays, and its calls are cancelled. */
export const failView = (view: View, error: JsonObject = interruption): View =>
  endAnswer({ ...cancelCalls(withoutRetry(view)), status: 'failed', error }, 'failed');

/** Messages without their files. */
export const textsOf = (messages: readonly Message[]): readonly Message[] =>
  messages
    .map((message) => ({ ...message, parts: message.parts.filter(({ type }) => type === 'text') }))
    .filter(({ parts }) => parts.length > 0);

/** What is shown of an answer, as messages for the history of the next run: its text. */
export function shownMessages(view: View): readonly Message[] {
  const answers = view.messages.filter(({ role }) => role === 'model');
  const texts = answers.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')));
  const text = texts.join('');
  return text === '' ? [] : [modelMessage(text)];
}

/** The messages of a failed run for the history of the next one: what was shown. Undefined if the run never began. */
export function messagesOfFailed(thrown: unknown): readonly Message[] | undefined {
  const run = runOf(thrown);
  if (!run) return undefined;
  return run.partialText === '' ? run.messages : [...run.messages, modelMessage(run.partialText)];
}

const interruption: JsonObject = {
  code: 'stream_interrupted',
  message: 'The answer ended when the page was left. Ask again.',
  retryable: true,
};

const cancelCalls = (view: View): View =>
  mapCalls(view, (call) =>
    call.status === 'completed' || call.status === 'failed'
      ? call
      : answeredCall(call, unfinishedResult(call, 'cancelled')),
  );

function mapCalls(view: View, change: (call: ToolCallView) => ToolCallView): View {
  const mapMessage = (message: MessageView): MessageView => {
    const parts = message.parts.map((part) => (isToolCallView(part) ? change(part) : part));
    return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts };
  };
  return { ...view, messages: view.messages.map(mapMessage) };
}

function endAnswer(view: View, ended: 'stopped' | 'failed'): View {
  const last = view.messages.at(-1);
  if (last?.role !== 'model') return view;
  return { ...view, messages: [...view.messages.slice(0, -1), { ...last, ended }] };
}

const isToolCallView = (part: PartView): part is ToolCallView => part.type === 'toolCall';

/** The lists of a conversation's view. Their elements keep their identity. */
interface Lists {
  readonly exchanges: readonly unknown[];
  readonly waiting: readonly unknown[];
  readonly queued: readonly unknown[];
}

/** Whether two views of a conversation show the same. */
export const isSameView = (before: Lists, after: Lists) =>
  isSameList(before.exchanges, after.exchanges) &&
  isSameList(before.waiting, after.waiting) &&
  isSameList(before.queued, after.queued);

const isSameList = (before: readonly unknown[], after: readonly unknown[]) =>
  before.length === after.length && before.every((value, index) => value === after[index]);
