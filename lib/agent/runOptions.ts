import type { Approve, CallAnswers } from '../core/approval.js';
import type { Message } from '../core/message.js';
import type { OptionKinds } from '../core/requireOptions.js';
import type { Orchestrator } from './orchestrator.js';
import type { PromptOptions } from './prompts.js';
import type { StopOptions } from './stopRun.js';

export interface RunOptions<C = unknown> extends StopOptions, PromptOptions {
  /** The conversation so far, oldest message first. Default: none. */
  readonly history?: readonly Message[] | undefined;
  /**
   * Whether `turn` events have a `checkpoint` for `resume`, and `checkpoint` events follow calls, each `toolWaiting`
   * and `toolResult`. Each contains the complete history. Default: false.
   */
  readonly checkpoints?: boolean | undefined;
  /** Whether the run emits labelled fragments of tool calls, for `partialArguments`. Default: false. */
  readonly fragments?: boolean | undefined;
  /**
   * The user's own value (a user's id, a database) for tools, `prepareTurn` and `toolChoice`; in no event and no
   * request. Required if they declare its type. Default: undefined.
   */
  readonly context?: C | undefined;
  /**
   * The id of the run, with which the idempotency keys of its calls begin; a resumed run keeps it. Default: a random
   * one.
   */
  readonly runId?: string | undefined;
  /** Decides about calls that need an approval, if the agent has no `approve`. Default: they wait. */
  readonly approve?: Approve | undefined;
  /**
   * Wraps the turns: receives the function that starts one, as `prepareTurn` has changed it, and returns one to call
   * instead. Called once per run, so it can keep its state. Default: they are not wrapped.
   */
  readonly wrapTurn?: ((turn: Orchestrator['turn']) => Orchestrator['turn']) | undefined;
}

/** The options of a run as an argument: required if the run needs a context. */
export type RunArguments<C, Options = RunOptions<C>> = unknown extends C
  ? [options?: Options]
  : [options: Options & { readonly context: C }];

export interface ResumeOptions<C = unknown> extends Omit<RunOptions<C>, 'history'>, CallAnswers {}

export const runOptionKinds: OptionKinds<RunOptions & ResumeOptions> = {
  history: 'array',
  context: 'any',
  stop: 'Observable',
  cancel: 'Observable',
  signal: 'AbortSignal',
  prompts: 'Observable',
  whenPrompted: 'any',
  approve: 'function',
  checkpoints: 'boolean',
  fragments: 'boolean',
  wrapTurn: 'function',
  runId: 'string',
  decisions: 'object',
  results: 'object',
  errors: 'object',
};
