import type { Observable } from 'rxjs';
import type { Decision } from '../core/approval.js';
import type { Input } from '../core/input.js';
import type { JsonValue } from '../core/json/json.js';
import type { Tool } from '../core/tool.js';
import type { WhenBusy } from './commandQueue.js';
import type { ExchangeView, SavedConversation } from './exchanges.js';
import type { ToolCallView, ViewStatus } from './view.js';

/** Options of `conversation`. */
export interface ConversationOptions {
  /**
   * What happens to a prompt that arrives during a run. `queue`: it waits for the end of the run; `interrupt`: the run
   * is stopped, and keeps what it has; `ignore`: it is dropped. Default: `queue`.
   */
  readonly whenBusy?: WhenBusy | undefined;
  /** What `save` returned. A run that goes on at a server is joined again. Default: a new conversation. */
  readonly saved?: SavedConversation | null | undefined;
  /**
   * Tools that are executed here when a run waits for their result. At the server, they are declared without `execute`.
   * If two tabs show the same run, each executes them, and the first result counts. Default: none.
   */
  readonly tools?: readonly Tool[] | undefined;
  /** The option `context` of each run, for a local agent. Default: undefined. */
  readonly context?: unknown;
}

/** A conversation as a UI shows it. */
export interface ConversationView {
  /** That of the last exchange; `idle` if there is none. */
  readonly status: ViewStatus;
  /** The selected branch, oldest first. Unchanged exchanges keep their identity. */
  readonly exchanges: readonly ExchangeView[];
  /** The calls that wait for `decide` or `answer`. */
  readonly waiting: readonly ToolCallView[];
  /** The prompts that wait for the end of the run. */
  readonly queued: readonly Input[];
}

/** A conversation with an agent. */
export interface Conversation {
  /**
   * The view, now and after each change. The first subscriber starts the work. If the last one unsubscribes, the run is
   * left: a remote run goes on, and the next subscriber joins it; a local one is aborted. It completes when `prompts$`
   * has completed and all runs have ended. It fails only if `prompts$` does.
   */
  readonly view$: Observable<ConversationView>;
  /** The current view. */
  readonly view: ConversationView;
  /**
   * What `save` returns, now and whenever it should be stored: when a prompt was sent, when its run begins, waits and
   * ends, and when another version is shown. Not with each delta: a run that goes on at a server is joined again.
   */
  readonly saved$: Observable<SavedConversation>;
  /** Sends a prompt, as `prompts$` does. */
  send(input: Input): void;
  /** Ends the run with what it has, and drops the prompts that wait. */
  stop(): void;
  /**
   * Asks for another answer to a prompt, as another version of the exchange. A run that is going on is stopped,
   * and prompts that wait are dropped.
   *
   * @param exchange The id of the exchange. Default: the last one.
   */
  regenerate(exchange?: string): void;
  /** Sends another prompt in place of an earlier one, as another version of that exchange. */
  edit(exchange: string, input: Input): void;
  /** Shows another version of an exchange, with what follows it. */
  select(exchange: string): void;
  /** Decides about a waiting call. When all calls have answers, the run goes on. A second answer has no effect. */
  decide(callId: string, decision: Decision): void;
  /** Gives the result of a waiting call. */
  answer(callId: string, result: JsonValue): void;
  /** The conversation as plain JSON, at any time: for `localStorage`, or a server. */
  save(): SavedConversation;
}
