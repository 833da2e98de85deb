import { defer, filter, identity, map } from 'rxjs';
import type { Observable } from 'rxjs';
import type { ToolCallFragment } from './core/chunk.js';
import { ConfigurationError } from './core/errors.js';
import { startState } from './core/event.js';
import type { ResultEvent, RunEvent, RunResult, RunState } from './core/event.js';
import { isRecord } from './core/json/json.js';
import { userMessage } from './core/message.js';
import type { Message } from './core/message.js';
import type { Model } from './core/model.js';
import type { Infer, Schema } from './core/schema.js';
import type { EventsOf, Tool } from './core/tool.js';
import { endRun } from './operators/endRun.js';
import { prefixAfterTools } from './operators/prefixAfterTools.js';
import type { Orchestrator, TurnContext, TurnOptions } from './orchestrators/orchestrator.js';
import { runTurns } from './orchestrators/runTurns.js';
import type { TurnPosition } from './orchestrators/runTurns.js';
import { selectOrchestrator } from './orchestrators/selectOrchestrator.js';

/** Options of `createAgent`. */
export interface AgentOptions<
  T extends readonly Tool[] = readonly Tool[],
  S extends Schema | undefined = Schema | undefined,
> extends Omit<TurnOptions, 'fragments'> {
  readonly model: Model;
  /** The tools that the model can call. Default: none. */
  readonly tools?: T | undefined;
  /** The schema of the answer: `RunResult.output` is then validated and typed. Default: any text. */
  readonly output?: S | undefined;
  /** The maximum number of turns of a run. Default 20. */
  readonly maxTurns?: number | undefined;
  /**
   * What a turn is. Default: what `selectOrchestrator` returns, `toolLoop` or, for an output, what the model can do.
   */
  readonly orchestrator?: Orchestrator | undefined;
  /** The prefix of the first text after a tool round. Default: a line feed. */
  readonly prefix?: string | undefined;
}

/** The user's input: a text, a message, or several messages. */
export type Input = string | Message | readonly Message[];

/** Options of one run. */
export interface RunOptions {
  /** The conversation so far, oldest message first. Default: none. */
  readonly history?: readonly Message[] | undefined;
  /**
   * Keep `next`, from which a run can be resumed, on the `turn` events. It holds the complete history. Default false.
   */
  readonly checkpoints?: boolean | undefined;
  /**
   * Emits the fragments of tool calls too, labelled with their call's index, name and id, for `partialArguments`.
   * Default false.
   */
  readonly fragments?: boolean | undefined;
}

/** A model with tools and instructions. */
export interface Agent<T extends readonly Tool[] = readonly Tool[], O = unknown> {
  /**
   * Runs the agent and emits its events. Cold: each subscription is a run of its own; unsubscribing aborts the request
   * and the running tools.
   */
  stream(
    input: Input,
    options?: RunOptions & { readonly fragments?: false | undefined },
  ): Observable<RunEvent<EventsOf<T[number]>, O>>;
  /** Runs the agent and emits its events, and the fragments of its tool calls if `fragments` is true. */
  stream(input: Input, options: RunOptions): Observable<RunEvent<EventsOf<T[number]>, O> | ToolCallFragment>;
  /** Runs the agent and emits only its result. */
  run(input: Input, options?: RunOptions): Observable<RunResult<O>>;
}

/**
 * Creates an agent from a model, instructions and tools.
 *
 * <span class="informal">The front door.</span>
 *
 * ![](../marbles/createAgent.svg)
 *
 * A run emits deltas as they arrive, each `toolCall` when it is complete, the model's `message`, `toolStart`,
 * `toolProgress` and `toolResult` as they happen, the results' `message`, and `turn`; after the last turn it emits the
 * `result`. If a run fails, the events that it has emitted stay, and no `turn` or `result` follows.
 *
 * ```ts
 * const agent = createAgent({ model: openai('gpt-5'), system: 'Be brief.', tools: [weather] });
 * agent.stream('How warm is it in Oslo?').subscribe((event) => {
 *   if (event.type === 'text') process.stdout.write(event.text);
 * });
 * const { text, usage } = await firstValueFrom(agent.run('And in Lisbon?'));
 * ```
 *
 * @param options The model; `system`, `tools`, `maxTurns` (20), `toolConcurrency` (1), `eagerTools` (false),
 * `toolDeadline` (none), `toolChoice`, `output`, the request's settings.
 * @returns An agent without state: pass the conversation so far as `history`; the result has the messages that the run
 * added.
 */
export function createAgent<const T extends readonly Tool[] = readonly [], S extends Schema | undefined = undefined>(
  options: AgentOptions<T, S>,
): Agent<T, S extends Schema ? Infer<S> : undefined> {
  const { model, tools = [], output, maxTurns, prefix } = options;
  const { orchestrator = selectOrchestrator(model, { tools, output }) } = options;
  const stream = (
    input: Input,
    { history = [], checkpoints = false, fragments = false }: RunOptions = {},
  ): Observable<RunEvent> =>
    defer(() => {
      if (typeof (model as Partial<Model> | undefined)?.stream !== 'function') throw invalidModel(model);
      const start = startFrom(input, history);
      const context: TurnContext = { model, tools, options: { ...options, fragments }, ...(output ? { output } : {}) };
      const turn = (state: RunState, { last }: TurnPosition) => orchestrator.turn(state, { ...context, last });
      const check = output ? requireOutput(orchestrator.name) : undefined;
      return runTurns(turn, start, { maxTurns, provider: model.provider }).pipe(
        prefix === '' ? identity : prefixAfterTools(prefix),
        endRun(start, { checkpoints, check }),
      );
    });
  // The types of events and output follow from the tools and the schema; the pipe itself does not know them.
  return {
    stream,
    run: (input, runOptions) =>
      stream(input, runOptions).pipe(
        filter((event): event is ResultEvent => event.type === 'result'),
        map(({ result }) => result),
      ),
  } as Agent<T, S extends Schema ? Infer<S> : undefined>;
}

const invalidModel = (model: unknown) =>
  typeof model === 'string'
    ? new ConfigurationError(
        'model',
        `"${model}" is the name of a model, not a model.`,
        'Pass modelByName(name) of rivulet/registry, or what a provider returns.',
      )
    : new ConfigurationError(
        'model',
        'The agent has no model.',
        "Pass what a provider's function returns: { model: openai('gpt-5') }.",
      );

/** The result is typed with an output, which an orchestrator without support for typed output does not set. */
const requireOutput =
  (orchestrator: string) =>
  ({ output, finishReason }: RunResult): void => {
    if (output !== undefined || finishReason === 'maxTurns' || finishReason === 'stopped') return;
    throw new ConfigurationError(
      'output',
      `The orchestrator "${orchestrator}" returned no typed output.`,
      'Base its turns on typedOutput, or omit `output`.',
    );
  };

/** The history is copied, so that later changes of the array do not reach the run. */
function startFrom(input: Input, history: readonly Message[]): RunState {
  const messages = typeof input === 'string' ? [userMessage(input)] : ([input].flat() as readonly Message[]);
  if (history.length + messages.length > 0 && messages.every(isRecord)) return startState([...history, ...messages]);
  throw new ConfigurationError(
    'history',
    'There is nothing to send: no input and no history.',
    'Pass a text or a message.',
  );
}
