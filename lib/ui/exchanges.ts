import type { Answers } from '../core/approval.js';
import type { Checkpoint } from '../core/checkpoint.js';
import { ConfigurationError } from '../core/errors.js';
import { isRecord } from '../core/json/json.js';
import type { Message } from '../core/message.js';
import type { EarlierRun } from './conversationAgent.js';
import { randomId } from './randomId.js';
import type { ToolCallView, View, ViewStatus } from './view.js';
import { viewOf } from './view.js';
import { callsOf, changeCall, failView, shownMessages, textsOf, waitingCalls } from './viewChanges.js';

/** A prompt and its answer, as `save` stores it. */
export interface Exchange {
  readonly id: string;
  /** The exchange that it continues. Absent for the first one of a conversation. */
  readonly parent?: string | undefined;
  /** The id of its last run. An exchange that waits for a decision is continued by another run. */
  readonly run: string;
  readonly input: readonly Message[];
  /** The messages that its runs added. Of a failed run, also the text that was shown. */
  readonly messages: readonly Message[];
  readonly view: View;
  /** The view from which its run started. Present while the run goes on. */
  readonly base?: View | undefined;
  /** Whether its last run has emitted something. Before that, nobody knows whether the request arrived. */
  readonly hasBegun?: boolean | undefined;
  /** Where a waiting run goes on. Absent if the server keeps it. */
  readonly checkpoint?: Checkpoint | undefined;
  /** The answers to waiting calls that were given, while others are missing. */
  readonly answers?: Answers | undefined;
}

/** A conversation as plain JSON: it shows again what was seen, in this page or another one. */
export interface SavedConversation {
  readonly version: 1;
  /** All branches, oldest exchange first. */
  readonly exchanges: readonly Exchange[];
  /** The last exchange of the branch that is shown. Absent if there are none. */
  readonly selected?: string | undefined;
}

/** An exchange as a UI shows it: the prompt, then the answer. */
export interface ExchangeView extends View {
  readonly id: string;
  /** The ids of the exchanges that continue the same exchange, this one included, oldest first: "2 of 3". */
  readonly versions: readonly string[];
}

/** What the next run knows of an exchange. */
export const historyOf = ({ input, messages }: Exchange): readonly Message[] => [...input, ...messages];

/**
 * An exchange for the service that has its run. A service that has received the prompt needs at most its texts, if its
 * store was lost: files are not sent again.
 */
export const earlierRun = ({ run, input, hasBegun }: Exchange): EarlierRun => ({
  id: run,
  input: hasBegun ? textsOf(input) : input,
});

/** The statuses of a run that has not ended. */
const openStatuses: ReadonlySet<ViewStatus> = new Set<ViewStatus>(['sending', 'runningTools', 'waiting']);

/** The exchanges of a conversation: a tree, of which one branch is shown. */
export class Exchanges {
  private readonly all = new Map<string, Exchange>();
  private last: string | undefined;
  /** Changes with everything but the growing view of a run. */
  revision = 0;
  /** What was emitted for an exchange, so that unchanged exchanges keep their identity. */
  private readonly shown = new Map<string, { readonly source: View; readonly view: ExchangeView }>();

  constructor(saved?: SavedConversation | null) {
    if (saved === undefined || saved === null) return;
    if (!isSaved(saved)) throw notSaved();
    for (const exchange of saved.exchanges) this.all.set(exchange.id, exchange);
    this.last = saved.selected;
  }

  /** The last exchange of the branch that is shown. */
  get selected(): string | undefined {
    return this.last;
  }

  /** @throws ConfigurationError `options` if there is no such exchange. */
  get(id: string): Exchange {
    const exchange = this.all.get(id);
    if (!exchange) throw unknownExchange(id);
    return exchange;
  }

  /** The exchange whose run goes on, or waits for a tool or a user. */
  open(): Exchange | undefined {
    for (const exchange of this.all.values())
      if (exchange.base || openStatuses.has(exchange.view.status)) return exchange;
    return undefined;
  }

  /** Adds an exchange, and shows its branch. */
  add(parent: string | undefined, input: readonly Message[]): Exchange {
    const id = randomId();
    const exchange: Exchange = { id, parent, run: id, input, messages: [], view: viewOf(input) };
    this.all.set(id, exchange);
    this.last = id;
    this.revision += 1;
    // The other versions of this prompt have one more version now.
    for (const other of this.all.values()) if (other.parent === parent) this.shown.delete(other.id);
    return exchange;
  }

  update(id: string, change: Partial<Exchange>): void {
    const exchange = this.get(id);
    this.all.set(id, { ...exchange, ...change });
    const isSameStatus = exchange.base !== undefined || change.view?.status === exchange.view.status;
    const isGrowing = isSameStatus && Object.keys(change).every((key) => key === 'view');
    if (!isGrowing) this.revision += 1;
  }

  /** Shows the branch of an exchange, up to its newest end. */
  select(id: string): void {
    if (this.path(this.last).includes(this.get(id))) return;
    this.last = id;
    this.revision += 1;
    const newestFirst = [...this.all.values()].reverse();
    for (let next: Exchange | undefined; (next = newestFirst.find(({ parent }) => parent === this.last));)
      this.last = next.id;
  }

  /** The exchanges up to this one, oldest first. */
  path(id: string | undefined): readonly Exchange[] {
    const newestFirst: Exchange[] = [];
    for (let next = id; next !== undefined; next = newestFirst.at(-1)?.parent) newestFirst.push(this.get(next));
    return newestFirst.reverse();
  }

  /** The branch that is shown. */
  view(): readonly ExchangeView[] {
    return this.path(this.last).map((exchange) => {
      const known = this.shown.get(exchange.id);
      if (known?.source === exchange.view) return known.view;
      const siblings = [...this.all.values()].filter(({ parent }) => parent === exchange.parent);
      const versions = known?.view.versions ?? siblings.map(({ id }) => id);
      const view = { ...exchange.view, id: exchange.id, versions };
      this.shown.set(exchange.id, { source: exchange.view, view });
      return view;
    });
  }

  /** The calls of an exchange that wait, and have no answer yet. */
  openCalls(id: string): readonly ToolCallView[] {
    const { view, answers } = this.get(id);
    const answered = { ...answers?.decisions, ...answers?.results, ...answers?.errors };
    return waitingCalls(view).filter((call) => !Object.hasOwn(answered, call.id));
  }

  /**
   * Adds the user's answer to a call that waits. A call that has an answer keeps it: a button may be clicked twice.
   *
   * @throws ConfigurationError `options` if there is no such call.
   */
  answer(callId: string, answer: Answers): void {
    const all = [...this.all.values()];
    if (!all.some(({ view }) => callsOf(view).some(({ id }) => id === callId))) throw unknownCall(callId);
    const waiting = all.findLast((exchange) => this.openCalls(exchange.id).some(({ id }) => id === callId));
    if (waiting) this.addAnswer(waiting.id, callId, answer);
  }

  /** @param answer The answers to add: those to one call. */
  addAnswer(id: string, callId: string, answer: Answers): void {
    const { view, base, answers } = this.get(id);
    this.update(id, {
      answers: {
        decisions: { ...answers?.decisions, ...answer.decisions },
        results: { ...answers?.results, ...answer.results },
        errors: { ...answers?.errors, ...answer.errors },
      },
      ...(base ? {} : { view: changeCall(view, callId, { status: 'pending' }) }), // a run that goes on has its own view
    });
  }

  /** Whether the run of an exchange waits, and all of its calls have answers. */
  isAnswered(id: string): boolean {
    const { view, base } = this.get(id);
    return view.status === 'waiting' && !base && this.openCalls(id).length === 0;
  }

  /**
   * @param canJoin Whether a run that goes on can be joined again. It is then saved as it was when it started: what is
   * saved changes only when a run starts, waits or ends.
   */
  save(canJoin: boolean): SavedConversation {
    const exchanges = [...this.all.values()];
    const saved = canJoin ? exchanges.map(withoutProgress) : exchanges;
    return { version: 1, exchanges: saved, ...(this.last === undefined ? {} : { selected: this.last }) };
  }

  /** Ends an exchange whose run ended with the page: what was shown stays, and becomes part of the history. */
  interrupt(id: string): void {
    const { view } = this.get(id);
    this.update(id, { view: failView(view), messages: shownMessages(view), base: undefined });
  }
}

/** An exchange as it was when its run started. */
const withoutProgress = (exchange: Exchange): Exchange =>
  exchange.base ? { ...exchange, view: { ...exchange.base, status: 'sending' } } : exchange;

const isSaved = (value: unknown): boolean =>
  isRecord(value) && value['version'] === 1 && Array.isArray(value['exchanges']);

const unknownExchange = (id: string) =>
  new ConfigurationError(
    'options',
    `The conversation has no exchange with the id "${id}".`,
    'Pass the `id` of an exchange of its view.',
  );

const notSaved = () =>
  new ConfigurationError(
    'options',
    'What was passed as `saved` is not a saved conversation of this version.',
    'Pass what `save()` returned, or omit it for a new conversation.',
  );

const unknownCall = (callId: string) =>
  new ConfigurationError(
    'options',
    `The conversation has no call with the id "${callId}".`,
    'Pass the id of a call of `view.waiting`.',
  );
