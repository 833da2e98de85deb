import { catchError, concatMap, defer, EMPTY, of, repeat, throwError, type Observable } from 'rxjs';
import type { Approve } from '../core/approval.js';
import { scopeOf } from '../core/callScope.js';
import type { Checkpoint } from '../core/checkpoint.js';
import type { FinishReason, ToolCallFragment } from '../core/chunk.js';
import { errorText } from '../core/errors.js';
import type { CheckpointEvent, RunResult, StreamEvent } from '../core/event.js';
import { asKnownEvent } from '../core/eventGuards.js';
import { placesOf } from '../core/innerPlaces.js';
import type { Input } from '../core/input.js';
import { omitUndefined, type JsonValue } from '../core/json/json.js';
import { messageText, type Message } from '../core/message.js';
import { innerAgentOf, innerAgentProperty } from '../core/innerAgent.js';
import { asOuterCall, type OuterRun } from '../core/nested.js';
import type { Infer, InferInput, Schema } from '../core/schema.js';
import type { Nested, Tool } from '../core/tool.js';
import { ToolFailure } from '../operators/execute/toolFailure.js';
import type { Plain } from '../core/typesOf.js';
import { requireSync } from '../core/options.js';
import { controlOf, type AgentTask } from './agentTask.js';
import { withFailedTurn } from './failedTurn.js';

export interface AnyAgent {
  stream(input: string | Message | readonly Message[], ...options: never): Observable<StreamEvent>;
  run(input: string | Message | readonly Message[], ...options: never): Observable<RunResult>;
  /** Resumes a run. Without it, an agent whose calls wait has no answer. */
  resume?(checkpoint: Checkpoint, ...options: never): Observable<StreamEvent>;
}

export interface AgentToolOptions<Name extends string, S extends Schema> {
  /** The name by which the model calls the agent. */
  readonly name: Name;
  /** Tells the model what the agent does, and when to use it. */
  readonly description: string;
  /** The schema of the arguments. Default: an object with one text, `prompt`. */
  readonly parameters?: S | undefined;
  /** Returns the agent's input. Default: the argument `prompt`; with `parameters`, the arguments as JSON. */
  readonly prompt?: ((args: Infer<NoInfer<S>>) => string | Message | readonly Message[]) | undefined;
}

const promptParameters = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The task, with everything that is needed to do it.' },
  },
  required: ['prompt'],
  additionalProperties: false,
} as const;

type CallContext = Parameters<NonNullable<Tool['execute']>>[1];

type EventsOfAgent<A extends AnyAgent> = A extends { stream(...args: never): Observable<infer E> } ? E : never;

type NestedOfAgent<A extends AnyAgent> = Plain<Nested<Exclude<EventsOfAgent<A>, ToolCallFragment | CheckpointEvent>>>;

type ResultOfAgent<A extends AnyAgent> = A extends { run(...args: never): Observable<RunResult<infer O>> }
  ? [O] extends [undefined]
    ? string
    : O
  : never;

type ContextOfAgent<A extends AnyAgent> = A extends { run(input: never, ...options: infer Options): unknown }
  ? NonNullable<Options[0]> extends { readonly context?: infer C }
    ? C
    : unknown
  : unknown;

/**
 * Makes a tool of an agent.
 *
 * <span class="informal">An agent that another agent can ask.</span>
 *
 * ![](../../marbles/agentTool.svg)
 *
 * A call is a run of the agent, with a conversation of its own: the agent sees only its input, and the model that calls
 * it sees only the answer.
 *
 * - Events: each event of the run is the `event` of a `nested` event, typed.
 * - Result: the typed output, or the text of the last message.
 * - Waiting: if calls of the agent wait, they are waiting calls of the outer run, with their `path`. The outer run asks
 *   its own `approve` if the agent has none. Its checkpoint holds that of the inner run, and `resume` continues both.
 * - Usage: what each turn of the agent has used is added to the turn that called it (`toolUsage` events), so the usage
 *   of the outer run includes it, and so do `tokenBudget` and `costBudget`. Of a turn in which a run fails, as far as
 *   the provider has reported it; one that is unsubscribed (`toolDeadline`, `retract`) is not included.
 * - Stop: stopping the outer run stops the inner one, which ends with what it has. The error of the call holds it.
 * - Again: if a wrapper (`retryTool`) executes the call again, the run continues from its last result.
 * - Cancellation: unsubscribing the outer run, or its `toolDeadline`, unsubscribes the inner one.
 * - Errors: the model receives the message of the error, without the agent's conversation. Only a run that ends with
 *   `stop` has an answer. Any other end (`maxTurns`, `limit`, `length`, `contentFilter`) is an error with the code
 *   `incomplete`, whose `data` holds the `finishReason` and the `text` that the agent wrote.
 * - The `context` of the outer run is passed on to the agent's tools.
 *
 * ```ts
 * const researcher = createAgent({ model, system: 'Find sources.', tools: [search, read] });
 * const research = agentTool(researcher, { name: 'research', description: 'Researches a question on the web.' });
 * createAgent({ model, tools: [research] })
 *   .stream('Which river is longer, the Nile or the Amazon?')
 *   .subscribe((event) => {
 *     if (event.type === 'nested' && event.event.type === 'text') process.stderr.write(event.event.text);
 *   });
 * ```
 *
 * @param agent The agent.
 * @param options `name`, `description`; optionally `parameters` (default: one text, `prompt`) and `prompt`, which
 * returns the agent's input.
 * @returns A tool.
 */
export function agentTool<A extends AnyAgent, const Name extends string, S extends Schema = typeof promptParameters>(
  agent: A,
  options: AgentToolOptions<Name, S>,
): Tool<Name, Infer<S>, ResultOfAgent<A>, NestedOfAgent<A>, InferInput<S>, ContextOfAgent<A>> {
  const { name, description, parameters, prompt = parameters ? asJson : readPrompt } = options;
  const known = innerAgentOf(agent);
  const definition: Tool = {
    name,
    description,
    parameters: parameters ?? promptParameters,
    execute(args, toolContext) {
      const { outer, work = outer, idempotencyKey } = toolContext;
      const scope = scopeOf(toolContext);
      const answers = (task?: AgentTask) =>
        defer(() => innerEvents(agent, () => requireSync('prompt', prompt(args as never)), toolContext, task)).pipe(
          concatMap((event) => report(event, agent, name, toolContext, task)),
          catchError((thrown: unknown) => throwError(() => withoutConversation(thrown))),
        );
      if (!outer || !work || !scope) return answers();
      const occurrence = scope.begin(definition, args);
      const task = controlOf(outer).taskOf(idempotencyKey, placesOf(outer).of('agent', name, occurrence));
      return task.work(work, () => answers(task)).pipe(repeat({ delay: () => task.goesOn() }), occurrence.follow());
    },
    ...innerAgentProperty(known && { ...known, name }),
  };
  // The types follow from the agent, but TypeScript cannot infer them from the Observable.
  return definition as ReturnType<typeof agentTool<A, Name, S>>;
}

function innerEvents(
  agent: AnyAgent,
  input: () => Input,
  { context, outer, usage, idempotencyKey }: CallContext,
  task: AgentTask | undefined,
): Observable<StreamEvent> {
  const inner = outer?.wrapAgent?.(agent) ?? agent;
  const runOptions = { context, runId: task?.runId ?? idempotencyKey, ...(outer && task && optionsOf(outer, task)) };
  const { checkpoint, answers } = task?.rest() ?? {};
  if (!checkpoint || !inner.resume) return withFailedTurn(inner.stream(input(), ...([runOptions] as never)), {}, usage);
  const resumed = inner.resume(checkpoint, ...([{ ...runOptions, ...answers }] as never));
  return withFailedTurn(resumed, checkpoint.state.usage, usage);
}

function optionsOf(outerCall: OuterRun, task: AgentTask) {
  const { call, approve, patience, written } = outerCall;
  const approveInner: Approve | undefined = approve && ((request) => approve(asOuterCall(call.id, request)));
  const live = patience > 0 ? { answers: task.answers(), patience } : {};
  return {
    ...task.notifiers(),
    ...live,
    checkpoints: true,
    written,
    outerCall,
    ...omitUndefined({ approve: approveInner }),
  };
}

/** Reports an event of the agent's run to the outer run. Emits the answer if the run has ended with one. */
function report(
  event: StreamEvent,
  agent: AnyAgent,
  name: string,
  { usage, outer }: CallContext,
  task: AgentTask | undefined,
): Observable<JsonValue> {
  const known = asKnownEvent(event);
  task?.observe(event);
  switch (known.type) {
    case 'checkpoint':
      task?.keep(known.checkpoint);
      return EMPTY;
    case 'turn': {
      const { checkpoint, ...turn } = known;
      if (known.usage) usage(known.usage);
      outer?.emit(turn);
      if (checkpoint) task?.keep(checkpoint);
      return EMPTY;
    }
    case 'result': {
      const { checkpoint, ...result } = known.result;
      if (checkpoint && task && agent.resume) {
        task.wait(checkpoint);
        return EMPTY;
      }
      outer?.emit(event);
      return of(answerOf(name, result));
    }
    default:
      outer?.emit(event);
      return EMPTY;
  }
}

const readPrompt = (args: unknown): string => (args as { readonly prompt: string }).prompt;

const asJson = (args: unknown): string => JSON.stringify(args);

/** Only the message of an error: the error may hold the conversation (`failedRunOf`). */
const withoutConversation = (thrown: unknown): Error =>
  thrown instanceof ToolFailure ? thrown : new Error(errorText(thrown));

/** Throws ToolFailure if the run did not end with an answer. */
function answerOf(name: string, { output, messages, finishReason, text }: RunResult): JsonValue {
  const last = messages.findLast(({ role }) => role === 'model');
  const answer = output === undefined ? last && messageText(last) : (output as JsonValue);
  if (finishReason === 'stop' && answer !== undefined && answer !== '') return answer;
  const written = text === '' ? 'It wrote nothing.' : `It wrote, before that: ${text}`;
  const problem = `The agent "${name}" ended without an answer: ${endTexts[finishReason] ?? finishReason}. ${written}`;
  throw new ToolFailure(finishReason === 'stopped' ? 'cancelled' : 'incomplete', problem, { finishReason, text });
}

const endTexts: Partial<Record<FinishReason, string>> = {
  stop: 'its last message is empty',
  waiting: 'one of its tool calls waits for a person or a browser, which cannot answer here',
  maxTurns: 'it reached its maximum number of turns (maxTurns)',
  limit: 'it reached a limit of its run (limit)',
  length: 'its answer was cut off at the limit of tokens (length)',
  contentFilter: "the provider's filter stopped its answer (contentFilter)",
  stopped: 'it was stopped',
};
