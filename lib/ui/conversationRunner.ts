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
  take,
  takeWhile,
  tap,
} from 'rxjs';
import type { Observable } from 'rxjs';
import type { Decision } from '../core/approval.js';
import type { StreamEvent } from '../core/event.js';
import { isToolResult } from '../core/eventGuards.js';
import { messagesOf } from '../core/input.js';
import type { Input } from '../core/input.js';
import type { JsonValue } from '../core/json/json.js';
import { Command, CommandQueue } from './commandQueue.js';
import type { Conversation, ConversationOptions, ConversationView } from './conversationTypes.js';
import type { ConversationAgent } from './conversationAgent.js';
import { exchangeChanges } from './exchangeChanges.js';
import { answerOf, executeCalls } from './executeCalls.js';
import { Exchanges, historyOf } from './exchanges.js';
import type { Exchange, SavedConversation } from './exchanges.js';
import { followingId } from './randomId.js';
import { toView } from './toView.js';
import { viewOf } from './view.js';
import type { View } from './view.js';
import { cancelView, isSameView } from './viewChanges.js';

/** A conversation: what its commands do to its exchanges. */
export class ConversationRunner implements Conversation {
  readonly view$: Observable<ConversationView>;
  readonly saved$: Observable<SavedConversation>;
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
    this.saved$ = this.views.pipe(
      map(() => this.exchanges.revision),
      distinctUntilChanged(),
      map(() => this.save()),
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
    const goOn = open && new Command((stop) => this.goOn(open, stop));
    return this.queue.run(prompts$.pipe(map((input) => this.promptCommand(input))), goOn);
  }

  private promptCommand(input: Input): Command {
    return new Command((stop) => this.ask(this.exchanges.selected, input, stop), input);
  }

  private ask(parent: string | undefined, input: Input, stop: Observable<void>): Observable<unknown> {
    return this.start(this.exchanges.add(parent, messagesOf(input)), stop);
  }

  private start({ id, parent, run, input }: Exchange, stop: Observable<void>): Observable<unknown> {
    const base = viewOf(input);
    const path = this.exchanges.path(parent);
    const options = { ...this.runOptions(stop), id: run, earlier: path.map(runOf), history: path.flatMap(historyOf) };
    this.update(id, { base, view: { ...base, status: 'sending' } });
    return this.follow({ id, base }, run, stop, () => this.agent.stream(input, options));
  }

  /** Goes on with an exchange whose calls have answers. */
  private resume(exchange: Exchange, stop: Observable<void>): Observable<unknown> {
    const { id, parent, run, view, checkpoint, answers } = exchange;
    const nextRun = followingId(run);
    const earlier = [...this.exchanges.path(parent), exchange].map(runOf);
    const options = { ...this.runOptions(stop), ...answers, id: nextRun, earlier };
    const base: View = { ...view, status: 'waiting' };
    this.update(id, { base, view: { ...view, status: 'sending' } });
    return this.follow({ id, base }, nextRun, stop, () => this.agent.resume(checkpoint, options));
  }

  /** Goes on with an exchange of a saved conversation. A request that may not have arrived is sent again. */
  private goOn(exchange: Exchange, stop: Observable<void>): Observable<unknown> {
    const { id, base, hasBegun, answers } = exchange;
    if (!base) return this.waitForAnswers(id, stop);
    if (!this.agent.join || hasBegun) return this.join(exchange, stop);
    return answers ? this.resume({ ...exchange, view: base }, stop) : this.start(exchange, stop);
  }

  /** Joins a run that goes on without this page. */
  private join({ id, run, base, view }: Exchange, stop: Observable<void>): Observable<unknown> {
    if (!this.agent.join) {
      this.exchanges.interrupt(id);
      return EMPTY;
    }
    this.update(id, { view: { ...view, status: 'sending' } });
    return this.follow({ id, base: base ?? view }, run, stop, () => this.agent.join?.(run, { stop }) ?? EMPTY);
  }

  private runOptions(stop: Observable<void>) {
    return { stop, fragments: true as const, context: this.options.context };
  }

  /** Shows the events of a run in its exchange. */
  private follow(
    { id, base }: { readonly id: string; readonly base: View },
    run: string,
    stop: Observable<void>,
    events: () => Observable<StreamEvent>,
  ): Observable<unknown> {
    return concat(
      defer(events).pipe(
        exchangeChanges(base, () => this.exchanges.get(id).view),
        tap((change) => this.update(id, change.hasBegun ? { ...change, run } : change)),
      ),
      defer(() => {
        const exchange = this.exchanges.get(id);
        return exchange.base ? this.join(exchange, stop) : this.waitForAnswers(id, stop);
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

const runOf = ({ run, input }: Exchange) => ({ id: run, input });
