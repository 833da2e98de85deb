import { concat, concatMap, defer, EMPTY, filter, map, merge, startWith, Subject, take, tap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Answers } from '../core/approval.js';
import { ConfigurationError } from '../core/errors.js';
import type { StreamEvent } from '../core/event.js';
import { isToolResult } from '../core/eventGuards.js';
import type { ConversationOptions } from './conversationTypes.js';
import type { ConversationAgent } from './conversationAgent.js';
import { exchangeChanges } from './exchangeChanges.js';
import { answerOf, executeCalls } from './executeCalls.js';
import { earlierRun, historyOf } from './exchanges.js';
import type { Exchange, Exchanges } from './exchanges.js';
import { followingId } from './randomId.js';
import { toView } from './toView.js';
import { viewOf } from './view.js';
import type { View } from './view.js';
import { cancelView, waitAgain } from './viewChanges.js';

/** The runs of the exchanges of a conversation: their start, their end, and what happens while they wait. */
export class ExchangeRuns {
  /** Emits after an answer to a waiting call. */
  private readonly answers = new Subject<void>();

  /** @param changed Called after each change of an exchange. */
  constructor(
    private readonly agent: ConversationAgent,
    private readonly exchanges: Exchanges,
    private readonly options: ConversationOptions,
    private readonly changed: () => void,
  ) {
    const invalid = options.tools?.find((tool) => !tool.execute || tool.needsApproval);
    if (invalid) throw notExecutable(invalid.name);
  }

  /** Adds the user's answer to a waiting call. */
  answer(callId: string, answer: Answers): void {
    this.exchanges.answer(callId, answer);
    this.changed();
    this.answers.next();
  }

  /** Starts the run of an exchange. */
  start({ id, parent, run, input }: Exchange, stop: Observable<void>): Observable<unknown> {
    const base = viewOf(input);
    const path = this.exchanges.path(parent);
    const options = {
      ...this.runOptions(stop),
      id: run,
      earlier: path.map(earlierRun),
      history: path.flatMap(historyOf),
    };
    this.update(id, { base, hasBegun: false, view: { ...base, status: 'sending' } });
    return this.follow({ id, base }, run, stop, () => this.agent.stream(input, options));
  }

  /** Goes on with an exchange whose calls have answers. */
  private resume(exchange: Exchange, stop: Observable<void>): Observable<unknown> {
    const { id, parent, run, view, checkpoint, answers } = exchange;
    const nextRun = followingId(run);
    const earlier = [...this.exchanges.path(parent), exchange].map(earlierRun);
    const options = { ...this.runOptions(stop), ...answers, id: nextRun, earlier };
    const base: View = { ...view, status: 'waiting' };
    this.update(id, { base, hasBegun: false, view: { ...view, status: 'sending' } });
    return this.follow({ id, base }, nextRun, stop, () => this.agent.resume(checkpoint, options));
  }

  /** Goes on with an exchange of a saved conversation. A request that may not have arrived is sent again. */
  goOn(exchange: Exchange, stop: Observable<void>): Observable<unknown> {
    const { id, base, hasBegun, answers, view } = exchange;
    if (!base) {
      this.update(id, { view: waitAgain(view) });
      return this.waitForAnswers(id, stop);
    }
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
        tap((change) => this.update(id, change.hasBegun ? { ...change, ...this.begun(id, run) } : change)),
      ),
      defer(() => {
        const exchange = this.exchanges.get(id);
        return exchange.base ? this.join(exchange, stop) : this.waitForAnswers(id, stop);
      }),
    );
  }

  /** The answers were given to the run before this one. */
  private begun(id: string, run: string): Partial<Exchange> {
    return run === this.exchanges.get(id).run ? {} : { run, answers: undefined };
  }

  /** If the run of an exchange waits, executes the calls that belong to this page, and waits for the user's answers. */
  private waitForAnswers(id: string, stop: Observable<void>): Observable<unknown> {
    if (this.exchanges.get(id).view.status !== 'waiting') return EMPTY;
    const stopped = stop.pipe(map(() => true));
    const answered = this.answers.pipe(
      startWith(undefined),
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

  /** Whether a call is executed in this page. */
  isExecutedHere(name: string): boolean {
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
}

const notExecutable = (name: string) =>
  new ConfigurationError(
    'tools',
    `The tool "${name}" of the conversation has no \`execute\`, or needs an approval.`,
    'Pass tools that this page executes. Calls of other tools wait for `decide` or `answer`.',
  );
