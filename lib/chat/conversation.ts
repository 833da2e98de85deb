import { BehaviorSubject, defer, distinctUntilChanged, endWith, filter, ignoreElements, isObservable } from 'rxjs';
import { map, merge, NEVER, ReplaySubject, share, takeWhile, tap, type Observable } from 'rxjs';
import type { CallAnswers, Decision } from '../core/approval.js';
import { messagesOf, requireInput, type Input } from '../core/input.js';
import { omitUndefined, type JsonObject, type JsonValue } from '../core/json/json.js';
import { isSameList } from '../core/lists.js';
import { notObservable } from '../core/notObservable.js';
import { reportErrorsOf } from '../core/reportUnhandled.js';
import { randomId } from '../transport/randomId.js';
import { createCommand, createCommandQueue, type Command, type QueuedPrompt } from './commandQueue.js';
import type { ConversationAgent } from './conversationAgent.js';
import { createExchangeRuns, type ExchangeRunOptions } from './exchangeRuns.js';
import type { ExchangeView } from './exchange.js';
import { createExchanges, isLost, translate, type ErrorSentences } from './exchanges.js';
import { isForPage } from './waitingRuns.js';
import { readSaved, savedConversation, type SavedConversation } from './savedConversation.js';
import type { ToolCallView, ViewStatus } from '../operators/view/view.js';

/** Options of `conversation`. */
export interface ConversationOptions extends ExchangeRunOptions {
  /**
   * The value that `save` returned, or its JSON. A run that a server still executes is joined again. For any other
   * value, the conversation starts empty, and its view has a `savedError`. Default: a new conversation.
   */
  readonly saved?: SavedConversation | string | null | undefined;
  /**
   * Translates the errors and notices of the view: sentences by `code`, or functions of the other fields of the error.
   * A refusal of the service (`http`) also has a `providerCode` and its `params`, and a `status`: `too_many_runs` comes
   * before `http_429`, and that before `http`. Default: the English sentence of the service or the page.
   */
  readonly messages?: ErrorSentences | undefined;
}

/** A conversation as a UI shows it. */
export interface ConversationView {
  /** That of the last exchange; `idle` if there is none. */
  readonly status: ViewStatus;
  /** The selected branch, oldest first. Unchanged exchanges keep their identity. */
  readonly exchanges: readonly ExchangeView[];
  /** The calls and questions that wait for `decide`, `answer` or `decline`, those of inner runs included. */
  readonly waiting: readonly ToolCallView[];
  /** The prompts that wait for the end of the run. */
  readonly queued: readonly Input[];
  /** Set if `saved` cannot be read: `code` and `message` of the error. */
  readonly savedError?: JsonObject;
}

/** A conversation with an agent. */
export interface Conversation {
  /**
   * The view, now and after each change. The first subscriber starts the work. If the last one unsubscribes, the run is
   * left: a remote run continues, and the next subscriber joins it; a local one is aborted. It completes when
   * `prompts$` has completed and all runs have ended. It fails only if `prompts$` does.
   */
  readonly view$: Observable<ConversationView>;
  /** The current view. */
  readonly view: ConversationView;
  /**
   * The value of `save`, now and whenever it should be stored: when a prompt was sent, when its run begins, waits and
   * ends, and when another version is shown. Not with each delta: a run at a server is joined again.
   */
  readonly saved$: Observable<SavedConversation>;
  /**
   * Sends a prompt, as `prompts$` does.
   *
   * @throws ConfigurationError `history` if it is empty or no input, `options` if nobody is subscribed to `view$`.
   */
  send(input: Input): void;
  /**
   * Ends the run with what it has, at most a second later, and those of all exchanges that are `isIncomplete`, and
   * drops the prompts of `queued`. The service is told until it has received the stop, also after a reload; if that
   * fails, the exchange has a `notice`.
   */
  stop(): void;
  /**
   * Connects again at once, and joins the runs of the exchanges that are `isIncomplete`. A prompt of them that has not
   * arrived is sent again.
   */
  reconnect(): void;
  /**
   * Asks for another answer to a prompt, as another version of the exchange. The current run is stopped, as by `stop`,
   * and those of exchanges that are `isIncomplete` and not before it; prompts that wait are dropped.
   *
   * @param exchange The id of the exchange. Default: the last one.
   */
  regenerate(exchange?: string): void;
  /**
   * Sends another prompt in place of an earlier one, as another version of that exchange. The current run is stopped,
   * and prompts that wait are dropped. It throws what `send` does.
   */
  edit(exchange: string, input: Input): void;
  /** Shows another version of an exchange, with what follows it. */
  select(exchange: string): void;
  /** Decides about a waiting call. When all calls have answers, the run continues. A second answer has no effect. */
  decide(callId: string, decision: Decision): void;
  /**
   * Answers a waiting call with its result, or a question (`askTool`). An answer that does not match the schema of its
   * question is asked for again, with a `problem`.
   */
  answer(callId: string, result: JsonValue): void;
  /** Declines to answer a question, or denies a call. The run continues, and the tool learns the reason. */
  decline(callId: string, reason?: string): void;
  /** Cancels a call that runs, or denies one that waits. The run continues. Another call is ignored. */
  cancel(callId: string): void;
  /** The conversation as plain JSON, at any time: for `localStorage`, or a server. */
  save(): SavedConversation;
}

/**
 * Holds a conversation with an agent: the prompts, the answers, and the versions of both.
 *
 * <span class="informal">Everything a chat does between the text field and the agent.</span>
 *
 * Each prompt is an exchange, whose run knows the exchanges before it: what was shown is what the model knows, also of
 * a run that was stopped or failed. `regenerate` and `edit` add a version beside an exchange and show it; nothing is
 * lost, and `select` shows the other one. A failed run does not end the conversation: its view has the error.
 *
 * With `remoteAgent`, the runs are executed by a server, and survive a reload of the page.
 *
 * ```ts
 * const chat = conversation(remoteAgent('/api/chat'));
 * chat.view$.subscribe(({ status, exchanges }) => render(status, exchanges));
 * chat.send('How warm is it in Oslo?');
 * ```
 *
 * @param agent What `createAgent` or `remoteAgent` returns.
 * @param prompts$ The user's prompts. An empty prompt, or a value of another type, is not sent: `onUnhandledError` of
 * RxJS receives the error. Default: none, use `send`.
 * @param options `whenBusy` (default: `concat`), `saved` (default: a new conversation), `tools` that are executed here
 * (`pageTools`; default: none), `context` for a local agent.
 * @returns The conversation.
 * @throws ConfigurationError `options` if `prompts$` is another stream than an Observable of RxJS.
 */
export function conversation(
  agent: ConversationAgent,
  prompts$: Observable<Input>,
  options?: ConversationOptions,
): Conversation;
export function conversation(agent: ConversationAgent, options?: ConversationOptions): Conversation;
export function conversation(
  agent: ConversationAgent,
  prompts$: Observable<Input> | ConversationOptions = NEVER,
  options: ConversationOptions = {},
): Conversation {
  if (isObservable(prompts$)) return createConversation(agent, prompts$.pipe(filter(isInput)), options);
  if (isStream(prompts$)) throw notObservable('options', 'prompts$', prompts$);
  return createConversation(agent, NEVER, prompts$);
}

/** Whether a value is a stream of another library, and neither an Observable of RxJS nor options. */
const isStream = (value: object): boolean =>
  ['subscribe', 'then', Symbol.iterator, Symbol.asyncIterator].some((key) => key in value);

function createConversation(
  agent: ConversationAgent,
  prompts$: Observable<Input>,
  options: ConversationOptions,
): Conversation {
  const saved = readSaved(options.saved);
  const savedError = omitUndefined({ savedError: translate(saved.savedError, options.messages) });
  const exchanges = createExchanges(saved.exchanges, saved.selected, agent, options.messages);
  const savedPrompts = (saved.queued ?? []).map(promptCommand);
  const changed = (): void => emit();
  const queue = createCommandQueue(options.whenBusy ?? 'concat', changed, savedPrompts, () => runs);
  const runs = createExchangeRuns(agent, exchanges, options, changed, (prompt) => queue.joined(prompt));
  const views = new BehaviorSubject(currentView());
  const emit = inOrder(() => views.next(currentView()));

  function currentView(): ConversationView {
    const branch = exchanges.view();
    const status = branch.at(-1)?.status ?? 'idle';
    const waiting = exchanges.waiting().filter((call) => !isForPage(call, options.tools)); // also of other branches
    return { status, exchanges: branch, waiting, queued: queue.prompts().map(({ input }) => input), ...savedError };
  }

  function promptCommand(prompt: QueuedPrompt): Command {
    const { id, input, beside } = prompt;
    const add = () => exchanges.add(id, exchanges.parentOf(beside), messagesOf(input));
    return createCommand((stop) => runs.start(add(), stop, beside !== undefined), prompt, beside !== undefined);
  }

  const newPrompt = (input: Input, beside?: string): Command => promptCommand({ id: randomId(), input, beside });

  function answerCall(callId: string, answer: CallAnswers): void {
    queue.requireSubscriber();
    runs.answer(callId, answer);
  }

  const save = (): SavedConversation => savedConversation(exchanges.save(), exchanges.selected(), queue.prompts());

  const joinLost = (id: string, isQuiet: boolean): void => {
    if (!isQuiet || queue.isIdle())
      queue.add(createCommand((stop) => runs.joinLost(id, stop, isQuiet), undefined, false));
  };

  function executed(): Observable<never> {
    queue.connect();
    const first = exchanges.open()[0] && createCommand(runs.continueSaved);
    const commands = queue.run(prompts$.pipe(map((input) => newPrompt(input))), first);
    return execute(commands, (end) => runs.unsettled.run(end, (id) => joinLost(id, true)));
  }

  return {
    get view() {
      return currentView();
    },
    view$: viewsWhile(views, executed),
    saved$: views.pipe(
      map(() => [exchanges.revision(), ...queue.prompts()]),
      distinctUntilChanged(isSameList),
      map(save),
    ),
    save,
    send: (input) => queue.add(newPrompt(requireInput(input))),
    edit: (id, input) => queue.add(newPrompt(requireInput(input), exchanges.get(id).id)),
    regenerate: (id = exchanges.selected() ?? '') => queue.add(newPrompt(exchanges.inputOf(id), id)),
    decide: (callId, decision) => answerCall(callId, { decisions: { [callId]: decision } }),
    answer: (callId, result) => answerCall(callId, { results: { [callId]: result } }),
    decline: (callId, reason) => answerCall(callId, denied(callId, reason)),
    cancel(callId) {
      if (!exchanges.waiting().some(({ id }) => id === callId)) runs.cancel(callId);
      else answerCall(callId, denied(callId));
    },
    stop() {
      queue.stop();
      runs.unsettled.stopLost();
      changed();
    },
    reconnect() {
      for (const { id } of exchanges.path(exchanges.selected()).filter(isLost)) joinLost(id, false);
      runs.reconnect();
    },
    select(id) {
      exchanges.select(id);
      changed();
    },
  };
}

const denied = (callId: string, reason?: string): CallAnswers => ({
  decisions: { [callId]: { approve: false, ...omitUndefined({ reason }) } },
});

/** An invalid prompt of `prompts$` is reported, and does not end the conversation. */
const isInput = (input: Input): boolean => reportErrorsOf(() => requireInput(input));

/** The views, from the first subscriber on, until what they show has been executed. */
function viewsWhile(views: Observable<ConversationView>, executed: () => Observable<never>) {
  return defer(() => {
    const execution = executed();
    const shown = views.pipe(distinctUntilChanged<ConversationView>(isSameView)); // never completes
    return merge(shown, execution.pipe(endWith(undefined)));
  }).pipe(
    takeWhile((view) => view !== undefined), // until the execution has completed
    share({ connector: () => new ReplaySubject(1) }),
  );
}

/** Emits nothing; settles what earlier commands have left, and completes when all runs have ended. */
function execute(commands: Observable<never>, settle: (end: Observable<void>) => Observable<unknown>) {
  const ended = new ReplaySubject<void>(1);
  return merge(commands.pipe(tap({ complete: () => ended.next() })), settle(ended).pipe(ignoreElements()));
}

/** A change that a subscriber causes is emitted after the one before it: all subscribers see the same order. */
function inOrder(emit: () => void): () => void {
  let hasChanged = false;
  let isEmitting = false;
  return () => {
    hasChanged = true;
    if (isEmitting) return;
    isEmitting = true;
    while (hasChanged) {
      hasChanged = false;
      emit();
    }
    isEmitting = false;
  };
}

const isSameView = (before: ConversationView, after: ConversationView) =>
  (['exchanges', 'waiting', 'queued'] as const).every((list) => isSameList(before[list], after[list]));
