import {
  BehaviorSubject,
  concat,
  concatMap,
  defer,
  EMPTY,
  distinctUntilChanged,
  endWith,
  filter,
  map,
  merge,
  ReplaySubject,
  share,
  skip,
  take,
  takeWhile,
  tap,
} from 'rxjs';
import type { Observable } from 'rxjs';
import type { Decision } from '../core/approval.js';
import type { StreamEvent } from '../core/event.js';
import { isResult, isToolResult } from '../core/eventGuards.js';
import { messagesOf } from '../core/input.js';
import type { Input } from '../core/input.js';
import { isRecord } from '../core/json/json.js';
import type { JsonValue } from '../core/json/json.js';
import { Command, CommandQueue } from './commandQueue.js';
import type { Conversation, ConversationOptions, ConversationView } from './conversationTypes.js';
import type { ConversationAgent } from './conversationAgent.js';
import { answerOf, executeCalls } from './executeCalls.js';
import { Exchanges, historyOf } from './exchanges.js';
import type { Exchange, SavedConversation } from './exchanges.js';
import { followingId } from './randomId.js';
import { toView } from './toView.js';
import type { View } from './view.js';
import { cancelView, failView, isSameView, messagesOfFailed, shownMessages } from './viewChanges.js';

/** A conversation: what its commands do to its exchanges. */
export class ConversationRunner implements Conversation {
  readonly view$: Observable<ConversationView>;
  private readonly exchanges: Exchanges;
  private readonly views: BehaviorSubject<ConversationView>;
  private readonly queue: CommandQueue;

  constructor(
    private readonly agent: ConversationAgent,
    prompts$: Observable<Input>,
    private readonly options: ConversationOptions,
  ) {
    this.exchanges = new Exchanges(options.saved);
    this.queue = new CommandQueue(options.whenBusy ?? 'queue', () => this.changed());
    this.views = new BehaviorSubject(this.currentView());
    const views = this.views.pipe(distinctUntilChanged<ConversationView>(isSameView));
    const runs = defer(() => this.run(prompts$));
    this.view$ = merge(views, runs.pipe(endWith(undefined))).pipe(
      takeWhile((view) => view !== undefined),
      share({ connector: () => new ReplaySubject(1) }),
    );
  }

  get view(): ConversationView {
    return this.views.value;
  }

  send(input: Input): void {
    this.queue.add(this.promptCommand(input));
  }

  stop(): void {
    this.queue.stop();
    this.changed();
  }

  regenerate(id = this.exchanges.selected ?? ''): void {
    this.edit(id, this.exchanges.get(id).input);
  }

  edit(id: string, input: Input): void {
    const { parent } = this.exchanges.get(id);
    this.queue.add(new Command((stop) => this.ask(parent, input, stop)));
  }

  select(id: string): void {
    if (this.view.status === 'waiting') this.queue.stop();
    this.exchanges.select(id);
    this.changed();
  }

  decide(callId: string, decision: Decision): void {
    this.queue.requireSubscriber();
    this.exchanges.answer(callId, { decisions: { [callId]: decision } });
    this.changed();
  }

  answer(callId: string, result: JsonValue): void {
    this.queue.requireSubscriber();
    this.exchanges.answer(callId, { results: { [callId]: result } });
    this.changed();
  }

  save(): SavedConversation {
    return this.exchanges.save(this.agent.join !== undefined);
  }

  private run(prompts$: Observable<Input>): Observable<never> {
    const open = this.exchanges.open();
    const goOn =
      open && new Command((stop) => (open.base ? this.join(open, stop) : this.waitForAnswers(open.id, stop)));
    return this.queue.run(prompts$.pipe(map((input) => this.promptCommand(input))), goOn);
  }

  private promptCommand(input: Input): Command {
    return new Command((stop) => this.ask(this.exchanges.selected, input, stop), input);
  }

  private ask(parent: string | undefined, input: Input, stop: Observable<void>): Observable<unknown> {
    const path = this.exchanges.path(parent);
    const { id, run, view } = this.exchanges.add(parent, messagesOf(input));
    this.update(id, { base: view, view: { ...view, status: 'sending' } });
    const earlier = path.map((exchange) => exchange.run);
    const options = { ...this.runOptions(stop), id: run, earlier, history: path.flatMap(historyOf) };
    return this.follow(id, view, stop, () => this.agent.stream(input, options));
  }

  /** Goes on with an exchange whose calls have answers. */
  private resume({ id, parent, run, view, ...exchange }: Exchange, stop: Observable<void>): Observable<unknown> {
    const { checkpoint, answers } = exchange;
    const nextRun = followingId(run);
    const earlier = [...this.exchanges.path(parent).map((other) => other.run), run];
    const options = { ...this.runOptions(stop), ...answers, id: nextRun, earlier };
    const base: View = { ...view, status: 'waiting' };
    this.update(id, { run: nextRun, answers: undefined, base, view: { ...view, status: 'sending' } });
    return this.follow(id, base, stop, () => this.agent.resume(checkpoint, options));
  }

  /** Joins a run that goes on without this page. */
  private join({ id, run, base, view }: Exchange, stop: Observable<void>): Observable<unknown> {
    if (!this.agent.join) {
      this.exchanges.interrupt(id);
      return EMPTY;
    }
    this.update(id, { view: { ...view, status: 'sending' } });
    return this.follow(id, base ?? view, stop, () => this.agent.join?.(run, { stop }) ?? EMPTY);
  }

  private runOptions(stop: Observable<void>) {
    return { stop, fragments: true as const, context: this.options.context };
  }

  /** Shows the events of a run in the view of its exchange, and keeps what the next run needs. */
  private follow(
    id: string,
    base: View,
    stop: Observable<void>,
    events: () => Observable<StreamEvent>,
  ): Observable<unknown> {
    let end: Partial<Exchange> | undefined;
    let hasBegun = false;
    let isForgotten = false;
    const onError = (thrown: unknown) => {
      isForgotten = hasBegun && this.agent.join !== undefined && isRunNotFound(thrown);
      end = { messages: messagesOfFailed(thrown) ?? shownMessages(this.exchanges.get(id).view) };
    };
    const onEvent = (event: StreamEvent) => {
      hasBegun = true;
      if (isResult(event)) end = { messages: event.result.messages, checkpoint: event.result.checkpoint };
    };
    // A run that fails before its first event (the server cannot be reached) leaves what is shown.
    const ended = (view: View) => (hasBegun ? view : failView(this.exchanges.get(id).view, view.error));
    return concat(
      defer(events).pipe(
        tap({ next: onEvent, error: onError }),
        toView(base),
        skip(1), // the base: of a run that is joined again, more is shown already
        // One update, so that what is saved at the last view is complete.
        filter(() => !isForgotten),
        tap((view) => this.update(id, end ? { ...end, base: undefined, view: ended(view) } : { view })),
      ),
      defer(() => {
        // The page was suspended for so long that the server cannot go on after its last event. It starts over.
        if (isForgotten) return this.join(this.exchanges.get(id), stop);
        if (!end) this.exchanges.interrupt(id); // the agent ended without a result
        return this.waitForAnswers(id, stop);
      }),
    );
  }

  /** If the run of an exchange waits, executes the calls that belong to this page, and waits for the user's answers. */
  private waitForAnswers(id: string, stop: Observable<void>): Observable<unknown> {
    if (this.exchanges.get(id).view.status !== 'waiting') return EMPTY;
    const stopped = stop.pipe(map(() => true));
    const answered = this.views.pipe(
      filter(() => this.exchanges.isAnswered(id)),
      map(() => false),
    );
    return concat(
      this.executeHere(id, stop),
      merge(stopped, answered).pipe(
        take(1),
        concatMap((isStopped) => (isStopped ? this.cancelWaiting(id) : this.resume(this.exchanges.get(id), stop))),
      ),
    );
  }

  private executeHere(id: string, stop: Observable<void>): Observable<unknown> {
    const { tools = [], context } = this.options;
    const { view } = this.exchanges.get(id);
    const calls = this.exchanges.openCalls(id).filter(({ name }) => this.isExecutedHere(name));
    if (calls.length === 0) return EMPTY;
    const messages = this.exchanges.path(id).flatMap(historyOf);
    return concat(
      executeCalls(calls, tools, { stop, context, messages }).pipe(
        tap((event) => isToolResult(event) && this.exchanges.addAnswer(id, event.id, answerOf(event))),
        toView(view),
        tap((changed) => this.update(id, { view: changed })),
      ),
      defer(() => {
        this.update(id, { view: { ...this.exchanges.get(id).view, status: 'waiting' } });
        return EMPTY;
      }),
    );
  }

  private isExecutedHere(name: string): boolean {
    return this.options.tools?.some((tool) => tool.name === name) ?? false;
  }

  private cancelWaiting(id: string): Observable<never> {
    this.update(id, { view: cancelView(this.exchanges.get(id).view), checkpoint: undefined });
    return EMPTY;
  }

  private update(id: string, change: Partial<Exchange>): void {
    this.exchanges.update(id, change);
    this.changed();
  }

  private changed(): void {
    this.views.next(this.currentView());
  }

  private currentView(): ConversationView {
    const exchanges = this.exchanges.view();
    const last = exchanges.at(-1);
    const waiting = last ? this.exchanges.openCalls(last.id).filter(({ name }) => !this.isExecutedHere(name)) : [];
    return { status: last?.status ?? 'idle', exchanges, waiting, queued: this.queue.prompts };
  }
}

const isRunNotFound = (thrown: unknown): boolean => isRecord(thrown) && thrown['code'] === 'run_not_found';
