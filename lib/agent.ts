import { defer, EMPTY, filter, identity, map, mergeMap, takeUntil } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Checkpoint, ResumedTurn } from './core/checkpoint.js';
import type { ToolCallFragment } from './core/chunk.js';
import { ConfigurationError } from './core/errors.js';
import { createStartState } from './core/input.js';
import type { Input } from './core/input.js';
import type { ResultEvent, RunEvent, RunResult, RunState } from './core/event.js';
import type { Model, ToolChoiceOption } from './core/model.js';
import { readCheckpoint } from './core/readCheckpoint.js';
import type { Infer, Schema } from './core/schema.js';
import type { EventsOf, Tool, UserContextOf } from './core/tool.js';
import { timeLimit } from './core/timeLimit.js';
import { endRun } from './operators/endRun.js';
import { prefixAfterTools } from './operators/prefixAfterTools.js';
import type { Orchestrator, TurnContext, TurnOptions } from './orchestrators/orchestrator.js';
import { endStopped } from './orchestrators/endStopped.js';
import { leaveOn } from './orchestrators/leaveOn.js';
import { collectPrompts, joinPrompts } from './orchestrators/prompts.js';
import type { PromptQueue } from './orchestrators/prompts.js';
import { preparedTurn } from './orchestrators/prepareTurn.js';
import type { PrepareTurn } from './orchestrators/prepareTurn.js';
import { dropReplay } from './orchestrators/replay.js';
import { requireOutput } from './orchestrators/requireOutput.js';
import { resumedTurn } from './orchestrators/resumedTurn.js';
import type { ResumeOptions, RunArguments, RunOptions } from './orchestrators/runOptions.js';
import { runTurns } from './orchestrators/runTurns.js';
import type { TurnPosition } from './orchestrators/runTurns.js';
import { selectOrchestrator } from './orchestrators/selectOrchestrator.js';
import { rememberStop } from './orchestrators/stoppable.js';
import type { StopWhen } from './orchestrators/stopWhen.js';

export type { Input } from './core/input.js';
export type { ResumeOptions, RunArguments, RunOptions } from './orchestrators/runOptions.js';

/** Options of `createAgent`. */
export interface AgentOptions<
  T extends readonly Tool[] = readonly Tool[],
  S extends Schema | undefined = Schema | undefined,
  C = unknown,
> extends Omit<TurnOptions, 'fragments' | 'toolChoice'> {
  readonly model: Model;
  /** The tools that the model can call. Default: none. */
  readonly tools?: T | undefined;
  /** The schema of the typed output: `RunResult.output` is then validated and typed. Default: no typed output. */
  readonly output?: S | undefined;
  /**
   * Whether the model may or must call tools. It applies to the first turn of the run, unless it is a function of the
   * state and the run's `context`. Default: the model decides.
   */
  readonly toolChoice?: ToolChoiceOption<C & UserContextOf<T[number]>> | undefined;
  /**
   * Changes the model, the tools, the messages, the tool choice or the settings of a turn before it starts; may be
   * asynchronous. It receives the state from which the turn starts, and the run's `context`. Default: no changes.
   */
  readonly prepareTurn?: PrepareTurn<C & UserContextOf<T[number]>> | undefined;
  /** The maximum number of turns of a run. Default: 20. */
  readonly maxTurns?: number | undefined;
  /**
   * Conditions that end the run between two turns, with the finish reason `limit` and the name of the condition as
   * `rawReason`: `turnCount`, `toolCalled`, `tokenBudget`, `costBudget`, `elapsed`, `repeatedCalls`, `allOf`, or a
   * function of the state. Of several, one has to hold. Default: none.
   */
  readonly stopWhen?: StopWhen | undefined;
  /** Defines a turn. Default: the orchestrator that `selectOrchestrator` returns. */
  readonly orchestrator?: Orchestrator | undefined;
  /**
   * Limits of time, in milliseconds: `turn` for each turn with its tools, `run` for the complete run. The run then
   * fails with a TimeoutError. Default: no limits.
   */
  readonly timeout?: { readonly turn?: number | undefined; readonly run?: number | undefined } | undefined;
  /** The prefix of the first text after a tool round or a prompt. Default: a line feed. */
  readonly prefix?: string | undefined;
}

/** A model with tools and instructions. */
export interface Agent<T extends readonly Tool[] = readonly Tool[], O = unknown, C = unknown> {
  /**
   * Runs the agent and emits its events. The Observable is cold: each subscription is a separate run, and unsubscribing
   * aborts the request and the running tools.
   */
  stream(
    input: Input,
    ...options: RunArguments<C, RunOptions<C> & { readonly fragments?: false | undefined }>
  ): Observable<RunEvent<EventsOf<T[number]>, O>>;
  /** Runs the agent and emits its events, and the fragments of its tool calls if `fragments` is true. */
  stream(input: Input, ...options: RunArguments<C>): Observable<RunEvent<EventsOf<T[number]>, O> | ToolCallFragment>;
  /** Runs the agent and emits only its result. */
  run(input: Input, ...options: RunArguments<C>): Observable<RunResult<O>>;
  /**
   * Goes on with a run from a checkpoint, in another process too. No turn and no call with a result is repeated; a call
   * that was running is executed again. The events that the run had emitted before are not emitted again, but its
   * result contains them.
   *
   * A checkpoint is trusted: whoever can change it decides what the run does next. Sign it if it leaves the server.
   *
   * @param checkpoint The `checkpoint` of a result, of a `turn` event or of a `checkpoint` event.
   * @param options `decisions`, `results` and `errors` for the waiting calls. A call without an answer keeps waiting:
   * the run then ends with `waiting` again. The other options are those of `stream`.
   * @returns The events of the rest of the run. It fails with a ConfigurationError if the checkpoint is incomplete, of
   * another version or of another orchestrator, and if an answer is not valid or belongs to no waiting call.
   */
  resume(
    checkpoint: Checkpoint,
    ...options: RunArguments<C, ResumeOptions<C>>
  ): Observable<RunEvent<EventsOf<T[number]>, O>>;
  /** Goes on with a run from a checkpoint and emits only its result. */
  resumeRun(checkpoint: Checkpoint, ...options: RunArguments<C, ResumeOptions<C>>): Observable<RunResult<O>>;
}

/**
 * Creates an agent from a model, instructions and tools.
 *
 * <span class="informal">The usual entry point: a model, tools and instructions in one object.</span>
 *
 * ![](../marbles/createAgent.svg)
 *
 * A run emits deltas as they arrive, each `toolCall` when it is complete, the model's `message`, `toolStart`,
 * `toolProgress` and `toolResult` as they happen, the results' `message`, and `turn`; after the last turn it emits the
 * `result`. If a run fails, the events that it has emitted remain valid, and no `turn` or `result` follows.
 *
 * ```ts
 * const agent = createAgent({ model: openai('gpt-6.1-terra'), system: 'Be brief.', tools: [weather] });
 * agent.stream('How warm is it in Oslo?').subscribe((event) => {
 *   if (event.type === 'text') process.stdout.write(event.text);
 * });
 * const { text, usage } = await firstValueFrom(agent.run('And in Lisbon?'));
 * ```
 *
 * @param options `model`; optionally `system`, `tools` (default: none), `maxTurns` (default: 20), `stopWhen` (default:
 * none), `toolConcurrency` (default: 1), `eagerTools` (default: false), `toolDeadline` and `timeout` (default: no
 * limits), `approve` (default: calls that need an approval wait), `toolChoice`, `prepareTurn` (default: no changes),
 * `output` and the settings of the request.
 * @returns An agent, which is stateless: pass the conversation so far as `history`. The result contains the messages
 * that the run added.
 */
export function createAgent<
  const T extends readonly Tool[] = readonly [],
  S extends Schema | undefined = undefined,
  C = unknown,
>(options: AgentOptions<T, S, C>): Agent<T, S extends Schema ? Infer<S> : undefined, C & UserContextOf<T[number]>> {
  const { model, tools = [], output, prepareTurn, maxTurns, stopWhen, prefix, timeout } = options;
  const { orchestrator = selectOrchestrator(model, { tools, output }) } = options;
  const run = (
    { state: start, checkpoint, resumed }: RunStart,
    runOptions: RunOptions,
    stop?: Observable<unknown>,
    prompts?: PromptQueue,
  ): Observable<RunEvent> => {
    if (typeof (model as Partial<Model> | undefined)?.stream !== 'function') throw invalidModel(model);
    const { checkpoints = false, fragments = false, signal, whenPrompted, wrapTurn } = runOptions;
    const context: TurnContext = {
      model,
      tools,
      context: runOptions.context,
      options: { ...options, fragments },
      checkpoints,
      ...(output ? { output } : {}),
      ...(stop ? { stop } : {}),
    };
    const runner = wrapTurn
      ? { ...orchestrator, turn: wrapTurn((...turn) => orchestrator.turn(...turn)) }
      : orchestrator;
    const interrupts = whenPrompted === 'interrupt' ? prompts?.arrivals : undefined;
    const turn = (state: RunState, { last }: TurnPosition) => {
      const goesOn = resumed !== undefined && state === start;
      const turnContext = { ...context, last, ...(goesOn ? { resumed } : {}) };
      return preparedTurn(runner, prepareTurn, state, turnContext, interrupts).pipe(
        timeLimit('turn', timeout?.turn),
        stop ? endStopped(state, stop) : identity,
        prompts ? joinPrompts(prompts, state, turnContext) : identity,
        goesOn ? dropReplay(orchestrator.name) : identity,
      );
    };
    const turns = runTurns(turn, start, { maxTurns, stopWhen, provider: model.provider });
    const check = output ? requireOutput(orchestrator.name) : undefined;
    return (checkpoint?.ended ? EMPTY : turns).pipe(
      timeLimit('run', timeout?.run),
      prefix === '' ? identity : prefixAfterTools(prefix, checkpoint && prefixPosition(checkpoint)),
      signal ? leaveOn<RunEvent>(signal) : identity,
      prompts ? takeUntil<RunEvent>(prompts.failure) : identity,
      endRun<RunEvent>(start, {
        checkpoints,
        orchestrator: orchestrator.name,
        resumed: checkpoint,
        unjoined: prompts?.take,
        check,
      }),
    );
  };
  const startRun = (start: RunStart, runOptions: RunOptions): Observable<RunEvent> => {
    const withStop = (prompts?: PromptQueue) =>
      runOptions.stop
        ? rememberStop(runOptions.stop, (stop) => run(start, runOptions, stop, prompts))
        : run(start, runOptions, undefined, prompts);
    return runOptions.prompts ? collectPrompts(runOptions.prompts, withStop) : withStop();
  };
  const stream = (input: Input, { history = [], ...runOptions }: RunOptions = {}) =>
    defer(() => startRun({ state: createStartState(input, history) }, runOptions));
  const resume = (stored: Checkpoint, runOptions: ResumeOptions = {}) =>
    defer(() => {
      const checkpoint = readCheckpoint(stored, orchestrator.name);
      const { state, open } = checkpoint;
      return resumedTurn(open, runOptions, tools).pipe(
        mergeMap((resumed) => startRun({ state, checkpoint, resumed }, runOptions)),
      );
    });
  // The types of the events and the output follow from the tools and the schema; TypeScript cannot infer them from the
  // pipe.
  return {
    stream,
    run: (input, runOptions) => stream(input, runOptions).pipe(onlyResult),
    resume,
    resumeRun: (checkpoint, runOptions) => resume(checkpoint, runOptions).pipe(onlyResult),
  } as Agent<T, S extends Schema ? Infer<S> : undefined, C & UserContextOf<T[number]>>;
}

/** Where a run starts: at a state, or at a checkpoint with the answers to its open calls. */
interface RunStart {
  readonly state: RunState;
  readonly checkpoint?: Checkpoint;
  readonly resumed?: ResumedTurn | undefined;
}

const onlyResult = (events: Observable<RunEvent>): Observable<RunResult> =>
  events.pipe(
    filter((event): event is ResultEvent => event.type === 'result'),
    map(({ result }) => result),
  );

const prefixPosition = ({ emitted: { text, afterTools } }: Checkpoint) => ({ hasText: text !== '', afterTools });

const invalidModel = (model: unknown) =>
  typeof model === 'string'
    ? new ConfigurationError(
        'model',
        `"${model}" is the name of a model, not a model.`,
        "Pass modelByName(name) from rivulet/registry, or what a provider's function returns.",
      )
    : new ConfigurationError(
        'model',
        'The agent has no model.',
        "Pass what a provider's function returns: { model: openai('gpt-6.1-terra') }.",
      );
