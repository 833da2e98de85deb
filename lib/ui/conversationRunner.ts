import { defer, distinctUntilChanged, endWith, map, merge, ReplaySubject, share, takeWhile } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Answers, Decision } from '../core/approval.js';
import { messagesOf } from '../core/input.js';
import type { Input } from '../core/input.js';
import type { JsonValue } from '../core/json/json.js';
import { Command, CommandQueue } from './commandQueue.js';
import type { Conversation, ConversationOptions, ConversationView } from './conversationTypes.js';
import type { ConversationAgent } from './conversationAgent.js';
import { ExchangeRuns } from './exchangeRuns.js';
import { Exchanges } from './exchanges.js';
import type { SavedConversation } from './exchanges.js';
import { ViewSource } from './viewSource.js';
import { isSameView } from './viewChanges.js';

/** A conversation: what its commands do to its exchanges. */
export class ConversationRunner implements Conversation {
  readonly view$: Observable<ConversationView>;
  readonly saved$: Observable<SavedConversation>;
  private readonly exchanges: Exchanges;
  private readonly views: ViewSource<ConversationView>;
  private readonly queue: CommandQueue;
  private readonly runs: ExchangeRuns;

  constructor(
    private readonly agent: ConversationAgent,
    prompts$: Observable<Input>,
    options: ConversationOptions,
  ) {
    this.exchanges = new Exchanges(options.saved);
    this.queue = new CommandQueue(options.whenBusy ?? 'queue', () => this.views.changed());
    this.runs = new ExchangeRuns(agent, this.exchanges, options, () => this.views.changed());
    this.views = new ViewSource(() => this.currentView());
    const views = this.views.views$.pipe(distinctUntilChanged<ConversationView>(isSameView));
    const runs = defer(() => this.run(prompts$));
    this.view$ = defer(() => {
      this.queue.connect();
      return merge(views, runs.pipe(endWith(undefined)));
    }).pipe(
      takeWhile((view) => view !== undefined),
      share({ connector: () => new ReplaySubject(1) }),
    );
    this.saved$ = this.views.views$.pipe(
      map(() => this.exchanges.revision),
      distinctUntilChanged(),
      map(() => this.save()),
    );
  }

  get view(): ConversationView {
    return this.currentView();
  }

  send(input: Input): void {
    this.queue.add(this.promptCommand(input));
  }

  stop(): void {
    this.queue.stop();
    this.views.changed();
  }

  regenerate(id = this.exchanges.selected ?? ''): void {
    this.edit(id, this.exchanges.get(id).input);
  }

  edit(id: string, input: Input): void {
    const { parent } = this.exchanges.get(id);
    this.queue.add(new Command((stop) => this.ask(parent, input, stop)));
  }

  select(id: string): void {
    this.exchanges.select(id);
    this.views.changed();
  }

  decide(callId: string, decision: Decision): void {
    this.give(callId, { decisions: { [callId]: decision } });
  }

  answer(callId: string, result: JsonValue): void {
    this.give(callId, { results: { [callId]: result } });
  }

  save(): SavedConversation {
    return this.exchanges.save(this.agent.join !== undefined);
  }

  private give(callId: string, answer: Answers): void {
    this.queue.requireSubscriber();
    this.runs.answer(callId, answer);
  }

  private run(prompts$: Observable<Input>): Observable<never> {
    const open = this.exchanges.open();
    const goOn = open && new Command((stop) => this.runs.goOn(open, stop));
    return this.queue.run(prompts$.pipe(map((input) => this.promptCommand(input))), goOn);
  }

  private promptCommand(input: Input): Command {
    return new Command((stop) => this.ask(this.exchanges.selected, input, stop), input);
  }

  private ask(parent: string | undefined, input: Input, stop: Observable<void>): Observable<unknown> {
    return this.runs.start(this.exchanges.add(parent, messagesOf(input)), stop);
  }

  private currentView(): ConversationView {
    const exchanges = this.exchanges.view();
    const last = exchanges.at(-1);
    const open = this.exchanges.open() ?? last; // the run that goes on may be of another branch
    const waiting = open ? this.exchanges.openCalls(open.id).filter(({ name }) => !this.runs.isExecutedHere(name)) : [];
    return { status: last?.status ?? 'idle', exchanges, waiting, queued: this.queue.prompts };
  }
}
