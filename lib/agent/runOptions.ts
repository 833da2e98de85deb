import type { Observable, ObservableInput } from 'rxjs';
import type { Approve, CallAnswers } from '../core/approval.js';
import type { Message } from '../core/message.js';
import type { PausableCall } from '../core/nested.js';
import { optionsError } from '../core/errors.js';
import { requireSync } from '../core/options.js';
import type { OptionKinds } from '../core/requireOptions.js';
import type { Orchestrator } from './orchestrator.js';
import type { PromptOptions } from './prompts.js';
import type { StopOptions } from './stopRun.js';

/** Options of one run. `C` is the type of the user's own value. */
export interface RunOptions<C = unknown> extends StopOptions, PromptOptions {
  /** The conversation so far, oldest message first. Default: none. */
  readonly history?: readonly Message[] | undefined;
  /**
   * Whether each `turn` event has a `checkpoint` from which `resume` continues, and `checkpoint` events follow the
   * model's calls, each `toolWaiting` and each `toolResult`. A checkpoint contains the complete history. Default:
   * false.
   */
  readonly checkpoints?: boolean | undefined;
  /**
   * Whether the run also emits the fragments of tool calls, labelled with their call's index, name and id, for
   * `partialArguments`. Default: false.
   */
  readonly fragments?: boolean | undefined;
  /**
   * The user's own value (a user's id, a database), which tools, `prepareTurn` and `toolChoice` receive unchanged. It
   * is in no event and in no request. Its type follows from what they declare, and it is required if they need any.
   * Default: undefined.
   */
  readonly context?: C | undefined;
  /**
   * The id of the run, with which the idempotency keys of its calls begin. Its checkpoints have it, so a run that is
   * resumed has that of the run that stored them. Default: a random one.
   */
  readonly runId?: string | undefined;
  /**
   * Decides about calls of tools with `needsApproval` in this run, if the agent itself has no `approve`. Default: such
   * calls wait.
   */
  readonly approve?: Approve | undefined;
  /**
   * Answers to calls and questions that wait (`needsApproval`, `askTool`), while the run lives: `{ results: { [id]:
   * value } }` or `{ decisions: { [id]: decision } }`. The first answer to an id counts; one that comes early (of the
   * last 1000) is kept until its call asks. When it completes, nobody answers any more: the run ends with `waiting` if
   * it asks. An error is that of the run. Subscribed once per run. Default: nobody answers.
   */
  readonly answers?: ObservableInput<CallAnswers> | undefined;
  /**
   * How long a call waits for `answers` in memory, in milliseconds, before the run ends with `waiting`, if the agent
   * itself has no `patience`. Default: until the run is stopped.
   */
  readonly patience?: number | undefined;
  /**
   * Completes when everything that the run has emitted is stored, for a service with checkpoints: a tool receives the
   * result of a step or an answer (`askTool`) only then. Default: nothing is stored.
   */
  readonly written?: Observable<never> | undefined;
  /** For a tool that runs an agent: the `outer` of its call, which waits while calls of this run do. Default: none. */
  readonly outerCall?: PausableCall | undefined;
  /**
   * Wraps the turns of this run. It receives the function that starts a turn, as `prepareTurn` has changed it, and
   * returns one that is called instead: it may replace the model and the tools of the context, and pipe the events of
   * the turn. It is called once per run, so it can keep the state of the run. Default: the turns are not wrapped.
   */
  readonly wrapTurn?: ((turn: Orchestrator['turn']) => Orchestrator['turn']) | undefined;
}

/** An argument that is required if the run needs a context. */
export type RunArguments<C, Options = RunOptions<C>> = unknown extends C
  ? [options?: Options]
  : [options: Options & { readonly context: C }];

export interface ResumeOptions<C = unknown> extends Omit<RunOptions<C>, 'history'>, CallAnswers {}

/** What `wrapTurn` has returned. */
export function requireTurn(turn: unknown): Orchestrator['turn'] {
  if (typeof requireSync('wrapTurn', turn) === 'function') return turn as Orchestrator['turn'];
  throw optionsError('wrapTurn returned no function.', 'Return a turn: a function.');
}

export const runOptionKinds: OptionKinds<RunOptions & ResumeOptions> = {
  history: 'array',
  context: 'any',
  stop: 'Observable',
  cancel: 'Observable',
  signal: 'AbortSignal',
  prompts: 'Observable',
  whenPrompted: ['string', 'function'],
  approve: 'function',
  checkpoints: 'boolean',
  fragments: 'boolean',
  wrapTurn: 'function',
  runId: 'string',
  answers: 'Observable',
  patience: 0,
  written: 'Observable',
  outerCall: 'any',
  decisions: 'object',
  results: 'object',
  errors: 'object',
};
