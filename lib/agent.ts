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
import { selectOrchestrator } from './orchestrators/selectOrchestrator.js';

/** What an agent is made of. */
export interface AgentOptions<
  T extends readonly Tool[] = readonly Tool[],
  S extends Schema | undefined = Schema | undefined,
> extends Omit<TurnOptions, 'fragments'> {
  readonly model: Model;
  /** What the model can call. Default: nothing. */
  readonly tools?: T | undefined;
  /** What the answer has to be: `RunResult.output` is then validated and typed. Default: any text. */
  readonly output?: S | undefined;
  /** What a turn is. Default: `selectOrchestrator`'s choice: `toolLoop`, or for an output what the model can do. */
  readonly orchestrator?: Orchestrator | undefined;
  /** What is put before the first text after a tool round. Default: a line feed. */
  readonly prefix?: string | undefined;
}

/** What the user says: a text, a message, or several. */
export type Input = string | Message | readonly Message[];

/** How one run is made. */
export interface RunOptions {
  /** The conversation so far, oldest first. Default: none. */
  readonly history?: readonly Message[] | undefined;
  /** Leave `next`, from which a run can be resumed, on the `turn` events. It holds the whole history. Default false. */
  readonly checkpoints?: boolean | undefined;
  /**
   * Let the fragments of tool calls through, each told of its call (its place as `index`, its name, its id), for `partialArguments`.
   * Default false.
   */
  readonly fragments?: boolean | undefined;
}

/** A model with tools and instructions. */
export interface Agent<T extends readonly Tool[] = readonly Tool[], O = unknown> {
  /** One run as its events, and the fragments of its tool calls. */
  stream(
    input: Input,
    options: RunOptions & { readonly fragments: true },
  ): Observable<RunEvent<EventsOf<T[number]>, O> | ToolCallFragment>;
  /** One run as its events: cold, each subscription is a run of its own, unsubscribing leaves it and aborts what is under way. */
  stream(input: Input, options?: RunOptions): Observable<RunEvent<EventsOf<T[number]>, O>>;
  /** One run as its result: the same, reduced to the one value. */
  run(input: Input, options?: RunOptions): Observable<RunResult<O>>;
}

/**
 * The front door: an agent from a model, instructions and tools.
 *
 * ```ts
 * const agent = createAgent({ model: openai('gpt-5'), system: 'Be brief.', tools: [weather] });
 * agent.stream('How warm is it in Oslo?').subscribe((event) => {
 *   if (event.type === 'text') process.stdout.write(event.text);
 * });
 * const { text, usage } = await firstValueFrom(agent.run('And in Lisbon?'));
 * ```
 *
 * A run emits deltas as they come, each `toolCall` when it is whole, the model's `message`, `toolProgress` and `toolResult`, the results' `message`, and
 * `turn`; after the last turn its `result`. An error leaves what was emitted, and no `turn` or `result` follows.
 *
 * @param options The model; `system`, `tools`, `maxTurns` (20), `concurrency` (1), `eager` (false), `deadline` of a tool, `toolChoice`, `output`, the
 * request's settings.
 * @returns An agent without state: the history goes in with `messages` and comes out with the result.
 */
export function createAgent<const T extends readonly Tool[] = readonly [], S extends Schema | undefined = undefined>(
  options: AgentOptions<T, S>,
): Agent<T, S extends Schema ? Infer<S> : undefined> {
  const { model, tools = [], output, orchestrator = selectOrchestrator(model, { tools, output }), prefix } = options;
  const stream = (
    input: Input,
    { history: messages = [], checkpoints = false, fragments = false }: RunOptions = {},
  ): Observable<RunEvent> =>
    defer(() => {
      if (typeof (model as Partial<Model> | undefined)?.stream !== 'function') throw noModel(model);
      const start = startFrom(input, messages);
      const context: TurnContext = { model, tools, options: { ...options, fragments }, ...(output ? { output } : {}) };
      return runTurns((state) => orchestrator.turn(state, context), start).pipe(
        prefix === '' ? identity : prefixAfterTools(prefix),
        endRun(start),
        output ? map(withOutput(orchestrator.name)) : identity,
        checkpoints ? identity : map(withoutNext),
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

const noModel = (given: unknown) =>
  typeof given === 'string'
    ? new ConfigurationError(
        'model',
        `"${given}" is a model's name.`,
        'Pass modelByName(name) of rivulet/registry, or what a provider gives.',
      )
    : new ConfigurationError(
        'model',
        'The agent has no model.',
        "Pass what a provider's function gives: { model: openai('gpt-5') }.",
      );

/** An orchestrator that knows nothing of outputs would give `undefined` for what is typed. */
const withOutput =
  (orchestrator: string) =>
  (event: RunEvent): RunEvent => {
    if (event.type !== 'result' || event.result.output !== undefined || event.result.finishReason === 'maxTurns')
      return event;
    throw new ConfigurationError(
      'output',
      `The orchestrator "${orchestrator}" gave no typed output.`,
      'Base its turns on typedOutput, or leave `output` out.',
    );
  };

/** The history is copied: what the caller does to the list later does not reach the run. */
function startFrom(input: Input, history: readonly Message[]): RunState {
  const messages = typeof input === 'string' ? [userMessage(input)] : ([input].flat() as readonly Message[]);
  if (history.length + messages.length > 0 && messages.every(isRecord)) return startState([...history, ...messages]);
  throw new ConfigurationError(
    'history',
    'There is nothing to send: no input and no messages.',
    'Pass a text or a message.',
  );
}

/** `next` holds the whole history: it is the loop's own, unless asked for. */
function withoutNext(event: RunEvent): RunEvent {
  if (event.type !== 'turn') return event;
  const { next: _, ...rest } = event;
  return rest;
}
