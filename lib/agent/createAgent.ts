import { filter, map, mergeMap, type Observable } from 'rxjs';
import type { Checkpoint } from '../core/checkpoint.js';
import type { Chunk } from '../core/chunk.js';
import { ConfigurationError } from '../core/errors.js';
import { createStartState, type Input } from '../core/input.js';
import type { ResultEvent, RunEvent, RunResult, StreamEvent } from '../core/event.js';
import { deferCall } from '../core/deferCall.js';
import type { Model, ToolChoiceOption } from '../core/model.js';
import { innerAgentProperty, type InnerAgent } from '../core/innerAgent.js';
import { readCheckpoint } from '../core/readCheckpoint.js';
import { settingKinds } from '../core/requestKinds.js';
import { requireModel } from '../core/requireModel.js';
import { requireOptions, type OptionKinds } from '../core/requireOptions.js';
import { requireTool, type EventsOf, type Tool, type UserContextOf } from '../core/tool.js';
import type { OfType } from '../core/typesOf.js';
import { startRun, type AgentSettings, type RunStart } from './agentRun.js';
import type { Orchestrator, TurnOptions } from './orchestrator.js';
import type { PrepareTurn } from './prepareTurn.js';
import { resumedTurn } from './resumedTurn.js';
import { runWrapperOf } from './runWrapper.js';
import { runOptionKinds, type ResumeOptions, type RunArguments, type RunOptions } from './runOptions.js';
import type { StopWhen } from './stopWhen.js';
import { toolLoop } from './toolLoop.js';
import type { TypedOutput } from './typed.js';

export type { Input } from '../core/input.js';
export type { ResumeOptions, RunArguments, RunOptions } from './runOptions.js';

/** Options of `createAgent`. */
export interface AgentOptions<T extends readonly Tool[] = readonly Tool[], O = unknown, C = unknown> extends Omit<
  TurnOptions,
  'fragments' | 'toolChoice'
> {
  readonly model: Model;
  /** The tools that the model can call. Default: none. */
  readonly tools?: T | undefined;
  /** The typed output, `typed(schema)`: `RunResult.output` is then validated and typed. Default: no typed output. */
  readonly output?: TypedOutput<O> | undefined;
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
  /** Defines a turn. Default: `toolLoop`, or, with a typed output, what `selectOrchestrator` returns. */
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
  stream(
    input: Input,
    ...options: RunArguments<C>
  ): Observable<RunEvent<EventsOf<T[number]>, O> | OfType<Chunk, 'toolCallFragment'>>;
  /** Runs the agent and emits only its result. */
  run(input: Input, ...options: RunArguments<C>): Observable<RunResult<O>>;
  /**
   * Resumes a run from a checkpoint, in another process too. No turn and no call with a result is repeated; a call that
   * was running is executed again. The events that the run had emitted before are not emitted again, but its result
   * contains them.
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
  /** Resumes a run from a checkpoint and emits only its result. */
  resumeRun(checkpoint: Checkpoint, ...options: RunArguments<C, ResumeOptions<C>>): Observable<RunResult<O>>;
}

/**
 * Creates an agent from a model, instructions and tools.
 *
 * <span class="informal">The usual entry point: a model, tools and instructions in one object.</span>
 *
 * ![](../../marbles/createAgent.svg)
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
 * @throws ConfigurationError `options` or `tools` for what TypeScript rejects: an option with another name or type. A
 * run fails with one if its own options or its messages are not valid.
 */
export function createAgent<const T extends readonly Tool[] = readonly [], O = undefined, C = unknown>(
  options: AgentOptions<T, O, C>,
): Agent<T, O, C & UserContextOf<T[number]>> {
  requireOptions('createAgent', options, optionKinds);
  const { model, tools = [] } = options;
  tools.forEach(requireTool);
  const output: TypedOutput | undefined = options.output;
  const orchestrator = options.orchestrator ?? (isTyped(output) ? output.select(model, tools) : toolLoop);
  const settings: AgentSettings = { ...options, output, tools, orchestrator };
  const stream = (input: Input, runOptions: RunOptions = {}) => deferCall(startStream, settings, input, runOptions);
  const resume = (stored: Checkpoint, runOptions: ResumeOptions = {}) =>
    deferCall(startResumed, settings, stored, runOptions);
  return agentOf(stream, resume, { tools, orchestrator: orchestrator.name });
}

/** The type is the caller's claim: TypeScript cannot infer events and output from a pipe. Pass `inner` on. */
export function agentOf<T extends readonly Tool[], O, C>(
  stream: (input: Input, options?: RunOptions) => Observable<StreamEvent>,
  resume: (checkpoint: Checkpoint, options?: ResumeOptions) => Observable<StreamEvent>,
  inner: InnerAgent | undefined,
): Agent<T, O, C> {
  return {
    stream,
    run: (input: Input, options?: RunOptions) => stream(input, options).pipe(onlyResult),
    resume,
    resumeRun: (checkpoint: Checkpoint, options?: ResumeOptions) => resume(checkpoint, options).pipe(onlyResult),
    ...innerAgentProperty(inner),
  } as Agent<T, O, C>;
}

function startStream(settings: AgentSettings, input: Input, runOptions: RunOptions): Observable<RunEvent> {
  requireOptions('agent.stream', runOptions, runOptionKinds);
  return start(settings, { state: createStartState(input, runOptions.history) }, runOptions);
}

function startResumed(settings: AgentSettings, stored: Checkpoint, runOptions: ResumeOptions): Observable<RunEvent> {
  requireOptions('agent.resume', runOptions, runOptionKinds);
  const checkpoint = readCheckpoint(stored, settings.orchestrator.name);
  const { state, open } = checkpoint;
  return resumedTurn(open, runOptions, settings.tools).pipe(
    mergeMap((resumed) => start(settings, { state, checkpoint, resumed }, runOptions)),
  );
}

function start(settings: AgentSettings, from: RunStart, runOptions: RunOptions): Observable<RunEvent> {
  const { model, output, tools } = settings;
  requireModel(model, 'The agent has no model.');
  if (output && !isTyped(output)) throw invalidOutput();
  const wrapper = tools.map(runWrapperOf).find(Boolean);
  return (wrapper?.wrap(startRun) ?? startRun)(settings, from, runOptions);
}

const onlyResult = (events: Observable<StreamEvent>): Observable<RunResult> =>
  events.pipe(
    filter((event): event is ResultEvent => event.type === 'result'),
    map(({ result }) => result),
  );

const createOptionKinds = (): OptionKinds<AgentOptions> => ({
  model: 'any',
  system: 'string',
  tools: 'array',
  output: 'any',
  toolChoice: ['string', 'function', { name: 'string' }],
  prepareTurn: 'function',
  approve: 'function',
  onToolError: 'function',
  stopWhen: 'any',
  orchestrator: 'object',
  timeout: { turn: 0, run: 0 },
  prefix: 'string',
  newId: 'function',
  maxTurns: 0,
  maxRepairs: 0,
  toolConcurrency: 1,
  toolDeadline: 0,
  patience: 0,
  eagerTools: 'boolean',
  ...settingKinds,
});
const optionKinds = /* @__PURE__ */ createOptionKinds();

const isTyped = (output: TypedOutput | undefined): output is TypedOutput =>
  typeof (output as Partial<TypedOutput> | undefined)?.select === 'function';

const invalidOutput = () =>
  new ConfigurationError(
    'output',
    'The output is not a typed output.',
    "Wrap its schema: { output: typed(schema) }, with typed from 'rivulet'.",
  );
