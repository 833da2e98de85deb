import {
  asyncScheduler,
  catchError,
  concat,
  concatMap,
  EMPTY,
  finalize,
  merge,
  of,
  share,
  Subject,
  Subscription,
  tap,
  throwError,
} from 'rxjs';
import type { Observable } from 'rxjs';
import { ConfigurationError } from '../../core/errors.js';
import type { RunResult, StreamEvent } from '../../core/event.js';
import { isMessage, isResult, isToolWaiting } from '../../core/eventGuards.js';
import type { Message } from '../../core/message.js';
import { maxTimerDelay } from '../../core/options.js';
import type { HandledAgent, HandledRunOptions } from '../../ui/agentHandlerOptions.js';
import { RequestError } from '../../ui/agentRequest.js';
import type { Runs } from '../../ui/createRuns.js';
import { createEventLog } from '../../ui/eventLog.js';
import type { EventLog } from '../../ui/eventLog.js';
import { randomId } from '../../ui/randomId.js';
import type { SharedRun } from '../../ui/shareRun.js';
import type { UiConversation } from './fromUiMessages.js';
import { writeResponse } from './responseStore.js';
import type { KeptResponse, ResponseStore } from './responseStore.js';

/** The run of a chat that is going on. */
export interface ChatRun {
  readonly runId: string;
  /** The id of the message that it writes. */
  readonly messageId: string;
  /** What was sent of the message before this run. */
  readonly earlier: readonly StreamEvent[];
  readonly run: SharedRun;
}

/** The runs of the chats: at most one of each. */
export class ChatRuns<C> {
  private readonly chats = new Map<string, ChatRun>();
  /** The messages that are being written: a checkpoint must not be used twice. */
  private readonly writing = new Set<string>();
  private readonly forgetting = new Subscription();

  constructor(
    private readonly agent: HandledAgent<C>,
    private readonly runs: Runs,
    private readonly store: ResponseStore,
    private readonly keep: number,
  ) {}

  /** The run of a chat: the one that is going on, or that has ended less than `keep` ago. */
  get(chatId: string): ChatRun | undefined {
    return this.chats.get(chatId);
  }

  /** Stops the run of a chat, if there is one. It is kept with the result that it has. */
  stop(chatId: string): void {
    const chat = this.chats.get(chatId);
    if (chat) this.runs.stop(chat.runId);
  }

  /** Starts the next run of a chat, or goes on with the one that waits. The run before it is stopped. */
  start(chatId: string, { messages, response }: UiConversation, context: C): ChatRun {
    if (messages.every(({ parts }) => parts.length === 0)) throw emptyConversation();
    const runId = randomId();
    const messageId = response?.id ?? randomId();
    if (this.writing.has(messageId)) throw new RequestError(409, 'This run goes on already.');
    this.stop(chatId);
    this.writing.add(messageId);
    const earlier = earlierEvents(response);
    const run = this.runs.start((stop) => {
      const create = (stopped: Observable<void>) => {
        const options = { stop: stopped, fragments: true, checkpoints: false, context } as const;
        return this.kept(this.events(messages, response, options), messageId, response);
      };
      return stopWhenLeft(stop, create).pipe(
        finalize(() => {
          this.writing.delete(messageId);
          this.forgetLater(chatId, runId);
        }),
      );
    }, runId).run;
    const chat: ChatRun = { runId, messageId, earlier, run };
    if (run.status === 'running' || this.keep > 0) this.chats.set(chatId, chat);
    return chat;
  }

  /** The events of the run: of a new one, or of the one that waits. */
  private events(
    messages: readonly Message[],
    response: UiConversation['response'],
    options: HandledRunOptions<C>,
  ): Observable<StreamEvent> {
    const { id = '', kept, answers } = response ?? {};
    if (!kept?.checkpoint) return this.agent.stream(messages, { ...options, history: [] });
    let hasBegun = false;
    // A checkpoint is used once: a second use would execute the calls again. It is put back if the run fails before it
    // has done anything, for example since an answer does not match the schema of its tool.
    return concat(
      writeResponse(this.store, id, { messages: kept.messages }),
      this.agent.resume(kept.checkpoint, { ...options, ...answers }).pipe(
        tap(() => (hasBegun = true)),
        catchError((thrown: unknown) =>
          concat(
            hasBegun ? EMPTY : writeResponse(this.store, id, kept),
            throwError(() => thrown as Error),
          ),
        ),
      ),
    );
  }

  /** Keeps the response before its `result` is emitted: the browser may send its next request at once. */
  private kept(
    events: Observable<StreamEvent>,
    messageId: string,
    response: UiConversation['response'],
  ): Observable<StreamEvent> {
    const log = createEventLog();
    return events.pipe(
      concatMap((event) => {
        if (isResult(event))
          return concat(writeResponse(this.store, messageId, keptOf(event.result, response, log)), of(event));
        if (!isMessage(event)) log.append(event); // a message repeats what was sent
        return [event];
      }),
    );
  }

  /** Nothing is forgotten any more: the service ends. */
  close(): void {
    this.forgetting.unsubscribe();
  }

  private forgetLater(chatId: string, runId: string): void {
    if (this.keep === 0) this.forget(chatId, runId);
    if (this.keep === 0 || this.keep === Infinity || this.forgetting.closed) return;
    const action = asyncScheduler.schedule(
      () => {
        this.forget(chatId, runId);
        this.forgetting.remove(action); // an action that has run does not leave its parent
      },
      Math.min(this.keep, maxTimerDelay),
    );
    this.forgetting.add(action);
  }

  private forget(chatId: string, runId: string): void {
    if (this.chats.get(chatId)?.runId === runId) this.chats.delete(chatId);
  }
}

/** A run that is stopped when it is unsubscribed, so that it ends with a result, which is kept. */
function stopWhenLeft<E>(stop: Observable<void>, create: (stop: Observable<void>) => Observable<E>): Observable<E> {
  const left = new Subject<void>();
  return create(merge(stop, left)).pipe(
    share({ resetOnRefCountZero: false }),
    finalize(() => left.next()),
  );
}

/** What was sent of a response before this run. A call that has an answer by now does not wait. */
function earlierEvents(response: UiConversation['response']): readonly StreamEvent[] {
  const { kept, answers } = response ?? {};
  const answered = { ...answers?.decisions, ...answers?.results, ...answers?.errors };
  return (kept?.events ?? []).filter((event) => !isToolWaiting(event) || !Object.hasOwn(answered, event.id));
}

/** What is kept of a response: its messages; if the run waits, its checkpoint and what was sent as well. */
function keptOf(
  { messages, checkpoint }: RunResult,
  response: UiConversation['response'],
  log: EventLog<StreamEvent>,
): KeptResponse {
  const { messages: before = [], kept } = response ?? {};
  const resumed = kept?.checkpoint?.emitted.messages.length ?? 0; // they are in the result as well
  const all = [...before.slice(0, before.length - resumed), ...messages];
  if (!checkpoint) return { messages: all };
  const events = [...earlierEvents(response)];
  for (let reader = log.reader(), next = reader.next(); next; next = reader.next()) events.push(next.event);
  return { messages: all, checkpoint, events };
}

const emptyConversation = () =>
  new ConfigurationError('history', 'There is nothing to answer: the messages have no text and no file.', 'Send one.');
